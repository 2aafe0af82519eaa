//! The plan of a simulation: units, the links between them, and the grouping of units into shards.

use warpshard_base::{ClockDomain, LinkId, Tick, UnitId};

use super::Unit;

/// The latency of the messages on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// A latency that the machine specifies, in base ticks.
    Fixed(Tick),
    /// The least latency that the lookahead of the fixed links allows; for credits, whose delay only reduces a generous window.
    Slack,
}

/// A unit and the properties that the engine needs.
#[derive(Debug)]
pub struct PlannedUnit<U> {
    /// Name of the unit in messages to the user: "sm3", "request network".
    pub name: String,
    /// The unit.
    pub unit: U,
    /// Clock domain of the unit.
    pub clock: ClockDomain,
    /// Kind of the unit; placement distributes the units of each kind over the workers.
    pub kind: &'static str,
    /// Shard of the unit. The units of a shard have the same kind and consecutive identifiers.
    pub shard: u32,
    /// Estimated host cost, relative to other units.
    pub cost: f64,
    /// The part of the machine, such as a GPU, whose units exchange most of their messages with each other. Ranks simulate whole parts if
    /// there are enough parts.
    pub part: u16,
}

/// A directed link between two units.
#[derive(Clone, Debug)]
pub struct PlannedLink {
    /// The sending unit.
    pub from: UnitId,
    /// The receiving unit.
    pub to: UnitId,
    /// Latency of a message.
    pub latency: Latency,
}

/// Units and links of one machine.
#[derive(Debug)]
pub struct Plan<U> {
    /// The reference clock, in which epochs, intervals and cuts are counted.
    pub reference: ClockDomain,
    /// Units, indexed by [`UnitId`].
    pub units: Vec<PlannedUnit<U>>,
    /// Links, indexed by [`LinkId`].
    pub links: Vec<PlannedLink>,
}

impl<U: Unit> Plan<U> {
    /// Creates a plan without units.
    pub fn new(reference: ClockDomain) -> Self {
        Self { reference, units: Vec::new(), links: Vec::new() }
    }

    /// Returns the identifier that the next added unit gets.
    pub fn next_unit(&self) -> UnitId {
        UnitId(u16::try_from(self.units.len()).expect("at most 65536 units"))
    }

    /// Adds a unit; returns its identifier.
    pub fn add_unit(&mut self, unit: PlannedUnit<U>) -> UnitId {
        let id = self.next_unit();
        self.units.push(unit);
        id
    }

    /// Adds a link; successive links have consecutive identifiers.
    pub fn add_link(&mut self, from: UnitId, to: UnitId, latency: Latency) -> LinkId {
        let id = LinkId(u16::try_from(self.links.len()).expect("at most 65536 links"));
        self.links.push(PlannedLink { from, to, latency });
        id
    }

    /// Returns the name of a link in messages to the user: "sm3 -> request network".
    pub fn link_name(&self, link: usize) -> String {
        let link = &self.links[link];
        format!("{} -> {}", self.units[link.from.index()].name, self.units[link.to.index()].name)
    }
}
