//! Why units cannot be stepped as was asked for.

use thiserror::Error;

/// Why units cannot be stepped as was asked for; its text is a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsteppable(String);

impl From<String> for Unsteppable {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Unsteppable {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}
