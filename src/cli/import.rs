//! `warpshard import`: converts Accel-Sim configuration files to a machine.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use warpshard_config::error::SourceText;
use warpshard_config::import;
use warpshard_run::Exit;

use super::args::ImportArgs;
use super::failure::Failure;
use super::output;

/// Writes the machine and prints the conversion of each option.
///
/// # Errors
/// Fails if a file cannot be read or is invalid, or the machine file exists or cannot be written.
pub(super) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let (gpgpusim, trace) = (read(&args.gpgpusim)?, args.trace_config.as_deref().map(read).transpose()?);
    let stem = args.out.file_stem().map_or_else(|| "machine".into(), |stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().unwrap_or(stem);
    if name.is_empty() || name.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        return Err(Failure::new(
            Exit::Usage,
            format!("--name `{name}`: names must not be empty or contain quotes, backslashes or control characters"),
        ));
    }
    let imported = import::import(&gpgpusim, trace.as_ref(), &name).map_err(|errors| Failure::new(Exit::Config, errors))?;
    let failure = |error: std::io::Error| Failure::new(Exit::Output, format!("cannot write {}: {error}", args.out.display()));
    let mut file = std::fs::File::create_new(&args.out).map_err(failure)?;
    file.write_all(imported.toml.as_bytes()).map_err(failure)?;
    let place = args.out.display();
    output::print(&format!("{}\nwrote {place}; simulate with: warpshard run --machine {}\n", imported.report, runnable(&args.out)))?;
    Ok(Exit::Ok)
}

/// Returns the path in a form that `--machine` accepts as a file: with a `/` or ending in `.toml`.
fn runnable(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains('/') || text.ends_with(".toml") { text } else { format!("./{text}") }
}

fn read(path: &Path) -> Result<Arc<SourceText>, Failure> {
    let text = warpshard_config::input::read_text(path)
        .map_err(|error| Failure::new(Exit::Config, format!("cannot read the configuration {}: {error}", path.display())))?;
    Ok(SourceText::file(path.display().to_string(), text))
}
