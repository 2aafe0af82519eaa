//! Workloads of CPU cores: recorded memory traces, seeded profiles of applications, and mixes that assign an application to each core.
//!
//! A stream is endless: traces repeat, profiles generate instructions forever. It yields memory instructions, each with the number of
//! preceding other instructions, so that a core can skip those in bulk.
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
pub use profile_file::{CpuProfile, CpuProfileError, FarAccesses};
pub use profiles::{builtin_profile, builtin_profiles};
pub use stream::{CpuStream, ListStream};
pub use trace::{CpuTrace, TraceStream};
pub use warpshard_trace::TraceError;
