//! The engine links of a hub, and the kind of message on each.

use warpshard_base::{GpuId, LinkId};

/// A unidirectional link to or from another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct LanePort {
    /// The number of the link among all links of the system.
    pub lane: u16,
    /// The engine link of packets.
    pub data: LinkId,
    /// The engine link of credits, in the opposite direction.
    pub credit: LinkId,
    /// True for a link to a host.
    pub host: bool,
    /// Bandwidth in megabytes per second.
    pub bandwidth: u32,
    /// Bytes of a packet's header.
    pub header_bytes: u32,
    /// Packets that the buffer of each virtual channel holds at the far end.
    pub buffer: u32,
}

/// The ports of a hub at one of the networks. Each field is the first of consecutive links, one per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct NetPorts {
    /// Packets from the network.
    pub from: LinkId,
    /// Credits to the network, for packets from it.
    pub credit_to: LinkId,
    /// Packets to the network.
    pub to: LinkId,
    /// Credits from the network, for packets to it.
    pub credit_from: LinkId,
    /// Packets that each queue from the network holds, and packets that each queue to it holds.
    pub places: (u32, u32),
}

/// The ports of a hub inside its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct GpuPorts {
    /// The number of the GPU.
    pub gpu: GpuId,
    /// The number of ports at each network.
    pub ports: u16,
    /// The ports for requests of SMs to other GPUs, and of other GPUs to the slices.
    pub request: NetPorts,
    /// The ports for replies to the SMs, and of the slices to other GPUs.
    pub reply: NetPorts,
    /// The number of the first port among the requesters of the reply network.
    pub first_port: u16,
    /// The number of SMs, which receive page notices.
    pub sms: u16,
    /// The link to the grid scheduler.
    pub to_grid: LinkId,
    /// The link from the grid scheduler.
    pub from_grid: LinkId,
}

/// All links of a hub or switch.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct HubPorts {
    /// The ports inside the GPU; `None` for a switch or host.
    pub gpu: Option<GpuPorts>,
    /// Links to other nodes.
    pub lanes_out: Vec<LanePort>,
    /// Links from other nodes.
    pub lanes_in: Vec<LanePort>,
    /// The links that lead to each GPU, as indices into `lanes_out`.
    pub lanes_to_gpu: Vec<Vec<u16>>,
    /// Links on the longest path between two GPUs.
    pub hops: u32,
}

/// The meaning of a message on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkRole {
    /// A packet from another node, by link.
    LaneIn(usize),
    /// Credits of another node, by link.
    LaneCredit(usize),
    /// A packet of a network, by port.
    FromRequest(usize),
    FromReply(usize),
    /// Credits of a network, by port.
    RequestCredit(usize),
    ReplyCredit(usize),
    /// A message of the grid scheduler.
    Grid,
}

impl HubPorts {
    /// Returns the kind of message that arrives over a link.
    pub(super) fn role(&self, link: LinkId) -> Option<LinkRole> {
        if let Some(gpu) = &self.gpu {
            let within = |first: LinkId| link.0.checked_sub(first.0).filter(|port| *port < gpu.ports).map(usize::from);
            let inside = (within(gpu.request.from).map(LinkRole::FromRequest))
                .or_else(|| within(gpu.reply.from).map(LinkRole::FromReply))
                .or_else(|| within(gpu.request.credit_from).map(LinkRole::RequestCredit))
                .or_else(|| within(gpu.reply.credit_from).map(LinkRole::ReplyCredit))
                .or_else(|| (link == gpu.from_grid).then_some(LinkRole::Grid));
            if inside.is_some() {
                return inside;
            }
        }
        let lane_in = self.lanes_in.iter().position(|lane| lane.data == link).map(LinkRole::LaneIn);
        lane_in.or_else(|| self.lanes_out.iter().position(|lane| lane.credit == link).map(LinkRole::LaneCredit))
    }
}
