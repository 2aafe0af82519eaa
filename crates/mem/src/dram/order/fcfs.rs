//! First come, first served: a request waits for all that are older, whatever bank or row they want.

pub(super) const ONLY_OLDEST: bool = true;

#[inline(always)]
pub(super) fn serves_hit(_: bool) -> bool {
    false
}
