//! Replies: what this GPU's memory answers, to its own SMs and to other GPUs.

use warpshard_protocol::{COPY_PORT, Homes, MemPacket, Outbox, Path};

use super::{Hub, Step};

impl Hub {
    /// A reply for one of this GPU's SMs.
    pub(super) fn to_reply(&self, packet: MemPacket) -> Step {
        let ports = self.ports.gpu.map_or(1, |gpu| gpu.ports);
        let output = self.ports.lanes_out.len() + usize::from(ports) + usize::from(Homes::way(packet.addr, ports));
        Step::Leave(packet, output, 0, None)
    }

    /// This GPU's memory answered a request.
    pub(super) fn answered(&mut self, packet: MemPacket, out: &mut Outbox) -> Step {
        let now = self.now;
        let inside = self.inside();
        let own = inside.ports.gpu;
        let (asker, whole) = inside.slots.answer(packet.token, packet.sectors());
        if whole {
            let lanes = self.ports.lanes_out.len();
            let ports = self.ports.gpu.map_or(0, |gpu| usize::from(gpu.ports));
            self.outputs[lanes..lanes + ports].iter_mut().for_each(|output| output.wake(now));
        }
        let packet = MemPacket { port: asker.port, token: asker.token, ..packet };
        if asker.gpu != own {
            return self.leave(packet, Path { from: own, to: asker.gpu, hop: 0, reply: true });
        }
        if asker.port == COPY_PORT {
            self.copy_answer(packet.token, packet.sectors(), out);
            return Step::End;
        }
        self.to_reply(packet)
    }
}
