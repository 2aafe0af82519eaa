//! A system of several GPUs: what it is made of, and the links between its nodes as text.
//!
//! A *node* is a GPU, a switch or a host; `"gpu0-gpu1 x2"` is two links between two of them.

pub use super::choices::{Launch, LinkTopology, Placing};

/// The system of a machine of several GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// GPUs of the system, of the kind that the rest of the machine describes unless they are among the machine's `kinds`.
    pub gpus: u32,
    /// Boards with constant power of their own; 0 is one for each GPU.
    pub boards: u32,
    /// Which GPU's memory holds an address.
    pub memory: Placing,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// On which GPUs the CTAs of a kernel run.
    pub launch: Launch,
    /// Whether packets may pass through a GPU on their way between two others.
    pub forward: bool,
    /// The end of the links in each GPU.
    pub hub: Hub,
    /// Links between GPUs.
    pub peer: LinkSet,
    /// Links to hosts.
    pub host: LinkSet,
}

/// The end of the links in a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hub {
    /// Ports at each network; each takes and gives a packet per cycle.
    pub ports: u32,
    /// Cycles (noc clock) from a network to the hub.
    pub latency: u64,
    /// Requests of other GPUs that wait for answers of this one's memory.
    pub pending: u32,
    /// Lines that its copy engine has under way.
    pub copy_lines: u32,
    /// Cycles (noc clock) until the table of pages has given a new page to a GPU.
    pub fault_latency: u64,
}

/// Links of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSet {
    /// Which nodes they connect.
    pub topology: LinkTopology,
    /// Links between two nodes that the topology connects.
    pub count: u32,
    /// GPUs of a row of a mesh.
    pub columns: u32,
    /// What a list of links connects.
    pub wires: Vec<Wire>,
    /// Megabytes (10^6 bytes) per second of a link, in each direction.
    pub bandwidth: u32,
    /// Nanoseconds that a packet takes from the end of its sending to the hub or switch at the far end.
    pub latency: u32,
    /// Bytes of a packet beyond its data.
    pub header_bytes: u32,
    /// Packets that the buffer of a virtual channel holds at the far end.
    pub buffer: u32,
    /// Femtojoules of a bit that crosses a link. Changes nothing that is simulated.
    pub energy: u32,
}

/// What links connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A GPU.
    Gpu(u32),
    /// A switch.
    Switch(u32),
    /// A host.
    Host(u32),
}

type NodeKind = (&'static str, fn(u32) -> Node);

const NODES: [NodeKind; 3] = [("gpu", Node::Gpu), ("switch", Node::Switch), ("host", Node::Host)];

impl Node {
    fn parse(word: &str) -> Option<Self> {
        let (name, make) = NODES.iter().find(|(name, _)| word.starts_with(name))?;
        word[name.len()..].parse().ok().map(make)
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gpu(number) => write!(f, "gpu{number}"),
            Self::Switch(number) => write!(f, "switch{number}"),
            Self::Host(number) => write!(f, "host{number}"),
        }
    }
}

/// Links between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// One end.
    pub a: Node,
    /// The other.
    pub b: Node,
    /// How many there are.
    pub count: u32,
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.a, self.b)?;
        if self.count == 1 { Ok(()) } else { write!(f, " x{}", self.count) }
    }
}

/// Reads links as text, such as "gpu0-gpu1 x2".
pub(super) fn read(text: &str) -> Option<Wire> {
    let (ends, count) = match text.trim().split_once(" x") {
        Some((ends, count)) => (ends.trim(), count.trim().parse().ok()?),
        None => (text.trim(), 1),
    };
    let (a, b) = ends.split_once('-')?;
    Some(Wire { a: Node::parse(a.trim())?, b: Node::parse(b.trim())?, count })
}

/// Writes all links as TOML that [`read`] reads back.
pub(super) fn write(wires: &[Wire]) -> String {
    let texts: Vec<String> = wires.iter().map(|wire| format!("\"{wire}\"")).collect();
    format!("[{}]", texts.join(", "))
}

impl LinkSet {
    /// The links that the topology makes of so many GPUs, in the order of their numbers.
    pub fn wires(&self, gpus: u32) -> Vec<Wire> {
        let count = self.count.max(1);
        let pair = |a: u32, b: u32| Wire { a: Node::Gpu(a), b: Node::Gpu(b), count };
        match self.topology {
            LinkTopology::None => Vec::new(),
            LinkTopology::List => self.wires.clone(),
            LinkTopology::Pairs => (0..gpus).flat_map(|a| (a + 1..gpus).map(move |b| (a, b))).map(|(a, b)| pair(a, b)).collect(),
            // Two GPUs are one pair, not two.
            LinkTopology::Ring if gpus == 2 => vec![pair(0, 1)],
            LinkTopology::Ring => (0..gpus).map(|gpu| pair(gpu, (gpu + 1) % gpus)).collect(),
            LinkTopology::Mesh => self.mesh(gpus, &pair),
            LinkTopology::Switch => (0..gpus).map(|gpu| Wire { a: Node::Gpu(gpu), b: Node::Switch(0), count }).collect(),
            LinkTopology::Host => (0..gpus).map(|gpu| Wire { a: Node::Gpu(gpu), b: Node::Host(0), count }).collect(),
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
    fn what_is_written_is_read_back_and_nonsense_is_refused() {
        let wires: Vec<Wire> = ["gpu0 - gpu1 x2", "gpu1-switch0", "switch0-host1"].iter().map(|text| read(text).unwrap()).collect();
        assert_eq!(write(&wires), "[\"gpu0-gpu1 x2\", \"gpu1-switch0\", \"switch0-host1\"]");
        for text in ["", "gpu0", "gpu0-", "gpu0-cpu1", "gpu0-gpu1 2", "gpu-gpu1", "gpu0-gpu1 xx"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn topologies_connect_what_they_say() {
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
