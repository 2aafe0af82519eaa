//! Requests of this GPU's SMs and copy engine to all memories, and of other GPUs to this GPU's memory.

use warpshard_base::PortId;
use warpshard_protocol::{Homes, MemOp, MemPacket, Path};

use super::slots::Requester;
use super::{Hub, Step};

impl Hub {
    /// Counts a request of an SM that leaves the GPU.
    pub(super) fn count_remote(&mut self, packet: &MemPacket) {
        let counters = &mut self.inside().counters;
        match packet.op {
            MemOp::Read => counters.remote_reads += 1,
            MemOp::Write | MemOp::Reduction => counters.remote_writes += 1,
            MemOp::Atomic => counters.remote_atomics += 1,
        }
        counters.remote_sectors += u64::from(packet.sectors().count());
    }

    /// Returns the step of a request of this GPU's SMs or of its copy engine.
    pub(super) fn request(&mut self, packet: MemPacket, resumed: bool) -> Step {
        let now = self.now;
        let inside = self.inside();
        let gpu = inside.ports.gpu;
        let page = inside.spec.homes.page(packet.addr);
        let Some(home) = inside.spec.homes.home(packet.addr).or_else(|| inside.pages.home(page)) else {
            assert!(!resumed, "{now}: a packet proceeds although its page has no home: {packet:?}");
            if inside.pages.park(page, packet) {
                inside.counters.page_lookups += 1;
                self.look_up(packet.addr);
            }
            return Step::End;
        };
        if home == gpu {
            let requester = Requester { gpu, port: packet.port, token: packet.token };
            return self.to_request(packet, requester);
        }
        self.leave(packet, Path { from: gpu, to: home, hop: 0, reply: false })
    }

    /// Returns the step of a request to this GPU's memory.
    pub(super) fn to_request(&self, packet: MemPacket, requester: Requester) -> Step {
        let Some(inside) = &self.inside else { unreachable!("a switch has no memory") };
        let way = Homes::way(packet.addr, inside.ports.ports);
        let (port, slice) = (PortId(inside.ports.first_port + way), inside.spec.map.slice_of(packet.addr));
        let output = self.ports.lanes_out.len() + usize::from(way);
        Step::Leave(MemPacket { port, slice, ..packet }, output, 0, Some(requester))
    }
}
