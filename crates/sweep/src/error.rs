//! Errors of a sweep.

use thiserror::Error;

use warpshard_report::FolderError;
use warpshard_report::frame::NoParquet;
use warpshard_report::picture::PictureError;
use warpshard_run::Exit;

use super::plan::PlanError;

/// A sweep cannot begin or continue. The text is a message for the user.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Runs of the plan are wrong, so that none was simulated.
    #[error("{message}")]
    Runs {
        /// The first of them, each with what is wrong.
        message: String,
        /// How the program ends for the first one.
        exit: Exit,
    },
    /// Results cannot be stored.
    #[error(transparent)]
    Store(#[from] FolderError),
    /// A file beside the results cannot be written.
    #[error("cannot write {file}: {source}")]
    File {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The picture cannot be drawn; the table was written.
    #[error("{0}; sweep.csv was written")]
    Picture(#[from] PictureError),
    /// This build has no Parquet.
    #[error("--parquet: {0}")]
    Parquet(#[from] NoParquet),
}

impl SweepError {
    /// How the program ends for it.
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
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl From<warpshard_run::Error> for Failed {
    fn from(error: warpshard_run::Error) -> Self {
        Self { exit: error.exit(), message: error.to_string() }
    }
}
