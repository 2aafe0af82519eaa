//! Launches that were measured on hardware and simulated, with the data that verdicts need.

/// A launch that was measured and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredError {
    /// The name of the launch: its program and its kernel.
    pub launch: String,
    /// The class of the launch: "compute", "LLC", "DRAM", "latency" or "short", or the name of its computation.
    pub class: String,
    /// Simulated minus measured cycles, in percent of the measured cycles.
    pub error_percent: f64,
}

/// The launches of a machine that were measured and simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurements {
    /// The name of the machine.
    pub machine: &'static str,
    /// The measured launches.
    pub launches: &'static [MeasuredError],
}
