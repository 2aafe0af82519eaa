//! The state of the first access in the pipe of each bank of the L1: on its way to the tags, due for a look-up, or refused and
//! waiting for a change in the cache.
//!
//! A refused access is retried in every cycle and fails until the part of the cache that its reason depends on changes. So a
//! retry that must fail is counted without a look-up.
//! In: accesses that reach the front of their pipe, outcomes of look-ups, and changes in the cache. Out: the banks to
//! look up, and the number of failed retries.
//! Invariants: each bank that holds an access is in `coming`, `due` or `refused`, and in no two of them but the last two; while
//! it is in `refused` and not in `due`, looking its first access up fails.

use warpshard_base::{Addr, Cycle, LINE_BYTES, SECTORS_PER_LINE, SectorMask};
use warpshard_mem::cache::FailReason;

use super::super::core::bits;

/// What a refused access waits for. Whatever that is, a change of the tags of its own sectors may make it a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
enum Want {
    /// A line that becomes replaceable, which any change of the tags may bring about.
    Line,
    /// An answer that is taken, which makes room in the MSHR of the address.
    Answer,
    /// A free MSHR.
    Mshr,
    /// Room for one request in the miss queue: a write sends itself.
    One,
    /// Room for two: a fetch may evict besides.
    Two,
}

/// Refused accesses in a cycle, by the cause of their first refusal.
#[derive(Clone, Copy, Debug, Default, Eq, warpshard_state::State)]
pub(in crate::sm) struct Refusals {
    /// No line of the set is replaceable.
    pub(in crate::sm) line: u8,
    /// The MSHR of the address merges no more accesses.
    pub(in crate::sm) merge: u8,
    /// No MSHR is free.
    pub(in crate::sm) mshr: u8,
    /// The miss queue lacks room.
    pub(in crate::sm) queue: u8,
}

/// All at once: they are compared in every cycle of the unit.
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
    fn of(&mut self, want: Want) -> &mut u8 {
        match want {
            Want::Line => &mut self.line,
            Want::Answer => &mut self.merge,
            Want::Mshr => &mut self.mshr,
            Want::One | Want::Two => &mut self.queue,
        }
    }
}

/// The first access of a bank.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BankHead {
    /// When it reaches the tags, while it is coming.
    at: Cycle,
    /// What changes concern it, as bits of [`BankHeads::concerned`], while it is refused.
    concern: u64,
    /// The line and the sectors that it was refused, and what it waits for.
    line: Addr,
    sectors: SectorMask,
    want: Want,
    /// What it waited for when it was refused first. It is counted by that, since `want` is as of the last look-up, of which there are more or fewer.
    first: Want,
}

const _: () = assert!(size_of::<BankHead>() == 32);

/// The first accesses of all banks, as sets of banks.
#[derive(Debug, warpshard_state::State)]
pub(super) struct BankHeads {
    /// On the way to the tags, and the first cycle in which one of these reaches them.
    coming: u64,
    first: Cycle,
    /// To be looked up; those that were refused before included.
    due: u64,
    /// Refused, and how many these are by cause.
    refused: u64,
    refusals: Refusals,
    /// Refused accesses by the reason, without those that are due after another change.
    waiting: [u64; 5],
    /// A bit for each sector of a refused access, by its number; all bits if one waits for a line, none if none is
    /// refused. Changes of other sectors are ignored.
    concerned: u64,
    banks: Box<[BankHead]>,
}

impl BankHeads {
    /// Nothing in any of `banks` banks.
    ///
    /// # Panics
    /// When there are more banks than bits in a mask.
    pub(super) fn new(banks: usize) -> Self {
        assert!(banks <= 64, "an L1 of {banks} banks, at most 64 are supported");
        let front = BankHead { at: Cycle::NEVER, concern: 0, line: Addr(0), sectors: SectorMask(0), want: Want::Line, first: Want::Line };
        Self {
            coming: 0,
            first: Cycle::NEVER,
            due: 0,
            refused: 0,
            refusals: Refusals::default(),
            waiting: [0; 5],
            concerned: 0,
            banks: vec![front; banks].into(),
        }
    }

