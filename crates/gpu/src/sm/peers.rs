//! The SM's end of the network between the SMs of clusters: its CTAs that are part of clusters, and the barriers of these.
//!
//! In: starts and ends of CTAs, warps that arrive at the barrier of their cluster, word that one opened. Out: messages for the network, which leave at
//! the end of the cycle. A CTA is at the barrier when all its warps that have not exited are.

use warpshard_base::{LinkId, SmId};
use warpshard_protocol::{CtaLaunch, NO_CLUSTER, Outbox, Payload, PeerOp, PeerPacket};

/// A CTA of a cluster, by its slot.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Member {
    cluster: u16,
    rank: u8,
    /// Warps that have arrived since the barrier of the cluster opened last.
    arrived: u64,
    /// The network knows that all have.
    said: bool,
}

const NOBODY: Member = Member { cluster: NO_CLUSTER, rank: 0, arrived: 0, said: false };

/// The end of the network.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Peers {
    sm: SmId,
    link: LinkId,
    members: Box<[Member]>,
    /// What leaves in this cycle.
    leaving: Vec<PeerPacket>,
}

impl Peers {
    pub(super) fn new(sm: SmId, link: LinkId, slots: u32) -> Self {
        Self { sm, link, members: vec![NOBODY; slots as usize].into(), leaving: Vec::new() }
    }

    /// A packet for a CTA of the cluster of the CTA in a slot, or a notice of that one.
    fn packet(&self, slot: u8, op: PeerOp) -> PeerPacket {
        let Member { cluster, rank, .. } = self.members[usize::from(slot)];
        PeerPacket { cluster, rank, from: self.sm, op, ..PeerPacket::default() }
    }

    /// A CTA starts in a slot; its cluster has `size` CTAs.
    pub(super) fn started(&mut self, slot: usize, launch: &CtaLaunch, size: u32) {
        self.members[slot] = Member { cluster: launch.cluster, rank: launch.rank, ..NOBODY };
        if launch.cluster != NO_CLUSTER {
            self.leaving.push(PeerPacket { amount: size, ..self.packet(slot as u8, PeerOp::Here) });
        }
    }

    /// A CTA ended.
    pub(super) fn ended(&mut self, launch: &CtaLaunch) {
        let same = |member: &Member| (member.cluster, member.rank) == (launch.cluster, launch.rank);
        if launch.cluster != NO_CLUSTER
            && let Some(slot) = self.members.iter().position(same)
        {
            self.leaving.push(self.packet(slot as u8, PeerOp::Gone));
            self.members[slot] = NOBODY;
        }
    }

    /// A warp of the CTA in a slot, of which `running` have not exited, arrives at the barrier of its cluster.
    pub(super) fn arrive(&mut self, slot: u8, warp: usize, running: u64) {
        self.members[usize::from(slot)].arrived |= 1 << warp;
        self.check(slot, running);
    }

    /// Tells the network where all warps of a CTA that have not exited are at the barrier.
    pub(super) fn check(&mut self, slot: u8, running: u64) {
        let member = &mut self.members[usize::from(slot)];
        if member.cluster != NO_CLUSTER && !member.said && member.arrived != 0 && member.arrived & running == running {
            member.said = true;
            self.leaving.push(self.packet(slot, PeerOp::Meet));
        }
    }

    /// Whether a warp of the CTA in a slot waits at the barrier of its cluster.
    pub(super) fn waits(&self, slot: u8, warp: usize) -> bool {
        let member = &self.members[usize::from(slot)];
        member.cluster != NO_CLUSTER && member.arrived >> warp & 1 != 0
    }

    /// The barrier of a cluster opened; returns the slot of the CTA that was at it.
    pub(super) fn opened(&mut self, packet: &PeerPacket) -> Option<u8> {
        let slot = self.slot_of(packet)?;
        let member = &mut self.members[usize::from(slot)];
        (member.arrived, member.said) = (0, false);
        Some(slot)
    }

    /// The slot of the CTA that a packet is for.
    pub(super) fn slot_of(&self, packet: &PeerPacket) -> Option<u8> {
        let same = |member: &Member| (member.cluster, member.rank) == (packet.cluster, packet.rank);
        self.members.iter().position(same).map(|slot| slot as u8)
    }

    /// The rank of the CTA in a slot, where it is part of a cluster.
    pub(super) fn rank(&self, slot: u8) -> Option<u8> {
        let member = &self.members[usize::from(slot)];
        (member.cluster != NO_CLUSTER).then_some(member.rank)
    }

    /// The CTA in a slot does something to another one of its cluster.
    pub(super) fn send(&mut self, slot: u8, packet: PeerPacket) {
        let Member { cluster, .. } = self.members[usize::from(slot)];
        self.leaving.push(PeerPacket { cluster, from: self.sm, ..packet });
    }

    /// Sends the messages of this cycle.
    pub(super) fn flush(&mut self, now: warpshard_base::Cycle, out: &mut Outbox) {
        for packet in self.leaving.drain(..) {
            out.send(self.link, now, Payload::Peer(packet));
        }
    }

    /// Whether something leaves in this cycle.
    #[inline]
    pub(super) fn is_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }
}
