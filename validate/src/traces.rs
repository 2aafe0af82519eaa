//! Trace runs of a study: loads machine and trace, simulates, and reduces the outcome to the compared figures.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::Override;
use warpshard_lab::error::TaskError;
use warpshard_lab::request::Request;
use warpshard_report::metrics::{self, Totals};
use warpshard_run::Catalogue;
use warpshard_stats::RelaxedDeviations;

/// Settings that all runs of a study share.
#[derive(Clone, Debug)]
pub struct Traces<'a> {
    /// Catalogue of machines and models.
    pub catalogue: &'static Catalogue,
    /// Name or file of the machine.
    pub machine: &'a str,
    /// Overrides of the machine's keys, as key and value.
    pub overrides: Vec<(String, String)>,
    /// Folder of generated traces.
    pub cache: PathBuf,
}

/// Figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRun {
    /// Core cycles without launch latency.
    pub net_cycles: u64,
    /// Total core cycles.
    pub cycles: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Thread instructions.
    pub thread_instructions: u64,
    /// L1 accesses, in sectors or lines as the machine requests them.
    pub l1_accesses: u64,
    /// L1 misses, in the unit of the accesses.
    pub l1_misses: u64,
    /// LLC accesses, in sectors.
    pub llc_accesses: u64,
    /// LLC misses, in sectors.
    pub llc_misses: u64,
    /// Core cycles with a CTA resident, summed over the SMs.
    pub active_sm_cycles: u64,
    /// DRAM reads, in bursts.
    pub dram_reads: u64,
    /// DRAM writes, in bursts.
    pub dram_writes: u64,
    /// Host seconds of the simulation.
    pub simulate_seconds: f64,
    /// Host seconds of the trace decoding.
    pub decode_seconds: f64,
    /// Share of the workers' time spent at barriers.
    pub wait_share: f64,
    /// The machine's lookahead in core cycles.
    pub lookahead_cycles: u64,
    /// Statistics of the approximation in a relaxed run.
    pub relaxed: Option<RelaxedDeviations>,
}

impl<'a> Traces<'a> {
    /// Takes the machine and overrides from `request`.
    pub fn from_request(request: &'a Request, default: &'static str) -> Self {
        let cache = request.cache.clone().unwrap_or_else(|| PathBuf::from("target/traces"));
        Self { machine: request.machine.as_deref().unwrap_or(default), overrides: request.set.clone(), catalogue: request.catalogue, cache }
    }

    /// Runs the trace in `folder` on `threads` worker threads, with additional overrides of the machine.
    ///
    /// # Errors
    /// Fails with a message for the user if the machine or the trace cannot be loaded, or the run fails.
    pub fn run(&self, folder: &Path, threads: usize, settings: &[(String, String)]) -> Result<TraceRun, TaskError> {
        self.run_as(folder, settings, RunOptions { threads, ..RunOptions::default() })
    }

    /// Runs the trace in `folder` with the given run options.
    ///
    /// # Errors
    /// Fails in the cases of [`Traces::run`].
    pub fn run_as(&self, folder: &Path, settings: &[(String, String)], run: RunOptions) -> Result<TraceRun, TaskError> {
        let overrides: Vec<Override> = self.overrides.iter().chain(settings).map(|(key, value)| Override::new(key, value)).collect();
        let machine = self.catalogue.machine(self.machine, &overrides)?.machine;
        let options = warpshard_trace::TraceOptions { threads: run.threads, ..warpshard_trace::TraceOptions::default() };
        let workload = warpshard_trace::load(folder, &options)?;
        let result = simulate(&machine, &Arc::new(workload), run);
        let result = result?;
        let (outcome, host) = (&result.outcome, &result.host);
        let totals = Totals::of(&outcome.components);
        let launch: u64 = outcome.kernels.iter().map(|kernel| kernel.launch_latency_cycles).sum();
        let per_kernel = |names: &[&str]| -> u64 {
            let sum = |kernel: &warpshard_stats::KernelStats| names.iter().filter_map(|name| kernel.counters.get(name)).sum::<u64>();
            outcome.kernels.iter().map(sum).sum()
        };
        let (busy, wait) = host.workers.iter().fold((0.0, 0.0), |sum, worker| (sum.0 + worker.busy_seconds, sum.1 + worker.wait_seconds));
        Ok(TraceRun {
            net_cycles: outcome.cycles.saturating_sub(launch),
            cycles: outcome.cycles,
            warp_instructions: per_kernel(&[metrics::WARP_INSTRUCTIONS]),
            thread_instructions: per_kernel(&[metrics::THREAD_INSTRUCTIONS]),
            l1_accesses: per_kernel(L1_ACCESSES),
            l1_misses: per_kernel(L1_MISSES),
            llc_accesses: totals.sum("llc", LLC_ACCESSES).unwrap_or(0),
            llc_misses: totals.sum("llc", LLC_MISSES).unwrap_or(0),
            active_sm_cycles: totals.get("sm", "active_cycles").unwrap_or(0),
            dram_reads: totals.get("dram", "reads").unwrap_or(0),
            dram_writes: totals.get("dram", "writes").unwrap_or(0),
            simulate_seconds: host.simulate_seconds,
            decode_seconds: options.clock.seconds(),
            wait_share: wait / f64::max(busy + wait, f64::MIN_POSITIVE),
            lookahead_cycles: host.lookahead_cycles,
            relaxed: outcome.relaxed,
        })
    }
}

/// Counters whose sum is the L1's accesses.
const L1_ACCESSES: &[&str] = &[
    "l1_read_hits",
    "l1_read_pending_hits",
    "l1_read_misses",
    "l1_read_sector_misses",
    "l1_write_hits",
    "l1_write_pending_hits",
    "l1_write_misses",
    "l1_write_sector_misses",
];
/// Counters whose sum is the L1's misses.
const L1_MISSES: &[&str] = &["l1_read_misses", "l1_read_sector_misses", "l1_write_misses", "l1_write_sector_misses"];
/// Counters whose sum is the LLC's accesses.
const LLC_ACCESSES: &[&str] = &["accesses"];
/// Counters whose sum is the LLC's misses.
const LLC_MISSES: &[&str] = &["misses"];
