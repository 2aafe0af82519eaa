//! Options of sampled runs.

use clap::Args;

use warpshard_sample::SamplingOptions;

/// Options of sampled runs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SamplingArgs {
    /// Simulate a sample of the launches and estimate the others, with confidence intervals (docs/sampling.md): error=4%, confidence=95%,
    /// seed=1, warm=0 launches before each measured one, least=4 measured launches of each kernel, inside=on to simulate only parts of long
    /// launches, caches=on to fill the LLC with the lines of skipped launches. All results are then estimates and marked as such.
    #[arg(
        long,
        value_name = "KEY=VALUE,..",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = [
            "app", "policy", "cpu", "max_cycles", "max_instructions", "interval", "perfetto", "relaxed", "mpi", "monitor"
        ],
        help_heading = "Length and recording"
    )]
    pub sample: Option<Sampling>,
}

/// The parsed value of `--sample` and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampling {
    /// The text of the option.
    pub text: String,
    /// The parsed options.
    pub options: SamplingOptions,
}

impl std::str::FromStr for Sampling {
    type Err = <SamplingOptions as std::str::FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { text: text.to_owned(), options: text.parse()? })
    }
}