    /// Bytes of its array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.banks)
    }

    /// The banks that hold an access.
    #[inline]
    pub(super) fn occupied(&self) -> u64 {
        self.coming | self.due | self.refused
    }

    /// Failed retries in a cycle, including those with a look-up.
    #[inline]
    pub(super) fn failed_retries(&self) -> Refusals {
        self.refusals
    }

    /// The banks that remain to be looked up.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// What reaches the tags at cycle `now` is to be looked up.
    #[inline]
    pub(super) fn move_up_to(&mut self, now: Cycle) {
        if self.first <= now {
            self.arrive(now);
        }
    }

    /// The first cycle in which one has to be looked up; a cycle that passed stands for the present.
    #[inline]
    pub(super) fn next_look_up(&self) -> Cycle {
        if self.due != 0 { Cycle(0) } else { self.first }
    }

    /// The first access of a bank is from now on one that reaches the tags at cycle `at`.
    #[inline]
    pub(super) fn follow(&mut self, bank: usize, at: Cycle, now: Cycle) {
        let soon = at <= now.next();
        self.due |= u64::from(soon) << bank;
        self.coming |= u64::from(!soon) << bank;
        self.banks[bank].at = at;
        self.first = self.first.min(if soon { Cycle::NEVER } else { at });
    }

    /// Those that reach the tags now are due.
    fn arrive(&mut self, now: Cycle) {
        let mut left = self.coming;
        self.first = Cycle::NEVER;
        while left != 0 {
            let bank = left.trailing_zeros();
            left &= left - 1;
            let at = self.banks[bank as usize].at;
            // Selected without a branch: which of them arrives is unpredictable.
            let here = u64::from(at <= now) << bank;
            self.coming &= !here;
            self.due |= here;
            self.first = self.first.min(if here == 0 { at } else { Cycle::NEVER });
        }
    }

    /// The access of a bank, to `sectors` of `line`, was refused.
    #[inline]
    pub(super) fn refuse(&mut self, bank: usize, reason: FailReason, write: bool, line: Addr, sectors: SectorMask) {
        let bit = 1 << bank;
        let before = (self.refused & bit != 0).then(|| self.banks[bank].first);
        self.forget(bank, bit);
        self.refused |= bit;
        let want = match reason {
            FailReason::NoLine => Want::Line,
            FailReason::MergeFull => Want::Answer,
            FailReason::NoMshr => Want::Mshr,
            FailReason::QueueFull if write => Want::One,
            FailReason::QueueFull => Want::Two,
        };
        let first = before.unwrap_or(want);
        *self.refusals.of(first) += 1;
        self.waiting[want as usize] |= bit;
        let concern = concern(want, line, sectors);
        self.concerned |= concern;
        let front = &mut self.banks[bank];
        *front = BankHead { at: front.at, concern, line, sectors, want, first };
    }

    /// The access of a bank was taken, and its pipe is empty unless [`BankHeads::follow`] says what comes next. There is room for
    /// `free` requests in the miss queue now, and a free MSHR or none: who would lack it is not looked up.
    #[inline]
    pub(super) fn take(&mut self, bank: usize, free: usize, mshr: bool) {
        self.forget(bank, 1 << bank);
        if self.due != 0 {
            let lacking = |want: Want, lacks: bool| if lacks { self.waiting[want as usize] } else { 0 };
            self.due &= !(lacking(Want::Mshr, !mshr) | lacking(Want::Two, free < 2) | lacking(Want::One, free < 1));
        }
    }

    /// The access of a bank was looked up.
    #[inline]
    fn forget(&mut self, bank: usize, bit: u64) {
        self.due &= !bit;
        if self.refused & bit != 0 {
            self.refused &= !bit;
            let BankHead { want, first, .. } = self.banks[bank];
            *self.refusals.of(first) -= 1;
            self.waiting[want as usize] &= !bit;
            self.concerned = bits(self.refused).fold(0, |all, other| all | self.banks[other].concern);
        }
    }

    /// A request left the miss queue, which has room for `free` now.
    #[inline]
    pub(super) fn sent(&mut self, free: usize) {
        self.due |= self.waiting[Want::One as usize];
        if free >= 2 {
            self.due |= self.waiting[Want::Two as usize];
        }
    }

    /// A request whose data came was answered; there is a free MSHR or none.
    #[inline]
    pub(super) fn answered(&mut self, mshr: bool) {
        if mshr {
            self.due |= self.waiting[Want::Mshr as usize];
        }
        self.due |= std::mem::take(&mut self.waiting[Want::Answer as usize]);
    }

    /// The tags of `sectors` of `line` changed.
    #[inline]
    pub(super) fn tags_changed(&mut self, line: Addr, sectors: SectorMask) {
        if self.concerned & bits_of(line, sectors) != 0 {
            self.admit(line, sectors);
        }
    }

    /// Those that the change of the tags may help are due.
    #[inline(never)]
    fn admit(&mut self, line: Addr, sectors: SectorMask) {
        let mut freed = 0;
        for bank in bits(self.refused) {
            let front = &self.banks[bank];
            if front.want == Want::Line || front.line == line && front.sectors.0 & sectors.0 != 0 {
                freed |= 1 << bank;
            }
        }
        if freed != 0 {
            self.due |= freed;
            self.waiting.iter_mut().for_each(|banks| *banks &= !freed);
        }
    }

    /// All refused accesses are due.
    pub(super) fn admit_all(&mut self) {
        self.due |= self.refused;
        self.waiting = [0; 5];
    }
}

/// The sectors whose change may help an access that was refused these, as bits of [`BankHeads::concerned`].
#[inline]
fn concern(want: Want, line: Addr, sectors: SectorMask) -> u64 {
    if want == Want::Line { u64::MAX } else { bits_of(line, sectors) }
}

