//! A workload cannot be spread over GPUs.

warpshard_base::message_error! {
    /// A workload cannot be spread over GPUs.
    pub struct SpreadError;
}
