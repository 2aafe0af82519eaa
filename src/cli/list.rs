//! `warpshard list`: lists built-in machines, workloads, policies and studies.

use warpshard_chip::counter_lists;
use warpshard_config::builtin_machines;
use warpshard_cpu_load::{CpuMix, builtin_mixes, builtin_profile, builtin_profiles};
use warpshard_model::builtin_names;
use warpshard_report::text::{Align, Style, Table, wrap};
use warpshard_run::Exit;
use warpshard_trace::SYNTHETIC_KERNELS;

use super::args::{ListArgs, ListWhat};
use super::failure::Failure;
use super::output;
use crate::{catalogue, studies};

/// Prints one list, or all lists but the counters.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let all = [ListWhat::Machines, ListWhat::Workloads, ListWhat::Profiles, ListWhat::Mixes, ListWhat::Policies, ListWhat::Studies];
    let wanted = args.what.as_ref().map_or(&all[..], std::slice::from_ref);
    let sections: Vec<String> = wanted.iter().map(|&what| section(what)).collect();
    output::print(&sections.join("\n")).map(|()| Exit::Ok)
}

fn section(what: ListWhat) -> String {
    match what {
        ListWhat::Machines => {
            let machines = builtin_machines(catalogue().files());
            lines("Machines (warpshard run --machine NAME)", machines.iter().map(|m| (m.name, m.summary.as_str())))
        }
        ListWhat::Workloads => {
            let models = builtin_names(catalogue().files());
            lines("Kernel models (warpshard run --workload NAME)", models.iter().map(|(name, text)| (*name, text.as_str())))
        }
        ListWhat::Synthetic => {
            let rows: Vec<_> = SYNTHETIC_KERNELS.iter().map(|kernel| (kernel.name, kernel.summary())).collect();
            lines("Synthetic kernels (warpshard generate NAME --out DIR)", rows.iter().map(|(name, text)| (*name, text.as_str())))
        }
        ListWhat::Policies => policies(),
        ListWhat::Profiles => {
            let profiles: Vec<_> = builtin_profiles().filter_map(|name| builtin_profile(name).ok()).collect();
            lines("CPU profiles (warpshard cpu --profile NAME)", profiles.iter().map(|p| (p.name.as_str(), p.summary.as_str())))
        }
        ListWhat::Mixes => {
            let mixes: Vec<_> = builtin_mixes().filter_map(|name| CpuMix::named(name).ok()).collect();
            let rows: Vec<_> =
                mixes.iter().map(|m| (format!("@{}", m.name), format!("{}: {}", m.summary, counted(&m.applications)))).collect();
            lines("CPU mixes (warpshard run --cpu @NAME)", rows.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        }
        ListWhat::Studies => lines("Studies (warpshard study NAME)", studies().into_iter().map(|study| (study.name, study.summary))),
        ListWhat::Counters => counters(),
    }
}

/// Formats names with their numbers of occurrences, in the order of their first occurrence.
fn counted(names: &[String]) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let text = |&(name, count): &(&str, u32)| if count == 1 { name.to_owned() } else { format!("{count} {name}") };
    counts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Lists the controllers, each followed by its parameters.
fn policies() -> String {
    let rows = catalogue().policies().all().into_iter().flat_map(|policy| {
        let parameters = policy.parameters.iter().map(|(name, help)| (format!("  {name}"), *help));
        std::iter::once((policy.name.to_owned(), policy.help)).chain(parameters)
    });
    let rows: Vec<_> = rows.collect();
    lines("Controllers (warpshard run --policy NAME:KEY=VALUE,..)", rows.iter().map(|(name, help)| (name.as_str(), *help)))
}

/// Lists all counters of the results by component.
fn counters() -> String {
    let mut text = String::new();
    for (kind, infos) in counter_lists() {
        text.push_str(&format!("{}{kind}\n", if text.is_empty() { "" } else { "\n" }));
        let mut table = Table::new(&[("counter", Align::Left), ("unit", Align::Left), ("description", Align::Left)]);
        for info in infos {
            table.row(vec![info.name.to_owned(), info.unit.to_owned(), info.help.to_owned()]);
        }
        text.push_str(&table.wide(Style::Plain));
    }
    text
}

/// Formats a title, followed by names with their descriptions. On a terminal, descriptions are wrapped between words.
fn lines<'a>(title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let columns = match output::stdout_style() {
        Style::Plain => usize::MAX,
        terminal @ Style::Terminal { .. } => terminal.width(),
    };
    // If long names leave too few columns, continuation lines of descriptions have a smaller indent.
    let indent = if columns < 2 * width { 6 } else { width + 4 };
    let mut text = format!("{title}\n");
    for (name, description) in rows {
        text.push_str(&wrap(&format!("  {name:<width$}  {description}"), indent, columns));
        text.push('\n');
    }
    text
}
