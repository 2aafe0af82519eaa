//! What a stored run of a program of the suite depends on beside the machine: its launch file and listings.

use std::path::Path;

use warpshard_lab::error::TaskError;

/// The text of a launch file of the suite and the checksum of its listings: what a stored run of it depends on.
pub(crate) fn sources_of(file: &Path) -> Result<String, TaskError> {
    let read = |path: &Path| warpshard_config::input::read_text(path).map_err(|error| format!("{}: {error}", path.display()));
    let text = read(file)?;
    let launch: toml::Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let listings = launch.get("modules").and_then(toml::Value::as_table).into_iter().flatten();
    let listings = listings.filter_map(|(_, name)| Some(file.with_file_name(name.as_str()?)));
    let code = listings.map(|listing| read(&listing)).collect::<Result<String, String>>()?;
    Ok(format!("{text} {:08x}", crc32fast::hash(code.as_bytes())))
}
