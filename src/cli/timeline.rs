//! `warpshard timeline`: shows the decisions of a run's controllers and the signals on which they are based.

use std::fs;
use std::path::Path;

use warpshard_config::input;
use warpshard_report::Scratch;
use warpshard_report::owners;
use warpshard_report::picture::Picture;
use warpshard_report::strips::Strips;
use warpshard_report::text::printable;
use warpshard_report::timeline::{first_sm, picture, read, text};
use warpshard_run::Exit;

use super::args::TimelineArgs;
use super::failure::Failure;
use super::output;

/// Prints a summary and writes a plot into the result folder.
///
/// # Errors
/// Fails if the folder has no valid timeline, no record is in the given range of cycles, or the plot cannot be written.
pub(super) fn timeline(args: &TimelineArgs) -> Result<Exit, Failure> {
    let file = args.run.join("timeline.csv");
    let contents = input::read_result_text(&file).map_err(|error| {
        let hint = "only runs with --policy have a timeline in their result folder";
        Failure::new(Exit::Usage, format!("cannot read {}: {error}; {hint}", file.display()))
    })?;
    let mut records = read(&contents).map_err(|problem| Failure::new(Exit::Usage, format!("{}: {problem}", file.display())))?;
    if records.is_empty() {
        return output::print("The controllers of this run made no decisions.\n").map(|()| Exit::Ok);
    }
    let cycles = args.from.unwrap_or(0)..=args.to.unwrap_or(u64::MAX);
    records.retain(|record| cycles.contains(&record.cycle));
    if records.is_empty() {
        let range = format!("{} has no records between --from and --to; omit them to see all", file.display());
        return Err(Failure::new(Exit::Usage, range));
    }
    let sm = args.sm.or_else(|| first_sm(&records)).unwrap_or(0);
    let mut report = text(&records, sm, output::stdout_style());
    let pictures = [("timeline", Some(picture(&records, sm))), ("owners", owners::picture(&records))];
    for (name, picture) in pictures.into_iter().filter_map(|(name, picture)| picture.map(|picture| (name, picture))) {
        if !picture.strips.is_empty() {
            report.push_str(&format!("\n{}\n", draw(&args.run, name, &picture)?));
        }
    }
    output::print_styled(&report).map(|()| Exit::Ok)
}

/// Writes a picture and returns its path.
fn draw(folder: &Path, name: &str, picture: &Strips) -> Result<String, Failure> {
    let failure = |error: String| Failure::new(Exit::Output, error);
    let svg = picture.svg().map_err(|error| failure(error.to_string()))?;
    let file = format!("{name}.svg");
    let path = folder.join(&file);
    write(folder, &file, svg.as_bytes()).map_err(|error| failure(format!("cannot write {}: {error}", path.display())))?;
    Ok(printable(&path.display().to_string()).into_owned())
}

/// Writes a file under a temporary name and renames it.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let scratch = Scratch::new(folder)?;
    let written = scratch.path().join(name);
    fs::write(&written, bytes)?;
    fs::rename(written, folder.join(name))
}
