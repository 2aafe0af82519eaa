//! Oracle's run: a look-ahead provides the end of each CTA at every request.
//!
//! The run is a chain. Its state is saved in the cycle of an arrival. From there
//!
//! 1. a *watch* continues without preemption and records which CTAs end within the longest bound;
//! 2. a *trial* continues from the same state with decisions based on these ends. It records the ends again, with the effects of
//!    preemption: CTAs next to a drained CTA are gone, and CTAs of the task are resident. If a CTA to be drained ended after the bound,
//!    Oracle learns its latency, and the trial is repeated;
//! 3. the chain continues from the state of the last trial to the next arrival.
//!
//! A run is deterministic, so the chain is one run whose decisions at a request depend on later events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_lab::error::TaskError;
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::Machine;
use warpshard_stats::{Outcome, TimelineEntry};

use super::published::published;
use super::task::{EndKnowledge, PreemptedRun};

/// Maximum trials per request. Each trial but the last provides the latency of at least one CTA.
const MAX_TRIALS: usize = 8;
/// Core cycles from the end of a watch to the cut at which the state is saved.
const SAVE_MARGIN_CYCLES: u64 = 10;

/// A CTA by its launch and its index.
type CtaId = (u32, u32);

/// The run of an Oracle cell, as a chain of partial runs.
pub(super) struct OracleChain<'a> {
    pub(super) cell: &'a PreemptedRun,
    pub(super) machine: &'a Machine,
    /// Core cycles per us.
    pub(super) per_us: u64,
}

/// A saved state with its cycle.
type SavedState = Option<(u64, Vec<u8>)>;

impl OracleChain<'_> {
    /// Runs the chain to its end.
    ///
    /// # Errors
    /// Returns a message for the user if a run fails.
    pub(super) fn run(&self) -> Result<Outcome, TaskError> {
        let bound = u64::from(self.cell.bound) * self.per_us;
        let longest = published().own.parameters.bounds.iter().max().map_or(0, |bound| u64::from(*bound));
        let horizon = longest * self.per_us;
        let nothing = EndKnowledge::Known { ends: BTreeMap::new(), watch: 0 };
        let mut saved: SavedState = None;
        for (number, arrival) in self.cell.arrival_cycles().into_iter().enumerate() {
            if saved.as_ref().is_none_or(|(at, _)| *at < arrival.0) {
                let (outcome, next) = self.run_from(&saved, &nothing, Some(arrival.0))?;
                // The run ended before this arrival.
                let Some(next) = next else { return Ok(outcome) };
                saved = Some(next);
            }
            let watch = self.run_from(&saved, &EndKnowledge::Watch(horizon), None)?.0;
            let Some(request) = TimelineRequest::last(&watch.timeline, number + 1) else { break };
            let mut ends = request.cycles_until_end;
            for trial in 1..=MAX_TRIALS {
                let knowledge = EndKnowledge::Known { ends: ends.clone(), watch: horizon };
                let (outcome, next) = self.run_from(&saved, &knowledge, Some(request.cycle + horizon + SAVE_MARGIN_CYCLES))?;
                let Some(seen) = TimelineRequest::last(&outcome.timeline, number + 1) else {
                    return Err(format!("{}: request {number} did not recur in the trial", self.cell).into());
                };
                let late: Vec<CtaId> =
                    seen.drained.iter().copied().filter(|cta| seen.cycles_until_end.get(cta).is_none_or(|cycles| *cycles > bound as f64)).collect();
                if late.is_empty() || trial == MAX_TRIALS {
                    let Some(next) = next else { return Ok(outcome) };
                    saved = Some(next);
                    break;
                }
                for cta in late {
                    match seen.cycles_until_end.get(&cta) {
                        Some(cycles) => ends.insert(cta, *cycles),
                        None => ends.remove(&cta),
                    };
                }
            }
        }
        Ok(self.run_from(&saved, &nothing, None)?.0)
    }

    /// Continues from a saved state to cycle `until` and saves the state there; runs to the end if `until` is `None`.
    fn run_from(&self, from: &SavedState, knowledge: &EndKnowledge, until: Option<u64>) -> Result<(Outcome, SavedState), TaskError> {
        let kept: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let to = Arc::clone(&kept);
        let mut options = RunOptions {
            max_cycles: Some(end_cycle(self.cell.max_cycles(), from.as_ref().map(|(at, _)| *at), until)),
            controllers: vec![self.cell.policy(self.per_us, knowledge)?],
            ..RunOptions::default()
        };
        options.checkpoints.every = until;
        options.checkpoints.store = Some(Box::new(move |_, state| {
            *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
            Ok(())
        }));
        options.checkpoints.resume = from.as_ref().map(|(_, state)| state.clone());
        let workload = Arc::new(self.cell.workload(self.machine)?);
        let outcome = simulate(self.machine, &workload, options)?.outcome;
        let state = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok((outcome, until.zip(state)))
    }
}

