//! Decisions on a knob have no effect on a machine.

warpshard_base::message_error! {
    /// Decisions on a knob have no effect on this machine. The message says what to set.
    pub struct KnobError;
}
