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
const RESERVED_SHIFT: u32 = 0;
const VALID_SHIFT: u32 = 4;
const MODIFIED_SHIFT: u32 = 8;
/// Modified sectors of which only some bytes are present: a read must fetch them.
const UNREADABLE_SHIFT: u32 = 12;
/// Sectors that become modified when their data arrives.
const MODIFIED_ON_FILL_SHIFT: u32 = 16;
/// Sectors that become readable when their data arrives.
const READABLE_ON_FILL_SHIFT: u32 = 20;
/// Modified sectors whose written bytes are in the byte masks; other modified sectors are dirty as a whole.
const PARTIAL_SHIFT: u32 = 24;

/// The fields of a line that was written, or that is written when its data arrives.
const WRITTEN_FIELDS: u32 = FIELD_MASK << MODIFIED_SHIFT
    | FIELD_MASK << UNREADABLE_SHIFT
    | FIELD_MASK << MODIFIED_ON_FILL_SHIFT
    | FIELD_MASK << READABLE_ON_FILL_SHIFT;

impl Sectors {
    /// Returns a state in which the sectors of `mask` wait for data and the others are invalid.
    #[inline]
    pub(super) fn waiting(mask: u8) -> Self {
        Self(u32::from(mask) << RESERVED_SHIFT)
    }

    /// Returns true if a sector is not invalid.
    #[inline]
    pub(super) fn is_any_present(self) -> bool {
        self.0 & (FIELD_MASK << RESERVED_SHIFT | FIELD_MASK << VALID_SHIFT | FIELD_MASK << MODIFIED_SHIFT) != 0
    }

    /// Returns true if a sector waits for data.
    #[inline]
    pub(super) fn is_reserved(self) -> bool {
        self.0 & FIELD_MASK << RESERVED_SHIFT != 0
    }

    /// Returns true if a sector is modified.
    #[inline]
    pub(super) fn is_modified(self) -> bool {
        self.0 & FIELD_MASK << MODIFIED_SHIFT != 0
    }

    /// Returns true if a sector is modified or partly written, or will be when its data arrives.
    #[inline]
    pub(super) fn is_written(self) -> bool {
        self.0 & WRITTEN_FIELDS != 0
    }

    /// Returns the modified sectors.
    pub(super) fn modified_sectors(self) -> u8 {
        (self.0 >> MODIFIED_SHIFT & FIELD_MASK) as u8
    }

    /// Returns the modified sectors whose written bytes are in the byte masks.
    pub(super) fn partial_sectors(self) -> u8 {
        (self.0 >> PARTIAL_SHIFT & FIELD_MASK) as u8
    }

