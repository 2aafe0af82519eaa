//! Cache building blocks: tags with sector states, MSHRs, and the access path that combines them under the configured policies.
//!
//! The semantics are those of GPGPU-Sim's `gpu-cache.cc` (tag array, MSHR table, data cache), on fixed arrays: nothing is
//! allocated after construction, and all orders follow from the sequence of calls.
//! Time is an argument of each call; nothing here counts cycles.

mod data;
mod directory;
mod hashed;
mod index;
mod mshr;
mod packed;
mod replacement;
mod sectors;
mod tag_lines;
mod tags;
#[cfg(test)]
mod tests;

pub use data::{Access, Answer, DataCache, Down, DownKind, FailReason, NOBODY, Outcome, Status, segment};
pub use index::set_index;
pub use mshr::Mshr;
pub use tags::{Evicted, Lookup, Probe, TagArray};

/// What an access does to the bytes it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Reads, then writes them here: counts as a read that leaves the sector modified.
    Atomic,
}
