//! Ctrl-C: the first Ctrl-C ends the run at its next cut and writes results, the second ends the program.
//!
//! Termination and hang-up signals have the same effect, so that the warning signal of a batch system also produces complete results.

use warpshard_run::Exit;

use super::output;

/// The message of the first Ctrl-C of a run.
pub(super) const RUN_MESSAGE: &str = "stopping and writing results; Ctrl-C again aborts without results";

/// Calls `ask` on Ctrl-C; `ask` requests the end of the run and returns true if the end had been requested before. The first Ctrl-C prints
/// `message`, the second ends the process. Must be called at most once per process.
///
/// If the handler cannot be installed, prints a warning: Ctrl-C then ends the process without results.
pub(super) fn install(message: &'static str, ask: impl Fn() -> bool + Send + 'static) {
    let handler = move || {
        if ask() {
            output::warn("aborted");
            abort();
        }
        output::warn(message);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        output::warn(&format!("warning: Ctrl-C will end the run without results: {error}"));
    }
}

/// Calls `ask` on every Ctrl-C, for commands that often check for interruption and remove their temporary files themselves.
pub(super) fn install_repeated(ask: impl Fn() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(ask) {
        output::warn(&format!("warning: Ctrl-C will leave temporary files: {error}"));
    }
}

/// Ends the process. The next process removes the temporary folders.
#[expect(clippy::exit, reason = "the second interrupt must not wait for worker threads")]
fn abort() -> ! {
    std::process::exit(Exit::Aborted as i32)
}
