//! Launches that were measured on hardware and simulated, as far as verdicts need them.

/// A launch that was measured and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The launch: its program, and its kernel.
    pub launch: String,
    /// Its class: "compute", "LLC", "DRAM", "latency" or "short"; others are those of what it computes.
    pub class: String,
    /// Simulated cycles less measured ones, in percent of these.
    pub error_percent: f64,
}

/// The launches of a machine that were measured and simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurements {
    /// The machine.
    pub machine: &'static str,
    /// The launches.
    pub launches: &'static [Measured],
}
