//! The scoreboard: registers with pending writes of issued instructions, and asynchronous copies.
//!
//! An instruction issues only when neither its sources nor its destination are reserved, so a register has at most one pending write. RZ
//! (255) is treated like other registers, as in the reference.

use warpshard_base::prefetch;
use warpshard_workload::{NO_REGISTER, StaticInst};

use super::warps::{Hazard, MAX_WARPS, bits};

/// Number of registers: 0 to 255.
const REGISTERS: u16 = 256;

/// Reserved registers of a warp, and the subset that memory instructions write; one cache line of the host.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
#[repr(align(64))]
struct Reserved {
    all: [u64; 4],
    by_memory: [u64; 4],
}

impl Reserved {
    /// Returns the reserved registers modulo 64, in the format of [`RegisterSets::low_registers`](warpshard_workload::RegisterSets).
    #[inline]
    fn low_registers(&self) -> u64 {
        let [a, b, c, d] = self.all;
        a | b | c | d
    }

    /// Returns true if a register above the first 64 is reserved.
    #[inline]
    fn any_high(&self) -> bool {
        let [_, b, c, d] = self.all;
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
        let meets = |set: &[u64; 4]| bit(set, inst.dst) | bit(set, a) | bit(set, b) | bit(set, c) | bit(set, d);
        Hazard { any: meets(&self.all) & 1 != 0, memory: meets(&self.by_memory) & 1 != 0 }
    }
}

/// First number of an asynchronous result of a warp, which uses the numbers above the registers.
pub(in crate::sm) const COUNTERS: u16 = REGISTERS;
/// The number of results without a dependence counter, after the six counters.
pub(in crate::sm) const ANONYMOUS: u16 = 6;
/// The number of copies to shared memory.
pub(in crate::sm) const COPIES: u16 = 7;
/// The number of results that only occupy a port of the register file.
pub(in crate::sm) const PORT_ONLY: u16 = 8;
/// Number of asynchronous results of a warp that are counted.
const FLIGHTS: usize = 8;

/// Copies to shared memory that a dependence counter counts as one.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Group {
    warp: u8,
    counter: u8,
    left: u16,
}

/// Reserved registers of all warps, copies to shared memory, and the dependence counters of cores with control words.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct Scoreboard {
    warps: Box<[Reserved; MAX_WARPS]>,
    counted: Box<[WarpCounters; MAX_WARPS]>,
    groups: Vec<Group>,
}

/// Counters of a warp.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct WarpCounters {
    flights: [u16; FLIGHTS],
    /// Copies that have ended since the start.
    copies_ended: u32,
    /// The maximum number of incomplete groups of copies with which a waiting warp may continue, as in `Control::at_most`.
    at_most: u16,
}

impl Scoreboard {
    pub(in crate::sm) fn new() -> Self {
        Self {
            warps: Box::new([Reserved::default(); MAX_WARPS]),
            counted: Box::new([WarpCounters::default(); MAX_WARPS]),
            groups: Vec::new(),
        }
    }

    #[inline]
    fn of(&self, warp: usize) -> &Reserved {
        &self.warps[warp % MAX_WARPS]
    }

    #[inline]
    fn of_mut(&mut self, warp: usize) -> &mut Reserved {
        &mut self.warps[warp % MAX_WARPS]
    }

    /// Prefetches the reserved registers of the warps of `live`.
    #[inline]
    pub(in crate::sm) fn prefetch(&self, live: u64) {
        for warp in bits(live) {
            prefetch(self.of(warp));
        }
    }

