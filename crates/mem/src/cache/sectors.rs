//! The states of a line's sectors, and the changes by accesses, writes and data.

use super::Lookup;

/// The states of a line's sectors in one word, so that a change of several states is one write.
///
/// Each state has a field of four bits, one per sector. A sector is in at most one of the states reserved, valid and modified; without any
/// of them it is invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Sectors(u32);

/// Bits of a field.
const FIELD_MASK: u32 = 0xf;
/// The lowest bit of the field of sectors that wait for data.
const RESERVED: u32 = 0;
const VALID: u32 = 4;
const MODIFIED: u32 = 8;
/// Modified sectors of which only some bytes are present: a read must fetch them.
const UNREADABLE: u32 = 12;
/// Sectors that become modified when their data arrives.
const MODIFIED_ON_FILL: u32 = 16;
/// Sectors that become readable when their data arrives.
const READABLE_ON_FILL: u32 = 20;
/// Modified sectors whose written bytes are in the byte masks; other modified sectors are dirty as a whole.
const PARTIAL: u32 = 24;

/// The fields of a line that was written, or that is written when its data arrives.
const WRITTEN: u32 = FIELD_MASK << MODIFIED | FIELD_MASK << UNREADABLE | FIELD_MASK << MODIFIED_ON_FILL | FIELD_MASK << READABLE_ON_FILL;

impl Sectors {
    /// Returns a state in which the sectors of `mask` wait for data and the others are invalid.
    #[inline]
    pub(super) fn waiting(mask: u8) -> Self {
        Self(u32::from(mask) << RESERVED)
    }

    /// Returns true if a sector is not invalid.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 & (FIELD_MASK << RESERVED | FIELD_MASK << VALID | FIELD_MASK << MODIFIED) != 0
    }

    /// Returns true if a sector waits for data.
    #[inline]
    pub(super) fn is_reserved(self) -> bool {
        self.0 & FIELD_MASK << RESERVED != 0
    }

    /// Returns true if a sector is modified.
    #[inline]
    pub(super) fn is_modified(self) -> bool {
        self.0 & FIELD_MASK << MODIFIED != 0
    }

    /// Returns true if a sector is modified or partly written, or will be when its data arrives.
    #[inline]
    pub(super) fn is_written(self) -> bool {
        self.0 & WRITTEN != 0
    }

    /// Returns the modified sectors.
    pub(super) fn modified(self) -> u8 {
        (self.0 >> MODIFIED & FIELD_MASK) as u8
    }

    /// Returns the modified sectors whose written bytes are in the byte masks.
    pub(super) fn partial(self) -> u8 {
        (self.0 >> PARTIAL & FIELD_MASK) as u8
    }

    /// Returns the look-up result for the sectors of `mask`.
    #[inline(always)]
    pub(super) fn lookup(self, mask: u8, write: bool) -> Lookup {
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

    /// Returns the sectors of `mask` in a field.
    #[inline]
    fn of(self, mask: u32, field: u32) -> u32 {
        self.0 >> field & mask
    }

    /// Makes sectors wait for data.
    #[inline(always)]
    pub(super) fn reserve(&mut self, mask: u8) {
        let mask = u32::from(mask);
        if self.is_written() {
            // A partly written sector remains partly written when the rest of it arrives.
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

    /// Records the arrival of data for sectors.
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

    /// Writes whole sectors.
    #[inline]
    pub(super) fn write_whole(&mut self, mask: u8) {
        let mask = u32::from(mask);
        self.modify(mask);
        self.remove(mask, PARTIAL);
        self.remove(mask, UNREADABLE);
    }

    /// Writes `bytes` of one sector; `written` is the mask of its written bytes.
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

    /// Marks the sectors after a write that missed or hit reserved sectors: their other bytes are unknown unless the write covered all of
    /// them. With `pending`, the outstanding fetch fills the sectors and leaves them modified.
    pub(super) fn write_missed(&mut self, mask: u8, pending: bool) {
        let mask = u32::from(mask);
        let unknown = self.of(mask, PARTIAL);
        self.add(unknown, UNREADABLE);
        if pending {
            self.add(mask, MODIFIED_ON_FILL);
            self.add(unknown, READABLE_ON_FILL);
        }
    }

    /// Records that `bytes` are written into a reserved sector when its data arrives; `written` is the mask of its written bytes.
    pub(super) fn modify_on_fill(&mut self, mask: u8, bytes: u32, written: &mut u32) {
        let mask = u32::from(mask);
        let first = self.of(mask, MODIFIED_ON_FILL) == 0;
        self.add(mask, MODIFIED_ON_FILL);
        *written = if first { bytes } else { *written | bytes };
        if *written == u32::MAX { self.remove(mask, PARTIAL) } else { self.add(mask, PARTIAL) }
    }

    /// Makes modified sectors valid, and invalidates sectors of which only some bytes are present.
    pub(super) fn clean(&mut self) {
        let (modified, partial) = (u32::from(self.modified()), u32::from(self.partial()));
        self.invalidate(partial as u8);
        let whole = modified & !partial;
        self.remove(whole, MODIFIED);
        self.add(whole, VALID);
    }

    /// Invalidates sectors, whether modified or not.
    pub(super) fn invalidate(&mut self, mask: u8) {
        for field in [RESERVED, VALID, MODIFIED, UNREADABLE, MODIFIED_ON_FILL, READABLE_ON_FILL, PARTIAL] {
            self.remove(u32::from(mask), field);
        }
    }
}
