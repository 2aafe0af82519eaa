//! The command line program: parses arguments, calls the other modules, prints, and ends with a documented exit code.
//!
//! A command consists of a variant of `args::Command` with a struct of options, an arm in `dispatch`, and a file with a function from
//! options to `Exit`. Invalid input is a [`Failure`]; a panic is a bug and ends with [`Exit::Internal`].

mod args;
mod calibrate;
mod check;
mod compare;
mod convert;
mod cpu;
mod cuda;
mod dram;
mod failure;
mod generate;
mod import;
mod inputs;
mod interrupt;
mod list;
mod monitor;
mod noc;
mod output;
mod phases;
mod program;
mod progress;
mod ranks;
mod report;
mod run;
mod shell;
mod show;
mod study;
mod sweep;
mod timeline;
mod trace;
mod trace_sizes;
mod version;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;

use warpshard_run::{Exit, Request, exit_codes};

use args::{Cli, Command};
pub use failure::Failure;
pub use version::version;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    ExitCode::from(run_process(std::env::args_os()) as u8)
}

/// Runs the program with the given arguments, the first of which is the program's name, and installs a panic hook for the whole process.
pub fn run_process(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    warpshard_host::prefer_huge_pages();
    // The message may contain names from the input, whose control characters the standard hook would not escape.
    std::panic::set_hook(Box::new(|panic| {
        let trace = std::backtrace::Backtrace::capture();
        let trace = if trace.status() == std::backtrace::BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
        output::warn(&format!("{panic}{trace}"));
    }));
    run_with(arguments)
}

/// Runs the program with the given arguments, the first of which is the program's name.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(message) => return help_or_usage(&message),
    };
    match catch_unwind(AssertUnwindSafe(|| dispatch(cli.command, &arguments))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => {
            output::report(&failure);
            failure.exit
        }
        // The panic hook has already printed the message on standard error.
        Err(_) => {
            output::warn("internal error: this is a bug of warpshard, whatever the input; please report it with the message above");
            Exit::Internal
        }
    }
}

/// Parses the options of a run; `arguments` begins with `warpshard run`.
///
/// # Errors
/// Fails if the options are invalid or the command is not `run`, with the message of the command line.
pub fn request(arguments: &[OsString]) -> Result<Request, Failure> {
    match Cli::try_parse_from(arguments).map(|cli| cli.command) {
        Ok(Command::Run(args)) => Ok(args.request()),
        Ok(_) => Err(Failure::new(Exit::Usage, "these are not options of `warpshard run`")),
        Err(message) => Err(Failure::new(Exit::Usage, message.render().to_string().trim_start_matches("error: ").trim_end())),
    }
}

fn dispatch(command: Command, arguments: &[OsString]) -> Result<Exit, Failure> {
    match command {
        Command::ExitCodes => output::print(&exit_codes()).map(|()| Exit::Ok),
        Command::Run(args) => run::run(&args, arguments),
        Command::Check(args) => check::check(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::List(args) => list::list(&args),
        Command::Show(args) => show::show(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Timeline(args) => timeline::timeline(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Phases(args) => phases::phases(&args),
        Command::Import(args) => import::import(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Study(args) => study::study(&args),
        Command::Compile(args) => program::compile(&args),
        Command::Exec(args) => program::exec(&args),
        Command::Record(args) => program::record(&args),
        Command::Cpu(args) => cpu::cpu(&args),
        Command::Bench(args) => study::bench(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        Command::Noc(args) => noc::noc(&args),
        Command::Dram(args) => dram::dram(&args),
    }
}

/// Prints the text that clap returns instead of a command: help and version on standard output, or an error on standard error.
fn help_or_usage(message: &clap::Error) -> Exit {
    if message.use_stderr() {
        // Errors quote the command line, so that they need the escaping of all messages.
        output::warn(message.render().to_string().trim_end());
        return Exit::Usage;
    }
    match message.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Exit::Output,
        _ => Exit::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_parses_only_options_of_run() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let wrong = |text: &str| request(&words(text)).unwrap_err();
        assert!(wrong("warpshard run --sett a=1").message.contains("--sett"));
        assert_eq!(wrong("warpshard list").exit, Exit::Usage);
        assert_eq!(request(&words("warpshard run --seed 7")).unwrap(), Request { seed: 7, ..Request::default() });
    }
}
