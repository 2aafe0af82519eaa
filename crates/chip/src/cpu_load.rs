//! The load of the CPU cores of a run: applications, instruction counts, and the end of the run.

use std::path::Path;

use thiserror::Error;

use warpshard_base::CpuId;
use warpshard_config::Machine;
use warpshard_cpu::CpuGoals;
use warpshard_cpu_load::{CpuMix, CpuProfile, CpuProfileError, CpuStream, CpuTrace, ProfileStream, TraceError, builtin_profile};
use warpshard_protocol::EventKind;

/// The instruction source of a core.
#[derive(Clone, Debug, PartialEq)]
pub enum CpuSource {
    /// A profile, which generates a seeded stream.
    Profile(CpuProfile),
    /// A recorded trace, repeated from its start.
    Trace(CpuTrace),
}

/// An error in the load of the CPU cores.
#[derive(Debug, Error)]
pub enum CpuLoadError {
    /// A profile or mix is unknown or invalid.
    #[error(transparent)]
    Profile(#[from] CpuProfileError),
    /// A trace is invalid.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An application of a mix is invalid.
    #[error("{mix}: {source}")]
    InMix {
        /// The mix.
        mix: String,
        /// The error of the application.
        source: Box<CpuLoadError>,
    },
    /// A mix is given together with other names.
    #[error(
        "{mix} is given together with {others} other name(s), but a mix gives every core of the chip an application; give the mix alone, or list \
         its applications"
    )]
    MixNotAlone {
        /// The mix.
        mix: String,
        /// The number of other names.
        others: usize,
    },
    /// The machine cannot run the load.
    #[error("{0}")]
    Unsuited(String),
}

/// The application of a core, with its name in reports.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuApplication {
    /// The name.
    pub name: String,
    /// The source of instructions.
    pub source: CpuSource,
}

impl CpuApplication {
    /// Loads a built-in profile by name, a profile from a `.toml` file, or a trace from any other path.
    ///
    /// # Errors
    /// There is no such profile, or the file is invalid.
    pub fn named(name: &str) -> Result<Self, CpuLoadError> {
        let path = Path::new(name);
        let source = if name.ends_with(".toml") {
            CpuSource::Profile(CpuProfile::load(path)?)
        } else if name.contains('/') {
            CpuSource::Trace(CpuTrace::open(path)?)
        } else {
            CpuSource::Profile(builtin_profile(name)?)
        };
        let name = path.file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, source })
    }

    /// Loads the applications of the first cores of a chip with `cores` cores, as named by `--cpu`: single applications, or one mix,
    /// `@NAME`, for all cores of the chip.
    ///
    /// # Errors
    /// A name or file is wrong, or a mix is combined with other names.
    pub fn all(names: &[String], cores: u32) -> Result<Vec<Self>, CpuLoadError> {
        match names {
            [name] if name.starts_with('@') => {
                let mix = CpuMix::named(&name[1..])?;
                mix.per_core(cores)
                    .map(|application| {
                        Self::named(application).map_err(|error| CpuLoadError::InMix { mix: name.clone(), source: Box::new(error) })
                    })
                    .collect()
            }
            names => match names.iter().find(|name| name.starts_with('@')) {
                Some(mix) => Err(CpuLoadError::MixNotAlone { mix: mix.clone(), others: names.len() - 1 }),
                None => names.iter().map(|name| Self::named(name)).collect(),
            },
        }
    }

    pub(super) fn stream(&self, seed: u64, core: u32) -> Result<CpuStream, String> {
        match &self.source {
            CpuSource::Profile(profile) => Ok(CpuStream::Profile(ProfileStream::new(profile, seed, u64::from(core)))),
            CpuSource::Trace(trace) => Ok(CpuStream::Trace(trace.stream(false).map_err(|error| error.to_string())?)),
        }
    }
}

/// The condition that ends a run with CPU cores; the cores themselves never stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuEnd {
    /// The last kernel has ended, and the slowest core has reached its instruction count.
    #[default]
    Both,
    /// The last kernel has ended.
    Gpu,
    /// The slowest core has reached its instruction count.
    Cpu,
}

