//! Why values do not make a machine.

use thiserror::Error;

/// Why values do not make a machine; its text is a part of a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Impossible(String);

impl From<String> for Impossible {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Impossible {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
