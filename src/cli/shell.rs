//! `warpshard completions` and `warpshard man`: completions and man pages, generated from the definitions of the options.

use clap::CommandFactory as _;

use warpshard_run::Exit;

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::failure::Failure;
use super::output;

/// Prints the completion script of a shell.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "warpshard", &mut text);
    output::print(&String::from_utf8_lossy(&text)).map(|()| Exit::Ok)
}

/// Writes a man page of the program and of every command.
///
/// # Errors
/// Fails if the folder cannot be written.
pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let folder = args.out.display();
    let failure = |error: std::io::Error| Failure::new(Exit::Output, format!("cannot write man pages into {folder}: {error}"));
    std::fs::create_dir_all(&args.out).map_err(failure)?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(failure)?;
    output::print(&format!("Pages in {folder}; show one with: man -l {folder}/warpshard.1\n")).map(|()| Exit::Ok)
}
