//! Options of `import` and `calibrate`, the commands that create machines.

use std::path::PathBuf;

use clap::Args;

use super::key_value;

const IMPORT_HELP: &str = "\
The report lists every option as converted, ignored (with the reason), doubtful or unknown. An option that changes results
and has no counterpart is an error.

Example:
  warpshard import --gpgpusim SM75_RTX2060/gpgpusim.config --trace-config SM75_RTX2060/trace.config --out rtx2060.toml
  warpshard run --machine ./rtx2060.toml";

/// Options of `import`.
#[derive(Args, Debug)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// GPGPU-Sim configuration (gpgpusim.config).
    #[arg(long, value_name = "FILE")]
    pub gpgpusim: PathBuf,
    /// Configuration of the trace front end (trace.config); without it, units have the latencies of PTX instructions.
    #[arg(long, value_name = "FILE")]
    pub trace_config: Option<PathBuf>,
    /// Machine file to write; it must not exist.
    #[arg(long, value_name = "MACHINE.toml")]
    pub out: PathBuf,
    /// Name of the machine [default: the file name].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

const CALIBRATE_HELP: &str = "\
A value that is derived from a measurement names it in a comment, micro:KEY; other values are the base's, and the report gives the reasons.
A latency is adjusted by the difference between the measured value and the base's simulated microbenchmark. The same files give the same bytes.

Example:
  python3 programs/tools/measure.py micro --out micro.json
  warpshard calibrate micro.json --machine v100 --out mine.toml
  warpshard study micro --machine ./mine.toml";

/// Options of `calibrate`.
#[derive(Args, Debug)]
#[command(after_help = CALIBRATE_HELP)]
pub(crate) struct CalibrateArgs {
    /// Measurements: a JSON file written by programs/tools/measure.py.
    #[arg(value_name = "MICRO.json")]
    pub measurements: PathBuf,
    /// Base machine: built-in machine, or machine file (.toml).
    #[arg(long, value_name = "NAME|FILE", default_value = "v100")]
    pub machine: String,
    /// Override a value of the base machine. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Machine file to write; it must not exist.
    #[arg(long, value_name = "MACHINE.toml")]
    pub out: PathBuf,
}
