//! The port of the SM to the network between the SMs of clusters: its CTAs that belong to clusters, and the barriers of these clusters.
//!
//! In: starts and ends of CTAs, warps that arrive at the barrier of their cluster, and notifications that a barrier opened. Out: messages
//! for the network, sent at the end of the cycle. A CTA is at the barrier when all its warps that have not exited are at the barrier.

use warpshard_base::{LinkId, SmId};
use warpshard_protocol::{CtaLaunch, NO_CLUSTER, Outbox, Payload, PeerOp, PeerPacket};

/// A CTA of a cluster, by CTA slot.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct ClusterCta {
    cluster: u16,
    rank: u8,
    /// Warps that have arrived since the barrier of the cluster opened last.
    arrived: u64,
    /// True if the network has been notified that all warps of the CTA have arrived.
    reported: bool,
}

const NO_CTA: ClusterCta = ClusterCta { cluster: NO_CLUSTER, rank: 0, arrived: 0, reported: false };

/// The port to the network between SMs.
#[derive(Debug, warpshard_state::State)]
pub(super) struct PeerPort {
    sm: SmId,
    link: LinkId,
    members: Box<[ClusterCta]>,
    /// Messages to send in this cycle.
    outgoing: Vec<PeerPacket>,
}

impl PeerPort {
    pub(super) fn new(sm: SmId, link: LinkId, slots: u32) -> Self {
        Self { sm, link, members: vec![NO_CTA; slots as usize].into(), outgoing: Vec::new() }
    }

    /// Returns a packet for the cluster and rank of the CTA in a slot.
    fn packet(&self, slot: u8, op: PeerOp) -> PeerPacket {
        let ClusterCta { cluster, rank, .. } = self.members[usize::from(slot)];
        PeerPacket { cluster, rank, from: self.sm, op, ..PeerPacket::default() }
    }

    /// Records that a CTA starts in a slot; its cluster has `size` CTAs.
    pub(super) fn started(&mut self, slot: usize, launch: &CtaLaunch, size: u32) {
        self.members[slot] = ClusterCta { cluster: launch.cluster, rank: launch.rank, ..NO_CTA };
        if launch.cluster != NO_CLUSTER {
            self.outgoing.push(PeerPacket { amount: size, ..self.packet(slot as u8, PeerOp::CtaStarted) });
        }
    }

    /// Records that a CTA ended.
    pub(super) fn record_cta_end(&mut self, launch: &CtaLaunch) {
        let same = |member: &ClusterCta| (member.cluster, member.rank) == (launch.cluster, launch.rank);
        if launch.cluster != NO_CLUSTER
            && let Some(slot) = self.members.iter().position(same)
        {
            self.outgoing.push(self.packet(slot as u8, PeerOp::CtaEnded));
            self.members[slot] = NO_CTA;
        }
    }

    /// Records that a warp of the CTA in a slot arrives at the barrier of its cluster; `running` are the warps that have not exited.
    pub(super) fn arrive(&mut self, slot: u8, warp: usize, running: u64) {
        self.members[usize::from(slot)].arrived |= 1 << warp;
        self.check(slot, running);
    }

    /// Notifies the network if all warps of a CTA that have not exited are at the barrier.
    pub(super) fn check(&mut self, slot: u8, running: u64) {
        let member = &mut self.members[usize::from(slot)];
        if member.cluster != NO_CLUSTER && !member.reported && member.arrived != 0 && member.arrived & running == running {
            member.reported = true;
            self.outgoing.push(self.packet(slot, PeerOp::BarrierArrived));
        }
    }

    /// Returns true if a warp of the CTA in a slot waits at the barrier of its cluster.
    pub(super) fn is_at_cluster_barrier(&self, slot: u8, warp: usize) -> bool {
        let member = &self.members[usize::from(slot)];
        member.cluster != NO_CLUSTER && member.arrived >> warp & 1 != 0
    }

    /// Opens the barrier of a cluster; returns the slot of the CTA that was at the barrier.
    pub(super) fn open_cluster_barrier(&mut self, packet: &PeerPacket) -> Option<u8> {
        let slot = self.slot_of(packet)?;
        let member = &mut self.members[usize::from(slot)];
        (member.arrived, member.reported) = (0, false);
        Some(slot)
    }

    /// Returns the slot of the destination CTA of a packet.
    pub(super) fn slot_of(&self, packet: &PeerPacket) -> Option<u8> {
        let same = |member: &ClusterCta| (member.cluster, member.rank) == (packet.cluster, packet.rank);
        self.members.iter().position(same).map(|slot| slot as u8)
    }

    /// Returns the rank of the CTA in a slot, if it belongs to a cluster.
    pub(super) fn rank(&self, slot: u8) -> Option<u8> {
        let member = &self.members[usize::from(slot)];
        (member.cluster != NO_CLUSTER).then_some(member.rank)
    }

    /// Sends a packet from the CTA in a slot to another CTA of its cluster.
    pub(super) fn send(&mut self, slot: u8, packet: PeerPacket) {
        let ClusterCta { cluster, .. } = self.members[usize::from(slot)];
        self.outgoing.push(PeerPacket { cluster, from: self.sm, ..packet });
    }

    /// Sends the messages of this cycle.
    pub(super) fn flush(&mut self, now: warpshard_base::Cycle, out: &mut Outbox) {
        for packet in self.outgoing.drain(..) {
            out.send(self.link, now, Payload::Peer(packet));
        }
    }

    /// Returns true if the SM sends messages in this cycle.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        !self.outgoing.is_empty()
    }
}
