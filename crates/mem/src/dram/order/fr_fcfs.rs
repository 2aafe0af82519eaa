//! First ready, first come, first served (Rixner et al., ISCA 2000): a bank keeps its row while requests for it wait, and serves the oldest
//! of them first; then it opens the row of its oldest request. Banks do not wait for each other.

pub(super) const ONLY_OLDEST: bool = false;

#[inline(always)]
pub(super) fn serves_hit(hit: bool) -> bool {
    hit
}
