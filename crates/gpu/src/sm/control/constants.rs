//! The constant caches: one per SM for LDC, and a small one per sub-core for the constant operands of fixed-latency instructions. A miss of
//! either cache goes to the cache that constants share with code.
//!
//! Sources: R. Huerta et al., MICRO 2025, 5.1.1 and 5.4 (the look-up of an operand at issue, and the penalty of a miss), the configuration
//! of their artifact (4:64:8 and 4:64:2: sets, bytes of a line, ways), and `chase_const` of our measurement of an H100 (2 KiB for LDC, and
//! the levels behind it).

use std::collections::VecDeque;

use warpshard_config::machine::ControlCore as Spec;
use warpshard_workload::NO_REGISTER;

use super::super::core::{NO_WARP, is_in};
use super::super::writeback::Completion;
use super::caches::{CodeConstantCache, LINE_BYTES, LruCache};

/// Bytes per line of constants.
pub(super) const CONSTANT_BYTES: u32 = warpshard_workload::CONSTANT_LINE_BYTES;
/// Ways of the LDC cache and of the operand caches.
const CONSTANT_CACHE_WAYS: [usize; 2] = [8, 2];

/// The constant caches of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ConstantCaches {
    sm_cache: LruCache,
    of_sub: Box<[LruCache]>,
    /// Results of LDC misses and the cycle in which each is written, in ascending order.
    late_results: VecDeque<(u64, Completion)>,
    pub(super) misses: u64,
}

