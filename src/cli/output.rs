//! Standard output and standard error: the only module that writes text to a terminal.
//!
//! The module escapes characters that control a terminal anywhere in a message: names come from traces, files and the command line. A
//! closed pipe is not an error, a full disk is.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use warpshard_report::json::escape_controls;
use warpshard_report::text::{DEFAULT_COLUMNS, Style, printable_lines};
use warpshard_report::{Scratch, is_special, write_whole};
use warpshard_run::Exit;

use super::failure::Failure;

/// Writes `text` to standard output.
///
/// # Errors
/// Fails if the output cannot be written, unless its reader has closed the pipe (`| head`).
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(&printable_lines(text, &[]))
}

/// Writes `text` with the colours of [`stdout_style`] to standard output. The caller must pass parts of `text` that come from input through
/// [`warpshard_report::text::printable`], a [`warpshard_report::text::Table`] or a [`Style`].
///
/// # Errors
/// Fails as [`print`] does.
pub(super) fn print_styled(text: &str) -> Result<(), Failure> {
    write(&printable_lines(text, &Style::STYLE_SEQUENCES))
}

/// Writes a JSON value to standard output.
///
/// # Errors
/// Fails as [`print`] does.
pub(super) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    write(&escape_controls(format!("{value:#}\n")))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Output, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file under a temporary name and renames it, so that an incomplete file never appears.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn file(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    write_whole(path, contents).map_err(|error| Failure::new(Exit::Output, format!("cannot write {}: {error}", path.display())))
}

/// Checks that a file can be written, before a long computation.
///
/// # Errors
/// Fails if the folder of the file does not exist or is not writable.
pub(super) fn writable(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = match () {
        () if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        () if is_special(path) => Ok(()),
        () => Scratch::new(folder).map(drop),
    };
    made.map_err(|error| Failure::new(Exit::Output, format!("cannot write {}: {error}", path.display())))
}

/// Writes a line to standard error. A write error is ignored, because it cannot be reported anywhere.
pub(super) fn warn(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(line, &[]));
}

/// Writes a line of progress to standard error if standard error is a terminal.
pub(super) fn print_progress(line: &str) {
    if io::stderr().is_terminal() {
        warn(line);
    }
}

/// Returns the style of standard output: on a terminal its width, and colours unless the user has set `NO_COLOR`.
pub(super) fn stdout_style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::Plain;
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let capable = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let columns = terminal_size::terminal_size_of(io::stdout()).map_or(DEFAULT_COLUMNS, |(columns, _)| columns.0.into());
    Style::Terminal { colour: wanted && capable, columns }
}

/// Reports a failure on standard error.
pub(super) fn report(failure: &Failure) {
    let message = failure.message.trim_end();
    // Messages about files are lists whose problems already begin with `error:`.
    warn(&if message.starts_with("error: ") { message.to_owned() } else { format!("error: {message}") });
}
