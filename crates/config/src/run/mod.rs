//! What a run needs in addition to the machine and the workload: threads, epochs, seed, which kernels, where to stop.
//!
//! Input: run files, arguments of the command line. Output: a checked [`RunConfig`]. Nothing here changes what is simulated
//! except seed, kernels and `max_cycles`: threads and epochs only say how.

mod file;
mod kernels;
mod setting;

pub use file::{RunFile, Workload};
pub use kernels::KernelSelection;
pub use setting::SettingError;

use std::fmt;
use std::str::FromStr;

use super::error::{ConfigErrors, Problem};

/// How a run is done.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// Busy host threads in all, trace decoding included.
    pub threads: Threads,
    /// The longest span between two barriers.
    pub epoch: Epoch,
    /// Seed of everything drawn at random.
    pub seed: u64,
    /// The kernels that are simulated.
    pub kernels: KernelSelection,
    /// The core cycle at which the run is cut, if it has not ended before.
    pub max_cycles: Option<u64>,
    /// Core cycles of an interval of the series.
    pub interval: u64,
    /// Allows epochs longer than the lookahead; messages may then come late, which the results count.
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

/// How many host threads a run may keep busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many as the host has cores.
    All,
    /// This many, at least 1.
    Exactly(u32),
}

/// The longest span between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// The lookahead.
    Auto,
    /// This many core cycles, at least 1.
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
    /// Checks what can be said before the machine is built.
    ///
    /// # Errors
    /// Settings that contradict each other or mean nothing, together.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let mut problems = Vec::new();
        if self.relaxed && self.epoch == Epoch::Auto {
            problems.push(
                Problem::nowhere("a relaxed run needs the length of its epochs")
                    .help("add --epoch N with N above the lookahead, or leave out --relaxed for exact results"),
            );
        }
        if self.interval == 0 {
            problems.push(Problem::nowhere("an interval of 0 cycles never ends").help("--interval takes core cycles, at least 1"));
        }
        if self.max_cycles == Some(0) {
            problems.push(Problem::nowhere("a run of 0 cycles simulates nothing").help("--max-cycles takes core cycles, at least 1"));
        }
        ConfigErrors::unless_empty((), problems)
    }

    /// Checks the epoch against the machine's lookahead, in core cycles, which the named link limits.
    ///
    /// # Errors
    /// An epoch above the lookahead in a run that is not relaxed.
    pub fn check_lookahead(&self, lookahead: u64, link: &str) -> Result<(), ConfigErrors> {
        match self.epoch {
            Epoch::Cycles(cycles) if cycles > lookahead && !self.relaxed => Err(Problem::nowhere(format!(
                "an epoch of {cycles} cycles is longer than the lookahead of {lookahead}, which {link} limits"
            ))
            .help(format!("--epoch auto uses all of the lookahead; --epoch {cycles} --relaxed lets messages come late"))
            .into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_epochs_read_what_they_print() {
        for text in ["all", "8"] {
            assert_eq!(text.parse::<Threads>().unwrap().to_string(), text);
        }
        for text in ["auto", "7"] {
            assert_eq!(text.parse::<Epoch>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_say_what_is_expected() {
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