/// The load of the CPU cores of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuLoad {
    /// The applications of the first cores; the other cores are off.
    pub applications: Vec<CpuApplication>,
    /// Instructions that each core retires before it is measured.
    pub warm: u64,
    /// Instructions that are measured after the warm-up.
    pub measure: u64,
    /// `true` if kernels wait until the slowest core has warmed up.
    pub gpu_waits: bool,
    /// The condition that ends the run.
    pub end: CpuEnd,
    /// The seed of profiles.
    pub seed: u64,
}

impl CpuLoad {
    /// Returns the number of active cores.
    pub fn cores(&self) -> u32 {
        self.applications.len() as u32
    }

    pub(super) fn goals(&self) -> CpuGoals {
        CpuGoals { warm: (self.warm > 0).then_some(self.warm), measured: Some(self.warm + self.measure) }
    }

    /// Returns `true` if kernels wait at the start.
    pub(super) fn delays_kernels(&self) -> bool {
        self.gpu_waits && self.warm > 0 && !self.applications.is_empty()
    }

    /// Checks that `machine` has CPU cores for the load.
    ///
    /// # Errors
    /// The mismatch between machine and load.
    pub fn check(&self, machine: &Machine) -> Result<(), CpuLoadError> {
        let unsuited = |what: String| Err(CpuLoadError::Unsuited(what));
        let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
        if cores == 0 {
            return unsuited(format!("{} has no CPU cores; `cpu.count` is 0", machine.name));
        }
        if self.cores() > cores {
            return unsuited(format!("{} applications for the {cores} CPU cores of {}", self.cores(), machine.name));
        }
        if self.measure == 0 {
            return unsuited("a CPU core measures at least one instruction".to_owned());
        }
        Ok(())
    }
}

/// The progress of the CPU cores of a run, according to the events that have taken effect.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CpuProgress {
    #[state(fixed)]
    end: CpuEnd,
    cold: Vec<bool>,
    unmeasured: Vec<bool>,
    delays_kernels: bool,
    /// Number of GPUs with unfinished kernels.
    gpus_left: u32,
}

impl CpuProgress {
    pub(super) fn new(load: Option<&CpuLoad>, gpus: u32) -> Self {
        let cores = load.map_or(0, CpuLoad::cores) as usize;
        Self {
            end: load.map_or(CpuEnd::Gpu, |load| load.end),
            cold: vec![true; cores],
            unmeasured: vec![true; cores],
            delays_kernels: load.is_some_and(CpuLoad::delays_kernels),
            gpus_left: gpus,
        }
    }

    pub(super) fn needs_event(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::RunEnded => true,
            EventKind::CoreWarm(_) => self.delays_kernels,
            EventKind::CoreMeasured(_) => self.end != CpuEnd::Gpu,
            _ => false,
        }
    }

    pub(super) fn record_event(&mut self, kind: EventKind) {
        let done = |list: &mut Vec<bool>, core: CpuId| list[core.index()] = false;
        match kind {
            EventKind::RunEnded => self.gpus_left -= 1,
            EventKind::CoreWarm(core) => done(&mut self.cold, core),
            EventKind::CoreMeasured(core) => done(&mut self.unmeasured, core),
            _ => {}
        }
    }

    /// Returns `true` if the end condition of the run holds.
    pub(super) fn is_over(&self) -> bool {
        let measured = !self.unmeasured.contains(&true);
        match self.end {
            CpuEnd::Both => self.gpus_left == 0 && measured,
            CpuEnd::Gpu => self.gpus_left == 0,
            CpuEnd::Cpu => measured,
        }
    }

    /// Returns `true` once, when the waiting kernels must be released.
    pub(super) fn releases_kernels(&mut self) -> bool {
        let now = self.delays_kernels && !self.cold.contains(&true);
        self.delays_kernels &= !now;
        now
    }
}
