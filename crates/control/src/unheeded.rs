//! Why a machine does not heed what a controller decides.

use thiserror::Error;

/// Why a machine does not heed what a controller decides; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unheeded(String);

impl From<String> for Unheeded {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Unheeded {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
