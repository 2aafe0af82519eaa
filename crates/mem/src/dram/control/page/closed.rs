//! Closed page: the last queued request for a row closes it.

use super::Row;

#[inline]
pub(super) fn closes(row: Row) -> bool {
    !row.wanted
}
