//! All banks together: one command closes all rows once no request needs an open row.

use super::{OpenRows, RefreshStep};

pub(super) fn next(rows: OpenRows) -> RefreshStep {
    if rows.needed != 0 { RefreshStep::CloseOneOf(0) } else { RefreshStep::CloseAll }
}
