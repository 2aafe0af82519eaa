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
mod stream;
mod trace;
mod trace_line;

pub use inst::{CpuInst, CpuOp};
pub use mix::{CpuMix, builtin_mixes};
pub use profile::ProfileStream;
pub use profile_file::{CpuProfile, FarAccesses, ProfileError};
pub use profiles::{builtin_profile, builtin_profiles};
pub use stream::{CpuStream, ListStream};
pub use trace::{CpuTrace, TraceStream};
pub use warpshard_trace::TraceError;
