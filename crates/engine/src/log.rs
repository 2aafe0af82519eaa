//! The log of messages: everything that crossed a link, seen at both of its ends.

use warpshard_base::LinkId;

/// A message as the log keeps it: link, arrival in the receiver's cycles, content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged<P> {
    /// The link.
    pub link: LinkId,
    /// The receiver's cycle of arrival (its low half for messages that were sent).
    pub at: u64,
    /// What it carries.
    pub payload: P,
}

/// Everything sent and everything delivered, for checks that are independent of counters.
#[derive(Clone, Debug)]
pub struct MessageLog<P> {
    /// In the order of sending, worker by worker.
    pub sent: Vec<Logged<P>>,
    /// In the order of delivery, worker by worker.
    pub delivered: Vec<Logged<P>>,
}

impl<P> Default for MessageLog<P> {
    fn default() -> Self {
        Self { sent: Vec::new(), delivered: Vec::new() }
    }
}
