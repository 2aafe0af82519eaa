//! `warpshard list`: what is built in.

use crate::config::builtin_machines;
use crate::frontend::model::builtin_names;

use super::args::{ListArgs, ListWhat};
use super::exit::{Exit, Failure};
use super::output;

/// Prints the lists asked for.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let all = [ListWhat::Machines, ListWhat::Workloads, ListWhat::Counters];
    let wanted = args.what.as_ref().map_or(&all[..], std::slice::from_ref);
    let sections: Vec<String> = wanted.iter().map(|&what| section(what)).collect();
    output::print(&sections.join("\n")).map(|()| Exit::Ok)
}

fn section(what: ListWhat) -> String {
    match what {
        ListWhat::Machines => {
            let machines = builtin_machines();
            lines("Machines (warpshard run --machine NAME)", machines.iter().map(|m| (m.name, m.summary.as_str())))
        }
        ListWhat::Workloads => lines("Kernel models (warpshard run --workload NAME)", builtin_names()),
        ListWhat::Counters => String::new(),
    }
}

/// A title, and under it names with what they mean, aligned.
fn lines<'a>(title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{title}\n");
    for (name, meaning) in rows {
        text.push_str(&format!("  {name:<width$}  {meaning}\n"));
    }
    text
}
