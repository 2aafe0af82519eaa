//! The jobs of the study: a pair together, and each application alone.

use super::job::{Cpus, ConcurrencyJob};
use super::pairs::WorkloadPair;
use super::scheme::{ConcurrencyScheme, System};

/// Returns the job of a pair under a scheme.
pub(super) fn pair_job(system: System, pair: &WorkloadPair, scheme: ConcurrencyScheme) -> ConcurrencyJob {
    ConcurrencyJob { system, cpus: Cpus::Mix(pair.mix.clone()), gpu: Some(pair.gpu.clone()), scheme }
}

/// Returns the job of a pair's mix with idle SMs.
pub(super) fn cpus_only_job(pair: &WorkloadPair) -> ConcurrencyJob {
    ConcurrencyJob { gpu: None, ..pair_job(System::Base, pair, ConcurrencyScheme::All) }
}

/// Returns the job of a GPU application alone.
pub(super) fn gpu_alone_job(system: System, application: &str) -> ConcurrencyJob {
    ConcurrencyJob { system, cpus: Cpus::Off, gpu: Some(application.to_owned()), scheme: ConcurrencyScheme::All }
}

/// Returns the job of a CPU application alone. Chips that differ only in the number of SMs share it, since all SMs are idle.
pub(super) fn cpu_alone_job(system: System, application: &str) -> ConcurrencyJob {
    let system = if matches!(system, System::Two | System::Six) { System::Base } else { system };
    ConcurrencyJob { system, cpus: Cpus::One(application.to_owned()), gpu: None, scheme: ConcurrencyScheme::All }
}
