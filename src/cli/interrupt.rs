//! Ctrl-C: the first ends the run at its next cut, the second ends the program.
//!
//! Termination and hang-up signals have the same effect, so that a batch system's warning also gives complete results.

use warpshard_run::Exit;

use super::output;

/// What the first Ctrl-C of a run does.
pub(super) const OF_RUN: &str = "stopping and writing results; Ctrl-C again aborts without results";

/// Calls `ask` on Ctrl-C; `ask` requests the end of the run and returns whether it had been requested before. The first one is answered
/// with `answer`. To be called once per process.
///
/// Without a handler from the system, Ctrl-C ends the run at once, with a warning now.
pub(super) fn install(answer: &'static str, ask: impl Fn() -> bool + Send + 'static) {
    let handler = move || {
        if ask() {
            output::warn("aborted");
            abort();
        }
        output::warn(answer);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        output::warn(&format!("warning: Ctrl-C will end the run without results: {error}"));
    }
}

/// Calls `ask` on every Ctrl-C, for work that checks often for interruption and cleans up by itself.
pub(super) fn install_patient(ask: impl Fn() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(ask) {
        output::warn(&format!("warning: Ctrl-C will leave temporary files: {error}"));
    }
}

/// Ends the process. Temporary folders are left to the next process.
#[expect(clippy::exit, reason = "the second interrupt must not wait for worker threads")]
fn abort() -> ! {
    std::process::exit(Exit::Aborted as i32)
}
