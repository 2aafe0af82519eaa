//! The caches of constants: one of the SM for LDC, and a small one of each sub-core for the constants that instructions of fixed latency have as
//! operands. Both are before the cache that constants share with code.
//!
//! Sources: R. Huerta et al., MICRO 2025, 5.1.1 and 5.4 (the look-up of an operand at issue, and what a miss costs), the configuration of their
//! artifact (4:64:8 and 4:64:2: sets, bytes of a line, ways), and `chase_const` of our measurement of an H100 (2 KiB for LDC, and what lies beyond).

use std::collections::VecDeque;

use warpshard_config::machine::ControlCore as Spec;
use warpshard_workload::NO_REGISTER;

use super::super::core::{NOBODY, is_in};
use super::super::writeback::Completion;
use super::caches::{Behind, Cache, LINE_BYTES};

/// Bytes of a line of constants.
pub(super) const CONSTANT_BYTES: u32 = warpshard_workload::CONSTANT_LINE_BYTES;
/// Ways of the cache of LDC, and of those of operands.
const WAYS: [usize; 2] = [8, 2];

/// The constant caches of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Constants {
    of_sm: Cache,
    of_sub: Box<[Cache]>,
    /// Results of LDC that missed, with the cycle in which each is written, ascending.
    late: VecDeque<(u64, Completion)>,
    pub(super) misses: u64,
}

impl Constants {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let ([lines, of_operands], [latency, of_operand, ..]) = (spec.constant_lines, spec.constant_latency);
        Self {
            of_sm: Cache::new(lines, WAYS[0], latency, 1),
            of_sub: (0..subs).map(|_| Cache::new(of_operands, WAYS[1], of_operand, 1)).collect(),
            late: VecDeque::new(),
            misses: 0,
        }
    }

    /// A kernel begins.
    pub(super) fn clear(&mut self) {
        self.of_sub.iter_mut().for_each(Cache::clear);
        self.of_sm.clear();
    }

    /// When what an instruction of a kernel reads at `address` is in a cache; the address as in `Control::constant`.
    fn at(cache: &mut Cache, kernel: u32, address: u32, now: u64, behind: &mut Behind, misses: &mut u64) -> u64 {
        let number = u64::from(kernel) << 32 | u64::from(address / CONSTANT_BYTES);
        if let Some(at) = cache.find(number) {
            return at;
        }
        *misses += 1;
        let there = behind.constants(kernel, address / LINE_BYTES, now);
        cache.ask(number, now, there)
    }

    /// Cycles that an LDC in cycle `now` waits for its lines.
    pub(super) fn load(&mut self, kernel: u32, lines: &[u32], now: u64, behind: &mut Behind) -> u64 {
        let Self { of_sm, misses, .. } = self;
        let last = lines.iter().map(|address| Self::at(of_sm, kernel, *address, now, behind, misses)).max();
        last.unwrap_or(0).saturating_sub(now)
    }

    /// When the operand of an instruction of a sub-core is there that is looked up in cycle `now`.
    pub(super) fn operand(&mut self, sub: usize, kernel: u32, address: u32, now: u64, behind: &mut Behind) -> u64 {
        Self::at(&mut self.of_sub[sub], kernel, address, now, behind, &mut self.misses)
    }

    /// A result is written in a later cycle.
    pub(super) fn write_late(&mut self, at: u64, result: Completion) {
        let place = self.late.partition_point(|(other, _)| *other <= at);
        self.late.insert(place, (at, result));
    }

    /// Takes out a result that is written in the cycle after `now`.
    pub(super) fn next_result(&mut self, now: u64) -> Option<Completion> {
        self.late.pop_front_if(|(at, _)| *at <= now + 1).map(|(_, result)| result)
    }

    /// The cycle in which the next result is taken out.
    pub(super) fn next_event(&self) -> u64 {
        self.late.front().map_or(u64::MAX, |(at, _)| at - 1)
    }

    /// Results of `warps` are not written.
    pub(super) fn squash(&mut self, warps: u64) {
        for (_, result) in self.late.iter_mut().filter(|(_, result)| is_in(warps, result.warp)) {
            (result.warp, result.dst) = (NOBODY, NO_REGISTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> (Constants, Behind) {
        let spec = Spec {
            constant_lines: [32, 8],
            constant_latency: [70, 79, 300, 500],
            fetch_lines: [4, 16, 64],
            fetch_latency: [10, 40, 200, 300],
            fetch_interval: [1; 3],
            ..Spec::default()
        };
        (Constants::new(&spec, 2), Behind::new(&spec))
    }

    /// Two thousand bytes stay, and one line more drives out one line of its set after the other.
    #[test]
    fn what_fits_takes_no_time_and_what_does_not_comes_from_the_next_level() {
        let (mut constants, mut behind) = caches();
        let round = |constants: &mut Constants, behind: &mut Behind, lines: u32, now: u64| -> Vec<u64> {
            (0..lines).map(|line| constants.load(0, &[64 * line], now + 1000 * u64::from(line), behind)).collect()
        };
        let first = round(&mut constants, &mut behind, 32, 0);
        assert_eq!(first, [70; 32], "what a kernel reads for the first time is in the next level");
        assert_eq!(round(&mut constants, &mut behind, 32, 100_000), [0; 32]);
        round(&mut constants, &mut behind, 36, 200_000);
        assert_eq!(round(&mut constants, &mut behind, 36, 300_000), [70; 36], "nine lines of each set in turn");
        assert_eq!(constants.load(0, &[0, 64], 500_000, &mut behind), 71, "lines come one by one");
        constants.clear();
        let code = (0..1024).map(|line| behind.code(line, 600_000)).max();
        assert_eq!(constants.load(0, &[0], 700_000 + code.unwrap_or(0), &mut behind), 200, "code took its place");
    }

    #[test]
    fn constants_of_the_program_come_from_afar_at_first() {
        let (mut constants, mut behind) = caches();
        let of_program = warpshard_workload::constant_address(3, 0);
        for (now, first) in [(1000, 500), (11_000, 300)] {
            constants.clear();
            behind.clear("kernel");
            assert_eq!(constants.load(0, &[of_program], now, &mut behind), first);
            assert_eq!(constants.load(0, &[of_program + 64], now + 1000, &mut behind), 70, "the other half of its line");
            assert_eq!(constants.load(0, &[of_program + 128], now + 2000, &mut behind), first);
            constants.clear();
            assert_eq!(constants.load(0, &[of_program], now + 3000, &mut behind), 70, "the next level keeps it");
        }
    }

    #[test]
    fn a_sub_core_has_the_operands_of_its_own_instructions() {
        let (mut constants, mut behind) = caches();
        assert_eq!(constants.operand(0, 0, 0x210, 1000, &mut behind), 1079);
        assert_eq!(constants.operand(0, 0, 0x230, 1500, &mut behind), 1079, "in the same line");
        assert_eq!(constants.operand(1, 0, 0x210, 1500, &mut behind), 1579, "another sub-core");
    }

    #[test]
    fn late_results_come_in_the_order_of_their_cycles() {
        let (mut constants, _) = caches();
        let of = |warp| Completion { warp, bank: 0, dst: 1 };
        [(50, 1), (40, 2), (50, 3)].into_iter().for_each(|(at, warp)| constants.write_late(at, of(warp)));
        constants.squash(1 << 3);
        assert_eq!(constants.next_event(), 39);
        assert!(constants.next_result(38).is_none());
        let all: Vec<u8> = std::iter::from_fn(|| constants.next_result(49)).map(|result| result.warp).collect();
        assert_eq!(all, [2, 1, NOBODY]);
    }
}
