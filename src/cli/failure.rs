//! Failures of commands.

use warpshard_chip::RunError;
use warpshard_report::FolderError;
use warpshard_report::frame::NoParquet;
use warpshard_run::{CheckpointError, Error, Exit};
use warpshard_sweep::{PlanError, SweepError};

/// A failure of a command: the message for the user and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code of the program.
    pub exit: Exit,
    /// The message, which begins in lower case and may have several lines.
    pub message: String,
}

impl Failure {
    /// Returns a failure that ends the program with `exit`.
    pub fn new(exit: Exit, message: impl ToString) -> Self {
        Self { exit, message: message.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = error.exit();
        Self::new(exit, error)
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        let exit = error.exit();
        Self::new(exit, error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Error::from(error).into()
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        Error::from(error).into()
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Self::new(Exit::Output, error)
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::new(Exit::Config, error)
    }
}

impl From<NoParquet> for Failure {
    fn from(error: NoParquet) -> Self {
        Self::new(Exit::Usage, format!("--parquet: {error}"))
    }
}
