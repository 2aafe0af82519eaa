//! Comparison of a run with Nsight Compute's measurements of the same launches, launch by launch and metric by metric.
//!
//! The input is the CSV of `ncu --csv --page raw` (metrics as columns, a row of units below the names), the CSV of `ncu --csv` (a row per
//! metric), or a table with one metric per column and without units. A [`Profile`] holds the parsed measurements, and a [`LaunchComparison`] holds
//! the launches of a run and a profile.

mod launch_pairs;
mod table;

pub use launch_pairs::{LaunchComparison, MatchedLaunch, MetricPair};
pub use table::{Profile, ProfileError, ProfiledLaunch};
