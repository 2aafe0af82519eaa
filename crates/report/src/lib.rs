//! Results as JSON, CSV, text and plots, and the folder that contains them.
//!
//! All functions but those of [`Destination`] and [`Scratch`] are pure functions from an [`Outcome`](warpshard_stats::Outcome) and
//! [`HostFacts`](warpshard_stats::HostFacts) to text. Counters are looked up by name and a component may lack any of them; all division
//! happens in [`metrics`].
#![forbid(unsafe_code)]

pub mod applications;
pub mod bars;
mod cells;
pub mod csv;
pub mod energy;
mod error;
mod facts;
mod folder;
pub mod frame;
pub mod heat;
pub mod html;
pub mod json;
mod lock;
mod measurements;
pub mod metrics;
pub mod nsight;
pub mod owners;
#[cfg(feature = "parquet")]
mod parquet;
pub mod picture;
pub mod plot;
mod roofs;
mod rows;
mod sampled;
mod scratch;
pub mod store;
pub mod strips;
mod summary;
mod system;
pub mod text;
mod thinned;
pub mod ticks;
pub mod timeline;
pub mod verdict;

pub use error::TimelineError;
pub use facts::{Configuration, RunFacts, SCHEMA_VERSION};
pub use folder::{Destination, FolderError, ResultFile, Target};
pub use scratch::{Scratch, is_special, write_whole};
pub use summary::{relaxed_words, summary};

#[cfg(test)]
mod sample;
