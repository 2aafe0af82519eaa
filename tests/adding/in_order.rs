//! Refresh policy that closes rows bank by bank: the lowest bank whose open row no request needs, as soon as the timing allows.

use super::{Rows, Step};

pub(super) fn next(rows: Rows) -> Step {
    let left = rows.open & !rows.needed;
    Step::CloseOneOf(left & left.wrapping_neg())
}
