//! First come, first served in each bank: row hits have no priority, and banks are independent.

pub(super) const ONLY_OLDEST: bool = false;

#[inline(always)]
pub(super) fn serves_hit(_: bool) -> bool {
    false
}
