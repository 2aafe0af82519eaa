//! Refresh policies: how the open rows of a pseudo channel are closed for its refresh.
//!
//! In: which banks have an open row, and in which of them a request still needs it. Out: the command that comes next. A controller asks in
//! every slot for row commands from the cycle in which a refresh is due until it has gone out; no other row command goes out meanwhile.

mod all_banks;
mod each_bank;
mod elastic;

pub(in crate::dram) use elastic::Elastic;

/// How open rows are closed for a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum RefreshClose {
    /// With one command to all banks.
    AllBanks,
    /// Bank by bank.
    EachBank,
}

/// The open rows of a pseudo channel whose refresh is due, as sets of banks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Banks with an open row; there is one.
    pub(super) open: u64,
    /// Those of them whose row was opened for a request that has not got its column command.
    pub(super) needed: u64,
}

/// The next command towards a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The row of one of these banks is closed, the first one that the timing allows; none may be left.
    CloseOneOf(u64),
    /// All rows are closed.
    CloseAll,
}

/// What comes next while a row is open; without one, the refresh goes out.
pub(super) fn next(close: RefreshClose, rows: Rows) -> Step {
    match close {
        RefreshClose::AllBanks => all_banks::next(rows),
        RefreshClose::EachBank => each_bank::next(rows),
    }
}
