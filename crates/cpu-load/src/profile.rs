//! An endless stream of instructions with the statistics of a profile.
//!
//! There are three kinds of access: hot accesses, which hit in the L1 (8 KB at random); near accesses, which miss in the L1 and hit in the
//! L2 (48 KB, one line after another); far accesses, which miss in both, because each line is reused only after the whole working set.
//! Therefore the frequency of far accesses determines the misses per instruction, independently of the details of the caches.

use warpshard_base::{Addr, LINE_BYTES, Rng};

use super::{CpuInst, CpuOp, CpuProfile};

const HOT_BASE: u64 = 0x0040_0000;
const HOT_LINES: u64 = (8 << 10) / LINE_BYTES;
const NEAR_BASE: u64 = 0x0080_0000;
const NEAR_LINES: u64 = (48 << 10) / LINE_BYTES;
const STREAMS_BASE: u64 = 0x1_0000_0000;
const SCATTER_BASE: u64 = 0x10_0000_0000;

/// Minimum number of lines of a kind of far access: twice the L2.
const MIN_FAR_LINES: u64 = (512 << 10) / LINE_BYTES;

/// A probability as a threshold for 64 random bits.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Probability(u64);

impl Probability {
    fn from_probability(probability: f64) -> Self {
        Self((probability.clamp(0.0, 1.0) * u64::MAX as f64) as u64)
    }

    #[inline]
    fn happens(self, rng: &mut Rng) -> bool {
        rng.next_u64() < self.0
    }
}

/// A profile as an endless stream of instructions.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct ProfileStream {
    rng: Rng,
    /// Other instructions per memory instruction, in units of 2^-32, and the accumulated fraction.
    gap: u64,
    remaining_gap: u64,
    /// The probability that a memory instruction begins a cluster of far accesses, and the probability that it is near otherwise.
    far_probability: Probability,
    near_probability: Probability,
    writes: Probability,
    streaming: Probability,
    dependent: Probability,
    cluster: u32,
    /// Remaining far accesses of the current cluster.
    pending_far_accesses: u32,
    near_line: u64,
    stream_lines: u64,
    streams: Box<[u64]>,
    turn: usize,
    scatter: ScatterPermutation,
}

impl ProfileStream {
    /// Creates the stream of `profile` for one core; equal seeds and cores give equal streams.
    pub fn new(profile: &CpuProfile, seed: u64, core: u64) -> Self {
        let CpuProfile { mpki, memory, l2_hits, far, name, .. } = profile;
        let key = name.bytes().fold(core, |key, byte| key.wrapping_mul(257).wrapping_add(u64::from(byte)));
        let mut rng = Rng::keyed(seed, &[key]);
        let per_access = |per_kilo: f64| per_kilo / 1000.0 / memory;
        let lines = u64::from(far.working_set_mb) << 20;
        let lines = |share: f64| ((lines as f64 * share) as u64 / LINE_BYTES).max(MIN_FAR_LINES);
        // Within a cluster every access is far, so clusters begin only at accesses outside of clusters.
        let begin = per_access(*mpki) / f64::from(far.cluster);
        let outside = 1.0 - per_access(*mpki) + begin;
        let near = per_access(*l2_hits) / (1.0 - per_access(*mpki));
        let stream_lines = lines(far.streaming).div_ceil(u64::from(far.streams));
        Self {
            gap: ((1.0 - memory) / memory * (1u64 << 32) as f64) as u64,
            remaining_gap: 0,
            far_probability: Probability::from_probability(begin / outside),
            near_probability: Probability::from_probability(near),
            writes: Probability::from_probability(far.writes),
            streaming: Probability::from_probability(far.streaming),
            dependent: Probability::from_probability(far.dependent),
            cluster: far.cluster,
            pending_far_accesses: 0,
            near_line: 0,
            stream_lines,
            streams: (0..far.streams).map(|_| rng.below(stream_lines)).collect(),
            turn: 0,
            scatter: ScatterPermutation::new(lines(1.0 - far.streaming), rng.next_u64()),
            rng,
        }
    }

    /// Returns the next memory instruction.
    #[inline]
    pub(super) fn next_inst(&mut self) -> CpuInst {
        self.remaining_gap += self.gap;
        let bubbles = self.remaining_gap >> 32;
        self.remaining_gap &= (1 << 32) - 1;
        if self.pending_far_accesses == 0 && self.far_probability.happens(&mut self.rng) {
            self.pending_far_accesses = self.cluster;
        }
        let far = self.pending_far_accesses > 0;
        let (addr, scattered) = if far {
            self.pending_far_accesses -= 1;
            self.far_line()
        } else if self.near_probability.happens(&mut self.rng) {
            self.near_line = (self.near_line + 1) % NEAR_LINES;
            (NEAR_BASE + self.near_line * LINE_BYTES, false)
        } else {
            (HOT_BASE + self.rng.below(HOT_LINES) * LINE_BYTES, false)
        };
        let op = if self.writes.happens(&mut self.rng) { CpuOp::Store } else { CpuOp::Load };
        let dependent = scattered && op == CpuOp::Load && self.dependent.happens(&mut self.rng);
        CpuInst { bubbles, addr: Addr(addr), op, dependent }
    }

    /// Returns the next line that is in no cache, and `true` if it is a scattered line.
    fn far_line(&mut self) -> (u64, bool) {
        if !self.streaming.happens(&mut self.rng) {
            return (SCATTER_BASE + self.scatter.next_line() * LINE_BYTES, true);
        }
        self.turn = (self.turn + 1) % self.streams.len();
        let at = &mut self.streams[self.turn];
        *at = if *at + 1 >= self.stream_lines { 0 } else { *at + 1 };
        (STREAMS_BASE + (self.turn as u64 * self.stream_lines + *at) * LINE_BYTES, false)
    }
}

/// An endless permutation of the lines of a region: a bijection applied to a counter.
#[derive(Clone, Debug, warpshard_state::State)]
struct ScatterPermutation {
    bits: u32,
    count: u64,
}

impl ScatterPermutation {
    fn new(lines: u64, start: u64) -> Self {
        Self { bits: lines.next_power_of_two().trailing_zeros(), count: start }
    }

    fn next_line(&mut self) -> u64 {
        let mask = (1u64 << self.bits) - 1;
        self.count = self.count.wrapping_add(1);
        let half = self.bits / 2;
        // Each step is a bijection on `bits` bits: a multiplication by an odd factor, and an exclusive or with a right shift.
        let mut line = self.count & mask;
        for factor in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            line = line.wrapping_mul(factor) & mask;
            line ^= line >> half;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scattered_line_occurs_once_per_round() {
        let mut scatter = ScatterPermutation::new(5000, 77);
        let mut seen = vec![0u32; 8192];
        for _ in 0..2 * seen.len() {
            seen[scatter.next_line() as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times == 2));
    }
}
