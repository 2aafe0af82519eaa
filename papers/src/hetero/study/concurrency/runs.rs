//! The jobs of the study: a pair together, and each application alone.

use super::job::{Cpus, Job};
use super::pairs::Pair;
use super::scheme::{Scheme, System};

/// Returns the job of a pair under a scheme.
pub(super) fn together(system: System, pair: &Pair, scheme: Scheme) -> Job {
    Job { system, cpus: Cpus::Mix(pair.mix.clone()), gpu: Some(pair.gpu.clone()), scheme }
}

/// Returns the job of a pair's mix with idle SMs.
pub(super) fn without_gpu(pair: &Pair) -> Job {
    Job { gpu: None, ..together(System::Base, pair, Scheme::All) }
}

/// Returns the job of a GPU application alone.
pub(super) fn gpu_alone(system: System, application: &str) -> Job {
    Job { system, cpus: Cpus::Off, gpu: Some(application.to_owned()), scheme: Scheme::All }
}

/// Returns the job of a CPU application alone. Chips that differ only in the number of SMs share it, since all SMs are idle.
pub(super) fn cpu_alone(system: System, application: &str) -> Job {
    let system = if matches!(system, System::Two | System::Six) { System::Base } else { system };
    Job { system, cpus: Cpus::One(application.to_owned()), gpu: None, scheme: Scheme::All }
}
