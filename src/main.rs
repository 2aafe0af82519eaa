//! The warpshard command.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpshard::cli::main()
}
