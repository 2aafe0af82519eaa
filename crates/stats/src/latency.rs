//! Read latencies: recorded in buckets of an eighth of an octave, returned as a histogram.

use hdrhistogram::Histogram;

const EIGHTH_BITS: u32 = 3;
const BUCKETS: usize = 28 << EIGHTH_BITS;

/// Counts of read latencies. Recording takes a few operations and no allocation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, warpshard_state::State)]
pub struct LatencyCounts {
    buckets: Box<[u64]>,
}

impl Default for LatencyCounts {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into() }
    }
}

impl LatencyCounts {
    /// Records a latency.
    #[inline]
    pub fn record(&mut self, cycles: u64) {
        self.buckets[bucket_of(cycles)] += 1;
    }

    /// Adds the counts of another channel.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// Returns the counts as a histogram, each count at the middle of its bucket, within a sixteenth of the true value.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_max(1 << 32, 3).unwrap_or_else(|e| panic!("the bounds of the histogram are wrong: {e}"));
        for (i, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(bucket_middle(i), *count);
        }
        histogram
    }
}

#[inline]
fn bucket_of(cycles: u64) -> usize {
    if cycles < 2 << EIGHTH_BITS {
        return cycles as usize;
    }
    let octave = cycles.ilog2() - EIGHTH_BITS;
    let within = (cycles >> octave) & ((1 << EIGHTH_BITS) - 1);
    (((octave + 1) << EIGHTH_BITS) as usize + within as usize).min(BUCKETS - 1)
}

fn bucket_middle(bucket: usize) -> u64 {
    let (octave, within) = (bucket as u32 >> EIGHTH_BITS, (bucket & ((1 << EIGHTH_BITS) - 1)) as u64);
    if octave < 2 {
        return bucket as u64;
    }
    let first = (within + (1 << EIGHTH_BITS)) << (octave - 1);
    first + (1 << (octave - 1)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_shown_within_a_sixteenth() {
        for cycles in [0, 1, 7, 8, 15, 16, 17, 100, 329, 1000, 65_535, 1 << 20] {
            let mut latencies = LatencyCounts::default();
            latencies.record(cycles);
            let shown = latencies.histogram().max();
            assert!(shown.abs_diff(cycles) <= cycles / 16 + cycles / 512, "{cycles} is shown as {shown}");
        }
    }

    #[test]
    fn counts_add_up() {
        let (mut a, mut b) = (LatencyCounts::default(), LatencyCounts::default());
        a.record(100);
        b.record(200);
        b.record(200);
        a.add(&b);
        assert_eq!(a.histogram().len(), 3);
    }
}
