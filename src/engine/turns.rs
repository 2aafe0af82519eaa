//! Which units are stepped together: all of them in every epoch, or two halves in turn.
//!
//! Units that talk only to units of the other half (SMs, CPU cores and memory partitions on one side, networks and the grid
//! scheduler on the other) need not wait for their own kind. While one half stands still, the other may go as far ahead of it as
//! the lookahead, and so goes two lookaheads at a time: every unit is run half as often and for twice as long, and its state is
//! fetched from the host's memory half as often. The price is that only one half can be shared among the workers at a time, so
//! this is for few workers, which a half can keep busy.
//!
//! Inputs: links, costs, offsets and lookahead of a plan. Outputs: the half of each unit, and how far one may be ahead of the other.
//! Invariants: links, offsets and the latency of events are those of a run without halves, and so is everything simulated.

use super::Unit;
use super::plan::Plan;
use super::retime::Timing;

/// How units take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    /// The group of each unit, from 0.
    pub(super) group_of: Vec<u8>,
    /// Groups, 1 or 2.
    pub(super) groups: u8,
    /// Reference cycles by which a group may go beyond every other one; alone, the length of an epoch.
    pub(super) stride: u64,
}

impl Turns {
    /// All units in every epoch of `cycles` reference cycles.
    pub(super) fn together(units: usize, cycles: u64) -> Self {
        Self { group_of: vec![0; units], groups: 1, stride: cycles }
    }

    /// Two halves in turn, where that is worth it for this number of workers.
    pub(super) fn in_halves<U: Unit>(plan: &Plan<U>, timing: &Timing, workers: usize) -> Option<Self> {
        let group_of = halves(plan)?;
        let stride = stride(plan, timing, &group_of);
        // Halves that may be ahead by much less than the lookahead meet more often than they go further.
        let far = 4 * stride >= 3 * timing.lookahead;
        let time = |units: &mut dyn Iterator<Item = usize>| shared_time(plan, units, workers);
        let apart = time(&mut members(&group_of, 0)) + time(&mut members(&group_of, 1));
        let together = time(&mut (0..plan.units.len()));
        (far && apart <= WORTH * together).then_some(Self { group_of, groups: 2, stride })
    }

    /// Reference cycles that a unit is run for at once, at most.
    pub(super) fn epoch_cycles(&self) -> u64 {
        self.stride * u64::from(self.groups)
    }
}

/// How much longer units may take for the waiting of one half for its last worker; fetching state half as often saves more.
const WORTH: f64 = 1.05;

/// The time that workers need to step units, shard by shard, in units of cost.
fn shared_time<U: Unit>(plan: &Plan<U>, units: &mut dyn Iterator<Item = usize>, workers: usize) -> f64 {
    let mut costs = std::collections::BTreeMap::new();
    for unit in units {
        *costs.entry(plan.units[unit].shard).or_insert(0.0) += plan.units[unit].cost;
    }
    let all: f64 = costs.values().sum();
    costs.values().copied().fold(all / workers as f64, f64::max)
}

fn members(group_of: &[u8], group: u8) -> impl Iterator<Item = usize> {
    group_of.iter().enumerate().filter(move |(_, of)| **of == group).map(|(unit, _)| unit)
}

/// The two halves such that every link leads from one to the other, if there are such.
fn halves<U: Unit>(plan: &Plan<U>) -> Option<Vec<u8>> {
    let mut neighbours = vec![Vec::new(); plan.units.len()];
    for link in &plan.links {
        neighbours[link.from.index()].push(link.to.index());
        neighbours[link.to.index()].push(link.from.index());
    }
    let mut half: Vec<Option<u8>> = vec![None; plan.units.len()];
    let mut reached = Vec::new();
    for first in 0..plan.units.len() {
        if half[first].is_none() {
            half[first] = Some(0);
            reached.push(first);
        }
        while let Some(unit) = reached.pop() {
            for &other in &neighbours[unit] {
                match half[other] {
                    None => {
                        half[other] = half[unit].map(|own| 1 - own);
                        reached.push(other);
                    }
                    there if there == half[unit] => return None,
                    Some(_) => {}
                }
            }
        }
    }
    half.into_iter().collect()
}