impl ConstantCaches {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let ([lines, of_operands], [latency, of_operand, ..]) = (spec.constant_lines, spec.constant_latency);
        Self {
            sm_cache: LruCache::new(lines, CONSTANT_CACHE_WAYS[0], latency, 1),
            of_sub: (0..subs).map(|_| LruCache::new(of_operands, CONSTANT_CACHE_WAYS[1], of_operand, 1)).collect(),
            late_results: VecDeque::new(),
            misses: 0,
        }
    }

    /// Empties the caches at the start of a kernel.
    pub(super) fn clear(&mut self) {
        self.of_sub.iter_mut().for_each(LruCache::clear);
        self.sm_cache.clear();
    }

    /// Returns the cycle in which the constant at `address` of a kernel is in a cache. The address is encoded as in `Control::constant`.
    fn arrival_of_constant(
        cache: &mut LruCache,
        kernel: u32,
        address: u32,
        now: u64,
        shared_cache: &mut CodeConstantCache,
        misses: &mut u64,
    ) -> u64 {
        let number = u64::from(kernel) << 32 | u64::from(address / CONSTANT_BYTES);
        if let Some(at) = cache.find(number) {
            return at;
        }
        *misses += 1;
        let there = shared_cache.request_constants(kernel, address / LINE_BYTES, now);
        cache.request(number, now, there)
    }

    /// Returns the cycles for which an LDC in cycle `now` waits for its lines.
    pub(super) fn load(&mut self, kernel: u32, lines: &[u32], now: u64, shared_cache: &mut CodeConstantCache) -> u64 {
        let Self { sm_cache, misses, .. } = self;
        let last = lines.iter().map(|address| Self::arrival_of_constant(sm_cache, kernel, *address, now, shared_cache, misses)).max();
        last.unwrap_or(0).saturating_sub(now)
    }

    /// Returns the cycle in which the constant operand of an instruction arrives that a sub-core looks up in cycle `now`.
    pub(super) fn operand_arrival(&mut self, sub: usize, kernel: u32, address: u32, now: u64, shared_cache: &mut CodeConstantCache) -> u64 {
        Self::arrival_of_constant(&mut self.of_sub[sub], kernel, address, now, shared_cache, &mut self.misses)
    }

    /// Schedules the write of a result in cycle `arrival_of_constant`.
    pub(super) fn write_late(&mut self, at: u64, result: Completion) {
        let place = self.late_results.partition_point(|(other, _)| *other <= at);
        self.late_results.insert(place, (at, result));
    }

    /// Removes and returns a result that is written in the cycle after `now`.
    pub(super) fn next_result(&mut self, now: u64) -> Option<Completion> {
        self.late_results.pop_front_if(|(at, _)| *at <= now + 1).map(|(_, result)| result)
    }

    /// Returns the cycle in which the next result is removed.
    pub(super) fn next_event(&self) -> u64 {
        self.late_results.front().map_or(u64::MAX, |(at, _)| at - 1)
    }

    /// Discards the pending results of `warps`.
    pub(super) fn squash(&mut self, warps: u64) {
        for (_, result) in self.late_results.iter_mut().filter(|(_, result)| is_in(warps, result.warp)) {
            (result.warp, result.dst) = (NO_WARP, NO_REGISTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> (ConstantCaches, CodeConstantCache) {
        let spec = Spec {
            constant_lines: [32, 8],
            constant_latency: [70, 79, 300, 500],
            fetch_lines: [4, 16, 64],
            fetch_latency: [10, 40, 200, 300],
            fetch_interval: [1; 3],
            ..Spec::default()
        };
        (ConstantCaches::new(&spec, 2), CodeConstantCache::new(&spec))
    }

    /// Two thousand bytes fit. With one line more, each access evicts the next line of its set.
    #[test]
    fn constants_that_fit_hit_and_others_come_from_the_next_level() {
        let (mut constants, mut shared_cache) = caches();
        let round = |constants: &mut ConstantCaches, shared_cache: &mut CodeConstantCache, lines: u32, now: u64| -> Vec<u64> {
            (0..lines).map(|line| constants.load(0, &[64 * line], now + 1000 * u64::from(line), shared_cache)).collect()
        };
        let first = round(&mut constants, &mut shared_cache, 32, 0);
        assert_eq!(first, [70; 32], "the first read of a kernel hits in the next level");
        assert_eq!(round(&mut constants, &mut shared_cache, 32, 100_000), [0; 32]);
        round(&mut constants, &mut shared_cache, 36, 200_000);
        assert_eq!(round(&mut constants, &mut shared_cache, 36, 300_000), [70; 36], "nine lines of each set, round robin");
        assert_eq!(constants.load(0, &[0, 64], 500_000, &mut shared_cache), 71, "lines arrive one by one");
        constants.clear();
        let code = (0..1024).map(|line| shared_cache.request_code(line, 600_000)).max();
        assert_eq!(constants.load(0, &[0], 700_000 + code.unwrap_or(0), &mut shared_cache), 200, "code evicted it");
    }

    #[test]
    fn first_reads_of_program_constants_have_a_long_latency() {
        let (mut constants, mut shared_cache) = caches();
        let of_program = warpshard_workload::constant_address(3, 0);
        for (now, first) in [(1000, 500), (11_000, 300)] {
            constants.clear();
            shared_cache.clear("kernel");
            assert_eq!(constants.load(0, &[of_program], now, &mut shared_cache), first);
            assert_eq!(constants.load(0, &[of_program + 64], now + 1000, &mut shared_cache), 70, "the other half of the line");
            assert_eq!(constants.load(0, &[of_program + 128], now + 2000, &mut shared_cache), first);
            constants.clear();
            assert_eq!(constants.load(0, &[of_program], now + 3000, &mut shared_cache), 70, "the next level keeps it");
        }
    }

    #[test]
    fn operand_caches_are_private_to_sub_cores() {
        let (mut constants, mut shared_cache) = caches();
        assert_eq!(constants.operand_arrival(0, 0, 0x210, 1000, &mut shared_cache), 1079);
        assert_eq!(constants.operand_arrival(0, 0, 0x230, 1500, &mut shared_cache), 1079, "in the same line");
        assert_eq!(constants.operand_arrival(1, 0, 0x210, 1500, &mut shared_cache), 1579, "another sub-core");
    }

    #[test]
    fn late_results_are_ordered_by_cycle() {
        let (mut constants, _) = caches();
        let of = |warp| Completion { warp, bank: 0, dst: 1 };
        [(50, 1), (40, 2), (50, 3)].into_iter().for_each(|(at, warp)| constants.write_late(at, of(warp)));
        constants.squash(1 << 3);
        assert_eq!(constants.next_event(), 39);
        assert!(constants.next_result(38).is_none());
        let all: Vec<u8> = std::iter::from_fn(|| constants.next_result(49)).map(|result| result.warp).collect();
        assert_eq!(all, [2, 1, NO_WARP]);
    }
}
