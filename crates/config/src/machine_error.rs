//! Values of a machine contradict each other.

warpshard_base::message_error! {
    /// Values of a machine contradict each other. The message is part of a longer one.
    pub struct MachineError;
}
