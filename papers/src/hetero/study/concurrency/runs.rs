//! Which run is which: a pair together, and each of its parts alone.

use super::job::{Cpus, Job};
use super::pairs::Pair;
use super::scheme::{Scheme, System};

/// The run of a pair.
pub(super) fn together(system: System, pair: &Pair, scheme: Scheme) -> Job {
    Job { system, cpus: Cpus::Mix(pair.mix.clone()), gpu: Some(pair.gpu.clone()), scheme }
}

/// The mix of a pair with idle SMs.
pub(super) fn without_gpu(pair: &Pair) -> Job {
    Job { gpu: None, ..together(System::Base, pair, Scheme::All) }
}

/// A GPU application alone.
pub(super) fn gpu_alone(system: System, application: &str) -> Job {
    Job { system, cpus: Cpus::Off, gpu: Some(application.to_owned()), scheme: Scheme::All }
}

/// A CPU application alone. With all SMs idle, chips that differ in their number alone are one.
pub(super) fn cpu_alone(system: System, application: &str) -> Job {
    let system = if matches!(system, System::Two | System::Six) { System::Base } else { system };
    Job { system, cpus: Cpus::One(application.to_owned()), gpu: None, scheme: Scheme::All }
}
