//! The error of a workload that cannot be spread over GPUs.

warpshard_base::message_error! {
    /// The error of a workload that cannot be spread over GPUs.
    pub struct SpreadError;
}
