//! Sampling inside a long launch: the choice of the simulated CTAs, and the extrapolation to the others.
//!
//! A launch begins with a *head*, which fills the chip, and also fills the LLC if the launch streams through it. It ends with a *tail*, in
//! which the chip empties. Between them lie *segments* of several waves of CTAs. The grid is divided into equal parts, and each part has
//! one segment at a random position (a stratified random sample, Cochran, Sampling Techniques, Chapter 5). The segments are executed one
//! after another without a pause, so that the chip stays full.
//!
//! The CTAs of the first wave after the head are truncated at random, each after a different share of its instructions. In the whole
//! launch, CTAs start together and get out of step over tens of waves, after which the chip executes more per cycle (`gpgpusim/cp`: 15 %
//! after 90 waves).
//!
//! A segment first *settles*: the contents of caches and DRAM rows change from the previous segment's to its own. If a launch streams
//! through the LLC, settling takes until the LLC holds nothing of the previous segment; meanwhile the LLC writes back modified lines of
//! another part of the grid, which lie in other DRAM rows than the lines that the whole launch would write back. Settling is not measured,
//! and neither is the last wave, which shares the chip with the next segment.
//!
//! Head and tail are counted exactly. All other CTAs take as many cycles per instruction as the measured spans on average (a ratio
//! estimate), and the variance is the variance between the segments. If the variance is too large, the next round measures longer spans,
//! which costs less than to settle more often.

use std::ops::Range;

use warpshard_base::Rng;

/// Waves of CTAs of a segment: minimum for settling; minimum measured; and unmeasured at its end, where they share the chip with the next
/// segment.
const SETTLE_WAVES: u64 = 2;
const MEASURED_WAVES: u64 = 2;
const SHARED_WAVES: u64 = 1;
/// Maximum factor by which settling or a measured span is extended to whole rows of the grid.
const MAX_ROW_FACTOR: u64 = 4;
/// Initial number of unmeasured simulated CTAs per measured CTA.
const UNMEASURED_PER_MEASURED: u64 = 3;
/// Segments per launch and round if the round has few partly simulated launches and its budget allows them.
const MAX_SEGMENTS: u64 = 6;
/// Segments per launch and round otherwise.
const MIN_SEGMENTS: u64 = 5;
/// Minimum number of waves in the head, and number of waves in the tail.
const MIN_HEAD_WAVES: u64 = 2;
const TAIL_WAVES: u64 = 2;
/// The head is at least 1/64 of the launch, up to 128 waves: the order in which SMs reach DRAM rows changes for some tens of waves
/// (`sdk/BlackScholes`: 63.5 to 66 cycles per 1000 instructions over 70 waves).
const HEAD_DIVISOR: u64 = 64;
const MAX_HEAD_WAVES: u64 = 128;
/// Maximum number of partly simulated launches in a round that counts as few.
const FEW_LAUNCHES: usize = 2;
/// Minimum number of measured spans.
const MIN_SPANS: usize = 4;
/// Number of LLC capacities that a launch must access to count as streaming; and number of LLC capacities after which the LLC is certainly
/// full, although sets fill unevenly.
pub(super) const STREAMING_LLC_FILLS: f64 = 4.0;
const FULL_LLC_FILLS: f64 = 1.5;
/// Ratio of the required to the actual settling length above which the segments are simulated again.
const RESETTLE_RATIO: f64 = 1.25;
/// Share of its CTAs above which a launch is simulated completely.
const MAX_SIMULATED_SHARE: f64 = 0.5;

/// A launch that may be simulated in parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LongLaunch {
    /// CTAs of the grid, and CTAs of a row of the grid.
    pub(super) ctas: u64,
    pub(super) row: u64,
    /// CTAs that the chip holds.
    pub(super) wave: u64,
    /// Sectors that its accesses touch, summed over accesses; if `measured` is true, only the sectors that miss in the LLC.
    pub(super) sectors: f64,
    pub(super) measured: bool,
    /// Capacity of the LLC in sectors.
    pub(super) llc_sectors: f64,
}

