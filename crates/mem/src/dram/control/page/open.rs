//! Open page: no column command closes its row.

use super::AccessedRow;

#[inline]
pub(super) fn closes(_: AccessedRow) -> bool {
    false
}
