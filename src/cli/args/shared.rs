//! What several commands take.

use std::path::PathBuf;

use clap::Args;

/// The word in place of a frequency: the clock that the SMs hold under the load of the run.
pub(crate) const AUTO: &str = "auto";

/// The overrides of a machine with a clock before them, unless the clock follows from the load of the run.
pub(crate) fn with_clock(clock: Option<&str>, set: &[(String, String)]) -> Vec<(String, String)> {
    let clock = clock.filter(|clock| *clock != AUTO).map(|clock| ("clocks.core".to_owned(), clock.to_owned()));
    clock.into_iter().chain(set.iter().cloned()).collect()
}

/// Options that studies and the benchmark share.
#[derive(Args, Debug)]
pub(crate) struct TraceSetArgs {
    /// Built-in machine, or machine file (.toml) [default: v100; a study has its own].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Override a value of the machine. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Folder with recorded traces and measured results, which replace the built-in ones [default: built-in results, and the recorded
    /// traces in ../shared/reference if there are any].
    #[arg(long, value_name = "DIR")]
    pub reference: Option<PathBuf>,
    /// Folder that keeps generated traces between studies.
    #[arg(long, value_name = "DIR", default_value = "target/traces")]
    pub cache: PathBuf,
    /// Result folder [default: results/study-NAME or results/bench, replaced].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl TraceSetArgs {
    /// The default machine of the benchmark.
    pub(crate) const MACHINE: &'static str = "v100";
}

/// Reads `KEY=VALUE`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, such as gpu.sms=56".to_owned()),
    }
}