/// The simulated parts of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartPlan {
    /// Ranges of simulated CTAs.
    pub(super) ranges: Vec<Range<u32>>,
    /// CTAs that the chip holds; this number of CTAs at the start of the first segment is truncated.
    pub(super) wave: u32,
    /// Numbers of ended CTAs at the measuring points: the end of the head, then for each segment the begin and the end of its measured
    /// span, then the begin of the tail.
    pub(super) marks: Vec<u64>,
}

impl LongLaunch {
    /// Returns the number of CTAs that replace the contents of the LLC; 0 if the launch does not stream through it.
    fn turnover_ctas(&self) -> u64 {
        let per_cta = self.sectors / self.ctas as f64;
        let streams = self.sectors >= STREAMING_LLC_FILLS * self.llc_sectors;
        if streams { (FULL_LLC_FILLS * self.llc_sectors / per_cta).ceil() as u64 } else { 0 }
    }

    /// Rounds `ctas` up to whole rows of the grid, within [`MAX_ROW_FACTOR`]. The accesses of a CTA, and so its duration, often depend on
    /// its position in a row, and CTAs of one column access the same DRAM channels (`transpose`: rates differ by a third along a row, and
    /// are 10 % higher in the first row after a jump in the grid).
    fn whole_rows(&self, ctas: u64) -> u64 {
        let rows = ctas.div_ceil(self.row) * self.row;
        if rows <= MAX_ROW_FACTOR * ctas { rows } else { ctas }
    }

    /// Returns the number of CTAs before the first segment.
    fn head_ctas(&self) -> u64 {
        self.turnover_ctas().max(MIN_HEAD_WAVES * self.wave).max((self.ctas / HEAD_DIVISOR).min(MAX_HEAD_WAVES * self.wave))
    }

    /// Returns the number of CTAs before the first segment when the launch is simulated again with other segments. The cycles of its head
    /// are already known, so segments follow as soon as the LLC is full.
    fn repeated_head_ctas(&self) -> u64 {
        self.turnover_ctas().max(MIN_HEAD_WAVES * self.wave)
    }

    /// Returns the number of CTAs of a segment before its measured span.
    fn settling_ctas(&self) -> u64 {
        self.whole_rows(self.turnover_ctas().max(SETTLE_WAVES * self.wave))
    }

    /// Returns the number of simulated CTAs if `measured` CTAs of each segment are measured.
    fn simulated_ctas(&self, head: u64, segments: u64, measured: u64) -> u64 {
        let segment = self.settling_ctas() + measured + SHARED_WAVES * self.wave;
        head + segments * segment + TAIL_WAVES * self.wave
    }

    /// Returns true if a simulation in parts costs at most [`MAX_SIMULATED_SHARE`] of the launch.
    pub(super) fn is_economical(&self) -> bool {
        self.simulated_ctas(self.head_ctas(), MIN_SEGMENTS, MEASURED_WAVES * self.wave) as f64 <= MAX_SIMULATED_SHARE * self.ctas as f64
    }

    /// Returns the launch with the misses that were counted in its head instead of its accesses. There are fewer misses than accesses, so
    /// that filling the LLC takes longer.
    fn corrected(self, head: &CountsAt) -> Self {
        // When the CTAs of the head have ended, another wave of CTAs has begun.
        let ctas = (self.head_ctas() + self.wave) as f64;
        Self { sectors: head.llc_misses * self.ctas as f64 / ctas, measured: true, ..self }
    }

    /// Returns the launch with the misses of its head; `None` if the sectors are already misses, or if parts would then cost too much.
    pub(super) fn with_measured_misses(self, head: &CountsAt) -> Option<Self> {
        let corrected = self.corrected(head);
        (!self.measured && corrected.is_economical()).then_some(corrected)
    }

    /// Returns true if, by the misses of the head, the segments settled for too short a time.
    pub(super) fn settled_too_briefly(&self, head: &CountsAt) -> bool {
        !self.measured && self.corrected(head).turnover_ctas() as f64 > RESETTLE_RATIO * self.settling_ctas() as f64
    }

