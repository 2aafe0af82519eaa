//! The user's options: run lengths and machine settings.

use warpshard_config::Override;
use warpshard_lab::request::Request;

use super::published::{DirectionLengths, directions};

/// Run lengths and machine settings; `papers/src/hetero/published/hetero-directions.toml` explains each.
#[derive(Clone, Debug)]
pub(super) struct HeteroOptions {
    pub(super) machine: String,
    pub(super) overrides: Vec<Override>,
    pub(super) cpu_warm: u64,
    pub(super) cpu_measure: u64,
    pub(super) gpu_cycles: u64,
    pub(super) longest: u64,
    pub(super) light_warm: u64,
    pub(super) light_from: u64,
    pub(super) light_until: u64,
}

impl HeteroOptions {
    pub(super) fn new(request: &Request) -> Self {
        let DirectionLengths { machine, cpu_warm, cpu_measure, gpu_cycles, longest, light_warm, light_from, light_until } =
            directions().own.lengths.clone();
        Self {
            machine: request.machine.clone().unwrap_or(machine),
            overrides: request.machine_settings().into_iter().map(|(key, value)| Override::new(key, value)).collect(),
            cpu_warm: request.cpu_warm.unwrap_or(cpu_warm),
            cpu_measure: request.cpu_measure.unwrap_or(cpu_measure),
            gpu_cycles: request.gpu_cycles.unwrap_or(gpu_cycles),
            longest: request.longest.unwrap_or(longest),
            light_warm,
            light_from,
            light_until,
        }
    }
}
