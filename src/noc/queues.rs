//! The input queues of a subnet as linked lists in one slab, so that memory follows the packets that wait, not the
//! capacity: 320 queues of 512 packets would be five megabytes, of which a few kilobytes are ever used at once.

use crate::base::{Cycle, touch};
use crate::protocol::MemPacket;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    packet: MemPacket,
    /// Low half of the cycle of arrival.
    at: u32,
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    #[inline]
    fn arrival(&self, now: Cycle) -> Cycle {
        Cycle(now.0.wrapping_add_signed(i64::from(self.at.wrapping_sub(now.0 as u32) as i32)))
    }
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    len: u32,
}

/// First-in first-out queues over one slab that grows to the most packets that ever waited.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    nodes: Vec<Node>,
    free: u32,
    queues: Box<[Queue]>,
}

impl Queues {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: Vec::new(), free: NONE, queues: vec![Queue { first: NONE, last: NONE, len: 0 }; count].into() }
    }

    #[inline]
    pub(super) fn len(&self, queue: usize) -> u32 {
        self.queues[queue].len
    }

    /// Places for packets that were ever needed at once.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(super) fn push(&mut self, queue: usize, at: Cycle, packet: MemPacket) {
        let node = Node { packet, at: at.0 as u32, next: NONE };
        let index = self.free;
        let index = if index == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        let queue = &mut self.queues[queue];
        match queue.last {
            NONE => queue.first = index,
            last => self.nodes[last as usize].next = index,
        }
        queue.last = index;
        queue.len += 1;
    }

    /// The oldest packet and its arrival, given a cycle less than 2^31 cycles from it.
    #[inline]
    pub(super) fn front(&self, queue: usize, now: Cycle) -> Option<(Cycle, &MemPacket)> {
        let node = self.nodes.get(self.queues[queue].first as usize)?;
        Some((node.arrival(now), &node.packet))
    }

    /// Asks the host for the packet behind the oldest.
    #[inline]
    pub(super) fn touch_second(&self, queue: usize) {
        if let Some(node) = self.nodes.get(self.queues[queue].first as usize)
            && let Some(second) = self.nodes.get(node.next as usize)
        {
            touch(second);
        }
    }

    /// Takes the oldest packet, with its arrival as in [`Queues::front`].
    #[inline]
    pub(super) fn pop(&mut self, queue: usize, now: Cycle) -> Option<(Cycle, MemPacket)> {
        let queue = &mut self.queues[queue];
        let index = queue.first;
        let node = self.nodes.get_mut(index as usize)?;
        queue.first = node.next;
        if queue.first == NONE {
            queue.last = NONE;
        }
        queue.len -= 1;
        node.next = self.free;
        self.free = index;
        Some((node.arrival(now), node.packet))
    }
}
