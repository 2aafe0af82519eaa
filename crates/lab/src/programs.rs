//! The programs that studies run.

use std::path::Path;

use warpshard_config::input;

use crate::error::TaskError;

/// Whatever a program's run depends on besides its parameters: its launch file, and the listings beside it that it names.
///
/// # Errors
/// When a file is not there.
pub fn content(launch_file: &Path) -> Result<String, TaskError> {
    let read = |path: &Path| input::read_text(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut all = read(launch_file)?;
    let listings: Vec<String> = all.split('"').filter(|word| word.ends_with(".sass")).map(str::to_owned).collect();
    for listing in listings {
        all += &read(&launch_file.with_file_name(listing))?;
    }
    Ok(all)
}
