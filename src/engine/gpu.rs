//! The units of a GPU, behind one type that the engine steps with a `match`.

use crate::base::{Cycle, LinkId};
use crate::gpu::cta::{Grid, GridDecision, GridSample};
use crate::gpu::sm::{Sm, SmDecision, SmSample};
use crate::mem::{Partition, PartitionSample};
use crate::noc::{NetSample, Subnet};
use crate::protocol::{Outbox, Payload};

use super::Unit;

/// A unit of a GPU.
#[derive(Debug)]
pub enum GpuUnit {
    /// A streaming multiprocessor.
    Sm(Box<Sm>),
    /// A memory partition.
    Partition(Box<Partition>),
    /// The request or the reply network.
    Subnet(Box<Subnet>),
    /// The grid scheduler.
    Grid(Box<Grid>),
}

/// What a unit of a GPU shows at a cut.
#[derive(Clone, Debug)]
pub enum GpuSample {
    /// Of an SM.
    Sm(SmSample),
    /// Of a memory partition.
    Partition(PartitionSample),
    /// Of a network.
    Subnet(NetSample),
    /// Of the grid scheduler.
    Grid(GridSample),
}

/// What a unit of a GPU can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuDecision {
    /// To an SM.
    Sm(SmDecision),
    /// To the grid scheduler.
    Grid(GridDecision),
}

macro_rules! each {
    ($self:expr, $unit:ident => $body:expr) => {
        match $self {
            GpuUnit::Sm($unit) => $body,
            GpuUnit::Partition($unit) => $body,
            GpuUnit::Subnet($unit) => $body,
            GpuUnit::Grid($unit) => $body,
        }
    };
}

impl Unit for GpuUnit {
    type Payload = Payload;
    type Sample = GpuSample;
    type Decision = GpuDecision;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        each!(self, unit => unit.deliver(link, at, payload));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        each!(self, unit => unit.run(until, skip, out));
    }

    fn next_event(&self) -> Cycle {
        each!(self, unit => unit.next_event())
    }

    fn settle(&mut self, at: Cycle) {
        each!(self, unit => unit.settle(at));
    }

    fn sample(&self) -> GpuSample {
        match self {
            Self::Sm(sm) => GpuSample::Sm(sm.sample()),
            Self::Partition(partition) => GpuSample::Partition(partition.sample()),
            Self::Subnet(subnet) => GpuSample::Subnet(subnet.sample()),
            Self::Grid(grid) => GpuSample::Grid(grid.sample()),
        }
    }

    fn apply(&mut self, at: Cycle, decision: &GpuDecision) {
        match (self, decision) {
            (Self::Sm(sm), GpuDecision::Sm(decision)) => sm.apply(at, decision),
            (Self::Grid(grid), GpuDecision::Grid(decision)) => grid.apply(at, decision),
            (unit, decision) => panic!("{decision:?} was sent to the wrong unit, at {at}: {unit:?}"),
        }
    }

    fn progress(&self) -> u64 {
        match self {
            Self::Sm(sm) => sm.warp_instructions(),
            _ => 0,
        }
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, unit => unit.waiting())
    }
}
