//! Requests that wait for data, or with it for the network, by number.

use crate::base::touch;
use crate::protocol::MemPacket;

/// A slab of requests; grows to the most that ever waited.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    packets: Vec<MemPacket>,
    free: Vec<u32>,
}

impl Pending {
    /// The number that the next request will get.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.packets.len() as u32)
    }

    /// Keeps a request under the number that [`Pending::next`] told.
    #[inline]
    pub(super) fn keep(&mut self, packet: MemPacket) {
        match self.free.pop() {
            Some(at) => self.packets[at as usize] = packet,
            None => self.packets.push(packet),
        }
    }

    /// Takes a request back.
    #[inline]
    pub(super) fn take(&mut self, number: u32) -> MemPacket {
        self.free.push(number);
        self.packets[number as usize]
    }

    /// A request.
    pub(super) fn get(&self, number: u32) -> &MemPacket {
        &self.packets[number as usize]
    }

    /// Asks the host for a request.
    #[inline]
    pub(super) fn touch(&self, number: u32) {
        if let Some(packet) = self.packets.get(number as usize) {
            touch(packet);
        }
    }

    /// Requests that wait.
    pub(super) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
