//! The report of a run as a page: one HTML file without scripts or external resources, in light and dark colours.
//!
//! The page is generated from a result folder. Every picture has its numbers below it, collapsed. Long runs are drawn in steps and merged
//! spans, so that a page stays small for any number of kernels and intervals.

mod counters;
mod data;
mod draw;
mod energy;
mod figure;
mod head;
mod kernels;
mod memory;
mod sms;
mod time;
mod timeline;
mod verdicts;

use serde::Serialize;

use warpshard_report::html::render;

use super::{ReadError, RunFolder};
use data::RunData;
use figure::Part;

#[derive(Serialize)]
struct RunPage {
    title: String,
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    verdicts: Vec<verdicts::FormattedVerdict>,
    tiles: Vec<head::HeadlineTile>,
    parts: Vec<Part>,
    counters: Vec<counters::CounterTable>,
}

/// Renders the page of a run.
///
/// # Errors
/// Fails if a file of the result folder is invalid.
pub fn page(run: &RunFolder) -> Result<String, ReadError> {
    let data = RunData::read(run)?;
    let parts =
        [kernels::part(&data), time::part(&data), memory::part(&data), energy::part(&data), sms::part(&data), timeline::part(&data)];
    let page = RunPage {
        title: head::title(run),
        facts: head::facts(run),
        warnings: head::warnings(run),
        verdicts: verdicts::all(run),
        tiles: head::headlines(&data),
        parts: parts.into_iter().flatten().filter(|part| !part.figures.is_empty() || !part.note.is_empty()).collect(),
        counters: counters::all(run),
    };
    Ok(render("run.html", include_str!("run.html"), page))
}

#[cfg(test)]
mod tests;
