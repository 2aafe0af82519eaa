//! Options that several commands share.

use std::path::PathBuf;

use clap::Args;

/// The value of `--clock` that selects the clock which the SMs sustain under the load of the run.
pub(crate) const AUTO_CLOCK: &str = "auto";

/// Returns the overrides of a machine, preceded by an override of the clock unless the clock is [`AUTO_CLOCK`].
pub(crate) fn with_clock(clock: Option<&str>, set: &[(String, String)]) -> Vec<(String, String)> {
    let clock = clock.filter(|clock| *clock != AUTO_CLOCK).map(|clock| ("clocks.core".to_owned(), clock.to_owned()));
    clock.into_iter().chain(set.iter().cloned()).collect()
}

/// Options that `study` and `bench` share.
#[derive(Args, Debug)]
pub(crate) struct TraceSetArgs {
    /// Built-in machine, or machine file (.toml) [default: v100, or the machine of the study].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Override a value of the machine. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Folder with recorded traces and measured results, which replace the built-in results [default: built-in results, and the recorded
    /// traces in ../shared/reference if it exists].
    #[arg(long, value_name = "DIR")]
    pub reference: Option<PathBuf>,
    /// Cache folder of generated traces.
    #[arg(long, value_name = "DIR", default_value = "target/traces")]
    pub cache: PathBuf,
    /// Result folder [default: results/study-NAME or results/bench, replaced].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl TraceSetArgs {
    /// The default machine of the benchmark.
    pub(crate) const DEFAULT_MACHINE: &'static str = "v100";
}

/// Parses `KEY=VALUE`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, such as gpu.sms=56".to_owned()),
    }
}
