//! The encoding of instructions in words of 32 bits.

pub(super) const INDEX_MASK: u32 = 0x00ff_ffff;
pub(super) const FORM_SHIFT: u32 = 24;
pub(super) const MASK_SHIFT: u32 = 31;
pub(super) const MASK_FOLLOWS: u32 = 1 << MASK_SHIFT;
