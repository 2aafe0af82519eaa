//! Cache building blocks: tags with sector states, MSHRs, and the access path that combines them under the configured policies.
//!
//! Finding a line: `directory`, `packed`, `hashed`, `index`. Which line makes room: `replacement`. The state of a line: `sectors`,
//! `tag_lines`, `tags`. What an access does: `data`, `data_write`, and `write`, the table of the write policies. What is under way: `mshr`,
//! `down`. What is fetched in advance: `prefetch`.
//!
//! The semantics are those of GPGPU-Sim's `gpu-cache.cc` (tag array, MSHR table, data cache), on fixed arrays: nothing is
//! allocated after construction, and all orders follow from the sequence of calls.
//! Time is an argument of each call; nothing here counts cycles.

mod access;
mod data;
mod data_write;
mod directory;
mod down;
mod hashed;
mod hints;
mod index;
mod lookup;
mod mshr;
mod packed;
mod prefetch;
mod replacement;
mod sectors;
mod tag_lines;
mod tags;
#[cfg(test)]
mod tests;
mod write;

pub use access::{Access, Answer, FailReason, Outcome, Owner, Status, Waiter};
pub use data::DataCache;
pub use down::{Down, DownKind, segment};
pub use index::set_index;
pub use lookup::{Evicted, Lookup, Probe};
pub use mshr::Mshr;
pub use prefetch::{LoadAt, PrefetchCounters, Prefetched, Prefetcher, Wanted};
pub use tags::TagArray;

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
