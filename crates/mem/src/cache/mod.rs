//! Cache building blocks: tags with sector states, MSHRs, and the access path that combines them under the configured policies.
//!
//! `directory`, `packed`, `hashed` and `index` find a line. `replacement` selects the victim. `sectors`, `tag_lines` and `tags` hold the
//! state of lines. `data` and `data_write` perform accesses; `write` is the table of write policies. `mshr` and `down` hold outstanding
//! misses and requests to the next level. `prefetch` fetches sectors ahead of reads.
//!
//! The semantics follow GPGPU-Sim's `gpu-cache.cc` (tag array, MSHR table, data cache). All arrays have a fixed size: nothing is allocated
//! after construction, and every order follows from the sequence of calls. Time is an argument of each call; the cache counts no cycles.

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

pub use access::{AccessOrigin, AccessOutcome, AccessStatus, CacheAccess, FailReason, ReplySource, Waiter};
pub use data::DataCache;
pub use down::{DownstreamKind, DownstreamRequest, segment};
pub use index::set_index;
pub use lookup::{EvictedLine, Lookup, Probe};
pub use mshr::Mshr;
pub use prefetch::{LoadAccess, PrefetchCounters, PrefetchRequest, PrefetchStatus, Prefetcher};
pub use tags::TagArray;

/// The operation of an access on its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write in this cache. It counts as a read, after which the sector is modified.
    Atomic,
}
