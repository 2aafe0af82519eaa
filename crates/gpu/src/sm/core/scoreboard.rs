//! The scoreboard: registers with pending writes of issued instructions, and asynchronous copies.
//!
//! An instruction issues only when neither its sources nor its destination are reserved, so a register has at most one pending write. RZ
//! (255) is treated like other registers, as in the reference.

use warpshard_base::prefetch;
use warpshard_workload::{NO_REGISTER, StaticInst};

use super::warps::{Hazard, MAX_WARPS, bits};

/// Number of registers: 0 to 255.
const REGISTER_COUNT: u16 = 256;

/// Reserved registers of a warp, and the subset that memory instructions write; one cache line of the host.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
#[repr(align(64))]
struct ReservedRegisters {
    registers: [u64; 4],
    by_memory: [u64; 4],
}

impl ReservedRegisters {
    /// Returns the reserved registers modulo 64, in the format of [`RegisterSets::low_registers`](warpshard_workload::RegisterSets).
    #[inline]
    fn low_registers(&self) -> u64 {
        let [a, b, c, d] = self.registers;
        a | b | c | d
    }

    /// Returns true if a register above the first 64 is reserved.
    #[inline]
    fn any_high(&self) -> bool {
        let [_, b, c, d] = self.registers;
        b | c | d != 0
    }

    /// Returns the scoreboard hazards of `inst`.
    // Separate from the check of the first 64 registers, which suffices for most kernels.
    #[inline(never)]
    fn hazards_of(&self, inst: &StaticInst) -> Hazard {
        if self.low_registers() & inst.registers.named == 0 {
            return Hazard::default();
        }
        let [a, b, c, d] = inst.src;
        let meets = |set: &[u64; 4]| {
            register_bit(set, inst.dst) | register_bit(set, a) | register_bit(set, b) | register_bit(set, c) | register_bit(set, d)
        };
        Hazard { any: meets(&self.registers) & 1 != 0, memory: meets(&self.by_memory) & 1 != 0 }
    }
}

/// First number of an asynchronous result of a warp, which uses the numbers above the registers.
pub(in crate::sm) const FIRST_ASYNC_RESULT: u16 = REGISTER_COUNT;
/// The number of results without a dependence counter, after the six counters.
pub(in crate::sm) const UNCOUNTED_RESULT: u16 = 6;
/// The number of copies to shared memory.
pub(in crate::sm) const COPY_RESULT: u16 = 7;
/// The number of results that only occupy a port of the register file.
pub(in crate::sm) const PORT_ONLY_RESULT: u16 = 8;
/// Number of asynchronous results of a warp that are counted.
const FLIGHT_COUNT: usize = 8;

/// Copies to shared memory that a dependence counter counts as one.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct CopyGroup {
    warp: u8,
    counter: u8,
    remaining_copies: u16,
}

/// Reserved registers of all warps, copies to shared memory, and the dependence counters of cores with control words.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct Scoreboard {
    warps: Box<[ReservedRegisters; MAX_WARPS]>,
    counters: Box<[WarpCounters; MAX_WARPS]>,
    groups: Vec<CopyGroup>,
}

/// Counters of a warp.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct WarpCounters {
    flights: [u16; FLIGHT_COUNT],
    /// Copies that have ended since the start.
    copies_ended: u32,
    /// The maximum number of incomplete groups of copies with which a waiting warp may continue, as in `Control::copy_limit`.
    copy_limit: u16,
}

impl Scoreboard {
    pub(in crate::sm) fn new() -> Self {
        Self {
            warps: Box::new([ReservedRegisters::default(); MAX_WARPS]),
            counters: Box::new([WarpCounters::default(); MAX_WARPS]),
            groups: Vec::new(),
        }
    }

    #[inline]
    fn reserved_of(&self, warp: usize) -> &ReservedRegisters {
        &self.warps[warp % MAX_WARPS]
    }

    #[inline]
    fn of_mut(&mut self, warp: usize) -> &mut ReservedRegisters {
        &mut self.warps[warp % MAX_WARPS]
    }

    /// Prefetches the reserved registers of the warps of `live`.
    #[inline]
    pub(in crate::sm) fn prefetch(&self, live: u64) {
        for warp in bits(live) {
            prefetch(self.reserved_of(warp));
        }
    }