/// The bits of sectors of a line among those of 16 lines.
#[inline]
fn bits_of(line: Addr, sectors: SectorMask) -> u64 {
    u64::from(sectors.0) << (line.0 / LINE_BYTES % 16 * u64::from(SECTORS_PER_LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Cycle = Cycle(100);

    fn heads() -> BankHeads {
        let mut heads = BankHeads::new(8);
        (0..5).for_each(|bank| heads.follow(bank, NOW, NOW));
        heads.refuse(0, FailReason::NoLine, false, Addr(0x000), SectorMask(1));
        heads.refuse(1, FailReason::NoMshr, false, Addr(0x080), SectorMask(1));
        heads.refuse(2, FailReason::MergeFull, false, Addr(0x100), SectorMask(1));
        heads.refuse(3, FailReason::QueueFull, true, Addr(0x180), SectorMask(1));
        heads.refuse(4, FailReason::QueueFull, false, Addr(0x200), SectorMask(1));
        assert_eq!((heads.due(), heads.failed_retries().total()), (0, 5));
        heads
    }

    fn due_after(change: impl FnOnce(&mut BankHeads)) -> u64 {
        let mut heads = heads();
        change(&mut heads);
        heads.due()
    }

    #[test]
    fn an_access_is_due_when_it_reaches_the_tags() {
        let mut heads = BankHeads::new(4);
        heads.follow(1, Cycle(110), NOW);
        heads.follow(2, Cycle(105), NOW);
        heads.move_up_to(Cycle(104));
        assert_eq!((heads.next_look_up(), heads.due(), heads.occupied()), (Cycle(105), 0, 0b110));
        heads.move_up_to(Cycle(105));
        assert_eq!((heads.due(), heads.next_look_up()), (0b100, Cycle(0)));
        heads.take(2, 9, true);
        assert_eq!((heads.next_look_up(), heads.occupied()), (Cycle(110), 0b010));
        heads.move_up_to(Cycle(111));
        assert_eq!((heads.due(), heads.occupied()), (0b010, 0b010));
        heads.follow(3, Cycle(113), Cycle(112));
        assert_eq!(heads.due(), 0b1010, "what reaches the tags in the next cycle is looked up then");
    }

    #[test]
    fn room_in_the_miss_queue_admits_those_that_wait_for_as_much() {
        assert_eq!([1, 2, 9].map(|free| due_after(|heads| heads.sent(free))), [0b01000, 0b11000, 0b11000]);
    }

    #[test]
    fn a_free_mshr_admits_those_that_wait_for_one() {
        assert_eq!(due_after(|heads| heads.answered(true)), 0b00110);
    }

    #[test]
    fn an_answer_admits_those_that_wait_for_room_in_an_mshr() {
        assert_eq!(due_after(|heads| heads.answered(false)), 0b00100);
    }

    #[test]
    fn who_lacks_room_again_is_not_looked_up() {
        let mut heads = heads();
        heads.sent(9);
        heads.answered(true);
        assert_eq!(heads.due(), 0b11110);
        heads.take(2, 1, false);
        assert_eq!((heads.due(), heads.failed_retries().total(), heads.occupied()), (0b01000, 4, 0b11011));
        heads.answered(true);
        heads.take(3, 0, true);
        assert_eq!((heads.due(), heads.failed_retries().total()), (0b00010, 3));
    }

    #[test]
    fn a_change_of_the_tags_admits_those_without_a_line_and_those_of_the_same_sector() {
        assert_eq!(due_after(|heads| heads.tags_changed(Addr(0x200), SectorMask(0b1110))), 0b00001);
        let mut heads = heads();
        heads.tags_changed(Addr(0x200), SectorMask(1));
        assert_eq!(heads.due(), 0b10001);
        heads.take(0, 9, true);
        heads.take(4, 0, false);
        heads.tags_changed(Addr(0x200), SectorMask(1));
        assert_eq!((heads.due(), heads.failed_retries().total()), (0, 3));
    }

    #[test]
    fn the_tags_admit_whatever_else_is_lacking() {
        let mut heads = heads();
        heads.tags_changed(Addr(0x080), SectorMask(1));
        heads.take(0, 0, false);
        assert_eq!(heads.due(), 0b00010);
    }

    #[test]
    fn the_last_reason_counts() {
        let mut heads = heads();
        heads.refuse(0, FailReason::QueueFull, true, Addr(0x000), SectorMask(1));
        heads.tags_changed(Addr(0x780), SectorMask(1));
        heads.sent(1);
        assert_eq!((heads.due(), heads.failed_retries().total()), (0b01001, 5));
    }

    #[test]
    fn all_may_be_admitted_at_once() {
        let mut heads = heads();
        heads.admit_all();
        assert_eq!((heads.due(), heads.failed_retries().total()), (0b11111, 5));
    }
}
