//! Standard output and standard error, without panics: a closed pipe is the reader's right, a full disk is an error.

use std::io::{self, IsTerminal, Write};

use crate::report::text::Style;

use super::exit::{Exit, Failure};

/// Writes `text` to standard output. A reader that went away (`| head`) is no error.
///
/// # Errors
/// When the output cannot be written for any other reason.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Output, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; nobody can be told when that fails.
pub(super) fn warn(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a line of progress to standard error where somebody looks at it.
pub(super) fn news(line: &str) {
    if io::stderr().is_terminal() {
        warn(line);
    }
}

/// Colours where standard output is a terminal and the user has not set `NO_COLOR`.
pub(super) fn stdout_style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let capable = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    if wanted && capable && io::stdout().is_terminal() { Style::Colour } else { Style::Plain }
}

/// Tells the user why something failed.
pub(super) fn report(failure: &Failure) {
    let message = failure.message.trim_end();
    // Messages about files are lists in which each problem is already marked.
    warn(&if message.starts_with("error: ") { message.to_owned() } else { format!("error: {message}") });
}
