//! Memory instructions of a CPU core, and the streams that yield them.

use warpshard_base::Addr;

use super::{ProfileStream, TraceStream};

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CpuOp {
    /// Reads; holds its place in the window until the data is there.
    Load,
    /// Writes; the store buffer takes it, so that it never holds up retirement.
    Store,
    /// A dirty line that a cache in front of the trace gave up; takes no place in the window.
    WriteBack,
}

/// A memory instruction and the other instructions before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CpuInst {
    /// Instructions before this one that do not touch memory.
    pub bubbles: u64,
    /// The byte address, within the core's own address space and below 2^48.
    pub addr: Addr,
    /// What it does.
    pub op: CpuOp,
    /// Whether a load's address needs the data of the dependent load before it, as in a pointer chase.
    pub dependent: bool,
}

/// An endless stream of instructions.
#[derive(Debug, warpshard_state::State)]
pub enum CpuStream {
    /// A recorded trace, wrapped.
    Trace(TraceStream),
    /// A profile.
    Profile(ProfileStream),
    /// A short list, repeated.
    List(ListStream),
}

impl CpuStream {
    /// The next memory instruction.
    #[inline]
    pub fn next_inst(&mut self) -> CpuInst {
        match self {
            Self::Trace(stream) => stream.next_inst(),
            Self::Profile(stream) => stream.next_inst(),
            Self::List(stream) => stream.next_inst(),
        }
    }

    /// Why the stream broke off after it was opened (its file was changed meanwhile), as a message for the user. A broken
    /// stream yields instructions without memory accesses.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Trace(stream) => stream.failure(),
            Self::Profile(_) | Self::List(_) => None,
        }
    }
}

/// A list of instructions, repeated for ever.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct ListStream {
    list: Vec<CpuInst>,
    next: usize,
}

impl ListStream {
    /// Repeats `list`.
    ///
    /// # Panics
    /// When the list is empty.
    pub fn new(list: Vec<CpuInst>) -> Self {
        assert!(!list.is_empty(), "an empty list of instructions");
        Self { list, next: 0 }
    }

    fn next_inst(&mut self) -> CpuInst {
        let inst = self.list[self.next];
        self.next = if self.next + 1 == self.list.len() { 0 } else { self.next + 1 };
        inst
    }
}
