//! Which banks' first accesses the L1 refused, and what has to change before it may accept them.
//!
//! A refused access is tried again in every cycle, and would be refused again until something changes in the cache that its
//! reason depends on. So a trial that must fail is counted without looking the access up.
//! Invariant: while a bank is in [`Refused::still`], looking up its first access fails.

use crate::base::{Addr, LINE_BYTES, SectorMask};
use crate::mem::cache::FailReason;

/// The banks whose first access was refused.
#[derive(Debug)]
pub(super) struct Refused {
    banks: u64,
    /// Until a line becomes replaceable, which any change of the tags may bring about.
    for_line: u64,
    /// Until an answer is taken, which makes room in the MSHR of the address.
    for_answer: u64,
    /// Until an MSHR is free.
    for_mshr: u64,
    /// Until the miss queue has room for one request: a write sends itself.
    for_one: u64,
    /// Until it has room for two: a fetch may evict besides.
    for_two: u64,
    /// The line and the sectors of each bank's refused access. It may become a hit whatever it waits for.
    wanted: Box<[(Addr, SectorMask)]>,
    /// A bit for each of these lines by its number, and for some of former ones: whatever else changes concerns nobody.
    lines: u64,
}

impl Refused {
    /// Nothing refused, of `banks` banks.
    ///
    /// # Panics
    /// When there are more banks than bits in a mask.
    pub(super) fn new(banks: usize) -> Self {
        assert!(banks <= 64, "an L1 of {banks} banks, at most 64 are supported");
        Self {
            banks: 0,
            for_line: 0,
            for_answer: 0,
            for_mshr: 0,
            for_one: 0,
            for_two: 0,
            wanted: vec![(Addr(0), SectorMask(0)); banks].into(),
            lines: 0,
        }
    }

    /// Bytes of its array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.wanted)
    }

    /// How many banks try again in every cycle.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        if self.banks == 0 { 0 } else { u64::from(self.banks.count_ones()) }
    }

    /// The banks noted as refused, those included for which the miss queue or the MSHRs may have got room since.
    #[inline]
    pub(super) fn banks(&self) -> u64 {
        self.banks
    }

    /// The banks that would be refused again, with room for `free` requests in the miss queue, and a free MSHR or none.
    #[inline]
    pub(super) fn still(&self, free: usize, mshr: bool) -> u64 {
        let admitted = match free {
            0 => 0,
            1 => self.for_one,
            _ => self.for_one | self.for_two,
        };
        self.banks & !(admitted | if mshr { self.for_mshr } else { 0 })
    }

    /// The access of a bank, to `sectors` of `line`, was refused.
    #[inline]
    pub(super) fn add(&mut self, bank: usize, reason: FailReason, write: bool, line: Addr, sectors: SectorMask) {
        self.remove(1 << bank);
        self.banks |= 1 << bank;
        self.wanted[bank] = (line, sectors);
        self.lines |= bit_of(line);
        let kind = match reason {
            FailReason::NoLine => &mut self.for_line,
            FailReason::MergeFull => &mut self.for_answer,
            FailReason::NoMshr => &mut self.for_mshr,
            FailReason::QueueFull if write => &mut self.for_one,
            FailReason::QueueFull => &mut self.for_two,
        };
        *kind |= 1 << bank;
    }

    /// These banks are to be looked up again.
    #[inline]
    pub(super) fn remove(&mut self, banks: u64) {
        if self.banks & banks == 0 {
            return;
        }
        self.banks &= !banks;
        self.for_line &= !banks;
        self.for_answer &= !banks;
        self.for_mshr &= !banks;
        self.for_one &= !banks;
        self.for_two &= !banks;
    }

    /// A request whose data came was answered; returns whether a bank is to be looked up again.
    #[inline]
    pub(super) fn answered(&mut self) -> bool {
        let freed = self.for_answer;
        if freed != 0 {
            self.remove(freed);
        }
        freed != 0
    }

    /// The tags of `sectors` of `line` changed; returns whether a bank is to be looked up again.
    #[inline]
    pub(super) fn tags_changed(&mut self, line: Addr, sectors: SectorMask) -> bool {
        self.banks != 0 && (self.for_line != 0 || self.lines & bit_of(line) != 0) && self.admit(line, sectors)
    }

    fn admit(&mut self, line: Addr, sectors: SectorMask) -> bool {
        let mut freed = self.for_line;
        let mut left = self.banks & !freed;
        self.lines = 0;
        while left != 0 {
            let bank = left.trailing_zeros();
            left &= left - 1;
            let (wanted, of_it) = self.wanted[bank as usize];
            self.lines |= bit_of(wanted);
            freed |= u64::from(wanted == line && of_it.0 & sectors.0 != 0) << bank;
        }
        self.remove(freed);
        freed != 0
    }
}

/// The bit of a line among 64.
#[inline]
fn bit_of(line: Addr) -> u64 {
    1 << (line.0 / LINE_BYTES % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refused {
        let mut refused = Refused::new(8);
        refused.add(0, FailReason::NoLine, false, Addr(0x000), SectorMask(1));
        refused.add(1, FailReason::NoMshr, false, Addr(0x080), SectorMask(1));
        refused.add(2, FailReason::MergeFull, false, Addr(0x100), SectorMask(1));
        refused.add(3, FailReason::QueueFull, true, Addr(0x180), SectorMask(1));
        refused.add(4, FailReason::QueueFull, false, Addr(0x200), SectorMask(1));
        refused
    }

    #[test]
    fn room_in_the_miss_queue_admits_those_that_wait_for_as_much() {
        assert_eq!([0, 1, 2, 9].map(|free| refused().still(free, false)), [0b11111, 0b10111, 0b00111, 0b00111]);
    }

    #[test]
    fn a_free_mshr_admits_those_that_wait_for_one() {
        assert_eq!(refused().still(0, true), 0b11101);
    }

    #[test]
    fn an_answer_admits_those_that_wait_for_room_in_an_mshr() {
        let mut refused = refused();
        assert!(refused.answered() && !refused.answered());
        assert_eq!(refused.still(0, false), 0b11011);
    }

    #[test]
    fn a_change_of_the_tags_admits_those_without_a_line_and_those_of_the_same_sector() {
        let mut refused = refused();
        refused.remove(1);
        assert!(!refused.tags_changed(Addr(0x200), SectorMask(0b1110)));
        refused.add(0, FailReason::NoLine, false, Addr(0x000), SectorMask(1));
        assert!(refused.tags_changed(Addr(0x200), SectorMask(1)));
        assert_eq!(refused.still(0, false), 0b01110);
        assert!(!refused.tags_changed(Addr(0x200), SectorMask(1)));
    }

    #[test]
    fn the_last_reason_counts() {
        let mut refused = refused();
        refused.add(0, FailReason::QueueFull, true, Addr(0x000), SectorMask(1));
        assert!(!refused.tags_changed(Addr(0x780), SectorMask(1)));
        assert_eq!((refused.still(1, false), refused.count()), (0b10110, 5));
    }
}
