//! Bank by bank: rows that no request needs are closed one after the other, the lowest bank first.

use super::{OpenRows, RefreshStep};

pub(super) fn next(rows: OpenRows) -> RefreshStep {
    RefreshStep::CloseOneOf(rows.open & !rows.needed)
}
