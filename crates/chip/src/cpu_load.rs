//! What the CPU cores of a run execute, for how long, and how their progress ends the run.

use std::path::Path;

use thiserror::Error;

use warpshard_base::CpuId;
use warpshard_config::Machine;
use warpshard_cpu::CpuGoals;
use warpshard_cpu_load::{CpuMix, CpuProfile, CpuStream, CpuTrace, ProfileError, ProfileStream, TraceError, builtin_profile};
use warpshard_protocol::EventKind;

/// What a core executes.
#[derive(Clone, Debug, PartialEq)]
pub enum CpuSource {
    /// A profile, as a seeded stream.
    Profile(CpuProfile),
    /// A recorded trace, wrapped.
    Trace(CpuTrace),
}

/// The applications of the CPU cores cannot be loaded.
#[derive(Debug, Error)]
pub enum CpuLoadError {
    /// A profile or mix is unknown or wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An application of a mix is wrong.
    #[error("{mix}: {source}")]
    InMix {
        /// The mix.
        mix: String,
        /// What is wrong with the application.
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
    /// The machine does not suit the load.
    #[error("{0}")]
    Unsuited(String),
}

/// What a core executes, and its name in reports.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuApplication {
    /// The name.
    pub name: String,
    /// The instructions.
    pub source: CpuSource,
}

impl CpuApplication {
    /// A built-in profile by name, a profile from a `.toml` file, or a trace from any other path.
    ///
    /// # Errors
    /// When there is no such profile, or the file is broken.
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

    /// The applications of the first cores of a chip with `cores` of them, as `--cpu` names them: single ones, or one mix as
    /// `@NAME` that gives every core of the chip something.
    ///
    /// # Errors
    /// When a name or file is wrong, or a mix is not alone.
    pub fn all(names: &[String], cores: u32) -> Result<Vec<Self>, CpuLoadError> {
        match names {
            [name] if name.starts_with('@') => {
                let mix = CpuMix::named(&name[1..])?;
                mix.dealt(cores)
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

/// When a run with CPU cores ends; the cores themselves never stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuEnd {
    /// When the last kernel has ended and the slowest core has reached its count.
    #[default]
    Both,
    /// When the last kernel has ended.
    Gpu,
    /// When the slowest core has reached its count.
    Cpu,
}

/// What the CPU cores of a run do.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuLoad {
    /// The applications of the first cores; the other cores stay off.
    pub applications: Vec<CpuApplication>,
    /// Instructions that each core retires before it is measured.
    pub warm: u64,
    /// Instructions of the measurement after that.
    pub measure: u64,
    /// Whether kernels wait until the slowest core is warm.
    pub gpu_waits: bool,
    /// When the run ends.
    pub end: CpuEnd,
    /// Seed of profiles.
    pub seed: u64,
}

impl CpuLoad {
    /// Cores that are on.
    pub fn cores(&self) -> u32 {
        self.applications.len() as u32
    }

    pub(super) fn goals(&self) -> CpuGoals {
        CpuGoals { warm: (self.warm > 0).then_some(self.warm), measured: Some(self.warm + self.measure) }
    }

    /// Whether kernels are held back at the start.
    pub(super) fn holds_gpu(&self) -> bool {
        self.gpu_waits && self.warm > 0 && !self.applications.is_empty()
    }

    /// Checks that `machine` has the cores for this.
    ///
    /// # Errors
    /// What does not match.
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

/// The progress of the CPU cores of a run, by the events that took effect so far.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CpuWatch {
    #[state(fixed)]
    end: CpuEnd,
    cold: Vec<bool>,
    unmeasured: Vec<bool>,
    holds_gpu: bool,
    /// GPUs whose kernels have not all ended.
    gpus_left: u32,
}

impl CpuWatch {
    pub(super) fn new(load: Option<&CpuLoad>, gpus: u32) -> Self {
        let cores = load.map_or(0, CpuLoad::cores) as usize;
        Self {
            end: load.map_or(CpuEnd::Gpu, |load| load.end),
            cold: vec![true; cores],
            unmeasured: vec![true; cores],
            holds_gpu: load.is_some_and(CpuLoad::holds_gpu),
            gpus_left: gpus,
        }
    }

    pub(super) fn wants(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::RunEnded => true,
            EventKind::CoreWarm(_) => self.holds_gpu,
            EventKind::CoreMeasured(_) => self.end != CpuEnd::Gpu,
            _ => false,
        }
    }

    pub(super) fn see(&mut self, kind: EventKind) {
        let done = |list: &mut Vec<bool>, core: CpuId| list[core.index()] = false;
        match kind {
            EventKind::RunEnded => self.gpus_left -= 1,
            EventKind::CoreWarm(core) => done(&mut self.cold, core),
            EventKind::CoreMeasured(core) => done(&mut self.unmeasured, core),
            _ => {}
        }
    }

    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        let measured = !self.unmeasured.contains(&true);
        match self.end {
            CpuEnd::Both => self.gpus_left == 0 && measured,
            CpuEnd::Gpu => self.gpus_left == 0,
            CpuEnd::Cpu => measured,
        }
    }

    /// Whether kernels are to be released now; returns true once.
    pub(super) fn releases_gpu(&mut self) -> bool {
        let now = self.holds_gpu && !self.cold.contains(&true);
        self.holds_gpu &= !now;
        now
    }
}
