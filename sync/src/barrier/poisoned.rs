//! The reason why no wait at a barrier can succeed any more.

use std::any::Any;
use std::error::Error;
use std::fmt;

/// The error of a wait at a barrier after a party has failed; no later wait can succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poisoned {
    /// Index of the party that failed; if several did, of the first.
    pub party: usize,
    /// Cause of the failure: the text given to `poison`, the text of a panic, or the way in which the party left.
    pub message: String,
}

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {} broke off: {}", self.party, self.message)
    }
}

impl Error for Poisoned {}

/// Returns the text of a panic, if its payload is text.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a panic without a text"
    }
}
