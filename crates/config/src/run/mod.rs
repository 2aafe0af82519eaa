//! The settings of a run besides machine and workload: threads, epochs, seed, kernel selection, stop cycle.
//!
//! Input: run files, arguments of the command line. Output: a checked [`RunConfig`]. Only seed, kernels and `max_cycles` change the
//! simulation; threads and epochs do not.

mod file;
mod kernels;
mod setting;

pub use file::{RunFile, WorkloadChoice};
pub use kernels::KernelSelection;
pub use setting::SettingError;

use std::fmt;
use std::str::FromStr;

use super::error::{ConfigErrors, Problem};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// Total number of busy host threads, including trace decoding.
    pub threads: Threads,
    /// The maximum length of an epoch, between two barriers.
    pub epoch: Epoch,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The simulated kernels.
    pub kernels: KernelSelection,
    /// The core cycle at which the run stops if it has not ended before.
    pub max_cycles: Option<u64>,
    /// Length of an interval of the time series in core cycles.
    pub interval: u64,
    /// `true` if epochs may exceed the lookahead. Messages may then arrive late; the results count late messages.
    pub relaxed: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            threads: Threads::All,
            epoch: Epoch::Auto,
            seed: 1,
            kernels: KernelSelection::All,
            max_cycles: None,
            interval: 1024,
            relaxed: false,
        }
    }
}

/// The number of host threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread per core of the host.
    All,
    /// A fixed number of threads, at least 1.
    Exactly(u32),
}

/// The maximum length of an epoch, between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// The lookahead of the machine.
    Auto,
    /// A number of core cycles, at least 1.
    Cycles(u64),
}

impl FromStr for Threads {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        const EXPECTED: &str = "\"all\" or a number of threads from 1 to 1024";
        match text.trim() {
            "all" => Ok(Self::All),
            number => match number.parse() {
                Ok(threads @ 1..=1024) => Ok(Self::Exactly(threads)),
                _ => Err(SettingError::new(format!("`{number}` is not a number of threads"), EXPECTED)),
            },
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Exactly(threads) => write!(f, "{threads}"),
        }
    }
}

impl FromStr for Epoch {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        const EXPECTED: &str = "\"auto\" or a number of core cycles, at least 1";
        match text.trim() {
            "auto" => Ok(Self::Auto),
            number => match number.parse() {
                Ok(0) => Err(SettingError::new("an epoch of 0 cycles never ends", EXPECTED)),
                Ok(cycles) => Ok(Self::Cycles(cycles)),
                Err(_) => Err(SettingError::new(format!("`{number}` is not an epoch"), EXPECTED)),
            },
        }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cycles(cycles) => write!(f, "{cycles}"),
        }
    }
}

impl RunConfig {
    /// Checks the settings that do not depend on the machine.
    ///
    /// # Errors
    /// All settings that are meaningless or contradict each other.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut problems = Vec::new();
        if self.relaxed && self.epoch == Epoch::Auto {
            problems.push(
                Problem::without_location("a relaxed run needs an epoch length")
                    .help("add --epoch N with N above the lookahead, or leave out --relaxed for exact results"),
            );
        }
        if self.interval == 0 {
            problems.push(Problem::without_location("an interval of 0 cycles never ends").help("--interval takes core cycles, at least 1"));
        }
        if self.max_cycles == Some(0) {
            problems
                .push(Problem::without_location("a run of 0 cycles simulates nothing").help("--max-cycles takes core cycles, at least 1"));
        }
        ConfigErrors::unless_empty((), problems)
    }

    /// Checks the epoch against the machine's lookahead in core cycles; `link` names the link that limits the lookahead.
    ///
    /// # Errors
    /// An epoch above the lookahead in a run that is not relaxed.
    pub fn check_lookahead(&self, lookahead: u64, link: &str) -> Result<(), ConfigErrors> {
        match self.epoch {
            Epoch::Cycles(cycles) if cycles > lookahead && !self.relaxed => Err(Problem::without_location(format!(
                "an epoch of {cycles} cycles is longer than the lookahead of {lookahead}, which {link} limits"
            ))
            .help(format!("--epoch auto uses all of the lookahead; --epoch {cycles} --relaxed allows late messages"))
            .into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_epochs_parse_their_own_output() {
        for text in ["all", "8"] {
            assert_eq!(text.parse::<Threads>().unwrap().to_string(), text);
        }
        for text in ["auto", "7"] {
            assert_eq!(text.parse::<Epoch>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_expected_form() {
        let error = "0".parse::<Threads>().unwrap_err().to_string();
        assert_eq!(error, "`0` is not a number of threads; expected \"all\" or a number of threads from 1 to 1024");
        let error = "0".parse::<Epoch>().unwrap_err().to_string();
        assert_eq!(error, "an epoch of 0 cycles never ends; expected \"auto\" or a number of core cycles, at least 1");
    }

    #[test]
    fn contradictions_are_reported_together() {
        let run = RunConfig { relaxed: true, interval: 0, max_cycles: Some(0), ..RunConfig::default() };
        assert_eq!(run.check().unwrap_err().problems.len(), 3);
        assert!(RunConfig::default().check().is_ok());
    }

    #[test]
    fn an_epoch_above_the_lookahead_needs_the_flag() {
        let run = RunConfig { epoch: Epoch::Cycles(41), ..RunConfig::default() };
        let error = run.check_lookahead(40, "the link grid -> sm0").unwrap_err().to_string();
        assert!(error.contains("41 cycles is longer than the lookahead of 40, which the link grid -> sm0 limits"), "{error}");
        assert!(run.check_lookahead(41, "").is_ok());
        assert!(RunConfig { relaxed: true, ..run }.check_lookahead(40, "").is_ok());
    }
}
