//! The instruction buffer of a warp.

use warpshard_workload::DynInst;

/// Maximum number of instructions in the buffer of a warp; the machine configuration sets the used number.
pub(in crate::sm) const MAX_BUFFER: usize = 4;

/// Decoded instructions of a warp that wait to issue.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct InstBuffer {
    slots: [DynInst; MAX_BUFFER],
    head: u8,
    pub(super) len: u8,
}

impl InstBuffer {
    #[inline]
    pub(in crate::sm) fn front(&self) -> &DynInst {
        debug_assert!(self.len > 0, "an empty instruction buffer has no front");
        &self.slots[usize::from(self.head) % MAX_BUFFER]
    }

    #[inline]
    pub(super) fn push(&mut self, inst: DynInst) {
        self.slots[usize::from(self.head + self.len) % MAX_BUFFER] = inst;
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.head = (self.head + 1) % MAX_BUFFER as u8;
        self.len -= 1;
    }
}