/// How far one half may be ahead of the other: no further than messages need, which is the lookahead, and no further than
/// events need, whose effect must lie ahead of the half that told of them when it has gone two strides.
fn stride<U: Unit>(plan: &Plan<U>, timing: &Timing, group_of: &[u8]) -> u64 {
    let period = plan.reference.period;
    let latency = timing.event_latency(period);
    let ahead = [0, 1].map(|group| {
        let least = members(group_of, group).map(|unit| timing.offsets[unit]).min();
        let telling = members(group_of, group).filter(|&unit| plan.units[unit].unit.tells());
        let most = telling.map(|unit| timing.offsets[unit]).max();
        match (least, most) {
            (Some(least), Some(most)) => (latency + least).saturating_sub(most) / (2 * period),
            _ => u64::MAX,
        }
    });
    timing.lookahead.min(ahead[0]).min(ahead[1])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::retime::retime;
    use super::super::{Built, GpuUnit, Latency, ShardCut, build};
    use super::*;
    use crate::base::{LinkId, UnitId};
    use crate::config::Machine;
    use crate::frontend::model::builtin;

    fn plan(machine: &str) -> Plan<GpuUnit> {
        let workload = Arc::new(builtin("gather", 1, &[]).unwrap());
        let machine = Machine::load(machine, &[]).unwrap().machine;
        let Built { plan, .. } = build(&machine, &workload, None, ShardCut::default()).unwrap();
        plan
    }

    #[test]
    fn networks_and_the_grid_scheduler_take_turns_with_everything_else() {
        for machine in ["v100", "m2090", "hetero"] {
            let plan = plan(machine);
            let timing = retime(&plan).unwrap();
            let turns = Turns::in_halves(&plan, &timing, 2).unwrap();
            for (unit, group) in plan.units.iter().zip(&turns.group_of) {
                assert_eq!(*group, u8::from(matches!(unit.kind, "network" | "grid")), "{} of {machine}, a {}", unit.name, unit.kind);
            }
            assert!(turns.stride <= timing.lookahead && turns.epoch_cycles() > timing.lookahead, "{machine}: {turns:?}");
        }
    }

    #[test]
    fn more_workers_than_the_networks_can_keep_busy_step_all_units_together() {
        let plan = plan("v100");
        let timing = retime(&plan).unwrap();
        assert!(Turns::in_halves(&plan, &timing, 3).is_some());
        assert_eq!(Turns::in_halves(&plan, &timing, 4), None);
    }

    #[test]
    fn an_event_takes_effect_ahead_of_the_half_that_told_of_it() {
        let plan = plan("v100");
        let timing = retime(&plan).unwrap();
        let turns = Turns::in_halves(&plan, &timing, 1).unwrap();
        let telling = |unit: &usize| plan.units[*unit].unit.tells();
        for unit in (0..plan.units.len()).filter(telling) {
            for other in members(&turns.group_of, turns.group_of[unit]) {
                let effect = timing.event_latency(plan.reference.period) + timing.offsets[other];
                assert!(timing.offsets[unit] + turns.epoch_cycles() * plan.reference.period <= effect);
            }
        }
    }

    #[test]
    fn units_that_talk_to_their_own_kind_do_not_take_turns() {
        let mut plan = plan("v100");
        let (first, second) = (UnitId(0), UnitId(1));
        assert_eq!(plan.units[first.index()].kind, plan.units[second.index()].kind);
        let _: LinkId = plan.add_link(first, second, Latency::Slack);
        let timing = retime(&plan).unwrap();
        assert_eq!(Turns::in_halves(&plan, &timing, 1), None);
    }
}
