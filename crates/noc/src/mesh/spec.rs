//! The description of a network: topology, routers, virtual channels and their distribution over traffic classes.

use super::topology::Topology;
use crate::SpecError;

/// The router's pipeline, in cycles from a flit's arrival to its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Pipeline {
    /// VC allocation and speculative switch allocation in one cycle, then the switch. A successful head takes two cycles.
    Speculative,
    /// VC allocation, switch allocation, switch; the route is computed one router ahead.
    Three,
    /// Route computation in a separate cycle, then the stages of `Three`.
    Four,
}

/// Virtual channels that a traffic class may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct VcRange {
    /// The first virtual channel.
    pub first: u8,
    /// The number of virtual channels.
    pub count: u8,
}

/// Router sizes with specialised code: ports, and virtual channels per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 8 ports with 4 virtual channels.
    Mesh4,
    /// 8 ports with 8 virtual channels.
    Mesh8,
    /// 8 ports with 16 virtual channels.
    Mesh16,
    /// 64 ports with 4 virtual channels.
    Crossbar64,
    /// 128 ports with 4 virtual channels.
    Crossbar128,
    /// 128 ports with 16 virtual channels.
    Largest,
}

/// A network of input-queued virtual-channel routers with credits.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct NetworkSpec {
    /// Routers and terminals.
    pub topology: Topology,
    /// The routers' pipeline.
    pub pipeline: Pipeline,
    /// Virtual channels of each port, at most 16.
    pub vcs: u8,
    /// Flits that the buffer of a virtual channel holds.
    pub buffers: u16,
    /// Allocation and switch rounds per cycle (BookSim's `internal_speedup`).
    pub speedup: u8,
    /// Cycles between a credit's arrival at a router and its use.
    pub credit_delay: u8,
    /// Cycles that a flit or a credit spends on a channel.
    pub channel_latency: u8,
    /// The virtual channels of each traffic class. Ranges are disjoint (partitioned) or equal (shared).
    pub classes: Vec<VcRange>,
}

impl NetworkSpec {
    /// Returns the 6x6 mesh of the reference: three stages, 4 VCs of 4 flits, credit delay 1, channels of 1 cycle, one traffic class.
    pub fn new(topology: Topology) -> Self {
        let classes = vec![VcRange { first: 0, count: 4 }];
        Self { topology, pipeline: Pipeline::Three, vcs: 4, buffers: 4, speedup: 1, credit_delay: 1, channel_latency: 1, classes }
    }

    /// Returns the network with `vcs` virtual channels that all traffic classes share.
    #[must_use]
    pub fn with_vcs(self, vcs: u8) -> Self {
        Self { vcs, classes: vec![VcRange { first: 0, count: vcs }], ..self }
    }

    /// Returns the network with `counts[c]` private virtual channels for traffic class c, such as `[3, 1]` for 3G1C.
    #[must_use]
    pub fn partitioned(self, counts: &[u8]) -> Self {
        let mut first = 0;
        let mut range = |count| {
            first += count;
            VcRange { first: first - count, count }
        };
        Self { vcs: counts.iter().sum(), classes: counts.iter().map(|&count| range(count)).collect(), ..self }
    }

    /// Returns the size of the routers.
    pub fn size(&self) -> Size {
        match (self.topology.ports(), self.vcs) {
            (0..=8, 0..=4) => Size::Mesh4,
            (0..=8, 5..=8) => Size::Mesh8,
            (0..=8, _) => Size::Mesh16,
            (9..=64, 0..=4) => Size::Crossbar64,
            (9..=128, 0..=4) => Size::Crossbar128,
            _ => Size::Largest,
        }
    }

    /// Checks that the network can be built.
    ///
    /// # Errors
    /// The first invalid value, as a message for the user.
    pub fn check(&self) -> Result<(), SpecError> {
        let whole = |range: &VcRange| range.count >= 1 && u32::from(range.first) + u32::from(range.count) <= u32::from(self.vcs);
        let overlaps = |a: &VcRange, b: &VcRange| a != b && a.first < b.first + b.count && b.first < a.first + a.count;
        if !(1..=16).contains(&self.vcs) {
            return Err(format!("a port has 1 to 16 virtual channels, not {}", self.vcs).into());
        }
        if !(1..=1024).contains(&self.buffers) {
            return Err(format!("the buffer of a virtual channel holds 1 to 1024 flits, not {}", self.buffers).into());
        }
        if !(1..=4).contains(&self.speedup) {
            return Err(format!("a speedup is 1 to 4, not {}", self.speedup).into());
        }
        if !(1..=16).contains(&self.channel_latency) || self.credit_delay > 16 {
            return Err("channels take 1 to 16 cycles, and credits are delayed by at most 16".to_owned().into());
        }
        if self.classes.is_empty() || !self.classes.iter().all(whole) {
            return Err(format!("every traffic class needs virtual channels among the {} of a port", self.vcs).into());
        }
        if self.classes.iter().any(|a| self.classes.iter().any(|b| overlaps(a, b))) {
            return Err("traffic classes share all their virtual channels or none".to_owned().into());
        }
        if self.topology.terminals() == 0 || self.topology.routers() > 1 << 14 {
            return Err(format!("{} is not a network of 1 to {} routers", self.topology, 1 << 14).into());
        }
        if self.topology.ports() > 128 {
            return Err(format!("a router has at most 128 ports, not {}", self.topology.ports()).into());
        }
        Ok(())
    }
}
