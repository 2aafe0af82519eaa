//! The progress of a run.

/// The progress of a run, for a progress display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Core cycles simulated.
    pub cycles: u64,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// CTAs that have ended, as of the last cut or shortly after.
    pub ctas_done: u64,
    /// CTAs of the workload.
    pub ctas: u64,
}
