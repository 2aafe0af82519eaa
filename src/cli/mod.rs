//! The command: reads the command line, calls the rooms, prints and ends with a documented exit code.
//!
//! A command is a variant of [`args::Command`] with a struct of options, an arm in `dispatch`, and a file with its function
//! from options to [`Exit`]. The user's mistakes are [`Failure`]s; a panic is ours and ends with [`Exit::Internal`].

pub mod args;
mod check;
mod convert;
mod cpu;
mod dram;
pub mod exit;
mod import;
mod inputs;
mod interrupt;
mod list;
mod noc;
mod output;
mod phases;
mod policies;
mod progress;
mod run;
mod runfile;
mod select;
mod show;
mod study;
mod timeline;
mod trace;
mod trace_sizes;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use exit::{Exit, Failure};

/// The program's version and the commit it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("WARPSHARD_COMMIT"), ")");

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    warpshard_host::prefer_huge_pages();
    ExitCode::from(run_with(std::env::args_os()) as u8)
}

/// Runs the program with the given arguments, the first of which is its own name.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(message) => return help_or_usage(&message),
    };
    match catch_unwind(AssertUnwindSafe(|| dispatch(cli.command))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => {
            output::report(&failure);
            failure.exit
        }
        // The panic's own message is on standard error already.
        Err(_) => {
            output::warn("internal error: warpshard is at fault, not your input; please report the message above");
            Exit::Internal
        }
    }
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::ExitCodes => output::print(&exit::table()).map(|()| Exit::Ok),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::List(args) => list::list(&args),
        Command::Show(args) => show::show(&args),
        Command::Timeline(args) => timeline::timeline(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Phases(args) => phases::phases(&args),
        Command::Import(args) => import::import(&args),
        Command::Study(args) => study::study(&args),
        Command::Cpu(args) => cpu::cpu(&args),
        Command::Bench(args) => study::bench(&args),
        Command::Noc(args) => noc::noc(&args),
        Command::Dram(args) => dram::dram(&args),
    }
}

/// What clap has to say: help and version are answers, all else is a mistake.
fn help_or_usage(message: &clap::Error) -> Exit {
    // Nobody can be told when standard error is closed; help that cannot be written is an error.
    match (message.print(), message.use_stderr()) {
        (_, true) => Exit::Usage,
        (Err(error), false) if error.kind() != std::io::ErrorKind::BrokenPipe => Exit::Output,
        (_, false) => Exit::Ok,
    }
}
