//! A cell of the study: the cost of preempting a benchmark under a scheme and a bound.

use std::path::Path;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_lab::programs::content;
use warpshard_chip::{RunOptions, simulate};
use warpshard_stats::TimelineEntry;
use warpshard_lab::Task;

use super::oracle::OracleChain;
use super::published::{PublishedScheme, published};
use super::task::{EndKnowledge, PreemptedRun, KernelStratum};

/// Counts and figures of one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestCounts {
    /// Preemptions: SMs that had CTAs of the benchmark. `emptied` counts the SMs with victims, `violations` the SMs above the bound.
    pub(super) preemptions: u64,
    pub(super) emptied: u64,
    pub(super) violations: u64,
    /// Core cycles from the request to the end of the task.
    pub(super) finished: Option<u64>,
    /// Wasted warp instructions; `flush_overhead` counts them for flushing all victims.
    pub(super) overhead: f64,
    pub(super) flush_overhead: f64,
    /// Additional wasted warp instructions if late SMs had flushed all their victims.
    pub(super) late_overhead: f64,
    /// Victims by technique.
    pub(super) drained: u64,
    pub(super) switched: u64,
    pub(super) flushed: u64,
    /// Utilisation of the warp slots until the last victim left.
    pub(super) utilisation: Option<f64>,
    /// Sum and number of the relative errors of the draining estimates.
    pub(super) drain_error: (f64, u64),
    /// Latencies of SMs, in core cycles.
    pub(super) latencies: Vec<u64>,
    /// Preemptions by the name of the kernel of the SM's first CTA.
    pub(super) kernels: BTreeMap<String, u64>,
}

/// The cost of preempting a benchmark: its requests at one bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PreemptionCounts {
    /// Bound of the preemption latency in core cycles.
    pub(super) bound: u64,
    pub(super) requests: Vec<RequestCounts>,
}

impl Task for PreemptedRun {
    type Result = PreemptionCounts;

    fn key(&self) -> Result<String, TaskError> {
        let own = &published().own;
        let machine = self.setup.machine(Some(self.scheme))?.provenance.to_toml();
        let files = content(Path::new(&self.benchmark.program))? + &content(Path::new(&own.task.program))?;
        let (parameters, task) = (&own.parameters, &own.task);
        let (slack, spread, seed) = (parameters.slack, parameters.spread, parameters.seed);
        let rest = format!("{:?} {task:?} {slack} {spread} {seed} {}", self.benchmark, self.window);
        Ok(format!("preempt {self} by point {rest} {machine} {:08x}", crc32fast::hash(files.as_bytes())))
    }

    fn run(&self) -> Result<PreemptionCounts, TaskError> {
        let machine = self.setup.machine(Some(self.scheme))?.machine;
        let per_us = machine.clocks.core.0 / 1000;
        let workload = self.workload(&machine)?;
        let names: Vec<String> = workload.kernels.iter().map(|kernel| kernel.info.name.clone()).collect();
        let outcome = if self.scheme == PublishedScheme::Oracle {
            OracleChain { cell: self, machine: &machine, per_us }.run()?
        } else {
            let controllers = vec![self.policy(per_us, &EndKnowledge::Estimates)?];
            let options = RunOptions { max_cycles: Some(self.max_cycles()), controllers, ..RunOptions::default() };
            simulate(&machine, &Arc::new(workload), options)?.outcome
        };
        let bound = u64::from(self.bound) * per_us;
        // The outcome has no rows for the launches of a repeated execution, but the workload has.
        let ended = |number: u32| outcome.kernels.get(number as usize).and_then(|kernel| kernel.ended);
        let kernel = |number: u32| Some((names.get(number as usize)?.clone(), ended(number)));
        Ok(request_counts(&outcome.timeline, bound, kernel))
    }
}

impl Task for KernelStratum {
    type Result = PreemptionCounts;

    fn key(&self) -> Result<String, TaskError> {
        Ok(format!("{} at {:?}", self.cell.key()?, self.arrivals))
    }

    fn run(&self) -> Result<PreemptionCounts, TaskError> {
        let mut all = PreemptionCounts::default();
        for at in &self.arrivals {
            let one = PreemptedRun { points: 1, at: Some(*at), ..self.cell.clone() }.run()?;
            all.bound = one.bound;
            all.requests.extend(one.requests);
        }
        Ok(all)
    }
}

/// Collects the requests of a timeline; `kernel` returns the name of a launch and the cycle in which it ended.
pub(super) fn request_counts(timeline: &[TimelineEntry], bound: u64, kernel: impl Fn(u32) -> Option<(String, Option<u64>)>) -> PreemptionCounts {
    let ended = |number: u32| kernel(number)?.1;
    let mut counts = PreemptionCounts { bound, ..PreemptionCounts::default() };
    let signals: Vec<(u64, Option<u16>, &str, f64)> = timeline
        .iter()
        .filter_map(|entry| Some((entry.cycle, entry.sm, entry.name, entry.value.filter(|_| entry.reason.is_empty())?)))
        .collect();
    let starts: Vec<usize> = (0..signals.len()).filter(|at| signals[*at].2 == "request").collect();
    for (i, &from) in starts.iter().enumerate() {
        let one = &signals[from..starts.get(i + 1).copied().unwrap_or(signals.len())];
        let (at, task) = (one[0].0, one[0].3 as u32);
        let of = |name: &'static str| one.iter().filter(move |signal| signal.2 == name);
        let sum = |name: &'static str| of(name).map(|signal| signal.3).sum::<f64>();
        let emptied = of("flush_overhead").count() as u64;
        let latencies: Vec<u64> = of("latency").map(|signal| signal.3 as u64).collect();
        let mut seen = RequestCounts {
            preemptions: of("running").count() as u64,
            emptied,
            // If the next task arrives before the victims of an SM have left, the SM has no latency and exceeds any bound.
            violations: latencies.iter().filter(|latency| **latency > bound).count() as u64 + (emptied - latencies.len() as u64),
            finished: ended(task).map(|end| end.saturating_sub(at)),
            overhead: sum("overhead"),
            flush_overhead: sum("flush_overhead"),
            drained: sum("drained") as u64,
            switched: sum("switched") as u64,
            flushed: sum("flushed") as u64,
            utilisation: of("utilisation").next().map(|signal| signal.3),
            latencies,
            ..RequestCounts::default()
        };
        for (name, _) in of("running").filter_map(|signal| kernel(signal.3 as u32)) {
            *seen.kernels.entry(name).or_default() += 1;
        }
        for (_, sm, _, flush) in of("flush_overhead") {
            let of_sm = |name| of(name).find(|signal| signal.1 == *sm).map(|signal| signal.3);
            if of_sm("latency").is_none_or(|latency| latency as u64 > bound) {
                seen.late_overhead += flush - of_sm("overhead").unwrap_or(0.0).min(*flush);
            }
        }
        for (estimate, latency) in of("drain_estimate").zip(of("drain_latency")) {
            seen.drain_error.0 += (estimate.3 - latency.3).abs() / latency.3.max(1.0);
            seen.drain_error.1 += 1;
        }
        counts.requests.push(seen);
    }
    counts
}
