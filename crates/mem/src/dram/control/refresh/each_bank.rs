//! Bank by bank: rows that no request needs are closed one after the other, the lowest bank first.

use super::{Rows, Step};

pub(super) fn next(rows: Rows) -> Step {
    Step::CloseOneOf(rows.open & !rows.needed)
}
