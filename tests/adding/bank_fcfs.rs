//! First come, first served in each bank: rows have no advantage, and banks do not wait for each other.

pub(super) const ONLY_OLDEST: bool = false;

#[inline(always)]
pub(super) fn serves_hit(_: bool) -> bool {
    false
}
