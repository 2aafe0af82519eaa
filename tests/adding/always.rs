//! Page policy that closes a row with every column command, regardless of waiting requests.

use super::AccessedRow;

#[inline]
pub(super) fn closes(_: AccessedRow) -> bool {
    true
}
