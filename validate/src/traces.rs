//! Runs traces for a study: loads machine and trace, simulates, and reduces the outcome to the figures that studies compare.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::Override;
use warpshard_lab::error::TaskError;
use warpshard_lab::request::Request;
use warpshard_report::metrics::{self, Totals};
use warpshard_run::Catalogue;
use warpshard_stats::Relaxed;

/// What all runs of a study share.
#[derive(Clone, Debug)]
pub struct Traces<'a> {
    /// What the machine is looked up in.
    pub catalogue: &'static Catalogue,
    /// The machine, by name or file.
    pub machine: &'a str,
    /// Settings of the machine on top of its file, as key and value.
    pub overrides: Vec<(String, String)>,
    /// Where generated traces are kept.
    pub cache: PathBuf,
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRun {
    /// Core cycles without launch latency.
    pub net_cycles: u64,
    /// Core cycles in all.
    pub cycles: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Thread instructions.
    pub thread_instructions: u64,
    /// L1 accesses, in sectors or lines as the machine requests them.
    pub l1_accesses: u64,
    /// L1 misses, in the same.
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
    /// Host seconds of simulating.
    pub simulate_seconds: f64,
    /// Host seconds of decoding.
    pub decode_seconds: f64,
    /// Share of the worker's time that was spent at barriers.
    pub wait_share: f64,
    /// The machine's lookahead in core cycles.
    pub lookahead_cycles: u64,
    /// What makes the figures approximate, in a relaxed run.
    pub relaxed: Option<Relaxed>,
}

impl<'a> Traces<'a> {
    /// The machine and settings that `request` asks for.
    pub fn of(request: &'a Request, default: &'static str) -> Self {
        let cache = request.cache.clone().unwrap_or_else(|| PathBuf::from("target/traces"));
        Self { machine: request.machine.as_deref().unwrap_or(default), overrides: request.set.clone(), catalogue: request.catalogue, cache }
    }

    /// Runs the trace in `folder` on `threads` worker threads, with further settings of the machine.
    ///
    /// # Errors
    /// Whatever goes wrong, as a message for the user.
    pub fn run(&self, folder: &Path, threads: usize, settings: &[(String, String)]) -> Result<TraceRun, TaskError> {
        self.run_as(folder, settings, RunOptions { threads, ..RunOptions::default() })
    }

    /// The same, with all options of a run.
    ///
    /// # Errors
    /// As [`Traces::run`].
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

/// Counters that together are the L1's accesses.
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
/// Counters that together are the L1's misses.
const L1_MISSES: &[&str] = &["l1_read_misses", "l1_read_sector_misses", "l1_write_misses", "l1_write_sector_misses"];
/// Counters that together are the LLC's accesses.
const LLC_ACCESSES: &[&str] = &["accesses"];
/// Counters that together are the LLC's misses.
const LLC_MISSES: &[&str] = &["misses"];
