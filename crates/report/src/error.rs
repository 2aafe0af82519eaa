//! Why a timeline cannot be read.

use thiserror::Error;

/// Why a timeline cannot be read; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TimelineError(String);

impl From<String> for TimelineError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for TimelineError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
