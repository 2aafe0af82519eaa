//! Oracle's run: at every request it knows when each CTA ends, from a look ahead.
//!
//! The run is a chain. Its state is saved in the cycle of an arrival. From there
//!
//! 1. a *watch* goes on without preemption, and records which CTAs end until the longest bound has passed;
//! 2. a *trial* goes on from the same state and decides with that. It records the same, now with what preemption changes: CTAs beside a drained one are
//!    gone, and those of the task are there. Where a CTA that was to drain ended after the bound, Oracle learns its latency, and the trial is repeated;
//! 3. the chain goes on from the state of the last trial to the next arrival.
//!
//! A run is deterministic, so the chain is one run, whose decisions at a request follow from what would happen after it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_lab::error::TaskError;
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::Machine;
use warpshard_stats::{Outcome, TimelineEntry};

use super::published::published;
use super::task::{Knowledge, Preempted};

/// Trials of a request at most. Each but the last teaches the latency of at least one CTA.
const TRIALS: usize = 8;
/// Core cycles from the end of a watch to the cut at which the state is saved.
const MARGIN: u64 = 10;

/// A CTA: its launch and its index.
type Cta = (u32, u32);

/// The run of a cell of Oracle.
pub(super) struct Chain<'a> {
    pub(super) cell: &'a Preempted,
    pub(super) machine: &'a Machine,
    /// Core cycles of a bound of 1 us.
    pub(super) per_us: u64,
}

/// A state, and its cycle.
type Saved = Option<(u64, Vec<u8>)>;

impl Chain<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// When a run fails, as a message for the user.
    pub(super) fn run(&self) -> Result<Outcome, TaskError> {
        let bound = u64::from(self.cell.bound) * self.per_us;
        let longest = published().own.parameters.bounds.iter().max().map_or(0, |bound| u64::from(*bound));
        let horizon = longest * self.per_us;
        let nothing = Knowledge::Known { ends: BTreeMap::new(), watch: 0 };
        let mut saved: Saved = None;
        for (number, arrival) in self.cell.arrivals().into_iter().enumerate() {
            if saved.as_ref().is_none_or(|(at, _)| *at < arrival.0) {
                let (outcome, next) = self.go(&saved, &nothing, Some(arrival.0))?;
                // The run was over before.
                let Some(next) = next else { return Ok(outcome) };
                saved = Some(next);
            }
            let watch = self.go(&saved, &Knowledge::Watch(horizon), None)?.0;
            let Some(request) = Request::last(&watch.timeline, number + 1) else { break };
            let mut ends = request.ends;
            for trial in 1..=TRIALS {
                let knowledge = Knowledge::Known { ends: ends.clone(), watch: horizon };
                let (outcome, next) = self.go(&saved, &knowledge, Some(request.at + horizon + MARGIN))?;
                let Some(seen) = Request::last(&outcome.timeline, number + 1) else {
                    return Err(format!("{}: request {number} is not there again", self.cell).into());
                };
                let late: Vec<Cta> =
                    seen.drained.iter().copied().filter(|cta| seen.ends.get(cta).is_none_or(|cycles| *cycles > bound as f64)).collect();
                if late.is_empty() || trial == TRIALS {
                    let Some(next) = next else { return Ok(outcome) };
                    saved = Some(next);
                    break;
                }
                for cta in late {
                    match seen.ends.get(&cta) {
                        Some(cycles) => ends.insert(cta, *cycles),
                        None => ends.remove(&cta),
                    };
                }
            }
        }
        Ok(self.go(&saved, &nothing, None)?.0)
    }

    /// Goes on from a state, and saves that in cycle `until`, where it stops; to the end of the run without.
    fn go(&self, from: &Saved, knowledge: &Knowledge, until: Option<u64>) -> Result<(Outcome, Saved), TaskError> {
        let kept: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let to = Arc::clone(&kept);
        let mut options = RunOptions {
            max_cycles: Some(end(self.cell.longest(), from.as_ref().map(|(at, _)| *at), until)),
            controllers: vec![self.cell.policy(self.per_us, knowledge)?],
            ..RunOptions::default()
        };
        options.checkpoints.every = until;
        options.checkpoints.keep = Some(Box::new(move |_, state| {
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

/// The cycle at which a run ends: after that in which its state is saved, else that of the longest run. A chain may be there already, since it goes
/// on for a span after every request.
fn end(longest: u64, from: Option<u64>, until: Option<u64>) -> u64 {
    until.unwrap_or((longest - 1).max(from.unwrap_or(0))) + 1
}

/// What a timeline says of a request.
#[derive(Clone, Debug, Default, PartialEq)]
struct Request {
    at: u64,
    /// CTAs that were to drain.
    drained: Vec<Cta>,
    /// Core cycles until CTAs ended.
    ends: BTreeMap<Cta, f64>,
}

impl Request {
    /// The last request, where there were so many.
    fn last(timeline: &[TimelineEntry], count: usize) -> Option<Self> {
        let is_request = |entry: &&TimelineEntry| entry.name == "request";
        let from = timeline.iter().rposition(|entry| is_request(&entry))?;
        let there = timeline.iter().filter(is_request).count();
        let mut request = Self { at: timeline[from].cycle, ..Self::default() };
        let mut kernel = 0;
        let mut cta = (0, 0);
        for entry in &timeline[from..] {
            let value = entry.value.unwrap_or_default();
            match entry.name {
                "drain_kernel" | "end_kernel" => kernel = value as u32,
                "drain_cta" => request.drained.push((kernel, value as u32)),
                "end_cta" => cta = (kernel, value as u32),
                "end_cycles" => {
                    request.ends.insert(cta, value);
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
    fn a_chain_that_went_on_beyond_the_longest_run_ends_at_once() {
        assert_eq!([end(1000, None, None), end(1000, Some(990), None), end(1000, Some(1010), None)], [1000, 1000, 1011]);
        assert_eq!(end(1000, Some(1010), Some(1050)), 1051);
    }

    #[test]
    fn a_request_has_the_ctas_that_drain_and_when_ctas_end() {
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
        assert_eq!(Request::last(&timeline, 2), Some(Request { at: 90, drained: vec![(2, 6)], ends }));
        assert_eq!(Request::last(&timeline, 3), None, "the third one has not come");
        assert_eq!(Request::last(&[], 1), None);
    }
}
