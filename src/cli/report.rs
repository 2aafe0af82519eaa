//! `warpshard report`: writes a run as a page, or as a trace for the Perfetto viewer.

use warpshard_report::text::printable;
use warpshard_run::Exit;
use warpshard_stats::activity::Activity;
use warpshard_view::{RunFolder, page, perfetto};

use super::args::ReportArgs;
use super::failure::Failure;
use super::output;

/// Writes the page of a run, its trace, or both.
///
/// # Errors
/// Fails if the folder has no valid results, or a file cannot be written.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let run = RunFolder::read(&args.run)?;
    let mut written = String::new();
    if let Some(path) = &args.perfetto {
        output::file(path, &perfetto(&run, &Activity::default())?)?;
        written += &format!("{}\n", printable(&path.display().to_string()));
    }
    if args.html.is_some() || args.perfetto.is_none() {
        let path = args.html.clone().unwrap_or_else(|| args.run.join("report.html"));
        output::file(&path, page(&run)?.as_bytes())?;
        written += &format!("{}\n", printable(&path.display().to_string()));
    }
    output::print(&written).map(|()| Exit::Ok)
}
