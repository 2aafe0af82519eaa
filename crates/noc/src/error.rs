//! Why a network cannot be built.

use thiserror::Error;

/// Why a network cannot be built; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SpecError(String);

impl From<String> for SpecError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for SpecError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
