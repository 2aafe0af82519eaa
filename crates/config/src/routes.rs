//! Routing between the nodes of a system: the links, and the deterministic shortest paths from each node to each GPU.
//!
//! Input: the system. Output: its nodes, a directed link for each direction of each link, and, for each node and GPU, the links that a
//! packet may take next. All of these links lead to the same node: the first node, in node order, that is closest to the GPU. Packets
//! spread over parallel links by their address. If GPUs do not forward packets, no path passes through a GPU.

use std::collections::VecDeque;

use super::system::{LinkSet, System, SystemNode, Wire};
use crate::MachineError;

/// A link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLane {
    /// The number of the sending node.
    pub from: usize,
    /// The number of the receiving node.
    pub to: usize,
    /// `true` for a link to a host.
    pub host: bool,
}

/// The nodes and links of a system, and the paths between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// GPUs in the order of their numbers, then switches and hosts.
    pub nodes: Vec<SystemNode>,
    /// All links, in both directions.
    pub lanes: Vec<LinkLane>,
    /// For each node and each GPU, the links towards the GPU; empty at the GPU itself.
    next_links: Vec<Vec<Vec<u16>>>,
    /// Number of links on the longest path between two GPUs.
    pub max_path_links: u32,
}

impl Routes {
    /// Computes the paths through a system.
    ///
    /// # Errors
    /// A link ends at a GPU that does not exist or connects a node to itself, or there is no path between two GPUs; a message for the user.
    pub fn of(system: &System) -> Result<Self, MachineError> {
        let gpus = system.gpus as usize;
        let sets = [(&system.peer, false), (&system.host, true)];
        let wires: Vec<(Wire, bool)> = sets.iter().flat_map(|(set, host)| set.wires(system.gpus).into_iter().map(|w| (w, *host))).collect();
        let mut nodes: Vec<SystemNode> = (0..system.gpus).map(SystemNode::Gpu).collect();
        for (wire, _) in &wires {
            check_wire(wire, system.gpus)?;
            for end in [wire.a, wire.b] {
                if !nodes.contains(&end) {
                    nodes.push(end);
                }
            }
        }
        nodes[gpus..].sort_unstable();
        let number = |node: SystemNode| nodes.iter().position(|known| *known == node).unwrap_or_default();
        let mut lanes = Vec::new();
        for (wire, host) in &wires {
            let (a, b) = (number(wire.a), number(wire.b));
            for _ in 0..wire.count {
                lanes.push(LinkLane { from: a, to: b, host: *host });
                lanes.push(LinkLane { from: b, to: a, host: *host });
            }
        }
        let mut routes = Self { next_links: vec![vec![Vec::new(); gpus]; nodes.len()], nodes, lanes, max_path_links: 0 };
        for gpu in 0..gpus {
            routes.compute_paths_to(gpu, gpus, system.forward)?;
        }
        Ok(routes)
    }

    /// Returns the links that lead from a node towards a GPU.
    pub fn next_links(&self, node: usize, gpu: usize) -> &[u16] {
        &self.next_links[node][gpu]
    }

    /// Returns the links of the path from one GPU to another, the first of parallel links.
    pub fn path(&self, from: usize, to: usize) -> Vec<u16> {
        let mut path = Vec::new();
        let mut node = from;
        while let Some(&lane) = self.next_links(node, to).first() {
            path.push(lane);
            node = self.lanes[usize::from(lane)].to;
        }
        path
    }

