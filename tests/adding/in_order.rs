//! Refresh policy that closes rows bank by bank: the lowest bank whose open row no request needs, as soon as the timing allows.

use super::{OpenRows, RefreshStep};

pub(super) fn next(rows: OpenRows) -> RefreshStep {
    let left = rows.open & !rows.needed;
    RefreshStep::CloseOneOf(left & left.wrapping_neg())
}
