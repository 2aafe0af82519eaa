//! Names of component kinds that several packages use.

/// Component kind of an SM's counters for one application; components are numbered by SM, then by application.
pub const APPLICATION_SM: &str = "sm_application";
/// Component kind of an LLC slice's counters for one application; components are numbered by slice, then by application.
pub const APPLICATION_LLC: &str = "llc_application";
