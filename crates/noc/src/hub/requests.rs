//! Requests of this GPU's SMs and copy engine to all memories, and of other GPUs to this GPU's memory.

use warpshard_base::PortId;
use warpshard_protocol::{GpuPath, Homes, MemOp, MemPacket};

use super::slots::RemoteRequester;
use super::{Hub, PacketStep};

impl Hub {
    /// Counts a request of an SM that leaves the GPU.
    pub(super) fn count_remote(&mut self, packet: &MemPacket) {
        let counters = &mut self.gpu_state().counters;
        match packet.op {
            MemOp::Read => counters.remote_reads += 1,
            MemOp::Write | MemOp::Reduction => counters.remote_writes += 1,
            MemOp::Atomic => counters.remote_atomics += 1,
        }
        counters.remote_sectors += u64::from(packet.sectors().count());
    }

    /// Returns the step of a request of this GPU's SMs or of its copy engine.
    pub(super) fn request(&mut self, packet: MemPacket, resumed: bool) -> PacketStep {
        let now = self.now;
        let inside = self.gpu_state();
        let gpu = inside.ports.gpu;
        let page = inside.spec.homes.page(packet.addr);
        let Some(home) = inside.spec.homes.home(packet.addr).or_else(|| inside.pages.home(page)) else {
            assert!(!resumed, "{now}: a packet proceeds although its page has no home: {packet:?}");
            if inside.pages.park(page, packet) {
                inside.counters.page_lookups += 1;
                self.look_up(packet.addr);
            }
            return PacketStep::End;
        };
        if home == gpu {
            let requester = RemoteRequester { gpu, port: packet.port, token: packet.token };
            return self.to_request(packet, requester);
        }
        self.leave_over_link(packet, GpuPath { from: gpu, to: home, hop: 0, reply: false })
    }

    /// Returns the step of a request to this GPU's memory.
    pub(super) fn to_request(&self, packet: MemPacket, requester: RemoteRequester) -> PacketStep {
        let Some(inside) = &self.gpu_state else { unreachable!("a switch has no memory") };
        let way = Homes::link_index(packet.addr, inside.ports.ports);
        let (port, slice) = (PortId(inside.ports.first_port + way), inside.spec.map.slice_of(packet.addr));
        let output = self.ports.lanes_out.len() + usize::from(way);
        PacketStep::Leave(MemPacket { port, slice, ..packet }, output, 0, Some(requester))
    }
}
