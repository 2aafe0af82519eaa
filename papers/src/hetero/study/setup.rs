//! What is run: a kernel, what the CPU cores do, the limit of warps, and how network and controllers are shared.

use std::collections::BTreeSet;
use std::fmt;

/// Streams through memory; regular, no reuse.
pub(super) const STREAM: &str = "stream";
/// Lists of its own for each lane, which a few warps keep in the L1 and many do not.
pub(super) const DIVERGENT: &str = "divergent";
/// Scattered reads, 32 lines per load: a few warps fill the memory.
pub(super) const GATHER: &str = "gather";
/// Bound by arithmetic.
pub(super) const GEMM: &str = "gemm_tiled";

/// The kernels, those that saturate memory first; their parameters are in `papers/src/hetero/published/hetero-directions.toml`.
pub(super) const KERNELS: [&str; 4] = [STREAM, DIVERGENT, GATHER, GEMM];

/// The kernels that saturate memory.
pub(super) const PRESSING: [&str; 3] = [STREAM, DIVERGENT, GATHER];

/// The limits of warps per SM that Figures 7 to 10 sweep; the first limits nothing.
pub(super) const LIMITS: [u32; 6] = [48, 24, 16, 8, 6, 4];

/// CPU cores of the chip.
pub(super) const CORES: u32 = 14;

/// The heavy and the light mix of the sweep.
pub(super) const HEAVY: Cpus = Cpus::Mix("H2");
pub(super) const LIGHT: Cpus = Cpus::Mix("L1");

/// The applications of Figure 1, the most memory-intensive first, on every core.
pub(super) const APPLICATIONS: [&str; 3] = ["mcf", "omnetpp", "perlbench"];

/// The application of Figures 3 to 5, on every core.
pub(super) const OMNETPP: Cpus = Cpus::All("omnetpp", CORES);

/// What the CPU cores do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cpus {
    /// Nothing.
    Off,
    /// One application on each of so many cores.
    All(&'static str, u32),
    /// A mix of Table IV.
    Mix(&'static str),
}

impl Cpus {
    /// The names for `--cpu`.
    pub(super) fn names(self) -> Vec<String> {
        match self {
            Self::Off => Vec::new(),
            Self::All(name, cores) => vec![name.to_owned(); cores as usize],
            Self::Mix(name) => vec![format!("@{name}")],
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("none"),
            Self::All(name, cores) => write!(f, "{cores} {name}"),
            Self::Mix(name) => write!(f, "@{name}"),
        }
    }
}

/// How network and controllers are divided between CPU cores and SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Split {
    /// Virtual channels of the CPU cores; 0 shares all.
    pub(super) vcs: u32,
    /// Bytes of a channel's 32 for the CPU cores; 0 shares all.
    pub(super) bytes: u32,
    /// Controllers of the CPU cores; 0 shares all.
    pub(super) controllers: u32,
}

impl Split {
    pub(super) const SHARED: Self = Self { vcs: 0, bytes: 0, controllers: 0 };

    /// `cpu` virtual channels and as many quarters of the width for the CPU cores: 3G1C is 1.
    pub(super) const fn network(cpu: u32) -> Self {
        Self { vcs: cpu, bytes: 8 * cpu, controllers: 0 }
    }

    /// `cpu` controllers for the CPU cores: 7G1C is 1.
    pub(super) const fn controllers(cpu: u32) -> Self {
        Self { vcs: 0, bytes: 0, controllers: cpu }
    }

    /// The keys of the machine that make it so.
    pub(super) fn overrides(self) -> [(&'static str, String); 3] {
        [
            ("noc.mesh.cpu_vcs", self.vcs.to_string()),
            ("noc.mesh.cpu_channel_bytes", format!("{} B", self.bytes)),
            ("mem.map.cpu_partitions", self.controllers.to_string()),
        ]
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.vcs, self.bytes) {
            (0, _) => f.write_str("shared network")?,
            (vcs, 0) => write!(f, "{}G{vcs}C VCs", 4 - vcs)?,
            (vcs, _) => write!(f, "{}G{vcs}C network", 4 - vcs)?,
        }
        match self.controllers {
            0 => f.write_str(", shared controllers"),
            own => write!(f, ", {}G{own}C controllers", 8 - own),
        }
    }
}

/// The splits of Figures 3, 4 and 5, the shared one first.
pub(super) fn splits() -> Vec<Split> {
    let network = (1..=3).map(Split::network);
    let controllers = (1..=7).map(Split::controllers);
    let both = [4, 1].map(|controllers| Split { controllers, ..Split::network(1) });
    let channels = Split { bytes: 0, ..Split::network(1) };
    [Split::SHARED, channels].into_iter().chain(network).chain(controllers).chain(both).collect()
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setup {
    /// The kernel, by name; without one the SMs are idle.
    pub(super) kernel: Option<&'static str>,
    /// The CPU cores.
    pub(super) cpus: Cpus,
    /// The limit of warps per SM.
    pub(super) warps: u32,
    /// How network and controllers are divided.
    pub(super) split: Split,
}

impl Setup {
    /// A kernel with CPU cores, nothing limited or divided.
    pub(super) fn together(kernel: &'static str, cpus: Cpus) -> Self {
        Self { kernel: Some(kernel), cpus, warps: LIMITS[0], split: Split::SHARED }
    }

    /// CPU cores with idle SMs.
    pub(super) fn cpus_alone(cpus: Cpus) -> Self {
        Self { kernel: None, cpus, warps: LIMITS[0], split: Split::SHARED }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with CPUs {}, {} warps, {}", self.kernel.unwrap_or("no kernel"), self.cpus, self.warps, self.split)
    }
}

/// Names of the applications of a mix that differ.
pub(super) fn applications(mix: Cpus) -> BTreeSet<&'static str> {
    use warpshard_cpu_load::{CpuMix, builtin_profiles};
    let Cpus::Mix(name) = mix else { return BTreeSet::new() };
    let mix = CpuMix::named(name).map(|mix| mix.applications).unwrap_or_default();
    builtin_profiles().filter(|profile| mix.iter().any(|application| application == profile)).collect()
}

/// All runs of the study, each once, in their order.
pub(super) fn all_setups() -> Vec<Setup> {
    let mut setups = BTreeSet::new();
    for mix in [HEAVY, LIGHT] {
        setups.insert(Setup::cpus_alone(mix));
        setups.extend(applications(mix).into_iter().map(|application| Setup::cpus_alone(Cpus::All(application, 1))));
    }
    setups.extend(APPLICATIONS.map(|application| Setup::cpus_alone(Cpus::All(application, CORES))));
    for name in KERNELS {
        setups.insert(Setup::together(name, Cpus::Off));
        setups.extend(APPLICATIONS.map(|application| Setup::together(name, Cpus::All(application, CORES))));
        setups.insert(Setup::together(name, Cpus::All("omnetpp", 8)));
        setups.extend(splits().into_iter().map(|split| Setup { split, ..Setup::together(name, OMNETPP) }));
        for warps in LIMITS {
            setups.extend([HEAVY, LIGHT].map(|mix| Setup { warps, ..Setup::together(name, mix) }));
        }
    }
    setups.into_iter().collect()
}
