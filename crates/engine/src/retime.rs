//! Lookahead and retiming: the time for which units can be simulated without messages from each other.
//!
//! A unit b is simulated at local time `global - offset(b)`. A message over a link of latency L from a to b, sent at
//! global time g, is then needed at global time `g + L + offset(b) - offset(a)`. The offsets are chosen so that the least
//! of these spans, the lookahead, is as large as possible. It cannot exceed the mean latency of any loop of links. Local times,
//! and therefore all simulated results, do not depend on the offsets (Leiserson and Saxe, "Retiming Synchronous Circuitry",
//! Algorithmica 1991, for circuits).

use warpshard_base::Tick;

use super::Unit;
use super::plan::{Latency, Plan};
use crate::SetupError;

/// The time offsets of the units of a plan, and the resulting lookahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retiming {
    /// Lookahead in reference cycles.
    pub lookahead: u64,
    /// Base ticks by which the simulation of each unit lags behind the first unit.
    pub offsets: Vec<u64>,
    /// Latency of each link in base ticks, with slack links resolved.
    pub latencies: Vec<Tick>,
    /// Names of the links of the loop that limits the lookahead.
    pub limit: String,
}

impl Retiming {
    /// Returns the base ticks by which the simulation of the last unit lags behind the first unit.
    pub(super) fn skew(&self) -> u64 {
        self.offsets.iter().copied().max().unwrap_or(0)
    }

    /// Returns the base ticks from an event to its effect in a run whose epochs are within the lookahead: no unit has passed the time of
    /// the effect.
    pub fn event_latency(&self, period: u64) -> u64 {
        self.skew() + self.lookahead * period
    }
}

/// Maximum lookahead, in reference cycles, if no loop limits it.
const MAX_LOOKAHEAD_CYCLES: u64 = 4096;

/// Computes the lookahead and the offsets.
///
/// # Errors
/// Fails if a link has no latency, or a loop of links is shorter than one reference cycle per link. The message names the link or the loop.
pub fn retime<U: Unit>(plan: &Plan<U>) -> Result<Retiming, SetupError> {
    let period = plan.reference.period;
    let fixed: Vec<LinkEdge> = plan
        .links
        .iter()
        .enumerate()
        .filter_map(|(id, link)| match link.latency {
            Latency::Fixed(latency) => Some(LinkEdge { id, from: link.from.index(), to: link.to.index(), latency: latency.0 }),
            Latency::Slack => None,
        })
        .collect();
    if let Some(edge) = fixed.iter().find(|edge| edge.latency == 0) {
        return Err(format!(
            "the link {} has no latency; everything that crosses units takes at least one base tick",
            plan.link_name(edge.id)
        )
        .into());
    }
    let solve = |cycles: u64| potentials(plan.units.len(), &fixed, cycles * period);
    let (mut low, mut high) = (0, MAX_LOOKAHEAD_CYCLES + 1);
    let mut best = vec![0; plan.units.len()];
    let mut blocking = Vec::new();
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match solve(middle) {
            Ok(offsets) => (low, best) = (middle, offsets),
            Err(cycle) => (high, blocking) = (middle, cycle),
        }
    }
    let names = |links: &[usize]| links.iter().map(|&link| plan.link_name(link)).collect::<Vec<_>>().join(", ");
    if low == 0 {
        return Err(format!("the links {} are together shorter than one cycle of the reference clock each", names(&blocking)).into());
    }
    let limit = if blocking.is_empty() { "no loop of links".to_owned() } else { names(&blocking) };
    let latencies = plan
        .links
        .iter()
        .map(|link| match link.latency {
            Latency::Fixed(latency) => latency,
            Latency::Slack => {
                let needed = (low * period + best[link.from.index()]).saturating_sub(best[link.to.index()]).max(1);
                let clock = plan.units[link.to.index()].clock;
                clock.tick(clock.edge_at_or_after(Tick(needed)))
            }
        })
        .collect();
    Ok(Retiming { lookahead: low, offsets: best, latencies, limit })
}

struct LinkEdge {
    id: usize,
    from: usize,
    to: usize,
    latency: u64,
}

/// Returns the least offsets with `latency + offset(to) - offset(from) >= lookahead` on every edge, or the loop that makes them impossible.
fn potentials(units: usize, edges: &[LinkEdge], lookahead: u64) -> Result<Vec<u64>, Vec<usize>> {
    let mut offset = vec![0u64; units];
    let mut raised_by: Vec<Option<usize>> = vec![None; units];
    for _ in 0..=units {
        let mut raised = false;
        for (index, edge) in edges.iter().enumerate() {
            let least = (offset[edge.from] + lookahead).saturating_sub(edge.latency);
            if offset[edge.to] < least {
                offset[edge.to] = least;
                raised_by[edge.to] = Some(index);
                raised = true;
            }
        }
        if !raised {
            return Ok(offset);
        }
        // A loop of units that raise each other makes the lookahead impossible; this check finds it many rounds before the last one.
        if let Some(links) = raising_loop(edges, &raised_by) {
            return Err(links);
        }
    }
    unreachable!("a unit that is still raised after as many rounds as there are units is on a loop or follows one")
}

/// Returns the links of a loop in which each unit was last raised by its predecessor, if there is such a loop.
fn raising_loop(edges: &[LinkEdge], raised_by: &[Option<usize>]) -> Option<Vec<usize>> {
    // The first walk that reached each unit, counted from 1.
    let mut walked = vec![0; raised_by.len()];
    for start in 0..raised_by.len() {
        let mut unit = start;
        while walked[unit] == 0 {
            walked[unit] = start + 1;
            let Some(edge) = raised_by[unit] else { break };
            unit = edges[edge].from;
        }
        if walked[unit] == start + 1
            && let Some(links) = loop_through(unit, edges, raised_by)
        {
            return Some(links);
        }
    }
    None
}

/// Follows the edges that raised `first` and its predecessors; returns the links if they lead back to `first`.
fn loop_through(first: usize, edges: &[LinkEdge], raised_by: &[Option<usize>]) -> Option<Vec<usize>> {
    let mut links = Vec::new();
    let mut unit = first;
    loop {
        let edge = raised_by[unit]?;
        links.push(edges[edge].id);
        unit = edges[edge].from;
        if unit == first {
            links.reverse();
            return Some(links);
        }
    }
}
