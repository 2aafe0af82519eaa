//! Packets in flight: the fields that the network needs, and the sender's tag.

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Packet {
    /// The tag that the sender gave the packet.
    pub tag: u32,
    /// The low half of the cycle in which the head left the source queue.
    pub entered: u32,
    /// The source lane.
    pub lane: u16,
    /// The destination terminal.
    pub dest: u16,
    /// The length in flits.
    pub flits: u16,
}

/// Packets by handle; a handle is reused after its packet has left.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = packet;
            return handle;
        }
        let handle = self.slots.len() as u32;
        assert!(handle < 1 << 30, "more packets than handles");
        self.slots.push(packet);
        handle
    }

    #[inline]
    pub(super) fn get(&self, handle: u32) -> &Packet {
        &self.slots[handle as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.slots[handle as usize]
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: u32) {
        self.free.push(handle);
    }

    /// Returns the number of packets in flight, including packets in source queues.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
