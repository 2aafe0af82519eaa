//! The message log: every message on a link, recorded at both ends of the link.

use warpshard_base::LinkId;

/// An entry of the message log: link, arrival in the receiver's cycles, payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedMessage<P> {
    /// The link of the message.
    pub link: LinkId,
    /// The receiver's cycle of arrival; only its low 32 bits in the log of sent messages.
    pub at: u64,
    /// The payload of the message.
    pub payload: P,
}

/// All messages sent and delivered, for checks that do not depend on counters.
#[derive(Clone, Debug)]
pub struct MessageLog<P> {
    /// Messages in the order of sending, worker by worker.
    pub sent: Vec<LoggedMessage<P>>,
    /// Messages in the order of delivery, worker by worker.
    pub delivered: Vec<LoggedMessage<P>>,
}

impl<P> Default for MessageLog<P> {
    fn default() -> Self {
        Self { sent: Vec::new(), delivered: Vec::new() }
    }
}
