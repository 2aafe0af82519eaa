//! Page policy that closes a row with every column command, regardless of waiting requests.

use super::Row;

#[inline]
pub(super) fn closes(_: Row) -> bool {
    true
}
