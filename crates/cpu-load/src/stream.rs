//! The streams of memory instructions that a CPU core executes.

use super::{CpuInst, ProfileStream, TraceStream};

/// An endless stream of instructions.
#[derive(Debug, warpshard_state::State)]
pub enum CpuStream {
    /// A recorded trace, repeated from its start.
    Trace(TraceStream),
    /// A profile.
    Profile(ProfileStream),
    /// A short list, repeated.
    List(ListStream),
}

impl CpuStream {
    /// Returns the next memory instruction.
    #[inline]
    pub fn next_inst(&mut self) -> CpuInst {
        match self {
            Self::Trace(stream) => stream.next_inst(),
            Self::Profile(stream) => stream.next_inst(),
            Self::List(stream) => stream.next_inst(),
        }
    }

    /// Returns the reason why the stream failed after it was opened (its file was changed), as a message for the user. A failed stream
    /// yields instructions without memory accesses.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Trace(stream) => stream.failure(),
            Self::Profile(_) | Self::List(_) => None,
        }
    }
}

/// A list of instructions, repeated forever.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct ListStream {
    list: Vec<CpuInst>,
    next: usize,
}

impl ListStream {
    /// Creates a stream that repeats `list`.
    ///
    /// # Panics
    /// The list is empty.
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