/// Returns the cycle at which a run ends: one after `until`, the cycle of the save, else the end of the longest run. A chain may have
/// passed the longest run, since it continues for a span after every request.
fn end_cycle(longest: u64, from: Option<u64>, until: Option<u64>) -> u64 {
    until.unwrap_or((longest - 1).max(from.unwrap_or(0))) + 1
}

/// A request with its drained CTAs and the ends of CTAs, from a timeline.
#[derive(Clone, Debug, Default, PartialEq)]
struct TimelineRequest {
    cycle: u64,
    /// CTAs to be drained.
    drained: Vec<CtaId>,
    /// Core cycles from the request to the end of each CTA.
    cycles_until_end: BTreeMap<CtaId, f64>,
}

impl TimelineRequest {
    /// Returns the last request if the timeline has exactly `count` requests.
    fn last(timeline: &[TimelineEntry], count: usize) -> Option<Self> {
        let is_request = |entry: &&TimelineEntry| entry.name == "request";
        let from = timeline.iter().rposition(|entry| is_request(&entry))?;
        let there = timeline.iter().filter(is_request).count();
        let mut request = Self { cycle: timeline[from].cycle, ..Self::default() };
        let mut kernel = 0;
        let mut cta = (0, 0);
        for entry in &timeline[from..] {
            let value = entry.value.unwrap_or_default();
            match entry.name {
                "drain_kernel" | "end_kernel" => kernel = value as u32,
                "drain_cta" => request.drained.push((kernel, value as u32)),
                "end_cta" => cta = (kernel, value as u32),
                "end_cycles" => {
                    request.cycles_until_end.insert(cta, value);
                }
                _ => {}
            }
        }
        (there == count).then_some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_beyond_the_longest_run_ends_immediately() {
        assert_eq!([end_cycle(1000, None, None), end_cycle(1000, Some(990), None), end_cycle(1000, Some(1010), None)], [1000, 1000, 1011]);
        assert_eq!(end_cycle(1000, Some(1010), Some(1050)), 1051);
    }

    #[test]
    fn a_request_has_its_drained_ctas_and_the_ends_of_ctas() {
        let entry = |(cycle, name, value): (u64, &'static str, f64)| TimelineEntry {
            cycle,
            controller: "dual_kernel".into(),
            sm: Some(0),
            name,
            value: Some(value),
            reason: String::new(),
        };
        let all = [
            (10, "request", 7.0),
            (10, "drain_kernel", 1.0),
            (10, "drain_cta", 5.0),
            (90, "request", 8.0),
            (90, "drain_kernel", 2.0),
            (90, "drain_cta", 6.0),
            (290, "end_kernel", 2.0),
            (290, "end_cta", 6.0),
            (290, "end_cycles", 150.0),
            (290, "end_kernel", 2.0),
            (290, "end_cta", 9.0),
            (290, "end_cycles", 20.0),
        ];
        let timeline: Vec<TimelineEntry> = all.into_iter().map(entry).collect();
        let ends = BTreeMap::from([((2, 6), 150.0), ((2, 9), 20.0)]);
        assert_eq!(TimelineRequest::last(&timeline, 2), Some(TimelineRequest { cycle: 90, drained: vec![(2, 6)], cycles_until_end: ends }));
        assert_eq!(TimelineRequest::last(&timeline, 3), None, "the third request has not arrived");
        assert_eq!(TimelineRequest::last(&[], 1), None);
    }
}
