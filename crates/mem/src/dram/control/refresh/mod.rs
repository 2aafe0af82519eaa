//! Refresh policies, which decide how the open rows of a pseudo channel are closed for its refresh.
//!
//! Input: the banks with an open row, and the banks in which a request still needs it. Output: the next command. A controller calls the
//! policy in every slot for row commands from the cycle in which a refresh is due until it is issued; no other row command is issued in the
//! meantime.

mod all_banks;
mod each_bank;
mod elastic;

pub(in crate::dram) use elastic::Elastic;

/// The way in which open rows are closed for a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum RefreshClose {
    /// One command closes all banks.
    AllBanks,
    /// The banks are closed one after the other.
    EachBank,
}

/// The open rows of a pseudo channel whose refresh is due, as sets of banks.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenRows {
    /// Banks with an open row; there is at least one.
    pub(super) open: u64,
    /// Banks whose row was opened for a request that has not got its column command.
    pub(super) needed: u64,
}

/// The next command towards a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshStep {
    /// The row of one of these banks is closed, the first for which the timing allows it; the set may be empty.
    CloseOneOf(u64),
    /// All rows are closed.
    CloseAll,
}

/// Returns the next command while a row is open; without open rows, the refresh is issued.
pub(super) fn next(close: RefreshClose, rows: OpenRows) -> RefreshStep {
    match close {
        RefreshClose::AllBanks => all_banks::next(rows),
        RefreshClose::EachBank => each_bank::next(rows),
    }
}
