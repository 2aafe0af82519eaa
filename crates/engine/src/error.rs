//! The units of a plan, or the processes that share it, do not fit together.

warpshard_base::message_error! {
    /// The units of a plan, or the processes that share it, do not fit together.
    pub struct SetupError;
}
