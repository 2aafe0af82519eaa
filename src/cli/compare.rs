//! `warpshard compare`: compares runs, or a run with a profile of Nsight Compute.

use std::path::Path;

use warpshard_report::json::escape_controls;
use warpshard_report::text::count_with_noun;
use warpshard_run::Exit;
use warpshard_view::compare::ncu::{LaunchComparison, Profile, ProfileError};
use warpshard_view::compare::{Comparison, ExceededLimit, Limit};
use warpshard_view::{ReadError, RunFolder};

use super::args::CompareArgs;
use super::failure::Failure;
use super::output;

/// Maximum number of headline numbers beyond the limit that are listed.
const MAX_LISTED: usize = 20;

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

/// Compares a run with a profile and prints both, launch by launch.
fn compare_with_profile(args: &CompareArgs, run: &Path, profile: &Path) -> Result<Exit, Failure> {
    if args.fail_above.is_some() || args.html.is_some() {
        let what = "--fail-above and --html compare runs; a comparison with a profile is printed, or written with --json";
        return Err(Failure::new(Exit::Usage, what.to_owned()));
    }
    let (run, profile) = (RunFolder::read(run)?, Profile::read(profile, &args.conditions)?);
    let beside = LaunchComparison::of(&run, &profile);
    if beside.launches.is_empty() {
        let of_run: Vec<&str> = run.stats.kernels().iter().filter_map(|kernel| kernel.get("name")?.as_str()).take(4).collect();
        let (name, first) = (&profile.name, &profile.launches[0].kernel);
        let what =
            format!("{name}: no launch matches a launch of the run; the profile begins with `{first}`, the run with {}", of_run.join(", "));
        return Err(Failure::new(Exit::Usage, what));
    }
    let printed_json = args.json.as_deref() == Some(Path::new("-"));
    match &args.json {
        Some(_) if printed_json => output::print_json(&beside.json())?,
        Some(path) => output::file(path, escape_controls(format!("{:#}\n", beside.json())).as_bytes())?,
        None => {}
    }
    if !printed_json {
        output::print_styled(&beside.text(args.all, output::stdout_style()))?;
    }
    Ok(Exit::Ok)
}

/// Compares the result folders and prints their differences.
///
/// # Errors
/// Fails if a folder has no valid results, or a file cannot be written.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    if let [run, profile] = args.runs.as_slice()
        && profile.extension().is_some_and(|end| end == "csv")
    {
        return compare_with_profile(args, run, profile);
    }
    if !args.conditions.is_empty() {
        return Err(Failure::new(Exit::Usage, "--where selects rows of Nsight Compute's file, but no .csv file is given".to_owned()));
    }
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
    Ok(args.fail_above.map_or(Exit::Ok, |limit| report_exceeding(&comparison.exceeding(limit), limit)))
}

/// Lists the headline numbers that exceed the limit on standard error.
fn report_exceeding(exceeding: &[ExceededLimit], limit: Limit) -> Exit {
    if exceeding.is_empty() {
        return Exit::Ok;
    }
    let of = count_with_noun(exceeding.len() as u64, "headline number");
    output::warn(&format!("changed by more than {limit}: {of}"));
    exceeding.iter().take(MAX_LISTED).for_each(|one| output::warn(&format!("  {one}")));
    if exceeding.len() > MAX_LISTED {
        output::warn(&format!("  and {} more", exceeding.len() - MAX_LISTED));
    }
    Exit::Negative
}