    /// Returns the bytes of the arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.warps)
    }

    /// Returns the scoreboard hazards of `inst` of `warp`.
    #[inline]
    pub(in crate::sm) fn hazard(&self, warp: usize, inst: &StaticInst) -> Hazard {
        let reserved = self.reserved_of(warp);
        if reserved.any_high() {
            return reserved.hazards_of(inst);
        }
        let low = inst.registers.low;
        Hazard { any: reserved.registers[0] & low != 0, memory: reserved.by_memory[0] & low != 0 }
    }

    /// Reserves the destination of an instruction that issues, if it has one.
    #[inline]
    pub(in crate::sm) fn reserve(&mut self, warp: usize, register: u16, memory: bool) {
        let reserved = self.of_mut(warp);
        debug_assert!(!contains_register(&reserved.registers, register), "R{register} of warp {warp} is reserved twice");
        let (word, bit) = word_and_bit(register);
        reserved.registers[word] |= bit;
        reserved.by_memory[word] |= if memory { bit } else { 0 };
    }

    /// Releases a register that was written.
    #[inline]
    pub(in crate::sm) fn release(&mut self, warp: usize, register: u16) {
        let (word, bit) = word_and_bit(register);
        let reserved = self.of_mut(warp);
        reserved.registers[word] &= !bit;
        reserved.by_memory[word] &= !bit;
    }

    /// Releases all registers of a warp whose outstanding instructions were squashed.
    pub(in crate::sm) fn release_all(&mut self, warp: usize) {
        *self.of_mut(warp) = ReservedRegisters::default();
        self.counters[warp].flights = [0; FLIGHT_COUNT];
        self.groups.retain(|group| usize::from(group.warp) != warp);
    }

    /// Returns true if no register of the warp is reserved and all its counters are zero.
    #[inline]
    pub(in crate::sm) fn is_clear(&self, warp: usize) -> bool {
        self.reserved_of(warp).low_registers() == 0 && self.counters[warp % MAX_WARPS].flights == [0; FLIGHT_COUNT]
    }

    /// Returns the counters of a warp.
    #[inline]
    pub(in crate::sm) fn flight_counts(&self, warp: usize) -> &[u16; FLIGHT_COUNT] {
        &self.counters[warp % MAX_WARPS].flights
    }

    /// Returns true if the copies for which a warp waits are complete.
    pub(in crate::sm) fn copies_are_over(&self, warp: usize) -> bool {
        let WarpCounters { flights, copy_limit: at_most, .. } = &self.counters[warp];
        flights.get(usize::from(at_most & 7)).is_none_or(|count| *count <= at_most >> 3)
    }

    /// Makes a warp wait for groups of copies, `at_most` as in [`Control::copy_limit`](warpshard_workload::Control::at_most); returns true if
    /// they are complete.
    pub(in crate::sm) fn wait_for_copies(&mut self, warp: usize, at_most: u16) -> bool {
        self.counters[warp].copy_limit = at_most;
        self.copies_are_over(warp)
    }

    /// Begins an asynchronous result of a warp.
    pub(in crate::sm) fn begin_flight(&mut self, warp: usize, flight: u16) {
        let count = &mut self.counters[warp].flights[usize::from(flight)];
        debug_assert!(*count < u16::MAX, "flight {flight} of warp {warp} overflows");
        *count += 1;
    }

    /// Makes the outstanding copies of a warp a group for which a counter, already incremented, waits; returns true if there are any.
    pub(in crate::sm) fn begin_group(&mut self, warp: usize, counter: u8) -> bool {
        let left = self.counters[warp].flights[usize::from(COPY_RESULT)];
        if left > 0 {
            self.groups.push(CopyGroup { warp: warp as u8, counter, remaining_copies: left });
        }
        left > 0
    }

    /// Makes the outstanding copies of a warp, if there are any, a group that a counter counts.
    pub(in crate::sm) fn count_group(&mut self, warp: usize, counter: u8) {
        if self.begin_group(warp, counter) {
            self.begin_flight(warp, counter.into());
        }
    }

    /// Returns the ended and the outstanding copies of a warp.
    pub(in crate::sm) fn copy_counts(&self, warp: usize) -> (u32, u32) {
        let WarpCounters { flights, copies_ended, .. } = &self.counters[warp];
        (*copies_ended, flights[usize::from(COPY_RESULT)].into())
    }

    /// Ends an asynchronous result of a warp; the last copy of a group also decrements the counter of the group.
    pub(in crate::sm) fn end_flight(&mut self, warp: usize, flight: u16) {
        let WarpCounters { flights, copies_ended, .. } = &mut self.counters[warp];
        flights[usize::from(flight)] = flights[usize::from(flight)].saturating_sub(1);
        if flight == COPY_RESULT {
            *copies_ended = copies_ended.wrapping_add(1);
            for group in self.groups.iter_mut().filter(|group| usize::from(group.warp) == warp) {
                group.remaining_copies -= 1;
                flights[usize::from(group.counter)] -= u16::from(group.remaining_copies == 0);
            }
            self.groups.retain(|group| group.remaining_copies > 0);
        }
    }

    /// Returns the reserved registers of a warp in ascending order.
    pub(in crate::sm) fn registers(&self, warp: usize) -> impl Iterator<Item = u16> {
        let set = self.reserved_of(warp).registers;
        (0..REGISTER_COUNT).filter(move |register| contains_register(&set, *register))
    }
}

/// Returns the word and the bit of a register in a set; the bit is zero for `NO_REGISTER`.
#[inline]
fn word_and_bit(register: u16) -> (usize, u64) {
    debug_assert!(register < REGISTER_COUNT || register == NO_REGISTER, "R{register} is not a register");
    (usize::from(register >> 6) & 3, u64::from(register < REGISTER_COUNT) << (register & 63))
}

fn contains_register(set: &[u64; 4], register: u16) -> bool {
    register_bit(set, register) & 1 != 0
}

/// Returns the bit of the register in the set, as the lowest bit; zero for `NO_REGISTER`.
#[inline]
fn register_bit(set: &[u64; 4], register: u16) -> u64 {
    set[usize::from(register >> 6) & 3] >> (register & 63) & u64::from(register < REGISTER_COUNT)
}
