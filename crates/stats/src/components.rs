//! Names of kinds of components that the packages above agree on.

/// What an SM counted for an application, numbered by SM, then application.
pub const APPLICATION_SM: &str = "sm_application";
/// What an LLC slice counted for an application, numbered by slice, then application.
pub const APPLICATION_LLC: &str = "llc_application";
