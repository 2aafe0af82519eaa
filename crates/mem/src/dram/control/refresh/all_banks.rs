//! All banks at once: one command closes all rows when no request needs one any more.

use super::{Rows, Step};

pub(super) fn next(rows: Rows) -> Step {
    if rows.needed != 0 { Step::CloseOneOf(0) } else { Step::CloseAll }
}
