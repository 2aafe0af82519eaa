//! Standard output and standard error: the one place through which text reaches a terminal.
//!
//! Characters that control a terminal are escaped here, wherever in a message they stand: names come from traces, files and
//! the command line. A closed pipe is not an error, a full disk is.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use warpshard_report::json::escape_controls;
use warpshard_report::text::{Style, WIDTH, printable_lines};
use warpshard_report::{Scratch, is_special, write_whole};
use warpshard_run::Exit;

use super::failure::Failure;

/// Writes `text` to standard output.
///
/// # Errors
/// When the output cannot be written for any other reason than that its reader has gone (`| head`).
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(&printable_lines(text, &[]))
}

/// As [`print`], with the colours of [`stdout_style`]. Parts of `text` that come from input have been through
/// [`warpshard_report::text::printable`], a [`warpshard_report::text::Table`] or a [`Style`].
///
/// # Errors
/// As [`print`].
pub(super) fn print_styled(text: &str) -> Result<(), Failure> {
    write(&printable_lines(text, &Style::SEQUENCES))
}

/// Writes a JSON value to standard output.
///
/// # Errors
/// As [`print`].
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

/// Writes a file under a temporary name first, so that it is complete or not there.
///
/// # Errors
/// When the system refuses.
pub(super) fn file(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    write_whole(path, contents).map_err(|error| Failure::new(Exit::Output, format!("cannot write {}: {error}", path.display())))
}

/// Whether a file can be written, to be asked before long work.
///
/// # Errors
/// When its folder is not there or takes no files.
pub(super) fn writable(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = match () {
        () if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        () if is_special(path) => Ok(()),
        () => Scratch::new(folder).map(drop),
    };
    made.map_err(|error| Failure::new(Exit::Output, format!("cannot write {}: {error}", path.display())))
}

/// Writes a line to standard error. An error of writing is ignored: there is no other place to report it.
pub(super) fn warn(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(line, &[]));
}

/// Writes a line of progress to standard error if that is a terminal.
pub(super) fn news(line: &str) {
    if io::stderr().is_terminal() {
        warn(line);
    }
}

/// The style of standard output: on a terminal its width, and colours unless the user has set `NO_COLOR`.
pub(super) fn stdout_style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::Plain;
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let capable = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let columns = terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(columns, _)| columns.0.into());
    Style::Terminal { colour: wanted && capable, columns }
}

/// Reports a failure on standard error.
pub(super) fn report(failure: &Failure) {
    let message = failure.message.trim_end();
    // Messages about files are lists in which each problem is already marked.
    warn(&if message.starts_with("error: ") { message.to_owned() } else { format!("error: {message}") });
}
