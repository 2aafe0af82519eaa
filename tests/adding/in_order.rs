//! Bank by bank: the lowest bank whose row no request needs any more, whenever the timing allows it.

use super::{Rows, Step};

pub(super) fn next(rows: Rows) -> Step {
    let left = rows.open & !rows.needed;
    Step::CloseOneOf(left & left.wrapping_neg())
}
