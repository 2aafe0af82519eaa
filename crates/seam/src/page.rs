//! The page policy, which decides when an open DRAM row is closed.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_state::State;

use super::boxed;

/// A column command as seen by a page policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The cycle of the command clock in which the command is issued.
    pub now: Cycle,
    /// The bank.
    pub bank: u8,
    /// The row that the command reads or writes.
    pub row: u32,
    /// Column commands to the row since it was opened, including this one.
    pub columns: u32,
    /// True if the command is a write.
    pub write: bool,
    /// True if another queued request needs the row.
    pub wanted: bool,
    /// The port of the requester.
    pub port: PortId,
    /// The kernel of the requester.
    pub kernel: KernelIndex,
}

/// The treatment of a row after a column command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAction {
    /// The column command closes the row with auto-precharge.
    Close,
    /// The row stays open until another row of its bank is requested, or until a refresh.
    Open,
    /// The row stays open, but is closed after this number of command-clock cycles without another column command to it, unless a queued
    /// request needs it then.
    For(u64),
}

/// A page policy.
///
/// *When it is called.* [`PagePolicy::column`] is called once per column command and [`PagePolicy::opened`] once per activate.
///
/// *What it sees.* The command with its bank, row and requester, the number of column commands since the row was opened, and whether a
/// queued request needs the row.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* Any return value is allowed. If the controller opens a row for a request, it keeps the row open until the request's
/// column command.
pub trait PagePolicy: State + Debug + Send + Sync + CopiedPagePolicy {
    /// Returns the name of the policy, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Notifies the policy that a bank opens a row.
    fn opened(&mut self, bank: u8, row: u32) {
        let _ = (bank, row);
    }

    /// Decides the treatment of the row after a column command.
    fn column(&mut self, command: &Column) -> RowAction;
}

boxed! {
    /// A boxed page policy of a channel.
    BoxedPagePolicy of PagePolicy, copied by CopiedPagePolicy
}
