//! Packets in flight: the data that the network needs, and a tag for the sender.

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Packet {
    /// The sender's tag.
    pub tag: u32,
    /// Low half of the cycle in which its head left the source queue.
    pub entered: u32,
    /// Its source lane.
    pub lane: u16,
    /// Its destination terminal.
    pub dest: u16,
    /// Its length.
    pub flits: u16,
}

/// Packets by handle; a handle is reused when its packet has left.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.all[handle as usize] = packet;
            return handle;
        }
        let handle = self.all.len() as u32;
        assert!(handle < 1 << 30, "more packets than handles");
        self.all.push(packet);
        handle
    }

    #[inline]
    pub(super) fn get(&self, handle: u32) -> &Packet {
        &self.all[handle as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.all[handle as usize]
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: u32) {
        self.free.push(handle);
    }

    /// Packets in flight, source queues included.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
