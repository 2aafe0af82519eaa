//! Parameters of a system of several GPUs, and the text form of its links.
//!
//! A *node* is a GPU, a switch or a host; `"gpu0-gpu1 x2"` denotes two links between two nodes.

pub use super::choices::{Launch, LinkTopology, PagePlacement};

/// The system of a machine with several GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// Number of GPUs. A GPU is described by the rest of the machine unless it belongs to one of the machine's `kinds`.
    pub gpus: u32,
    /// Number of boards, each with its constant power; 0 for one board per GPU.
    pub boards: u32,
    /// The policy that assigns addresses to the memories of GPUs.
    pub memory: PagePlacement,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// The distribution of a kernel's CTAs over GPUs.
    pub launch: Launch,
    /// `true` if a GPU may forward packets between two other GPUs.
    pub forward: bool,
    /// The hub of each GPU, at which the links end.
    pub hub: Hub,
    /// Links between GPUs.
    pub peer: LinkSet,
    /// Links to hosts.
    pub host: LinkSet,
}

/// The hub of a GPU, at which the links end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hub {
    /// Ports at each network; a port sends and receives one packet per cycle.
    pub ports: u32,
    /// Cycles (noc clock) from a network to the hub.
    pub latency: u64,
    /// Maximum number of outstanding requests of other GPUs to this GPU's memory.
    pub pending: u32,
    /// Maximum number of lines in flight of the copy engine.
    pub copy_lines: u32,
    /// Cycles (noc clock) to assign a new page to a GPU in the page table.
    pub fault_latency: u64,
}

/// Links of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSet {
    /// The pairs of nodes that the links connect.
    pub topology: LinkTopology,
    /// Number of parallel links between two connected nodes.
    pub count: u32,
    /// GPUs per row of a mesh.
    pub columns: u32,
    /// The links of the topology `list`.
    pub wires: Vec<Wire>,
    /// Bandwidth of a link in each direction, in megabytes (10^6 bytes) per second.
    pub bandwidth: u32,
    /// Latency in nanoseconds from the end of a packet's transmission to its arrival at the hub or switch at the far end.
    pub latency: u32,
    /// Size of a packet's header in bytes.
    pub header_bytes: u32,
    /// Buffer depth of a virtual channel at the far end, in packets.
    pub buffer: u32,
    /// Energy per bit that crosses a link, in femtojoules. It has no effect on the simulation.
    pub energy: u32,
}

/// A node that links connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemNode {
    /// A GPU.
    Gpu(u32),
    /// A switch.
    Switch(u32),
    /// A host.
    Host(u32),
}

type NodeKind = (&'static str, fn(u32) -> SystemNode);

const NODE_KINDS: [NodeKind; 3] = [("gpu", SystemNode::Gpu), ("switch", SystemNode::Switch), ("host", SystemNode::Host)];

impl SystemNode {
    fn parse(word: &str) -> Option<Self> {
        let (name, make) = NODE_KINDS.iter().find(|(name, _)| word.starts_with(name))?;
        word[name.len()..].parse().ok().map(make)
    }
}

impl std::fmt::Display for SystemNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gpu(number) => write!(f, "gpu{number}"),
            Self::Switch(number) => write!(f, "switch{number}"),
            Self::Host(number) => write!(f, "host{number}"),
        }
    }
}

/// Parallel links between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The first node.
    pub a: SystemNode,
    /// The second node.
    pub b: SystemNode,
    /// Number of parallel links.
    pub count: u32,
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.a, self.b)?;
        if self.count == 1 { Ok(()) } else { write!(f, " x{}", self.count) }
    }
}

/// Parses links such as "gpu0-gpu1 x2".
pub(super) fn read(text: &str) -> Option<Wire> {
    let (ends, count) = match text.trim().split_once(" x") {
        Some((ends, count)) => (ends.trim(), count.trim().parse().ok()?),
        None => (text.trim(), 1),
    };
    let (a, b) = ends.split_once('-')?;
    Some(Wire { a: SystemNode::parse(a.trim())?, b: SystemNode::parse(b.trim())?, count })
}

/// Writes all links as TOML that [`read`] reads back.
pub(super) fn write(wires: &[Wire]) -> String {
    let texts: Vec<String> = wires.iter().map(|wire| format!("\"{wire}\"")).collect();
    format!("[{}]", texts.join(", "))
}

impl LinkSet {
    /// Returns the links of the topology for `gpus` GPUs, in the order of their numbers.
    pub fn wires(&self, gpus: u32) -> Vec<Wire> {
        let count = self.count.max(1);
        let pair = |a: u32, b: u32| Wire { a: SystemNode::Gpu(a), b: SystemNode::Gpu(b), count };
        match self.topology {
            LinkTopology::None => Vec::new(),
            LinkTopology::List => self.wires.clone(),
            LinkTopology::Pairs => (0..gpus).flat_map(|a| (a + 1..gpus).map(move |b| (a, b))).map(|(a, b)| pair(a, b)).collect(),
            // A ring of two GPUs has one pair, not two.
            LinkTopology::Ring if gpus == 2 => vec![pair(0, 1)],
            LinkTopology::Ring => (0..gpus).map(|gpu| pair(gpu, (gpu + 1) % gpus)).collect(),
            LinkTopology::Mesh => self.mesh(gpus, &pair),
            LinkTopology::Switch => (0..gpus).map(|gpu| Wire { a: SystemNode::Gpu(gpu), b: SystemNode::Switch(0), count }).collect(),
            LinkTopology::Host => (0..gpus).map(|gpu| Wire { a: SystemNode::Gpu(gpu), b: SystemNode::Host(0), count }).collect(),
        }
    }

    fn mesh(&self, gpus: u32, pair: &dyn Fn(u32, u32) -> Wire) -> Vec<Wire> {
        let columns = self.columns.max(1);
        let right = |gpu: u32| (gpu % columns + 1 < columns && gpu + 1 < gpus).then(|| pair(gpu, gpu + 1));
        let below = |gpu: u32| (gpu + columns < gpus).then(|| pair(gpu, gpu + columns));
        (0..gpus).flat_map(|gpu| right(gpu).into_iter().chain(below(gpu))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_text_is_read_back_and_invalid_text_is_rejected() {
        let wires: Vec<Wire> = ["gpu0 - gpu1 x2", "gpu1-switch0", "switch0-host1"].iter().map(|text| read(text).unwrap()).collect();
        assert_eq!(write(&wires), "[\"gpu0-gpu1 x2\", \"gpu1-switch0\", \"switch0-host1\"]");
        for text in ["", "gpu0", "gpu0-", "gpu0-cpu1", "gpu0-gpu1 2", "gpu-gpu1", "gpu0-gpu1 xx"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn topologies_connect_the_expected_nodes() {
        let wires = |topology, gpus| LinkSet { topology, count: 1, columns: 2, ..LinkSet::default() }.wires(gpus);
        let text = |topology, gpus| wires(topology, gpus).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(text(LinkTopology::Pairs, 3), "gpu0-gpu1 gpu0-gpu2 gpu1-gpu2");
        assert_eq!(text(LinkTopology::Ring, 2), "gpu0-gpu1");
        assert_eq!(text(LinkTopology::Ring, 3), "gpu0-gpu1 gpu1-gpu2 gpu2-gpu0");
        assert_eq!(text(LinkTopology::Mesh, 4), "gpu0-gpu1 gpu0-gpu2 gpu1-gpu3 gpu2-gpu3");
        assert_eq!(text(LinkTopology::Switch, 2), "gpu0-switch0 gpu1-switch0");
        assert_eq!(text(LinkTopology::None, 2), "");
    }
}
