//! The state of the first access in the pipe of each bank of the L1: travelling to the tags, due for a look-up, or refused and waiting for
//! a change in the cache.
//!
//! A refused access is retried in every cycle and fails until the part of the cache changes on which its reason depends. A retry that must
//! fail is therefore counted without a look-up.
//! In: accesses that reach the front of their pipe, outcomes of look-ups, and changes in the cache. Out: the banks to look up, and the
//! number of failed retries.
//! Invariants: each bank that holds an access is in `coming`, `due` or `refused`; the only overlap is between `due` and `refused`. While a
//! bank is in `refused` and not in `due`, a look-up of its first access fails.

use warpshard_base::{Addr, Cycle, LINE_BYTES, SECTORS_PER_LINE, SectorMask};
use warpshard_mem::cache::FailReason;

use super::super::core::bits;

/// Conditions for which a refused access waits. In each case a change of the tags of its sectors may make it a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
enum RetryCondition {
    /// An evictable line; any change of the tags may provide one.
    Line,
    /// A delivered reply, which frees an entry in the MSHR of the address.
    Reply,
    /// A free MSHR.
    Mshr,
    /// A free entry in the miss queue, for the request of a write.
    QueueEntry,
    /// Two free entries in the miss queue: a fetch may also evict.
    TwoQueueEntries,
}

/// Refused accesses in a cycle, by the cause of their first refusal.
#[derive(Clone, Copy, Debug, Default, Eq, warpshard_state::State)]
pub(in crate::sm) struct Refusals {
    /// Refusals because no line of the set is evictable.
    pub(in crate::sm) line: u8,
    /// Refusals because the MSHR of the address merges no more accesses.
    pub(in crate::sm) merge: u8,
    /// Refusals because no MSHR is free.
    pub(in crate::sm) mshr: u8,
    /// Refusals because the miss queue is full.
    pub(in crate::sm) queue: u8,
}

/// Compares all fields at the same time, since the unit compares refusals in every cycle.
impl PartialEq for Refusals {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let word = |of: &Self| u32::from_ne_bytes([of.line, of.merge, of.mshr, of.queue]);
        word(self) == word(other)
    }
}

impl Refusals {
    #[inline]
    pub(in crate::sm) fn total(self) -> u8 {
        self.line + self.merge + self.mshr + self.queue
    }

    #[inline]
    fn counter_of(&mut self, wait: RetryCondition) -> &mut u8 {
        match wait {
            RetryCondition::Line => &mut self.line,
            RetryCondition::Reply => &mut self.merge,
            RetryCondition::Mshr => &mut self.mshr,
            RetryCondition::QueueEntry | RetryCondition::TwoQueueEntries => &mut self.queue,
        }
    }
}

/// The first access of a bank.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BankHead {
    /// The cycle in which the access reaches the tags, while it is in `coming`.
    at: Cycle,
    /// Sectors whose changes concern the refused access, as bits of [`BankHeads::watched_sectors`].
    watched: u64,
    /// The line of the refused access.
    line: Addr,
    /// The sectors of the refused access.
    sectors: SectorMask,
    /// The condition for which the refused access waits.
    wait: RetryCondition,
    /// The condition of the first refusal, by which the access is counted. `wait` reflects the last look-up, and the number of look-ups
    /// varies.
    first: RetryCondition,
}

const _: () = assert!(size_of::<BankHead>() == 32);

/// The first accesses of all banks, as sets of banks.
#[derive(Debug, warpshard_state::State)]
pub(super) struct BankHeads {
    /// Banks whose first access travels to the tags.
    coming: u64,
    /// The first cycle in which an access of `coming` reaches the tags.
    first: Cycle,
    /// Banks to look up, including refused ones.
    due: u64,
    /// Banks with a refused access.
    refused: u64,
    /// The number of refused accesses by cause.
    refusals: Refusals,
    /// Refused banks by condition, without the banks that are due after another change.
    waiting: [u64; 5],
    /// A bit for each sector of a refused access, by sector number: all bits if an access waits for a line, none if no access is refused.
    /// Changes of other sectors are ignored.
    watched_sectors: u64,
    banks: Box<[BankHead]>,
}