    /// Returns the bytes of the arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.warps)
    }

    /// Returns the scoreboard hazards of `inst` of `warp`.
    #[inline]
    pub(in crate::sm) fn hazard(&self, warp: usize, inst: &StaticInst) -> Hazard {
        let reserved = self.of(warp);
        if reserved.any_high() {
            return reserved.hazards_of(inst);
        }
        let low = inst.registers.low;
        Hazard { any: reserved.all[0] & low != 0, memory: reserved.by_memory[0] & low != 0 }
    }

    /// Reserves the destination of an instruction that issues, if it has one.
    #[inline]
    pub(in crate::sm) fn reserve(&mut self, warp: usize, register: u16, memory: bool) {
        let reserved = self.of_mut(warp);
        debug_assert!(!has(&reserved.all, register), "R{register} of warp {warp} is reserved twice");
        let (word, bit) = word_and_bit(register);
        reserved.all[word] |= bit;
        reserved.by_memory[word] |= if memory { bit } else { 0 };
    }

    /// Releases a register that was written.
    #[inline]
    pub(in crate::sm) fn release(&mut self, warp: usize, register: u16) {
        let (word, bit) = word_and_bit(register);
        let reserved = self.of_mut(warp);
        reserved.all[word] &= !bit;
        reserved.by_memory[word] &= !bit;
    }

    /// Releases all registers of a warp whose outstanding instructions were squashed.
    pub(in crate::sm) fn release_all(&mut self, warp: usize) {
        *self.of_mut(warp) = Reserved::default();
        self.counted[warp].flights = [0; FLIGHTS];
        self.groups.retain(|group| usize::from(group.warp) != warp);
    }

    /// Returns true if no register of the warp is reserved and all its counters are zero.
    #[inline]
    pub(in crate::sm) fn is_clear(&self, warp: usize) -> bool {
        self.of(warp).low_registers() == 0 && self.counted[warp % MAX_WARPS].flights == [0; FLIGHTS]
    }

    /// Returns the counters of a warp.
    #[inline]
    pub(in crate::sm) fn flights(&self, warp: usize) -> &[u16; FLIGHTS] {
        &self.counted[warp % MAX_WARPS].flights
    }

    /// Returns true if the copies for which a warp waits are complete.
    pub(in crate::sm) fn copies_are_over(&self, warp: usize) -> bool {
        let WarpCounters { flights, at_most, .. } = &self.counted[warp];
        flights.get(usize::from(at_most & 7)).is_none_or(|count| *count <= at_most >> 3)
    }

    /// Makes a warp wait for groups of copies, `at_most` as in [`Control::at_most`](warpshard_workload::Control::at_most); returns true if
    /// they are complete.
    pub(in crate::sm) fn wait_for_copies(&mut self, warp: usize, at_most: u16) -> bool {
        self.counted[warp].at_most = at_most;
        self.copies_are_over(warp)
    }

    /// Begins an asynchronous result of a warp.
    pub(in crate::sm) fn begin_flight(&mut self, warp: usize, flight: u16) {
        let count = &mut self.counted[warp].flights[usize::from(flight)];
        debug_assert!(*count < u16::MAX, "flight {flight} of warp {warp} overflows");
        *count += 1;
    }

    /// Makes the outstanding copies of a warp a group for which a counter, already incremented, waits; returns true if there are any.
    pub(in crate::sm) fn begin_group(&mut self, warp: usize, counter: u8) -> bool {
        let left = self.counted[warp].flights[usize::from(COPIES)];
        if left > 0 {
            self.groups.push(Group { warp: warp as u8, counter, left });
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
    pub(in crate::sm) fn copies(&self, warp: usize) -> (u32, u32) {
        let WarpCounters { flights, copies_ended, .. } = &self.counted[warp];
        (*copies_ended, flights[usize::from(COPIES)].into())
    }

    /// Ends an asynchronous result of a warp; the last copy of a group also decrements the counter of the group.
    pub(in crate::sm) fn end_flight(&mut self, warp: usize, flight: u16) {
        let WarpCounters { flights, copies_ended, .. } = &mut self.counted[warp];
        flights[usize::from(flight)] = flights[usize::from(flight)].saturating_sub(1);
        if flight == COPIES {
            *copies_ended = copies_ended.wrapping_add(1);
            for group in self.groups.iter_mut().filter(|group| usize::from(group.warp) == warp) {
                group.left -= 1;
                flights[usize::from(group.counter)] -= u16::from(group.left == 0);
            }
            self.groups.retain(|group| group.left > 0);
        }
    }

    /// Returns the reserved registers of a warp in ascending order.
    pub(in crate::sm) fn registers(&self, warp: usize) -> impl Iterator<Item = u16> {
        let set = self.of(warp).all;
        (0..REGISTERS).filter(move |register| has(&set, *register))
    }
}

/// Returns the word and the bit of a register in a set; the bit is zero for `NO_REGISTER`.
#[inline]
fn word_and_bit(register: u16) -> (usize, u64) {
    debug_assert!(register < REGISTERS || register == NO_REGISTER, "R{register} is not a register");
    (usize::from(register >> 6) & 3, u64::from(register < REGISTERS) << (register & 63))
}

fn has(set: &[u64; 4], register: u16) -> bool {
    bit(set, register) & 1 != 0
}

/// Returns the bit of the register in the set, as the lowest bit; zero for `NO_REGISTER`.
#[inline]
fn bit(set: &[u64; 4], register: u16) -> u64 {
    set[usize::from(register >> 6) & 3] >> (register & 63) & u64::from(register < REGISTERS)
}