    /// Converts instructions to waves.
    pub(super) fn waves(&self, instructions: f64, of_launch: f64) -> f64 {
        instructions / of_launch * self.ctas as f64 / self.wave as f64
    }

    /// Plans the parts of a launch. `launches` is the number of partly simulated launches in the round; `waves` is the number of waves to
    /// measure, within the cost limit. By default the measured CTAs are a quarter of the simulated CTAs, and at least half of the settling
    /// CTAs, so that a substantial part is measured. `again` is true if the head is already known.
    pub(super) fn plan(&self, launches: usize, again: bool, waves: Option<u64>, random: &mut Rng) -> PartPlan {
        let most = (MAX_SIMULATED_SHARE * self.ctas as f64) as u64;
        let first = if again { self.repeated_head_ctas() } else { self.head_ctas() };
        let least = MEASURED_WAVES * self.wave;
        let fits = |segments: &u64| launches <= FEW_LAUNCHES && self.simulated_ctas(first, *segments, least) <= most;
        let segments = (MIN_SEGMENTS..=MAX_SEGMENTS).rev().find(fits).unwrap_or(MIN_SEGMENTS);
        let others = self.simulated_ctas(first, segments, 0);
        let at_first = (others / (UNMEASURED_PER_MEASURED * segments)).max(self.settling_ctas() / 2);
        let wanted = waves.map_or(at_first, |waves| (waves * self.wave).div_ceil(segments)).max(least);
        let possible = (most.saturating_sub(others) / segments).max(least);
        let measured = Some(self.whole_rows(wanted)).filter(|rows| *rows <= possible).unwrap_or(wanted.min(possible));
        let length = self.settling_ctas() + measured + SHARED_WAVES * self.wave;
        let end = self.ctas - TAIL_WAVES * self.wave;
        let mut ranges: Vec<Range<u32>> = std::iter::once(0..first as u32).collect();
        let mut marks = vec![first];
        let (mut before, mut end_of_last) = (first, first);
        for segment in 0..segments {
            let bound = |i: u64| first + (end - first) * i / segments;
            let (low, high) = (bound(segment), bound(segment + 1));
            let last = high - length;
            // The segment continues the row position of the previous segment, so that CTAs that run together have the same accesses as in
            // the whole launch.
            let aligned = low + (end_of_last % self.row + self.row - low % self.row) % self.row;
            let start = if aligned + self.row <= last {
                aligned + self.row * random.below((last - aligned) / self.row + 1)
            } else {
                low + random.below(last - low + 1)
            };
            end_of_last = start + length;
            ranges.push(start as u32..(start + length) as u32);
            marks.extend([before + self.settling_ctas(), before + length - SHARED_WAVES * self.wave]);
            before += length;
        }
        ranges.push(end as u32..self.ctas as u32);
        marks.push(before + self.wave);
        PartPlan { ranges, marks, wave: self.wave as u32 }
    }
}

/// Counts since the start of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CountsAt {
    /// Core cycles since the start of the first CTA.
    pub(super) cycles: f64,
    pub(super) warp_instructions: f64,
    pub(super) llc_misses: f64,
    /// Counters of all components.
    pub(super) values: Vec<u64>,
}

/// Measurements of a partly simulated launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartMeasurements {
    /// Cycles and instructions of head and tail.
    head_and_tail: [f64; 2],
    /// Cycles and instructions of the measured spans.
    spans: Vec<[f64; 2]>,
    /// Counters of all components in the measured spans.
    values: Vec<u64>,
}