impl BankHeads {
    /// Creates the state of `banks` empty banks.
    ///
    /// # Panics
    /// If there are more banks than bits in a mask.
    pub(super) fn new(banks: usize) -> Self {
        assert!(banks <= 64, "an L1 of {banks} banks, at most 64 are supported");
        let front = BankHead {
            at: Cycle::NEVER,
            watched: 0,
            line: Addr(0),
            sectors: SectorMask(0),
            wait: RetryCondition::Line,
            first: RetryCondition::Line,
        };
        Self {
            coming: 0,
            first: Cycle::NEVER,
            due: 0,
            refused: 0,
            refusals: Refusals::default(),
            waiting: [0; 5],
            watched_sectors: 0,
            banks: vec![front; banks].into(),
        }
    }

    /// Returns the bytes of the array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.banks)
    }

    /// Returns the banks that hold an access.
    #[inline]
    pub(super) fn occupied_banks(&self) -> u64 {
        self.coming | self.due | self.refused
    }

    /// Returns the failed retries in a cycle, including retries with a look-up.
    #[inline]
    pub(super) fn failed_retries(&self) -> Refusals {
        self.refusals
    }

    /// Returns the banks that remain to be looked up.
    #[inline]
    pub(super) fn due_banks(&self) -> u64 {
        self.due
    }

    /// Makes accesses that reach the tags at cycle `now` due.
    #[inline]
    pub(super) fn move_up_to(&mut self, now: Cycle) {
        if self.first <= now {
            self.make_due(now);
        }
    }

    /// Returns the first cycle in which a bank has to be looked up; a past cycle means the present.
    #[inline]
    pub(super) fn next_look_up(&self) -> Cycle {
        if self.due != 0 { Cycle(0) } else { self.first }
    }

    /// Sets the first access of a bank to one that reaches the tags at cycle `at`.
    #[inline]
    pub(super) fn set_first(&mut self, bank: usize, at: Cycle, now: Cycle) {
        let soon = at <= now.next();
        self.due |= u64::from(soon) << bank;
        self.coming |= u64::from(!soon) << bank;
        self.banks[bank].at = at;
        self.first = self.first.min(if soon { Cycle::NEVER } else { at });
    }

    /// Makes accesses that reach the tags in this cycle due.
    fn make_due(&mut self, now: Cycle) {
        let mut left = self.coming;
        self.first = Cycle::NEVER;
        while left != 0 {
            let bank = left.trailing_zeros();
            left &= left - 1;
            let at = self.banks[bank as usize].at;
            // The selection has no branch, because arrivals are unpredictable.
            let here = u64::from(at <= now) << bank;
            self.coming &= !here;
            self.due |= here;
            self.first = self.first.min(if here == 0 { at } else { Cycle::NEVER });
        }
    }

    /// Records that the access of a bank, to `sectors` of `line`, was refused.
    #[inline]
    pub(super) fn refuse(&mut self, bank: usize, reason: FailReason, write: bool, line: Addr, sectors: SectorMask) {
        let bit = 1 << bank;
        let before = (self.refused & bit != 0).then(|| self.banks[bank].first);
        self.clear(bank, bit);
        self.refused |= bit;
        let wait = match reason {
            FailReason::NoLine => RetryCondition::Line,
            FailReason::MergeFull => RetryCondition::Reply,
            FailReason::NoMshr => RetryCondition::Mshr,
            FailReason::QueueFull if write => RetryCondition::QueueEntry,
            FailReason::QueueFull => RetryCondition::TwoQueueEntries,
        };
        let first = before.unwrap_or(wait);
        *self.refusals.counter_of(first) += 1;
        self.waiting[wait as usize] |= bit;
        let watched = watched_bits(wait, line, sectors);
        self.watched_sectors |= watched;
        let front = &mut self.banks[bank];
        *front = BankHead { at: front.at, watched, line, sectors, wait, first };
    }

    /// Records that the access of a bank was accepted. Its pipe is empty unless [`BankHeads::set_first`] sets the next access. The miss queue
    /// has `free` free entries, and `mshr` is true if an MSHR is free: accesses that would lack either are not looked up.
    #[inline]
    pub(super) fn access_accepted(&mut self, bank: usize, free: usize, mshr: bool) {
        self.clear(bank, 1 << bank);
        if self.due != 0 {
            let lacking = |wait: RetryCondition, lacks: bool| if lacks { self.waiting[wait as usize] } else { 0 };
            self.due &= !(lacking(RetryCondition::Mshr, !mshr)
                | lacking(RetryCondition::TwoQueueEntries, free < 2)
                | lacking(RetryCondition::QueueEntry, free < 1));
        }
    }

    /// Clears the access of a bank after its look-up.
    #[inline]
    fn clear(&mut self, bank: usize, bit: u64) {
        self.due &= !bit;
        if self.refused & bit != 0 {
            self.refused &= !bit;
            let BankHead { wait, first, .. } = self.banks[bank];
            *self.refusals.counter_of(first) -= 1;
            self.waiting[wait as usize] &= !bit;
            self.watched_sectors = bits(self.refused).fold(0, |all, other| all | self.banks[other].watched);
        }
    }

    /// Records that a request left the miss queue, which has `free` free entries.
    #[inline]
    pub(super) fn request_sent(&mut self, free: usize) {
        self.due |= self.waiting[RetryCondition::QueueEntry as usize];
        if free >= 2 {
            self.due |= self.waiting[RetryCondition::TwoQueueEntries as usize];
        }
    }

    /// Records that a request whose data arrived was completed; `mshr` is true if an MSHR is free.
    #[inline]
    pub(super) fn reply_delivered(&mut self, mshr: bool) {
        if mshr {
            self.due |= self.waiting[RetryCondition::Mshr as usize];
        }
        self.due |= std::mem::take(&mut self.waiting[RetryCondition::Reply as usize]);
    }

    /// Records a change of the tags of `sectors` of `line`.
    #[inline]
    pub(super) fn tags_changed(&mut self, line: Addr, sectors: SectorMask) {
        if self.watched_sectors & bits_of(line, sectors) != 0 {
            self.retry_affected(line, sectors);
        }
    }

    /// Makes refused accesses due that the change of the tags may help.
    #[inline(never)]
    fn retry_affected(&mut self, line: Addr, sectors: SectorMask) {
        let mut freed = 0;
        for bank in bits(self.refused) {
            let front = &self.banks[bank];
            if front.wait == RetryCondition::Line || front.line == line && front.sectors.0 & sectors.0 != 0 {
                freed |= 1 << bank;
            }
        }
        if freed != 0 {
            self.due |= freed;
            self.waiting.iter_mut().for_each(|banks| *banks &= !freed);
        }
    }

    /// Makes all refused accesses due.
    pub(super) fn retry_all(&mut self) {
        self.due |= self.refused;
        self.waiting = [0; 5];
    }
}

