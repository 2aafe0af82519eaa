//! Views of result folders: comparisons of runs, the page of a run, and its trace for the Perfetto viewer.
//!
//! The functions read the files of result folders, as [`report`](warpshard_report) writes them, and return texts, pages and JSON. They
//! depend on these files alone, so that they can also show results of other hosts and earlier runs.
#![forbid(unsafe_code)]

pub mod compare;
mod folder;
mod page;
mod perfetto;
#[cfg(test)]
mod sample;
mod series;

pub use folder::{ReadError, RunFolder, Stats};
pub use page::page;
pub use perfetto::perfetto;

use warpshard_report::timeline::{TimelineRecord, read};

/// Returns the decisions and signals of a run; empty if no controller was attached.
fn timeline_of(run: &RunFolder) -> Result<Vec<TimelineRecord>, ReadError> {
    let Some(text) = run.file("timeline.csv")? else { return Ok(Vec::new()) };
    read(&text).map_err(|problem| ReadError::Invalid { path: run.path.join("timeline.csv"), problem: problem.to_string() })
}
