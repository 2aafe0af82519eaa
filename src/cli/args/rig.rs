//! Options of `cpu`, `dram` and `noc`, the commands that simulate one model alone.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use warpshard_mem::dram::standard::{STANDARDS, Standard};
use warpshard_noc::mesh::{Pipeline, Topology};
use warpshard_rig::cpu::CpuMemory;
use warpshard_rig::noc::PATTERNS as TRAFFIC;
use warpshard_rig::{AccessPattern, PATTERNS};

const CPU_HELP: &str = "\
Traces run without caches, because they were recorded behind caches, on a core like Ramulator's: 4-wide, 128 entries.
Profiles run with private caches of 32 KB and 256 KB, on a core that is 3-wide with 128 entries.

Examples:
  warpshard cpu --trace traces/403.gcc.gz --memory ddr4-2400r
  warpshard cpu --profile mcf --memory fixed:200 --instructions 10000000 --json";

/// Options of `cpu`.
#[derive(Args, Debug)]
#[command(after_help = CPU_HELP)]
pub(crate) struct CpuArgs {
    /// Memory trace: `<bubbles> <read> [<writeback>]` per line, plain or compressed.
    #[arg(long, value_name = "FILE", required_unless_present = "profile", conflicts_with = "profile")]
    pub trace: Option<PathBuf>,
    /// Built-in profile, or profile file (.toml). `warpshard list profiles` lists them.
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Memory: "ideal", "fixed:N" (a latency of N cycles), or a DRAM standard, with an optional ratio of the core clock to the
    /// DRAM clock: "ddr4-2400r@8:3".
    #[arg(long, value_name = "MEMORY", value_parser = CpuMemory::parse)]
    pub memory: CpuMemory,
    /// Instructions fetched, executed and retired per cycle [default: 4 for traces, 3 for profiles].
    #[arg(long, value_name = "N")]
    pub width: Option<u32>,
    /// Instructions in the window [default: 128].
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
    /// Instructions in total [default: one pass of a trace, or 5 million of a profile after the warm-up].
    #[arg(long, value_name = "N")]
    pub instructions: Option<NonZeroU64>,
    /// Warm-up instructions before the measurement.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warm: u64,
    /// Make each load of the trace depend on the load before it, as in a pointer chase.
    #[arg(long, requires = "trace")]
    pub dependent: bool,
    /// Use the private caches with a trace, for traces that were recorded without caches.
    #[arg(long, requires = "trace")]
    pub unfiltered: bool,
    /// Seed for random numbers of a profile.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl CpuArgs {
    /// Returns true if the core has its private caches.
    pub(crate) fn caches(&self) -> bool {
        self.profile.is_some() || self.unfiltered
    }
}

const DRAM_HELP: &str = "\
Requests arrive at a fixed rate and wait in an unbounded queue while the controller is full. The first eleventh of the
requests is warm-up.

Examples:
  warpshard dram --standard gddr6-14g --pattern random --load 0.2
  warpshard dram --standard hbm2-2000 --pattern seq_bg --writes 0.5 --load 0.8 --refresh on --json
  warpshard dram --standard gddr5-6g --pattern random --sweep --out results/gddr5";

/// Options of `dram`.
#[derive(Args, Debug)]
#[command(after_help = DRAM_HELP)]
pub(crate) struct DramArgs {
    /// DRAM device. An unknown name lists all.
    #[arg(long, value_name = "NAME", default_value = "gddr6-14g", value_parser = standard)]
    pub standard: &'static Standard,
    /// Address pattern. An unknown name lists all.
    #[arg(long, value_name = "NAME", default_value = "seq_bg", value_parser = pattern)]
    pub pattern: AccessPattern,
    /// Fraction of writes.
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = fraction)]
    pub writes: f64,
    /// Offered load as a fraction of the peak bandwidth; above 1 saturates.
    #[arg(long, value_name = "F", default_value_t = 0.5, value_parser = load)]
    pub load: f64,
    /// Refresh of the banks.
    #[arg(long, value_name = "on|off", default_value = "off")]
    pub refresh: OnOff,
    /// Number of requests, including warm-up.
    #[arg(long, value_name = "N", default_value_t = 220_000, value_parser = clap::value_parser!(u64).range(11..=u64::from(u32::MAX)))]
    pub requests: u64,
    /// Policy of the memory controller.
    #[arg(long, value_name = "NAME", default_value = "ramulator2")]
    pub controller: ControllerName,
    /// Close a row after the last queued request for it.
    #[arg(long)]
    pub closed_page: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Simulate loads from 0.05 to 1.2 and write a table and a plot of latency over load.
    #[arg(long, conflicts_with_all = ["load", "json"])]
    pub sweep: bool,
    /// Result folder of a sweep [default: results/dram-STANDARD-PATTERN, replaced].
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub out: Option<PathBuf>,
}

