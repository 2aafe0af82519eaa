//! Why a test stand cannot run.

use thiserror::Error;

/// Why a test stand cannot run; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RigError(String);

impl From<warpshard_config::Impossible> for RigError {
    fn from(why: warpshard_config::Impossible) -> Self {
        Self(why.to_string())
    }
}

impl From<warpshard_noc::SpecError> for RigError {
    fn from(why: warpshard_noc::SpecError) -> Self {
        Self(why.to_string())
    }
}

impl From<String> for RigError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for RigError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
