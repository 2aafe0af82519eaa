//! What is to be simulated: units, the links between them, and how units are grouped into shards.

use warpshard_base::{ClockDomain, LinkId, Tick, UnitId};

use super::Unit;

/// How long a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// As the machine specifies it.
    Fixed(Tick),
    /// As short as the lookahead of the fixed links allows; for credits, whose delay only reduces a generous window.
    Slack,
}

/// A unit with what the engine must know about it.
#[derive(Debug)]
pub struct PlannedUnit<U> {
    /// The name in messages to the user: "sm3", "request network".
    pub name: String,
    /// The unit.
    pub unit: U,
    /// Its clock.
    pub clock: ClockDomain,
    /// The kind; placement distributes the units of each kind over the workers.
    pub kind: &'static str,
    /// The shard it belongs to; units of one shard are of one kind and consecutive.
    pub shard: u32,
    /// An estimate of its host cost, relative to the others.
    pub cost: f64,
    /// The part of the machine, such as a GPU, whose units exchange most of their messages with each other; ranks get whole parts where there are
    /// enough.
    pub part: u16,
}

/// A directed connection.
#[derive(Clone, Debug)]
pub struct PlannedLink {
    /// Sender.
    pub from: UnitId,
    /// Receiver.
    pub to: UnitId,
    /// Time that a message takes.
    pub latency: Latency,
}

/// Units and links of one machine.
#[derive(Debug)]
pub struct Plan<U> {
    /// The clock in which epochs, intervals and cuts are counted.
    pub reference: ClockDomain,
    /// Units by [`UnitId`].
    pub units: Vec<PlannedUnit<U>>,
    /// Links by [`LinkId`].
    pub links: Vec<PlannedLink>,
}

impl<U: Unit> Plan<U> {
    /// A plan without units.
    pub fn new(reference: ClockDomain) -> Self {
        Self { reference, units: Vec::new(), links: Vec::new() }
    }

    /// The identifier of the unit that is added next.
    pub fn next_unit(&self) -> UnitId {
        UnitId(u16::try_from(self.units.len()).expect("at most 65536 units"))
    }

    /// Adds a unit.
    pub fn add_unit(&mut self, unit: PlannedUnit<U>) -> UnitId {
        let id = self.next_unit();
        self.units.push(unit);
        id
    }

    /// Adds a link; links added one after the other have consecutive identifiers.
    pub fn add_link(&mut self, from: UnitId, to: UnitId, latency: Latency) -> LinkId {
        let id = LinkId(u16::try_from(self.links.len()).expect("at most 65536 links"));
        self.links.push(PlannedLink { from, to, latency });
        id
    }

    /// The name of a link in messages to the user: "sm3 -> request network".
    pub fn link_name(&self, link: usize) -> String {
        let link = &self.links[link];
        format!("{} -> {}", self.units[link.from.index()].name, self.units[link.to.index()].name)
    }
}
