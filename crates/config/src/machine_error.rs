//! The error for inconsistent values of a machine.

warpshard_base::message_error! {
    /// An inconsistency between values of a machine. The message is part of a longer message.
    pub struct MachineError;
}
