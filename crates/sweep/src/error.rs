//! Errors of a sweep.

use thiserror::Error;

use warpshard_report::FolderError;
use warpshard_report::frame::NoParquet;
use warpshard_report::picture::PictureError;
use warpshard_run::Exit;

use super::plan::PlanError;

/// Reasons for which a sweep cannot begin or continue. The text is a message for the user.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The plan file is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Runs of the plan are invalid, so that no run was simulated.
    #[error("{message}")]
    Runs {
        /// Messages of the first invalid runs.
        message: String,
        /// Exit code of the first invalid run.
        exit: Exit,
    },
    /// Results cannot be stored.
    #[error(transparent)]
    Store(#[from] FolderError),
    /// A file next to the results cannot be written.
    #[error("cannot write {file}: {source}")]
    File {
        /// Path of the file.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The picture cannot be drawn; the table was written.
    #[error("{0}; sweep.csv was written")]
    Picture(#[from] PictureError),
    /// This build does not support Parquet.
    #[error("--parquet: {0}")]
    Parquet(#[from] NoParquet),
}

impl SweepError {
    /// Returns the exit code of the program for this error.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Plan(_) => Exit::Config,
            Self::Runs { exit, .. } => *exit,
            Self::Store(_) | Self::File { .. } | Self::Picture(_) => Exit::Output,
            Self::Parquet(_) => Exit::Usage,
        }
    }
}

/// A run of a sweep that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFailure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl From<warpshard_run::Error> for RunFailure {
    fn from(error: warpshard_run::Error) -> Self {
        Self { exit: error.exit(), message: error.to_string() }
    }
}
