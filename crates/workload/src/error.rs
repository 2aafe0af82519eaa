//! Why a workload cannot be spread over GPUs.

use thiserror::Error;

/// Why a workload cannot be spread over GPUs; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SpreadError(String);

impl From<String> for SpreadError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for SpreadError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
