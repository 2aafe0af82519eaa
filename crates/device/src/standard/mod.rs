//! DRAM standards as tables: organisation, command bus and timing values with their sources.
//!
//! A standard is data. [`rules`](Standard::rules) derives the constraints between commands from its timing values, in the same way for
//! every standard, and [`check`](Standard::check) rejects values that no device can have. No code depends on the names of standards.

mod check;
mod clock;
mod ddr4;
mod gddr5;
mod gddr6;
mod hbm2;
mod hbm3;
mod rules;
mod table;

pub use check::StandardError;
pub use clock::period_ps;
pub use rules::{Command, Rule, Scope};
pub use table::{CommandBus, Organisation, Standard, Timing};

/// All standards, sorted by name.
pub const STANDARDS: &[&Standard] = &[
    &ddr4::DDR4_2400R,
    &gddr5::GDDR5_1600,
    &gddr5::GDDR5_6000,
    &gddr5::GDDR5_6G,
    &gddr5::GDDR5_FERMI,
    &gddr6::GDDR6_14G,
    &hbm2::HBM2_2000,
    &hbm3::HBM3_5600,
    &hbm3::HBM3_6400,
];

impl Standard {
    /// Returns the standard with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STANDARDS.iter().copied().find(|standard| standard.name == name)
    }

    /// Returns the reads and writes that the data buses can transfer per command clock.
    pub fn peak_per_clock(&self) -> f64 {
        f64::from(self.organisation.pseudo_channels) / f64::from(self.timing.tBL)
    }

    /// Returns the constraints between the commands of the standard.
    pub fn rules(&self) -> Vec<Rule> {
        rules::rules(&self.timing)
    }

    /// Rejects values that no device can have.
    ///
    /// # Errors
    /// The first impossible value, with the reason.
    pub fn check(&self) -> Result<(), StandardError> {
        check::check(self)
    }
}
