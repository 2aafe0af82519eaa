//! Open page: no column command closes its row.

use super::Row;

#[inline]
pub(super) fn closes(_: Row) -> bool {
    false
}
