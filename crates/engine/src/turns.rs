//! Which units are stepped together: all of them in every epoch, or two halves in turn.
//!
//! Units that have links only to units of the other half (SMs, CPU cores and memory partitions on one side, networks and the grid
//! scheduler on the other) need not wait for their own kind. While one half stands still, the other may be a lookahead ahead of it,
//! and so advances two lookaheads at a time: every unit is run half as often and for twice as long, and its state is fetched from
//! the host's memory half as often. Only one half can be shared among the workers at a time, so this pays for few workers, which
//! one half can keep busy.
//!
//! In: links, costs, offsets and lookahead of a plan. Out: the half of each unit, and how far one may be ahead of the other.
//! Invariants: links, offsets and the latency of events are those of a run without halves, and so is everything simulated.

use super::Unit;
use super::plan::Plan;
use super::retime::Retiming;

/// How units take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The group of each unit, from 0.
    pub group_of: Vec<u8>,
    /// Groups, 1 or 2.
    pub groups: u8,
    /// Reference cycles by which a group may be ahead of every other one; with one group, the length of an epoch.
    pub stride: u64,
}

impl Turns {
    /// All units in every epoch of `cycles` reference cycles.
    pub(super) fn together(units: usize, cycles: u64) -> Self {
        Self { group_of: vec![0; units], groups: 1, stride: cycles }
    }

    /// Two halves in turn, where that pays for this number of workers.
    pub fn in_halves<U: Unit>(plan: &Plan<U>, retiming: &Retiming, workers: usize) -> Option<Self> {
        let group_of = halves(plan)?;
        let stride = stride(plan, retiming, &group_of);
        // With much less than the lookahead, the extra epochs cost more than the longer ones save.
        let far = 4 * stride >= 3 * retiming.lookahead;
        let time = |units: &mut dyn Iterator<Item = usize>| shared_time(plan, units, workers);
        let apart = time(&mut members(&group_of, 0)) + time(&mut members(&group_of, 1));
        let together = time(&mut (0..plan.units.len()));
        (far && apart <= WORTH * together).then_some(Self { group_of, groups: 2, stride })
    }

    /// Reference cycles that a unit is run for at once, at most.
    pub fn epoch_cycles(&self) -> u64 {
        self.stride * u64::from(self.groups)
    }
}

/// How much longer stepping may take because workers wait at the end of each half; fetching state half as often saves more.
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

/// How far one half may be ahead of the other: at most the lookahead, because of messages, and little enough that the effect of an
/// event lies ahead of the half that reported it when that half has advanced two strides.
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
