//! The text is not a timeline.

warpshard_base::message_error! {
    /// The text is not a timeline.
    pub struct TimelineError;
}
