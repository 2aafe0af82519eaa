//! The error for knobs that have no effect on a machine.

warpshard_base::message_error! {
    /// A knob without effect on this machine. The message names the setting that it needs.
    pub struct KnobError;
}
