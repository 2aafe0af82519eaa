//! The states of a line's sectors, and how accesses, writes and data change them.

use super::Lookup;

/// The states of a line's sectors in one word, so that a change of several is one write.
///
/// Of each kind of state it has a field of four bits, one per sector. A sector is in at most one of reserved, valid and modified; in
/// none of them it is invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Sectors(u32);

/// Bits of a field.
const FIELD: u32 = 0xf;
/// Waits for data.
const RESERVED: u32 = 0;
const VALID: u32 = 4;
const MODIFIED: u32 = 8;
/// Modified, but not all of it is known: a read must fetch.
const UNREADABLE: u32 = 12;
/// Becomes modified when its data comes.
const MODIFIED_ON_FILL: u32 = 16;
/// Becomes readable when its data comes.
const READABLE_ON_FILL: u32 = 20;
/// Modified, and the bytes written are in the byte masks; otherwise all of it is dirty.
const PARTIAL: u32 = 24;

/// What a line has of which something was written, or will be when data comes.
const WRITTEN: u32 = FIELD << MODIFIED | FIELD << UNREADABLE | FIELD << MODIFIED_ON_FILL | FIELD << READABLE_ON_FILL;

impl Sectors {
    /// Sectors that wait for data, the others invalid.
    #[inline]
    pub(super) fn waiting(mask: u8) -> Self {
        Self(u32::from(mask) << RESERVED)
    }

    /// Whether a sector is not invalid.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 & (FIELD << RESERVED | FIELD << VALID | FIELD << MODIFIED) != 0
    }

    /// Whether a sector waits for data.
    #[inline]
    pub(super) fn is_reserved(self) -> bool {
        self.0 & FIELD << RESERVED != 0
    }

    /// Whether a sector is modified.
    #[inline]
    pub(super) fn is_modified(self) -> bool {
        self.0 & FIELD << MODIFIED != 0
    }

    /// Whether something of a sector is written, or will be when its data comes; modified ones are.
    #[inline]
    pub(super) fn is_written(self) -> bool {
        self.0 & WRITTEN != 0
    }

    /// The modified sectors.
    pub(super) fn modified(self) -> u8 {
        (self.0 >> MODIFIED & FIELD) as u8
    }

    /// Those among them of which the byte masks tell what was written.
    pub(super) fn partial(self) -> u8 {
        (self.0 >> PARTIAL & FIELD) as u8
    }

    /// What is there of the sectors of `mask`.
    #[inline(always)]
    pub(super) fn look_at(self, mask: u8, write: bool) -> Lookup {
        let has = |field: u32| self.0 & u32::from(mask) << field != 0;
        if has(RESERVED) {
            Lookup::HitReserved
        } else if has(VALID) || has(MODIFIED) && (write || !has(UNREADABLE)) {
            Lookup::Hit
        } else {
            Lookup::SectorMiss
        }
    }

    #[inline]
    fn add(&mut self, mask: u32, field: u32) {
        self.0 |= mask << field;
    }

    #[inline]
    fn remove(&mut self, mask: u32, field: u32) {
        self.0 &= !(mask << field);
    }

    /// The sectors of `mask` in a field.
    #[inline]
    fn of(self, mask: u32, field: u32) -> u32 {
        self.0 >> field & mask
    }

    /// Sectors wait for data from now on.
    #[inline(always)]
    pub(super) fn reserve(&mut self, mask: u8) {
        let mask = u32::from(mask);
        if self.is_written() {
            // A partly written sector stays so when the rest of it comes.
            let modified = self.of(mask, MODIFIED);
            self.remove(mask, MODIFIED_ON_FILL);
            self.remove(mask, READABLE_ON_FILL);
            self.add(modified, MODIFIED_ON_FILL);
            self.remove(mask, MODIFIED);
            self.remove(mask, UNREADABLE);
        }
        self.remove(mask, VALID);
        self.add(mask, RESERVED);
    }

    /// The data of sectors came.
    #[inline(always)]
    pub(super) fn complete(&mut self, mask: u8) {
        let mask = u32::from(mask);
        self.remove(mask, RESERVED);
        if !self.is_written() {
            self.add(mask, VALID);
            return;
        }
        let (modified, readable) = (self.of(mask, MODIFIED_ON_FILL), self.of(mask, READABLE_ON_FILL));
        self.remove(mask, MODIFIED);
        self.add(modified, MODIFIED);
        self.remove(mask, VALID);
        self.add(mask & !modified, VALID);
        self.remove(readable, UNREADABLE);
        self.remove(mask, MODIFIED_ON_FILL);
        self.remove(mask, READABLE_ON_FILL);
    }

    /// Sectors are written as a whole.
    #[inline]
    pub(super) fn write_whole(&mut self, mask: u8) {
        let mask = u32::from(mask);
        self.modify(mask);
        self.remove(mask, PARTIAL);
        self.remove(mask, UNREADABLE);
    }

    /// `bytes` of one sector are written; `written` is where what was written of it is kept.
    pub(super) fn write_part(&mut self, mask: u8, bytes: u32, written: &mut u32) {
        let mask = u32::from(mask);
        let fresh = mask & !self.of(mask, MODIFIED);
        self.modify(mask);
        if fresh != 0 && self.of(fresh, MODIFIED_ON_FILL) == 0 {
            self.add(fresh, PARTIAL);
            *written = bytes;
        } else if self.of(mask, PARTIAL) != 0 {
            *written |= bytes;
        }
        if self.of(mask, PARTIAL) != 0 && *written == u32::MAX {
            self.remove(mask, PARTIAL);
            self.remove(mask, UNREADABLE);
        }
    }

    #[inline]
    fn modify(&mut self, mask: u32) {
        self.remove(mask, RESERVED);
        self.remove(mask, VALID);
        self.add(mask, MODIFIED);
    }

    /// After a write into absent or reserved sectors: their other bytes are unknown, unless the write covered all. With
    /// `pending`, the outstanding fetch will fill them and leave the sectors modified.
    pub(super) fn write_missed(&mut self, mask: u8, pending: bool) {
        let mask = u32::from(mask);
        let unknown = self.of(mask, PARTIAL);
        self.add(unknown, UNREADABLE);
        if pending {
            self.add(mask, MODIFIED_ON_FILL);
            self.add(unknown, READABLE_ON_FILL);
        }
    }

    /// `bytes` are written into a reserved sector when its data comes; `written` as in [`Sectors::write_part`].
    pub(super) fn modify_on_fill(&mut self, mask: u8, bytes: u32, written: &mut u32) {
        let mask = u32::from(mask);
        let first = self.of(mask, MODIFIED_ON_FILL) == 0;
        self.add(mask, MODIFIED_ON_FILL);
        *written = if first { bytes } else { *written | bytes };
        if *written == u32::MAX { self.remove(mask, PARTIAL) } else { self.add(mask, PARTIAL) }
    }

    /// Modified sectors become valid ones; those of which only some bytes are known are forgotten.
    pub(super) fn clean(&mut self) {
        let (modified, partial) = (u32::from(self.modified()), u32::from(self.partial()));
        self.forget(partial as u8);
        let whole = modified & !partial;
        self.remove(whole, MODIFIED);
        self.add(whole, VALID);
    }

    /// Forgets sectors, modified or not.
    pub(super) fn forget(&mut self, mask: u8) {
        for field in [RESERVED, VALID, MODIFIED, UNREADABLE, MODIFIED_ON_FILL, READABLE_ON_FILL, PARTIAL] {
            self.remove(u32::from(mask), field);
        }
    }
}