impl PartMeasurements {
    /// Computes the measurements from the counts at the plan's marks and at the end; `work` is the number of instructions of the whole
    /// launch. `None` if too few spans have a full LLC.
    pub(super) fn of(marks: &[CountsAt], end: &CountsAt, work: f64, llc_sectors: f64) -> Option<Self> {
        let (head, rest) = marks.split_first()?;
        let (tail, spans) = rest.split_last()?;
        let streams = end.llc_misses / end.warp_instructions.max(1.0) * work >= STREAMING_LLC_FILLS * llc_sectors;
        // Until the LLC is full it writes back no modified lines.
        let full = |at: &CountsAt| !streams || at.llc_misses >= FULL_LLC_FILLS * llc_sectors;
        let spans: Vec<&[CountsAt]> = spans.chunks_exact(2).filter(|pair| full(&pair[0])).collect();
        if spans.len() < MIN_SPANS {
            return None;
        }
        let head = if full(head) { head } else { &spans[0][0] };
        let head_and_tail = Self::head_and_tail_counts(head, tail, end);
        let mut values = vec![0; end.values.len()];
        for pair in &spans {
            values.iter_mut().zip(&pair[1].values).zip(&pair[0].values).for_each(|((sum, after), before)| *sum += after - before);
        }
        let span = |pair: &&[CountsAt]| [pair[1].cycles - pair[0].cycles, pair[1].warp_instructions - pair[0].warp_instructions];
        let spans: Vec<[f64; 2]> = spans.iter().map(span).filter(|span| span[1] > 0.0).collect();
        (spans.len() >= MIN_SPANS).then_some(Self { head_and_tail, spans, values })
    }

    /// Computes the measurements of only head and tail, if the LLC was full after the head.
    pub(super) fn head_and_tail(marks: &[CountsAt], end: &CountsAt, llc_sectors: f64) -> Option<Self> {
        let (head, tail) = (marks.first()?, marks.last()?);
        let known =
            Self { head_and_tail: Self::head_and_tail_counts(head, tail, end), spans: Vec::new(), values: vec![0; end.values.len()] };
        (head.llc_misses >= FULL_LLC_FILLS * llc_sectors).then_some(known)
    }

    /// Returns the cycles and instructions of head and tail.
    fn head_and_tail_counts(head: &CountsAt, tail: &CountsAt, end: &CountsAt) -> [f64; 2] {
        [head.cycles + end.cycles - tail.cycles, head.warp_instructions + end.warp_instructions - tail.warp_instructions]
    }

    /// Returns the measurements with additional spans from another simulation of other parts of the launch.
    #[must_use]
    pub(super) fn merged_with(mut self, other: &Self) -> Self {
        self.spans.extend(&other.spans);
        self.values.iter_mut().zip(&other.values).for_each(|(sum, value)| *sum += value);
        self
    }

    /// Returns the number of instructions of the measured spans.
    pub(super) fn measured(&self) -> f64 {
        self.sums()[1]
    }

    fn sums(&self) -> [f64; 2] {
        self.spans.iter().fold([0.0; 2], |[cycles, work], span| [cycles + span[0], work + span[1]])
    }

    /// Returns the counters of all components in the spans, and the number of instructions of the spans.
    pub(super) fn values(&self) -> (&[u64], f64) {
        (&self.values, self.sums()[1])
    }

    /// Returns the estimated cycles of the launch, their variance, and the degrees of freedom of the variance; `work` is the launch's
    /// number of instructions.
    pub(super) fn cycles(&self, work: f64) -> (f64, f64, f64) {
        let ([cycles, sum], count) = (self.sums(), self.spans.len() as f64);
        let rate = cycles / sum;
        let squares: f64 = self.spans.iter().map(|span| (span[0] - rate * span[1]).powi(2)).sum();
        let mean = sum / count;
        let of_rate = squares / (count - 1.0) / count / (mean * mean);
        let left = (work - self.head_and_tail[1]).max(0.0);
        (self.head_and_tail[0] + rate * left, left * left * of_rate, count - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCH: LongLaunch = LongLaunch { ctas: 2000, row: 1, wave: 10, sectors: 0.0, measured: false, llc_sectors: 1000.0 };

    #[test]
    fn segments_are_in_their_parts_of_the_grid_at_seeded_positions() {
        let plan = |seed| LAUNCH.plan(3, false, None, &mut Rng::keyed(seed, &[]));
        let PartPlan { ranges, marks, .. } = plan(1);
        assert_eq!((ranges.len(), ranges[0].clone(), ranges[6].clone(), marks.len()), (7, 0..31, 1980..2000, 12));
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start) && marks.is_sorted());
        for (i, range) in (0..).zip(&ranges[1..6]) {
            assert!(range.len() == 50 && range.start >= 31 + 389 * i && range.end <= 31 + 390 * (i + 1), "{range:?}");
        }
        assert_eq!(marks[..5], [31, 51, 71, 101, 121]);
        assert_eq!(marks[11], 31 + 250 + 10);
        assert_ne!(plan(2).ranges, ranges);
    }

