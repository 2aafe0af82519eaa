//! What CPU cores execute: recorded memory traces, seeded profiles of applications, and mixes that give each core one.
//!
//! A stream is endless: traces wrap, profiles go on. It yields memory instructions, each with the number of other
//! instructions before it, so that a core can pass over those in bulk.
#![forbid(unsafe_code)]

mod inst;
mod mix;
mod profile;
mod profile_file;
mod profiles;
mod trace;
mod trace_line;

pub use inst::{CpuInst, CpuOp, CpuStream, ListStream};
pub use mix::{CpuMix, builtin_mixes};
pub use profile::ProfileStream;
pub use profile_file::{CpuProfile, FarAccesses, ProfileError};
pub use profiles::{builtin_profile, builtin_profiles};
pub use trace::{CpuTrace, TraceStream};
pub use warpshard_trace::TraceError;
