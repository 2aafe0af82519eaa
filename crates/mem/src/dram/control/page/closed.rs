//! Closed page: the last queued request for a row closes it.

use super::AccessedRow;

#[inline]
pub(super) fn closes(row: AccessedRow) -> bool {
    !row.wanted
}
