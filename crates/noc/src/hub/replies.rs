//! Replies of this GPU's memory to its SMs and to other GPUs.

use warpshard_protocol::{COPY_PORT, GpuPath, Homes, MemPacket, Outbox};

use super::{Hub, PacketStep};

impl Hub {
    /// Returns the step of a reply to an SM of this GPU.
    pub(super) fn to_reply(&self, packet: MemPacket) -> PacketStep {
        let ports = self.ports.gpu.map_or(1, |gpu| gpu.ports);
        let output = self.ports.lanes_out.len() + usize::from(ports) + usize::from(Homes::link_index(packet.addr, ports));
        PacketStep::Leave(packet, output, 0, None)
    }

    /// Handles a reply of this GPU's memory.
    pub(super) fn handle_reply(&mut self, packet: MemPacket, out: &mut Outbox) -> PacketStep {
        let now = self.now;
        let inside = self.gpu_state();
        let own = inside.ports.gpu;
        let (requester, whole) = inside.slots.record_reply(packet.token, packet.sectors());
        if whole {
            let lanes = self.ports.lanes_out.len();
            let ports = self.ports.gpu.map_or(0, |gpu| usize::from(gpu.ports));
            self.outputs[lanes..lanes + ports].iter_mut().for_each(|output| output.wake(now));
        }
        let packet = MemPacket { port: requester.port, token: requester.token, ..packet };
        if requester.gpu != own {
            return self.leave_over_link(packet, GpuPath { from: own, to: requester.gpu, hop: 0, reply: true });
        }
        if requester.port == COPY_PORT {
            self.handle_copy_reply(packet.token, packet.sectors(), out);
            return PacketStep::End;
        }
        self.to_reply(packet)
    }
}