    /// Returns the parameters of a link's kind.
    pub fn set<'a>(&self, system: &'a System, lane: usize) -> &'a LinkSet {
        if self.lanes[lane].host { &system.host } else { &system.peer }
    }

    /// Computes the paths from all nodes to one GPU by a breadth-first search from the GPU.
    fn compute_paths_to(&mut self, gpu: usize, gpus: usize, forward: bool) -> Result<(), String> {
        let mut distance = vec![u32::MAX; self.nodes.len()];
        distance[gpu] = 0;
        let mut reached = VecDeque::from([gpu]);
        while let Some(node) = reached.pop_front() {
            // An intermediate GPU forwards packets only if `forward` is set.
            if node < gpus && node != gpu && !forward {
                continue;
            }
            for lane in self.lanes.iter().filter(|lane| lane.to == node) {
                if distance[lane.from] == u32::MAX {
                    distance[lane.from] = distance[node] + 1;
                    reached.push_back(lane.from);
                }
            }
        }
        for node in (0..self.nodes.len()).filter(|node| *node != gpu) {
            if distance[node] == u32::MAX {
                if node < gpus {
                    return Err(format!(
                        "there is no path of links from {} to {}{}",
                        self.nodes[node],
                        self.nodes[gpu],
                        if forward { "" } else { " that passes through no other GPU" }
                    ));
                }
                continue;
            }
            let passes = |to: usize| to == gpu || to >= gpus || forward;
            let closer = |lane: &LinkLane| {
                lane.from == node && distance[lane.to] != u32::MAX && distance[lane.to] + 1 == distance[node] && passes(lane.to)
            };
            let next = self.lanes.iter().filter(|lane| closer(lane)).map(|lane| lane.to).min();
            let lanes = (0..).zip(&self.lanes).filter(|(_, lane)| closer(lane) && Some(lane.to) == next);
            self.next_links[node][gpu] = lanes.map(|(number, _)| number).collect();
            if node < gpus {
                self.max_path_links = self.max_path_links.max(distance[node]);
            }
        }
        Ok(())
    }
}

fn check_wire(wire: &Wire, gpus: u32) -> Result<(), String> {
    if wire.a == wire.b {
        return Err(format!("the link \"{wire}\" leads from {} to itself", wire.a));
    }
    for end in [wire.a, wire.b] {
        if let SystemNode::Gpu(number) = end
            && number >= gpus
        {
            return Err(format!("the link \"{wire}\" ends at {end}, but the system has {gpus} GPUs, counted from 0"));
        }
        if let SystemNode::Switch(number) | SystemNode::Host(number) = end
            && number >= MAX_SWITCHES
        {
            return Err(format!("the link \"{wire}\" ends at {end}, expected a number below {MAX_SWITCHES}"));
        }
    }
    if wire.count == 0 || wire.count > MAX_PARALLEL_LINKS {
        return Err(format!("\"{wire}\" stands for {} links, expected 1 to {MAX_PARALLEL_LINKS}", wire.count));
    }
    Ok(())
}

/// Maximum number of switches and of hosts.
const MAX_SWITCHES: u32 = 64;
/// Maximum number of parallel links in one entry of the list.
const MAX_PARALLEL_LINKS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::super::choices::LinkTopology;
    use super::*;

    fn system(gpus: u32, wires: &[&str], forward: bool) -> System {
        let wires = wires.iter().map(|text| super::super::system::read(text).unwrap()).collect();
        let peer = LinkSet { topology: LinkTopology::List, count: 1, wires, ..LinkSet::default() };
        System { gpus, forward, peer, ..System::default() }
    }

    #[test]
    fn paths_are_shortest_and_pass_only_through_forwarding_gpus() {
        let line = ["gpu0-gpu1 x2", "gpu1-gpu2"];
        let routes = Routes::of(&system(3, &line, true)).unwrap();
        assert_eq!((routes.next_links(0, 2), routes.path(2, 0), routes.max_path_links), (&[0, 2][..], vec![5, 1], 2));
        let error = Routes::of(&system(3, &line, false)).unwrap_err().to_string();
        assert_eq!(error, "there is no path of links from gpu2 to gpu0 that passes through no other GPU");
        let switched = Routes::of(&system(3, &["gpu0-gpu1", "gpu0-switch0", "gpu1-switch0", "gpu2-switch0"], false)).unwrap();
        assert_eq!((switched.path(0, 1), switched.path(0, 2), switched.max_path_links), (vec![0], vec![2, 7], 2));
    }

    #[test]
    fn links_to_missing_nodes_are_rejected() {
        let error = |wires: &[&str]| Routes::of(&system(2, wires, true)).unwrap_err().to_string();
        assert_eq!(error(&["gpu0-gpu0"]), "the link \"gpu0-gpu0\" leads from gpu0 to itself");
        assert_eq!(error(&["gpu0-gpu2"]), "the link \"gpu0-gpu2\" ends at gpu2, but the system has 2 GPUs, counted from 0");
        assert_eq!(error(&["gpu0-gpu1 x0"]), "\"gpu0-gpu1 x0\" stands for 0 links, expected 1 to 64");
        assert_eq!(error(&["gpu0-switch0"]), "there is no path of links from gpu1 to gpu0");
    }
}
