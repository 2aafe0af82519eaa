//! Page policies: whether a column command closes the row that it reads or writes, with auto-precharge. A policy that looks at more than
//! whether the row is wanted is a [`PagePolicy`](warpshard_seam::PagePolicy) behind a trait object.
//!
//! In: what is known of the row once the command was chosen. Out: whether it is closed. A row that is not closed stays open until another
//! row of its bank is requested, or until a refresh.

mod closed;
mod open;
mod predicted;

use warpshard_config::dram::DramPage;

pub(in crate::dram) use predicted::Predicted;

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
        DramPage::Predicted | DramPage::Own => unreachable!("a page policy that is a trait object is asked for its reply"),
    }
}
