//! All banks together: one command closes all rows once no request needs an open row.

use super::{Rows, Step};

pub(super) fn next(rows: Rows) -> Step {
    if rows.needed != 0 { Step::CloseOneOf(0) } else { Step::CloseAll }
}