/// Values of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// Policies of the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControllerName {
    /// Ramulator 2.1: FR-FCFS that protects row hits, queues of 64.
    Ramulator2,
    /// Ramulator 1: FR-FCFS with a cap of 16 row hits, queues of 32.
    Ramulator1,
    /// DRAMsim3: queues of 32, posted writes drained in batches, per-bank refresh.
    Dramsim3,
    /// First come, first served; otherwise like ramulator2.
    Fcfs,
}

fn standard(text: &str) -> Result<&'static Standard, String> {
    let known: Vec<&str> = STANDARDS.iter().map(|standard| standard.name).collect();
    Standard::named(text).ok_or_else(|| format!("known standards: {}", known.join(", ")))
}

fn pattern(text: &str) -> Result<AccessPattern, String> {
    let known: Vec<&str> = PATTERNS.iter().map(|(name, _)| *name).collect();
    AccessPattern::named(text).ok_or_else(|| format!("known patterns: {}", known.join(", ")))
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn load(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value| (1e-6..=16.0).contains(value)).ok_or_else(|| "expected a number from 0.000001 to 16".to_owned())
}

const NOC_HELP: &str = "\
Loads are in flits per source and cycle. A load is stable when its mean packet latency is at most 1000 cycles.

Examples:
  warpshard noc                                             6x6 mesh, 3 stages, 4 VCs of 4 flits, uniform traffic
  warpshard noc --topology mesh8x4 --router 2 --load 0.3    another mesh, speculative routers
  warpshard noc --topology xbar36 --flits 5 --load 0.4      a crossbar with virtual channels, 5-flit packets
  warpshard noc --pattern sm28tomc8 --sweep --out results/m rising loads up to saturation: CSV and plots";

/// Options of `noc`.
#[derive(Args, Debug)]
#[command(after_help = NOC_HELP)]
pub(crate) struct NocArgs {
    /// meshKxM (K columns, M rows) or xbarN (one router of N ports).
    #[arg(long, value_name = "NAME", default_value = "mesh6x6", value_parser = topology)]
    pub topology: Topology,
    /// Router stages: 2 (speculative), 3 or 4 (with a separate stage for route computation).
    #[arg(long, value_name = "N", default_value = "3", value_parser = pipeline)]
    pub router: Pipeline,
    /// Virtual channels per port.
    #[arg(long, value_name = "N", default_value = "4")]
    pub vcs: u8,
    /// Buffer of a virtual channel, in flits.
    #[arg(long, value_name = "N", default_value = "4")]
    pub buffers: u16,
    /// Allocation and switch rounds per cycle.
    #[arg(long, value_name = "N", default_value = "1")]
    pub speedup: u8,
    /// Cycles between a credit's arrival at a router and its use.
    #[arg(long, value_name = "N", default_value = "1")]
    pub credit_delay: u8,
    /// Traffic pattern.
    #[arg(long, value_name = "NAME", default_value = "uniform", value_parser = traffic())]
    pub pattern: String,
    /// Flits per packet.
    #[arg(long, value_name = "N", default_value = "1")]
    pub flits: u16,
    /// Offered load in flits per source and cycle.
    #[arg(long, value_name = "F", default_value = "0.1", conflicts_with = "sweep")]
    pub load: f64,
    /// Warm-up cycles before the measurement.
    #[arg(long, value_name = "N", default_value = "9000")]
    pub warm_up: u64,
    /// Measured cycles.
    #[arg(long, value_name = "N", default_value = "30000")]
    pub measured: u64,
    /// Seed for random numbers.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON.
    #[arg(long, conflicts_with = "sweep")]
    pub json: bool,
    /// Simulate rising loads until the network saturates, and write CSV and plots.
    #[arg(long)]
    pub sweep: bool,
    /// Result folder of a sweep [default: results/noc-TOPOLOGY-PATTERN, replaced].
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub out: Option<PathBuf>,
}

/// Parses `meshKxM` or `xbarN`.
fn topology(text: &str) -> Result<Topology, String> {
    let size = |text: &str| text.parse::<u16>().ok().filter(|size| (1..=128).contains(size));
    let mesh = || {
        let (columns, rows) = text.strip_prefix("mesh")?.split_once('x')?;
        Some(Topology::Mesh { columns: size(columns)?, rows: size(rows)? })
    };
    let crossbar = || Some(Topology::Crossbar { ports: size(text.strip_prefix("xbar")?)? });
    mesh().or_else(crossbar).ok_or_else(|| "expected meshKxM or xbarN with sizes from 1 to 128, as in mesh6x6 or xbar36".to_owned())
}

/// Parses the number of router stages.
fn pipeline(text: &str) -> Result<Pipeline, String> {
    match text {
        "2" => Ok(Pipeline::Speculative),
        "3" => Ok(Pipeline::Three),
        "4" => Ok(Pipeline::Four),
        _ => Err("a router has 2, 3 or 4 stages".to_owned()),
    }
}

/// Returns a parser of the names of traffic patterns.
fn traffic() -> PossibleValuesParser {
    PossibleValuesParser::new(TRAFFIC.iter().map(|(name, _)| *name))
}