/// Returns the sectors whose change may help an access that was refused `sectors` of `line`, as bits of [`BankHeads::watched_sectors`].
#[inline]
fn watched_bits(wait: RetryCondition, line: Addr, sectors: SectorMask) -> u64 {
    if wait == RetryCondition::Line { u64::MAX } else { bits_of(line, sectors) }
}

/// Returns the bits of sectors of a line; 16 lines share the bits.
#[inline]
fn bits_of(line: Addr, sectors: SectorMask) -> u64 {
    u64::from(sectors.0) << (line.0 / LINE_BYTES % 16 * u64::from(SECTORS_PER_LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Cycle = Cycle(100);

    fn bank_heads_with_access() -> BankHeads {
        let mut heads = BankHeads::new(8);
        (0..5).for_each(|bank| heads.set_first(bank, NOW, NOW));
        heads.refuse(0, FailReason::NoLine, false, Addr(0x000), SectorMask(1));
        heads.refuse(1, FailReason::NoMshr, false, Addr(0x080), SectorMask(1));
        heads.refuse(2, FailReason::MergeFull, false, Addr(0x100), SectorMask(1));
        heads.refuse(3, FailReason::QueueFull, true, Addr(0x180), SectorMask(1));
        heads.refuse(4, FailReason::QueueFull, false, Addr(0x200), SectorMask(1));
        assert_eq!((heads.due_banks(), heads.failed_retries().total()), (0, 5));
        heads
    }

    fn due_after(change: impl FnOnce(&mut BankHeads)) -> u64 {
        let mut heads = bank_heads_with_access();
        change(&mut heads);
        heads.due_banks()
    }

    #[test]
    fn an_access_is_due_when_it_reaches_the_tags() {
        let mut heads = BankHeads::new(4);
        heads.set_first(1, Cycle(110), NOW);
        heads.set_first(2, Cycle(105), NOW);
        heads.move_up_to(Cycle(104));
        assert_eq!((heads.next_look_up(), heads.due_banks(), heads.occupied_banks()), (Cycle(105), 0, 0b110));
        heads.move_up_to(Cycle(105));
        assert_eq!((heads.due_banks(), heads.next_look_up()), (0b100, Cycle(0)));
        heads.access_accepted(2, 9, true);
        assert_eq!((heads.next_look_up(), heads.occupied_banks()), (Cycle(110), 0b010));
        heads.move_up_to(Cycle(111));
        assert_eq!((heads.due_banks(), heads.occupied_banks()), (0b010, 0b010));
        heads.set_first(3, Cycle(113), Cycle(112));
        assert_eq!(heads.due_banks(), 0b1010, "an access that reaches the tags in the next cycle is due");
    }

    #[test]
    fn free_miss_queue_entries_retry_accesses_that_need_as_many() {
        assert_eq!([1, 2, 9].map(|free| due_after(|heads| heads.request_sent(free))), [0b01000, 0b11000, 0b11000]);
    }

    #[test]
    fn a_free_mshr_retries_accesses_that_need_one() {
        assert_eq!(due_after(|heads| heads.reply_delivered(true)), 0b00110);
    }

    #[test]
    fn a_reply_retries_accesses_that_wait_for_a_merge() {
        assert_eq!(due_after(|heads| heads.reply_delivered(false)), 0b00100);
    }

    #[test]
    fn accesses_that_would_fail_again_are_not_looked_up() {
        let mut heads = bank_heads_with_access();
        heads.request_sent(9);
        heads.reply_delivered(true);
        assert_eq!(heads.due_banks(), 0b11110);
        heads.access_accepted(2, 1, false);
        assert_eq!((heads.due_banks(), heads.failed_retries().total(), heads.occupied_banks()), (0b01000, 4, 0b11011));
        heads.reply_delivered(true);
        heads.access_accepted(3, 0, true);
        assert_eq!((heads.due_banks(), heads.failed_retries().total()), (0b00010, 3));
    }

    #[test]
    fn a_tag_change_retries_accesses_without_a_line_and_of_the_same_sector() {
        assert_eq!(due_after(|heads| heads.tags_changed(Addr(0x200), SectorMask(0b1110))), 0b00001);
        let mut heads = bank_heads_with_access();
        heads.tags_changed(Addr(0x200), SectorMask(1));
        assert_eq!(heads.due_banks(), 0b10001);
        heads.access_accepted(0, 9, true);
        heads.access_accepted(4, 0, false);
        heads.tags_changed(Addr(0x200), SectorMask(1));
        assert_eq!((heads.due_banks(), heads.failed_retries().total()), (0, 3));
    }

    #[test]
    fn a_tag_change_retries_accesses_with_any_wait() {
        let mut heads = bank_heads_with_access();
        heads.tags_changed(Addr(0x080), SectorMask(1));
        heads.access_accepted(0, 0, false);
        assert_eq!(heads.due_banks(), 0b00010);
    }

    #[test]
    fn the_last_refusal_determines_the_wait() {
        let mut heads = bank_heads_with_access();
        heads.refuse(0, FailReason::QueueFull, true, Addr(0x000), SectorMask(1));
        heads.tags_changed(Addr(0x780), SectorMask(1));
        heads.request_sent(1);
        assert_eq!((heads.due_banks(), heads.failed_retries().total()), (0b01001, 5));
    }

    #[test]
    fn retry_all_makes_all_refused_accesses_due() {
        let mut heads = bank_heads_with_access();
        heads.retry_all();
        assert_eq!((heads.due_banks(), heads.failed_retries().total()), (0b11111, 5));
    }
}
