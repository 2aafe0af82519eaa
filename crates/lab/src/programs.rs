//! Programs of studies.

use std::path::Path;

use warpshard_config::input;

use crate::error::TaskError;

/// Returns everything that a program's run depends on in addition to its parameters: its launch file, and the listings that this file
/// names.
///
/// # Errors
/// Fails if a file does not exist.
pub fn content(launch_file: &Path) -> Result<String, TaskError> {
    let read = |path: &Path| input::read_text(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut all = read(launch_file)?;
    let listings: Vec<String> = all.split('"').filter(|word| word.ends_with(".sass")).map(str::to_owned).collect();
    for listing in listings {
        all += &read(&launch_file.with_file_name(listing))?;
    }
    Ok(all)
}
