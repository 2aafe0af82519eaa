//! Page policies: whether a column command closes the row that it reads or writes, with auto-precharge.
//!
//! In: what is known of the row once the command was chosen. Out: whether it is closed. A row that is not closed stays open until another
//! row of its bank is requested, or until a refresh.

mod closed;
mod open;

use warpshard_config::dram::DramPage;

/// A row that gets a column command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Whether another request that waits in a queue needs it.
    pub(super) wanted: bool,
}

/// Whether the command closes the row.
#[inline]
pub(super) fn closes(page: DramPage, row: Row) -> bool {
    match page {
        DramPage::Open => open::closes(row),
        DramPage::Closed => closed::closes(row),
    }
}
