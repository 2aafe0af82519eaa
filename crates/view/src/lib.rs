//! Result folders read back: runs side by side, a run as a page, and as a trace for the Perfetto viewer.
//!
//! Input: the files of result folders, as [`report`](warpshard_report) writes them. Output: texts, pages and JSON. What is shown follows from
//! the files alone, so that results of other hosts and earlier days can be shown, too.
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

use warpshard_report::timeline::{Record, read};

/// The decisions and signals of a run; none where no controller was attached.
fn timeline_of(run: &RunFolder) -> Result<Vec<Record>, ReadError> {
    let Some(text) = run.file("timeline.csv")? else { return Ok(Vec::new()) };
    read(&text).map_err(|problem| ReadError::Invalid { path: run.path.join("timeline.csv"), problem: problem.to_string() })
}
