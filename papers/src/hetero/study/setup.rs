//! The setup of a run: a kernel, the load of the CPU cores, the warp limit, and the split of network and controllers.

use std::collections::BTreeSet;
use std::fmt;

/// Kernel with regular streams through memory and no reuse.
pub(super) const STREAM_KERNEL: &str = "stream";
/// Kernel with one list per lane: the L1 holds the lists of a few warps, but not of many.
pub(super) const DIVERGENT_KERNEL: &str = "divergent";
/// Kernel with scattered reads, 32 lines per load: a few warps saturate memory.
pub(super) const GATHER_KERNEL: &str = "gather";
/// Compute-bound kernel.
pub(super) const GEMM_KERNEL: &str = "gemm_tiled";

/// All kernels, the memory-saturating kernels first; their parameters are in `papers/src/hetero/published/hetero-directions.toml`.
pub(super) const KERNEL_NAMES: [&str; 4] = [STREAM_KERNEL, DIVERGENT_KERNEL, GATHER_KERNEL, GEMM_KERNEL];

/// The kernels that saturate memory.
pub(super) const SATURATING_KERNELS: [&str; 3] = [STREAM_KERNEL, DIVERGENT_KERNEL, GATHER_KERNEL];

/// The warp limits per SM of Figures 7 to 10; the first one limits nothing.
pub(super) const WARP_LIMITS: [u32; 6] = [48, 24, 16, 8, 6, 4];

/// Number of CPU cores of the chip.
pub(super) const CPU_CORES: u32 = 14;

/// The heavy and the light mix of CPU applications in the sweep of warp limits.
pub(super) const HEAVY_MIX: Cpus = Cpus::Mix("H2");
pub(super) const LIGHT_MIX: Cpus = Cpus::Mix("L1");

/// The applications of Figure 1, each on all CPU cores; the most memory-intensive first.
pub(super) const FIGURE_1_APPLICATIONS: [&str; 3] = ["mcf", "omnetpp", "perlbench"];

/// The CPU load of Figures 3 to 5: omnetpp on every core.
pub(super) const OMNETPP_ON_ALL_CORES: Cpus = Cpus::All("omnetpp", CPU_CORES);

/// The load of the CPU cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cpus {
    /// No application; the CPU cores are idle.
    Off,
    /// One application on each of `n` cores.
    All(&'static str, u32),
    /// A mix of Table IV.
    Mix(&'static str),
}

impl Cpus {
    /// Returns the application names, as for `--cpu`.
    pub(super) fn application_names(self) -> Vec<String> {
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

/// The division of network and controllers between CPU cores and SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Split {
    /// Virtual channels dedicated to CPU cores; 0 shares all.
    pub(super) vcs: u32,
    /// Bytes of the 32-byte channel dedicated to CPU cores; 0 shares all.
    pub(super) bytes: u32,
    /// Memory controllers dedicated to CPU cores; 0 shares all.
    pub(super) controllers: u32,
}

impl Split {
    pub(super) const ALL_SHARED: Self = Self { vcs: 0, bytes: 0, controllers: 0 };

    /// Dedicates `cpu` of 4 virtual channels and `cpu` quarters of the width to the CPU cores; 1 is the paper's 3G1C.
    pub(super) const fn network(cpu: u32) -> Self {
        Self { vcs: cpu, bytes: 8 * cpu, controllers: 0 }
    }

    /// Dedicates `cpu` of 8 controllers to the CPU cores; 1 is the paper's 7G1C.
    pub(super) const fn controllers(cpu: u32) -> Self {
        Self { vcs: 0, bytes: 0, controllers: cpu }
    }

    /// Returns the machine settings of the split.
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

/// Returns the splits of Figures 3, 4 and 5, the shared one first.
pub(super) fn splits() -> Vec<Split> {
    let network = (1..=3).map(Split::network);
    let controllers = (1..=7).map(Split::controllers);
    let both = [4, 1].map(|controllers| Split { controllers, ..Split::network(1) });
    let channels = Split { bytes: 0, ..Split::network(1) };
    [Split::ALL_SHARED, channels].into_iter().chain(network).chain(controllers).chain(both).collect()
}

/// The setup of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChipSetup {
    /// The kernel's name; with `None` the SMs are idle.
    pub(super) kernel: Option<&'static str>,
    /// The load of the CPU cores.
    pub(super) cpus: Cpus,
    /// The warp limit per SM.
    pub(super) warps: u32,
    /// The division of network and controllers.
    pub(super) split: Split,
}

impl ChipSetup {
    /// Returns the setup of a kernel with CPU cores, without a warp limit and with everything shared.
    pub(super) fn together(kernel: &'static str, cpus: Cpus) -> Self {
        Self { kernel: Some(kernel), cpus, warps: WARP_LIMITS[0], split: Split::ALL_SHARED }
    }

    /// Returns the setup of CPU cores with idle SMs.
    pub(super) fn cpus_alone(cpus: Cpus) -> Self {
        Self { kernel: None, cpus, warps: WARP_LIMITS[0], split: Split::ALL_SHARED }
    }
}

impl fmt::Display for ChipSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with CPUs {}, {} warps, {}", self.kernel.unwrap_or("no kernel"), self.cpus, self.warps, self.split)
    }
}

/// Returns the distinct applications of a mix.
pub(super) fn applications(mix: Cpus) -> BTreeSet<&'static str> {
    use warpshard_cpu_load::{CpuMix, builtin_profiles};
    let Cpus::Mix(name) = mix else { return BTreeSet::new() };
    let mix = CpuMix::named(name).map(|mix| mix.applications).unwrap_or_default();
    builtin_profiles().filter(|profile| mix.iter().any(|application| application == profile)).collect()
}

/// Returns all runs of the study, each once, sorted.
pub(super) fn all_setups() -> Vec<ChipSetup> {
    let mut setups = BTreeSet::new();
    for mix in [HEAVY_MIX, LIGHT_MIX] {
        setups.insert(ChipSetup::cpus_alone(mix));
        setups.extend(applications(mix).into_iter().map(|application| ChipSetup::cpus_alone(Cpus::All(application, 1))));
    }
    setups.extend(FIGURE_1_APPLICATIONS.map(|application| ChipSetup::cpus_alone(Cpus::All(application, CPU_CORES))));
    for name in KERNEL_NAMES {
        setups.insert(ChipSetup::together(name, Cpus::Off));
        setups.extend(FIGURE_1_APPLICATIONS.map(|application| ChipSetup::together(name, Cpus::All(application, CPU_CORES))));
        setups.insert(ChipSetup::together(name, Cpus::All("omnetpp", 8)));
        setups.extend(splits().into_iter().map(|split| ChipSetup { split, ..ChipSetup::together(name, OMNETPP_ON_ALL_CORES) }));
        for warps in WARP_LIMITS {
            setups.extend([HEAVY_MIX, LIGHT_MIX].map(|mix| ChipSetup { warps, ..ChipSetup::together(name, mix) }));
        }
    }
    setups.into_iter().collect()
}
