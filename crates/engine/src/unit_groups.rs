//! Groups of units that are stepped together: all units in every epoch, or two alternating halves.
//!
//! Units that have links only to units of the other half (SMs, CPU cores and memory partitions on one side, networks and the grid
//! scheduler on the other) need not wait for units of their own half. While one half is stopped, the other may run a lookahead ahead of it,
//! and so advances two lookaheads at a time: every unit is run half as often and for twice as long, and its state is fetched from
//! the host's memory half as often. Only one half is shared among the workers at a time, so halves are faster only with so few workers that
//! one half keeps them busy.
//!
//! Inputs: links, costs, offsets and lookahead of a plan. Outputs: the half of each unit, and the distance by which one half may be ahead
//! of the other. Invariants: links, offsets and the latency of events are the same as without halves, and therefore all results.

use super::Unit;
use super::plan::Plan;
use super::retime::Retiming;

/// The division of the units into groups that alternate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitGroups {
    /// The group of each unit, counted from 0.
    pub group_of: Vec<u8>,
    /// Number of groups, 1 or 2.
    pub groups: u8,
    /// Reference cycles by which a group may run ahead of every other group; with one group, the length of an epoch.
    pub stride: u64,
}

impl UnitGroups {
    /// Returns one group of all units, with epochs of `cycles` reference cycles.
    pub(super) fn together(units: usize, cycles: u64) -> Self {
        Self { group_of: vec![0; units], groups: 1, stride: cycles }
    }

    /// Returns two alternating halves, if they are faster with this number of workers.
    pub fn in_halves<U: Unit>(plan: &Plan<U>, retiming: &Retiming, workers: usize) -> Option<Self> {
        let group_of = halves(plan)?;
        let stride = stride(plan, retiming, &group_of);
        // If the stride is much shorter than the lookahead, the extra epochs cost more time than the longer steps save.
        let far = 4 * stride >= 3 * retiming.lookahead;
        let time = |units: &mut dyn Iterator<Item = usize>| shared_time(plan, units, workers);
        let apart = time(&mut members(&group_of, 0)) + time(&mut members(&group_of, 1));
        let together = time(&mut (0..plan.units.len()));
        (far && apart <= MAX_HALVES_SLOWDOWN * together).then_some(Self { group_of, groups: 2, stride })
    }

    /// Returns the maximum of reference cycles per step of a unit.
    pub fn epoch_cycles(&self) -> u64 {
        self.stride * u64::from(self.groups)
    }
}

/// Factor by which stepping may take longer because workers wait at the end of each half; fetching state half as often saves more time.
const MAX_HALVES_SLOWDOWN: f64 = 1.05;

/// Returns the time that workers need to step units, shard by shard, in units of cost.
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

/// Returns the two halves such that every link connects one half to the other, if such halves exist.
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

/// Returns the reference cycles by which one half may run ahead of the other. Messages limit them to the lookahead. An event limits them,
/// too: its effect must lie ahead of the reporting half after that half has advanced two strides.
fn stride<U: Unit>(plan: &Plan<U>, retiming: &Retiming, group_of: &[u8]) -> u64 {
    let period = plan.reference.period;
    let latency = retiming.event_latency(period);
    let ahead = [0, 1].map(|group| {
        let least = members(group_of, group).map(|unit| retiming.offsets[unit]).min();
        let reporting = members(group_of, group).filter(|&unit| plan.units[unit].unit.sends_events());
        let most = reporting.map(|unit| retiming.offsets[unit]).max();
        match (least, most) {
            (Some(least), Some(most)) => (latency + least).saturating_sub(most) / (2 * period),
            _ => u64::MAX,
        }
    });
    retiming.lookahead.min(ahead[0]).min(ahead[1])
}
