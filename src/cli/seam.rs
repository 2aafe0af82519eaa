//! What the progress bar needs to hear from the engine.

/// News of a run under way.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// Core cycles simulated.
    pub cycles: u64,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// CTAs that ended.
    pub ctas_done: u64,
    /// CTAs of the workload.
    pub ctas: u64,
    /// The kernel that runs.
    pub kernel: String,
}
