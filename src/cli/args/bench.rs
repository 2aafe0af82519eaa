//! The options of `bench`.

use std::num::{NonZeroU32, NonZeroU64};

use clap::Args;

use super::shared::TraceSetArgs;

/// Options of `bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Numbers of worker threads; speed-ups are relative to the first number.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', default_value = "1,2")]
    pub threads: Vec<NonZeroU32>,
    /// Runs per trace and number of threads; the median is reported.
    #[arg(long, value_name = "N", default_value = "5")]
    pub runs: NonZeroU32,
    /// Only traces whose names contain TEXT.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Simulate native traces, converted into the cache first, instead of text.
    #[arg(long)]
    pub native: bool,
    /// Measure kernel models on machines with these numbers of SMs, on one thread, instead of the traces.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', num_args = 0.., default_missing_value = "1,8,28,56,80,160,320", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub sizes: Option<Vec<u32>>,
    /// Measure whole processes that read text traces, instead of the simulation alone, and compare with the run time of the reference
    /// simulator.
    #[arg(long, conflicts_with = "sizes")]
    pub process: bool,
    /// Check that results do not depend on threads and epochs, instead of measuring: run each trace on 1, 2 and 3 threads with two epoch
    /// lengths and compare every simulated file. The first difference ends the check with exit code 70.
    #[arg(long, conflicts_with_all = ["sizes", "process", "native"])]
    pub check: bool,
    /// Predict the speed-up on 1 to 256 workers and 1 to 32 ranks from the recorded cost of each unit in each epoch of three kernel models,
    /// and measure the speed-up on --threads.
    #[arg(long, conflicts_with_all = ["sizes", "process", "native", "check", "only"])]
    pub scaling: bool,
    /// With --scaling: latency of a message between two ranks, in microseconds.
    #[arg(long, value_name = "US", default_value = "10", value_parser = time, requires = "scaling")]
    pub latency: f64,
    /// With --scaling: cost of a barrier per worker, in nanoseconds [default: measured between two threads].
    #[arg(long, value_name = "NS", value_parser = time, requires = "scaling")]
    pub barrier: Option<f64>,
    /// With --check: end each run at this core cycle.
    #[arg(long, value_name = "N", requires = "check")]
    pub max_cycles: Option<NonZeroU64>,
    /// Options of the traces and the machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
}

/// Parses a duration from 0 to 1000000, in the unit of its option.
fn time(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a time: expected a number from 0 to 1000000");
    text.parse().ok().filter(|time| (0.0..=1e6).contains(time)).ok_or_else(wrong)
}
