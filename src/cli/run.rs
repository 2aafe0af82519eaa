//! `warpshard run`: from options to a result folder and a report.

use std::ffi::OsString;
use std::path::Path;

use warpshard_sync::StopFlag;

use crate::report::frame::NoParquet;
use crate::report::{Destination, relaxed_words, summary};
use crate::stats::EndedBy;

use super::args::RunArgs;
use super::exit::{Exit, Failure};
use super::progress::ProgressView;
use super::session::Opened;
use super::{interrupt, output};

/// Where results go without `--out`.
const RESULTS: &str = "results";

/// Simulates, writes the results, prints the report.
///
/// # Errors
/// When the machine or the workload is wrong, the simulated machine deadlocks, or results cannot be written.
pub(super) fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    if args.parquet {
        NoParquet::check()?;
    }
    let opened = Opened::new(args, arguments)?;
    opened.warnings().for_each(|warning| output::warn(&warning));
    // Made before a long trace is read, so that a folder that cannot be written is an error at once.
    let named = args.out.as_deref().map(|folder| Destination::folder(folder, args.force)).transpose()?;
    let ready = opened.load()?;
    let destination = match named {
        Some(folder) => folder,
        None => Destination::numbered(Path::new(RESULTS), &ready.folder_name())?,
    };
    let stop = StopFlag::new();
    let asked = stop.clone();
    interrupt::install(interrupt::OF_RUN, move || {
        let before = asked.requested();
        asked.request();
        before
    });
    let finished = {
        let view = ProgressView::start();
        ready.simulate(Vec::new(), stop, view.published())?
    };
    let (mut files, drawn) = finished.files();
    if args.parquet {
        files.extend(finished.parquet()?);
    }
    let written = destination.write(&files).map_err(Failure::from);
    let outcome = &finished.outcome;
    if let Some(relaxed) = &outcome.relaxed {
        output::warn(&format!("warning: {}", relaxed_words(relaxed)));
    }
    // The report comes first: where the disk is full, it is all that there is of a long run.
    let printed = output::print_styled(&summary(&finished.facts, outcome, &finished.host, output::stdout_style()));
    match (written, printed) {
        (Ok(folder), printed) => {
            printed?;
            output::print(&format!("\nResults in {}\n", folder.display()))?;
            drawn.map_err(|error| Failure::new(Exit::Output, format!("{error}\n  all other results were written")))?;
        }
        (Err(failure), Ok(())) => {
            let message = format!("{}\n  no results were written; the report on standard output is complete", failure.message.trim_end());
            return Err(Failure { message, ..failure });
        }
        (Err(failure), Err(report)) => {
            output::report(&report);
            return Err(failure);
        }
    }
    Ok(if outcome.ended_by == EndedBy::Interrupted { Exit::Interrupted } else { Exit::Ok })
}
