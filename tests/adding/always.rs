//! Every column command closes its row, whoever waits for it.

use super::Row;

#[inline]
pub(super) fn closes(_: Row) -> bool {
    true
}
