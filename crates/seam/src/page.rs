//! The page policy: when an open row of DRAM is closed.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_state::State;

use super::boxed;

/// A column command, as a page policy sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The cycle of the command clock in which it goes out.
    pub now: Cycle,
    /// The bank.
    pub bank: u8,
    /// The row that it reads or writes.
    pub row: u32,
    /// Column commands to the row since it was opened, this one included.
    pub columns: u32,
    /// Whether it writes.
    pub write: bool,
    /// Whether another queued request needs the row.
    pub wanted: bool,
    /// The port of the requester.
    pub port: PortId,
    /// The kernel of the requester.
    pub kernel: KernelIndex,
}

/// What becomes of a row after a column command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The command closes it, with auto-precharge.
    Close,
    /// It stays open until another row of its bank is requested, or until a refresh.
    Open,
    /// The same, but it is closed once so many cycles of the command clock have passed without another column command to it, unless a queued
    /// request needs it then.
    For(u64),
}

/// A page policy.
///
/// *When it is called.* [`PagePolicy::column`] once for each column command; [`PagePolicy::opened`] once for each activation.
///
/// *What it sees.* The command with its bank, row and requester, how many there were since the row was opened, and whether another one will follow.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* Any reply is allowed. The controller keeps a row that it opened for a request open until the request's column command.
pub trait PagePolicy: State + Debug + Send + Sync + CopiedPagePolicy {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// A bank opens a row.
    fn opened(&mut self, bank: u8, row: u32) {
        let _ = (bank, row);
    }

    /// What becomes of the row of a column command.
    fn column(&mut self, command: &Column) -> Keep;
}

boxed! {
    /// A page policy in a channel.
    BoxedPagePolicy of PagePolicy, copied by CopiedPagePolicy
}
