//! Why no wait at a barrier can succeed any more.

use std::any::Any;
use std::error::Error;
use std::fmt;

/// A party cannot take part any more, so no wait can succeed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poisoned {
    /// Index of the party that failed; the first one if several did.
    pub party: usize,
    /// What happened to it: the text given to `poison`, the text of a panic, or how it left.
    pub message: String,
}

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {} broke off: {}", self.party, self.message)
    }
}

impl Error for Poisoned {}

/// The text of a panic, as far as its payload is a text.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a panic without a text"
    }
}