    #[test]
    fn more_waves_make_spans_longer_up_to_half_of_the_grid() {
        let spans = |launches, ctas, waves: Option<u64>| -> Vec<u64> {
            let marks = LongLaunch { ctas, ..LAUNCH }.plan(launches, waves.is_some(), waves, &mut Rng::keyed(1, &[])).marks;
            marks[1..marks.len() - 1].chunks(2).map(|pair| pair[1] - pair[0]).collect()
        };
        assert_eq!(spans(3, 2000, Some(21)), [42; 5]);
        assert_eq!(spans(3, 2000, Some(1000)), [(1000 - 190) / 5; 5]);
        // With few launches there are more segments, within the cost limit.
        assert_eq!((spans(2, 2000, None), spans(1, 660, None)), (vec![20; 6], vec![20; 5]));
        assert_eq!((LAUNCH.waves(300.0, 2000.0), LAUNCH.waves(1.0, 100.0)), (30.0, 2.0));
    }

    #[test]
    fn segments_are_whole_rows_and_continue_the_row_position() {
        let plan = |row| LongLaunch { row, ..LAUNCH }.plan(3, false, None, &mut Rng::keyed(1, &[]));
        let PartPlan { ranges, marks, .. } = plan(30);
        assert_eq!(marks[..4], [31, 61, 91, 131], "a row to settle and a row measured");
        for pair in ranges[..6].windows(2) {
            assert!(pair[1].start >= pair[0].end && pair[1].start % 30 == pair[0].end % 30, "{ranges:?}");
        }
        // A span is not extended to rows of many waves, or to a grid of a single row.
        assert_eq!((plan(90).marks[1], plan(2000).marks[1]), (51, 51));
    }

    #[test]
    fn with_a_known_head_only_segments_are_added() {
        let long = LongLaunch { ctas: 20_480, ..LAUNCH };
        let first = |again| long.plan(1, again, None, &mut Rng::keyed(1, &[])).marks[0];
        assert_eq!((first(false), first(true)), (320, 20));
        let at = |cycles, warp_instructions, llc_misses| CountsAt { cycles, warp_instructions, llc_misses, values: vec![0] };
        let head_and_tail = |misses| {
            PartMeasurements::head_and_tail(&[at(500.0, 100.0, misses), at(900.0, 200.0, misses)], &at(1000.0, 210.0, misses), 1000.0)
        };
        assert_eq!(head_and_tail(1499.0), None, "its LLC was not full after the head");
        let known = inside(&[2.0; 4], 0.0, 10_110.0).unwrap();
        assert_eq!(head_and_tail(1500.0).unwrap().merged_with(&known).cycles(10_110.0).0, 600.0 + 2.0 * 10_000.0);
    }

    #[test]
    fn a_launch_of_very_many_waves_has_a_longer_head() {
        let head = |waves: u64| LongLaunch { ctas: waves * 10, ..LAUNCH }.head_ctas() / 10;
        assert_eq!([head(100), head(2048), head(1 << 20)], [2, 32, 128]);
    }

    #[test]
    fn a_segment_of_a_streaming_launch_settles_until_the_llc_is_replaced() {
        // 10 sectors per CTA: 150 CTAs are one and a half times the LLC.
        let long = LongLaunch { sectors: 40_000.0, ctas: 4000, ..LAUNCH };
        let marks = |waves: Option<u64>| long.plan(3, waves.is_some(), waves, &mut Rng::keyed(1, &[])).marks;
        assert_eq!(marks(Some(10))[..4], [150, 300, 320, 330 + 150]);
        assert_eq!(marks(None)[..3], [150, 300, 375], "half as many waves are measured as settle");
    }

