//! Page policies, which decide whether a column command closes its row with auto-precharge. A policy that uses more than whether another
//! request needs the row is a [`PagePolicy`](warpshard_seam::PagePolicy) behind a trait object.
//!
//! Input: the known properties of the row after the command was selected. Output: whether the row is closed. Otherwise the row stays open
//! until another row of its bank is requested, or until a refresh.

mod closed;
mod open;
mod predicted;

use warpshard_config::dram::DramPage;

pub(in crate::dram) use predicted::Predicted;

/// The row of a column command.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessedRow {
    /// True if another queued request needs the row.
    pub(super) wanted: bool,
}

/// Returns true if the command closes the row.
#[inline]
pub(super) fn closes(page: DramPage, row: AccessedRow) -> bool {
    match page {
        DramPage::Open => open::closes(row),
        DramPage::Closed => closed::closes(row),
        DramPage::Predicted | DramPage::Own => unreachable!("a page policy that is a trait object is called directly"),
    }
}