    /// Returns the look-up result for the sectors of `mask`.
    #[inline(always)]
    pub(super) fn lookup(self, mask: u8, write: bool) -> Lookup {
        let has = |field: u32| self.0 & u32::from(mask) << field != 0;
        if has(RESERVED_SHIFT) {
            Lookup::HitReserved
        } else if has(VALID_SHIFT) || has(MODIFIED_SHIFT) && (write || !has(UNREADABLE_SHIFT)) {
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
    fn field_of(self, mask: u32, field: u32) -> u32 {
        self.0 >> field & mask
    }

    /// Makes sectors wait for data.
    #[inline(always)]
    pub(super) fn reserve(&mut self, mask: u8) {
        let mask = u32::from(mask);
        if self.is_written() {
            // A partly written sector remains partly written when the rest of it arrives.
            let modified = self.field_of(mask, MODIFIED_SHIFT);
            self.remove(mask, MODIFIED_ON_FILL_SHIFT);
            self.remove(mask, READABLE_ON_FILL_SHIFT);
            self.add(modified, MODIFIED_ON_FILL_SHIFT);
            self.remove(mask, MODIFIED_SHIFT);
            self.remove(mask, UNREADABLE_SHIFT);
        }
        self.remove(mask, VALID_SHIFT);
        self.add(mask, RESERVED_SHIFT);
    }

    /// Records the arrival of data for sectors.
    #[inline(always)]
    pub(super) fn complete(&mut self, mask: u8) {
        let mask = u32::from(mask);
        self.remove(mask, RESERVED_SHIFT);
        if !self.is_written() {
            self.add(mask, VALID_SHIFT);
            return;
        }
        let (modified, readable) = (self.field_of(mask, MODIFIED_ON_FILL_SHIFT), self.field_of(mask, READABLE_ON_FILL_SHIFT));
        self.remove(mask, MODIFIED_SHIFT);
        self.add(modified, MODIFIED_SHIFT);
        self.remove(mask, VALID_SHIFT);
        self.add(mask & !modified, VALID_SHIFT);
        self.remove(readable, UNREADABLE_SHIFT);
        self.remove(mask, MODIFIED_ON_FILL_SHIFT);
        self.remove(mask, READABLE_ON_FILL_SHIFT);
    }

    /// Writes whole sectors.
    #[inline]
    pub(super) fn write_whole(&mut self, mask: u8) {
        let mask = u32::from(mask);
        self.modify(mask);
        self.remove(mask, PARTIAL_SHIFT);
        self.remove(mask, UNREADABLE_SHIFT);
    }

    /// Writes `bytes` of one sector; `written` is the mask of its written bytes.
    pub(super) fn write_part(&mut self, mask: u8, bytes: u32, written: &mut u32) {
        let mask = u32::from(mask);
        let fresh = mask & !self.field_of(mask, MODIFIED_SHIFT);
        self.modify(mask);
        if fresh != 0 && self.field_of(fresh, MODIFIED_ON_FILL_SHIFT) == 0 {
            self.add(fresh, PARTIAL_SHIFT);
            *written = bytes;
        } else if self.field_of(mask, PARTIAL_SHIFT) != 0 {
            *written |= bytes;
        }
        if self.field_of(mask, PARTIAL_SHIFT) != 0 && *written == u32::MAX {
            self.remove(mask, PARTIAL_SHIFT);
            self.remove(mask, UNREADABLE_SHIFT);
        }
    }

    #[inline]
    fn modify(&mut self, mask: u32) {
        self.remove(mask, RESERVED_SHIFT);
        self.remove(mask, VALID_SHIFT);
        self.add(mask, MODIFIED_SHIFT);
    }

    /// Marks the sectors after a write that missed or hit reserved sectors: their other bytes are unknown unless the write covered all of
    /// them. With `pending`, the outstanding fetch fills the sectors and leaves them modified.
    pub(super) fn write_missed(&mut self, mask: u8, pending: bool) {
        let mask = u32::from(mask);
        let unknown = self.field_of(mask, PARTIAL_SHIFT);
        self.add(unknown, UNREADABLE_SHIFT);
        if pending {
            self.add(mask, MODIFIED_ON_FILL_SHIFT);
            self.add(unknown, READABLE_ON_FILL_SHIFT);
        }
    }

    /// Records that `bytes` are written into a reserved sector when its data arrives; `written` is the mask of its written bytes.
    pub(super) fn modify_on_fill(&mut self, mask: u8, bytes: u32, written: &mut u32) {
        let mask = u32::from(mask);
        let first = self.field_of(mask, MODIFIED_ON_FILL_SHIFT) == 0;
        self.add(mask, MODIFIED_ON_FILL_SHIFT);
        *written = if first { bytes } else { *written | bytes };
        if *written == u32::MAX { self.remove(mask, PARTIAL_SHIFT) } else { self.add(mask, PARTIAL_SHIFT) }
    }

    /// Makes modified sectors valid, and invalidates sectors of which only some bytes are present.
    pub(super) fn clean(&mut self) {
        let (modified, partial) = (u32::from(self.modified_sectors()), u32::from(self.partial_sectors()));
        self.invalidate(partial as u8);
        let whole = modified & !partial;
        self.remove(whole, MODIFIED_SHIFT);
        self.add(whole, VALID_SHIFT);
    }

    /// Invalidates sectors, whether modified or not.
    pub(super) fn invalidate(&mut self, mask: u8) {
        for field in
            [RESERVED_SHIFT, VALID_SHIFT, MODIFIED_SHIFT, UNREADABLE_SHIFT, MODIFIED_ON_FILL_SHIFT, READABLE_ON_FILL_SHIFT, PARTIAL_SHIFT]
        {
            self.remove(u32::from(mask), field);
        }
    }
}