    #[test]
    fn a_streaming_launch_fills_the_llc_first_and_short_launches_are_not_economical() {
        assert_eq!(LongLaunch { sectors: 20_000.0, ..LAUNCH }.head_ctas(), 150);
        assert_eq!(LongLaunch { sectors: 3_000.0, ..LAUNCH }.head_ctas(), 2000 / 64);
        let worth = |ctas| LongLaunch { ctas, ..LAUNCH }.is_economical();
        assert_eq!([worth(580), worth(570)], [true, false]);
        // As many CTAs as without streaming, plus 140 CTAs for settling in each of five segments.
        let streams = |ctas| LongLaunch { ctas, sectors: 10.0 * ctas as f64, ..LAUNCH }.is_economical();
        assert_eq!([streams(2 * (150 + 5 * 180 + 20)), streams(2 * (150 + 5 * 180 + 20) - 2)], [true, false]);
        // Half of the accesses are hits, so that filling the LLC takes twice as many CTAs.
        let at = |llc_misses| CountsAt { llc_misses, ..CountsAt::default() };
        let streams = LongLaunch { sectors: 50_000.0, ctas: 5000, ..LAUNCH };
        let corrected = streams.with_measured_misses(&at(800.0)).unwrap();
        assert_eq!((corrected.head_ctas(), corrected.with_measured_misses(&at(400.0))), (300, None));
        assert_eq!([1600.0, 1300.0, 1200.0].map(|misses| streams.settled_too_briefly(&at(misses))), [false, false, true]);
        assert!(!corrected.settled_too_briefly(&at(1.0)));
    }

    /// Creates the measurements of a launch whose spans take these cycles per instruction.
    fn inside(rates: &[f64], misses: f64, work: f64) -> Option<PartMeasurements> {
        let at = |cycles, warp_instructions| CountsAt {
            cycles,
            warp_instructions,
            llc_misses: misses * warp_instructions,
            values: vec![warp_instructions as u64],
        };
        let (mut cycles, mut done) = (500.0, 100.0);
        let mut marks = vec![at(cycles, done)];
        for rate in rates {
            for instructions in [50.0, 100.0] {
                (cycles, done) = (cycles + rate * instructions, done + instructions);
                marks.push(at(cycles, done));
            }
        }
        marks.push(at(cycles, done));
        PartMeasurements::of(&marks, &at(cycles + 300.0, done + 60.0), work, 1000.0)
    }

    #[test]
    fn head_and_tail_are_exact_and_the_rest_has_the_mean_rate_of_the_spans() {
        let known = inside(&[2.0, 2.0, 2.0, 2.0], 0.0, 10_160.0).unwrap();
        assert_eq!((known.cycles(10_160.0), known.values()), ((800.0 + 20_000.0, 0.0, 3.0), (&[400][..], 400.0)));
        let known = inside(&[1.0, 2.0, 2.0, 3.0], 0.0, 10_160.0).unwrap();
        let (cycles, variance, _) = known.cycles(10_160.0);
        // The standard error of the mean of 1, 2, 2 and 3, times 10000 instructions.
        assert_eq!((cycles, variance.sqrt().round()), (20_800.0, 4082.0));
        assert_eq!(known.clone().merged_with(&known).cycles(10_160.0).0, cycles);
    }

    #[test]
    fn spans_before_the_llc_is_full_are_part_of_the_head() {
        // With one miss per instruction the LLC is full after 1500 instructions, before the tenth span.
        assert_eq!(inside(&[2.0; 12], 1.0, 1e6), None);
        let known = inside(&[2.0; 13], 1.0, 1e6).unwrap();
        assert_eq!(known.spans.len(), 4);
        // The launch fills the LLC less than four times.
        assert_eq!(inside(&[2.0; 12], 1.0, 3900.0).unwrap().spans.len(), 12);
    }
}
