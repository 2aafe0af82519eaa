//! Host functions of the simulator that need unsafe code and no concurrency.
//!
//! * [`prefetch()`] fetches memory into the host's caches before it is used.
//! * [`Slots`] are arrays indexed modulo their length, so that no index needs a bounds check.
//! * [`positions()`] compares 24 bytes with a byte value at the same time.
//! * [`wide()`] runs a task over the lanes of a warp with the host's widest vectors.
//! * [`largest_sums()`] and [`add_truncated()`] are the inner loops of matrix products.
//! * [`prefer_huge_pages()`] asks the operating system for a heap of huge pages.
//!
//! These functions have no effect on simulated results. Each `unsafe` block states why it is sound, and each module is tested against plain
//! code. Concurrency (atomics, barriers, mailboxes) is in the crate `warpshard-sync`.

mod bytes;
mod heap;
mod prefetch;
mod products;
mod slots;
mod wide;

pub use bytes::positions;
pub use heap::prefer_huge_pages;
pub use prefetch::prefetch;
pub use products::{add_truncated, largest_sums};
pub use slots::Slots;
pub use wide::{VectorTask, wide};
