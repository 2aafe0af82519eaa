//! The registers between issue and the operand collectors.

use super::super::kinds::{MAX_SLOTS, UNIT_KIND_COUNT, UnitKind};

/// The order in which an input port of the collectors serves the kinds.
const PORT_ORDER: [UnitKind; UNIT_KIND_COUNT] = [
    UnitKind::Sp,
    UnitKind::Sfu,
    UnitKind::Mem,
    UnitKind::Dp,
    UnitKind::Int,
    UnitKind::Branch,
    UnitKind::Texture,
    UnitKind::Tensor,
    UnitKind::Uniform,
];

/// The position of each kind in [`PORT_ORDER`].
pub(super) const PORT_RANK: [u8; UNIT_KIND_COUNT] = {
    let mut rank = [0; UNIT_KIND_COUNT];
    let mut i = 0;
    while i < UNIT_KIND_COUNT {
        rank[PORT_ORDER[i] as usize] = i as u8;
        i += 1;
    }
    rank
};

/// Issued instructions of one kind, oldest first, with their sub-cores: they enter collectors in the order of issue.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct IssueQueue {
    slots: [(u8, u8); MAX_SLOTS],
    head: u8,
    pub(super) len: u8,
}

impl IssueQueue {
    #[inline]
    pub(super) fn push(&mut self, slot: u8, group: u8) {
        self.slots[usize::from(self.head + self.len) % MAX_SLOTS] = (slot, group);
        self.len += 1;
    }

    #[inline]
    pub(super) fn front(&self) -> (u8, u8) {
        self.slots[usize::from(self.head) % MAX_SLOTS]
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.head = (self.head + 1) % MAX_SLOTS as u8;
        self.len -= 1;
    }
}
