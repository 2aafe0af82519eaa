//! `warpshard compare`: runs side by side.

use std::path::Path;

use warpshard_report::json::escape_controls;
use warpshard_report::text::counted;
use warpshard_run::Exit;
use warpshard_view::compare::{Comparison, Exceeded, Limit};
use warpshard_view::{ReadError, RunFolder};

use super::args::CompareArgs;
use super::failure::Failure;
use super::output;

/// Headline numbers beyond the limit that are listed.
const LISTED: usize = 20;

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

/// Compares the result folders and prints how they differ.
///
/// # Errors
/// When a folder has no valid results, or a file cannot be written.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let runs = args.runs.iter().map(|path| RunFolder::read(path)).collect::<Result<Vec<_>, _>>()?;
    let comparison = Comparison::of(&runs);
    let printed_json = args.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &args.html {
        output::file(path, comparison.page().as_bytes())?;
    }
    match &args.json {
        Some(_) if printed_json => output::print_json(&comparison.json())?,
        Some(path) => output::file(path, escape_controls(format!("{:#}\n", comparison.json())).as_bytes())?,
        None => {}
    }
    if !printed_json {
        output::print_styled(&comparison.text(args.all, output::stdout_style()))?;
    }
    Ok(args.fail_above.map_or(Exit::Ok, |limit| judge(&comparison.exceeding(limit), limit)))
}

/// Lists what exceeds the limit on standard error.
fn judge(exceeding: &[Exceeded], limit: Limit) -> Exit {
    if exceeding.is_empty() {
        return Exit::Ok;
    }
    let of = counted(exceeding.len() as u64, "headline number");
    output::warn(&format!("changed by more than {limit}: {of}"));
    exceeding.iter().take(LISTED).for_each(|one| output::warn(&format!("  {one}")));
    if exceeding.len() > LISTED {
        output::warn(&format!("  and {} more", exceeding.len() - LISTED));
    }
    Exit::Negative
}
