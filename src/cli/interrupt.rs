//! Ctrl-C: the first asks the run to end at its next cut, the second ends the program.
//!
//! Termination and hang-up signals count the same, so that a batch system's warning also yields complete results.

use super::exit::Exit;
use super::output;

/// Connects Ctrl-C with `ask`, which asks the run to stop and says whether it had been asked before. To be called once per
/// process.
///
/// Where the system gives no handler the run goes on without one, with a warning: Ctrl-C then ends it at once.
pub(super) fn install(ask: impl Fn() -> bool + Send + 'static) {
    let handler = move || {
        if ask() {
            output::warn("aborted; no results");
            abort();
        }
        output::warn("stopping at the next cut; Ctrl-C again aborts without results");
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        output::warn(&format!("warning: Ctrl-C will end the run without results ({error})"));
    }
}

/// Connects Ctrl-C with `ask`, for work that looks often and tidies up by itself; asking again changes nothing.
pub(super) fn install_patient(ask: impl Fn() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(ask) {
        output::warn(&format!("warning: Ctrl-C will end the program without tidying up ({error})"));
    }
}

/// Ends the process. A result folder that is being written stays under its temporary name.
#[expect(clippy::exit, reason = "the second interrupt must not wait for worker threads")]
fn abort() -> ! {
    std::process::exit(Exit::Aborted as i32)
}
