//! The links of the engine that a hub has, and what kind of message each brings.

use warpshard_base::{GpuId, LinkId};

/// A link to or from another node, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct LanePort {
    /// Its number among all links of the system.
    pub lane: u16,
    /// Packets.
    pub data: LinkId,
    /// Credits, in the other direction.
    pub credit: LinkId,
    /// Whether it is one of the links to hosts.
    pub host: bool,
    /// Megabytes per second.
    pub bandwidth: u32,
    /// Bytes of a packet beyond its data.
    pub header_bytes: u32,
    /// Packets that the buffer of each virtual channel holds at the far end.
    pub buffer: u32,
}

/// The ports of a hub at one of the networks; of each kind one per port, with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct NetPorts {
    /// Packets from the network, and credits for them.
    pub from: LinkId,
    /// Credits to the network.
    pub credit_to: LinkId,
    /// Packets to the network.
    pub to: LinkId,
    /// Credits from the network.
    pub credit_from: LinkId,
    /// Packets that each queue from the network holds, and each to it.
    pub places: (u32, u32),
}

/// The ports of a hub inside its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct GpuPorts {
    /// Which GPU.
    pub gpu: GpuId,
    /// Ports at each network.
    pub ports: u16,
    /// Requests of SMs to other GPUs, and of other GPUs to the slices.
    pub request: NetPorts,
    /// Replies to the SMs, and of the slices to other GPUs.
    pub reply: NetPorts,
    /// The number that the first port has among the requesters of the reply network.
    pub first_port: u16,
    /// SMs, which hear of pages.
    pub sms: u16,
    /// To and from the grid scheduler.
    pub to_grid: LinkId,
    /// See `to_grid`.
    pub from_grid: LinkId,
}

/// All links of a hub or switch.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct HubPorts {
    /// Inside its GPU; `None` for a switch or host.
    pub gpu: Option<GpuPorts>,
    /// Links to other nodes.
    pub lanes_out: Vec<LanePort>,
    /// Links from other nodes.
    pub lanes_in: Vec<LanePort>,
    /// For each GPU, the links that lead there, as places among `lanes_out`.
    pub ways: Vec<Vec<u16>>,
    /// Links of the longest path between two GPUs.
    pub hops: u32,
}

/// What a message over a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A packet from another node.
    LaneIn(usize),
    /// Credits of another node.
    LaneCredit(usize),
    /// A packet of a network, by port.
    FromRequest(usize),
    FromReply(usize),
    /// Credits of a network, by port.
    RequestCredit(usize),
    ReplyCredit(usize),
    /// The grid scheduler.
    Grid,
}

impl HubPorts {
    /// What comes over a link.
    pub(super) fn role(&self, link: LinkId) -> Option<Role> {
        if let Some(gpu) = &self.gpu {
            let within = |first: LinkId| link.0.checked_sub(first.0).filter(|port| *port < gpu.ports).map(usize::from);
            let inside = (within(gpu.request.from).map(Role::FromRequest))
                .or_else(|| within(gpu.reply.from).map(Role::FromReply))
                .or_else(|| within(gpu.request.credit_from).map(Role::RequestCredit))
                .or_else(|| within(gpu.reply.credit_from).map(Role::ReplyCredit))
                .or_else(|| (link == gpu.from_grid).then_some(Role::Grid));
            if inside.is_some() {
                return inside;
            }
        }
        let lane_in = self.lanes_in.iter().position(|lane| lane.data == link).map(Role::LaneIn);
        lane_in.or_else(|| self.lanes_out.iter().position(|lane| lane.credit == link).map(Role::LaneCredit))
    }
}
