//! Traffic patterns: sources and their destinations.

use warpshard_base::Rng;
use warpshard_noc::mesh::Topology;

/// Node numbers of the memory controllers among the 36 nodes of a chip with 28 SMs (GPGPU-Sim's preset for 28 SMs and 8 controllers).
const CONTROLLER_NODES: [u16; 8] = [3, 7, 10, 12, 23, 25, 28, 32];

/// A traffic pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Every node sends to a random node, itself included.
    Uniform,
    /// The 28 SMs of 36 nodes send to a random one of the 8 memory controllers.
    Sm28ToMc8,
    /// The 8 memory controllers send to a random one of the 28 SMs.
    Mc8ToSm28,
    /// All 36 nodes send to a random one of the 8 memory controllers.
    Hot36To8,
    /// Every node sends to the node with row and column exchanged.
    Transpose,
    /// Node i sends to node n - 1 - i, which complements all bits of i if n is a power of two.
    BitComp,
    /// Every node sends to the node whose number has the bits reversed.
    BitRev,
    /// Every node sends to the node whose number has the bits rotated to the left by one.
    Shuffle,
    /// Every node sends half-way around each dimension.
    Tornado,
    /// Every node sends to the next node of each dimension, with wrap-around.
    Neighbor,
}

/// All patterns by name.
pub const PATTERNS: &[(&str, TrafficPattern)] = &[
    ("uniform", TrafficPattern::Uniform),
    ("sm28tomc8", TrafficPattern::Sm28ToMc8),
    ("mc8tosm28", TrafficPattern::Mc8ToSm28),
    ("hot36to8", TrafficPattern::Hot36To8),
    ("transpose", TrafficPattern::Transpose),
    ("bitcomp", TrafficPattern::BitComp),
    ("bitrev", TrafficPattern::BitRev),
    ("shuffle", TrafficPattern::Shuffle),
    ("tornado", TrafficPattern::Tornado),
    ("neighbor", TrafficPattern::Neighbor),
];

/// The destinations of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destinations {
    /// A fixed destination.
    One(u16),
    /// A random one of these destinations.
    Any(Vec<u16>),
}

impl Destinations {
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u16 {
        match self {
            Self::One(dest) => *dest,
            Self::Any(all) => all[rng.below(all.len() as u64) as usize],
        }
    }
}

impl TrafficPattern {
    /// Returns the sources with their destinations.
    ///
    /// # Errors
    /// Fails if the pattern is undefined for this topology.
    pub(super) fn on(self, topology: &Topology) -> Result<Vec<(u16, Destinations)>, String> {
        let terminals = topology.terminals() as u16;
        let all = || 0..terminals;
        let is_controller = |node: &u16| CONTROLLER_NODES.contains(node);
        let others: Vec<u16> = all().filter(|node| !is_controller(node)).collect();
        let random = |sources: Vec<u16>, dests: &[u16]| sources.into_iter().map(|s| (s, Destinations::Any(dests.to_vec()))).collect();
        let fixed = |to: &dyn Fn(u16) -> u16| Ok(all().map(|source| (source, Destinations::One(to(source)))).collect());
        if matches!(self, Self::Sm28ToMc8 | Self::Mc8ToSm28 | Self::Hot36To8) && terminals != 36 {
            return Err(format!("this pattern places 8 controllers among 36 nodes; {topology} has {terminals}"));
        }
        let bits = terminals.trailing_zeros();
        if matches!(self, Self::BitRev | Self::Shuffle) && !terminals.is_power_of_two() {
            return Err(format!(
                "this pattern permutes the bits of a node's number; {topology} has {terminals} nodes, which is not a power of two"
            ));
        }
        let (columns, rows) = match *topology {
            Topology::Mesh { columns, rows } => (columns, rows),
            Topology::Crossbar { ports } => (ports, 1),
            Topology::Wired(_) => (terminals, 1),
        };
        let each = |source: u16, to: &dyn Fn(u16, u16) -> u16| to(source / columns, rows) * columns + to(source % columns, columns);
        match self {
            Self::Uniform => Ok(random(all().collect(), &all().collect::<Vec<_>>())),
            Self::Sm28ToMc8 => Ok(random(others, &CONTROLLER_NODES)),
            Self::Mc8ToSm28 => Ok(random(CONTROLLER_NODES.to_vec(), &others)),
            Self::Hot36To8 => Ok(random(all().collect(), &CONTROLLER_NODES)),
            Self::Transpose => {
                let side = (1..=terminals).find(|side| side * side >= terminals).unwrap_or(1);
                if side * side != terminals {
                    return Err(format!("transpose needs a square number of nodes; {topology} has {terminals}"));
                }
                fixed(&|source| source % side * side + source / side)
            }
            Self::BitComp => fixed(&|source| terminals - 1 - source),
            Self::BitRev => fixed(&|source| if bits == 0 { 0 } else { source.reverse_bits() >> (16 - bits) }),
            Self::Shuffle => fixed(&|source| if bits == 0 { 0 } else { (source << 1 | source >> (bits - 1)) & (terminals - 1) }),
            Self::Tornado => fixed(&|source| each(source, &|at, size| (at + size.div_ceil(2) - 1) % size)),
            Self::Neighbor => fixed(&|source| each(source, &|at, size| (at + 1) % size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(pattern: TrafficPattern, topology: &Topology) -> Vec<u16> {
        let destination = |(_, to)| match to {
            Destinations::One(to) => to,
            Destinations::Any(_) => panic!("{pattern:?} is random"),
        };
        pattern.on(topology).unwrap().into_iter().map(destination).collect()
    }

    #[test]
    fn permutations_map_every_node_to_another() {
        let topology = Topology::Mesh { columns: 4, rows: 4 };
        for (name, pattern) in &PATTERNS[4..] {
            let mut to = fixed(*pattern, &topology);
            to.sort_unstable();
            assert_eq!(to, (0..16).collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(fixed(TrafficPattern::Transpose, &topology)[1], 4);
        assert_eq!(fixed(TrafficPattern::BitRev, &topology)[1], 8);
        assert_eq!(fixed(TrafficPattern::Shuffle, &topology)[9], 3);
        assert_eq!(fixed(TrafficPattern::Tornado, &topology)[0], 5);
    }

    #[test]
    fn controllers_and_sms_share_the_36_nodes() {
        let topology = Topology::Mesh { columns: 6, rows: 6 };
        let sources = |pattern: TrafficPattern| pattern.on(&topology).unwrap().len();
        assert_eq!(
            (sources(TrafficPattern::Sm28ToMc8), sources(TrafficPattern::Mc8ToSm28), sources(TrafficPattern::Hot36To8)),
            (28, 8, 36)
        );
        assert!(TrafficPattern::Sm28ToMc8.on(&Topology::Mesh { columns: 4, rows: 4 }).is_err());
        assert!(TrafficPattern::Shuffle.on(&topology).is_err());
    }
}
