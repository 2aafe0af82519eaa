//! First come, first served: a request waits for all older requests, regardless of their banks and rows.

pub(super) const ONLY_OLDEST: bool = true;

#[inline(always)]
pub(super) fn serves_hit(_: bool) -> bool {
    false
}
