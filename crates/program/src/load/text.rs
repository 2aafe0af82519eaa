//! Parsing of a launch file's text, with the locations of errors.

use std::path::Path;

use warpshard_config::input;
use warpshard_model::nearest;

use super::super::error::ProgramError;
use super::super::schema::LaunchText;

/// Maximum bytes of a launch file.
const MAX_LAUNCH_FILE_BYTES: u64 = 1 << 26;

/// Reads the text of a launch file.
pub(super) fn read(path: &Path) -> Result<String, ProgramError> {
    let unreadable = |found: String| ProgramError::new(path, 0, "the launch file cannot be read").found(found);
    let bytes = input::read(path, MAX_LAUNCH_FILE_BYTES).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unreadable("text that is not UTF-8".into()))
}

/// Parses the text.
pub(super) fn parse(path: &Path, text: &str) -> Result<LaunchText, ProgramError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map(|span| span.start);
        let line = start.map_or(0, |start| line_of(text, start));
        let mut problem = ProgramError::new(path, line, error.message().replace('\n', ", "));
        if let Some(found) = text.lines().nth((line as usize).wrapping_sub(1)) {
            problem = problem.found(found.trim().chars().take(120).collect::<String>());
        }
        let help = "docs/programs.md describes launch files, and programs/ holds examples";
        problem.help(suggested_name(error.message()).map_or(help.to_owned(), |word| format!("did you mean `{word}`?")))
    })
}

/// Returns the line number of an offset in a text, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() as u32 + 1
}

/// Returns the line of a key in the table that begins at an offset, or the line of the table without such a key.
pub(super) fn line_of_key(text: &str, at: usize, key: &str) -> u32 {
    let first = line_of(text, at);
    let names = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let table = text.lines().enumerate().skip(first as usize - 1);
    let mut inside = table.take_while(|(number, line)| *number + 1 == first as usize || !line.trim_start().starts_with('['));
    inside.find(|(_, line)| names(line)).map_or(first, |(number, _)| number as u32 + 1)
}

/// Returns the known name closest to the unknown name of a message: ``unknown field `a`, expected one of `b`, `c` ``.
fn suggested_name(message: &str) -> Option<&str> {
    let mut names = message.split('`').skip(1).step_by(2);
    let word = names.next().filter(|_| message.starts_with("unknown"))?;
    nearest(word, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the committed schema with the types: `UPDATE_DOCS=1 cargo test -p warpshard-program launch_schema` writes it.
    #[test]
    fn the_launch_schema_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/launch.schema.json");
        let made = serde_json::to_string_pretty(&schemars::schema_for!(LaunchText)).unwrap() + "\n";
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), made, "docs/schema/launch.schema.json is not that of the types");
    }

    #[test]
    fn offsets_map_to_lines_and_keys() {
        let text = "a = 1\n[[launches]]\nkernel = \"k\"\ngrid = [1]\n[[launches]]\ngrid = [2]\n";
        assert_eq!([0, 6, 19].map(|at| line_of(text, at)), [1, 2, 3]);
        assert_eq!((line_of_key(text, 6, "grid"), line_of_key(text, 6, "block"), line_of_key(text, 48, "grid")), (4, 2, 6));
    }

    #[test]
    fn a_mistyped_name_is_guessed() {
        assert_eq!(suggested_name("unknown field `bufers`, expected one of `name`, `buffers`"), Some("buffers"));
        assert_eq!(suggested_name("unknown field `zzz`, expected one of `name`, `buffers`"), None);
        assert_eq!(suggested_name("missing field `launches`"), None);
    }
}
