//! The error of a test bench that cannot run.

warpshard_base::message_error! {
    /// The error of a test bench that cannot run.
    pub struct RigError;
}

impl From<warpshard_config::MachineError> for RigError {
    fn from(why: warpshard_config::MachineError) -> Self {
        Self(why.to_string())
    }
}

impl From<warpshard_noc::SpecError> for RigError {
    fn from(why: warpshard_noc::SpecError) -> Self {
        Self(why.to_string())
    }
}
