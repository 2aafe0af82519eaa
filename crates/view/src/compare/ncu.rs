//! A run beside what Nsight Compute measured of the same launches: launch by launch, metric by metric.
//!
//! Input: the CSV of `ncu --csv --page raw` (metrics as columns, a row of units below the names), that of `ncu --csv` (a row per metric), or a
//! table with a metric per column without units. Output: a [`Profile`], and with a run the [`Beside`] of its launches.

mod beside;
mod table;

pub use beside::{Beside, Launch, Pair};
pub use table::{Profile, ProfileError, Profiled};
