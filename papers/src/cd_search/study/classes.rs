//! The classification of applications by CD-search, compared with Table 1 and with a threshold of DRAM utilisation.

use warpshard_lab::output::StudyOutput;

use super::published::{Configuration, Members, Quantity, ApplicationType, applications, published};
use super::task::RunResult;

/// A group and its run until its members were classified.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassifiedGroup {
    pub(super) members: Members,
    pub(super) run: RunResult,
}

impl ClassifiedGroup {
    fn is_right(&self) -> bool {
        self.run.memory_intensive_flags() == published_classes(&self.members)
    }

    /// Returns the group's row of the table.
    pub(super) fn row_cells(&self) -> Vec<String> {
        let numbers = |name| self.run.last_signals(name).iter().map(|(_, value)| format!("{value:.0}")).collect::<Vec<_>>().join(" and ");
        vec![
            name(&self.members),
            type_names(&published_classes(&self.members)),
            type_names(&self.run.memory_intensive_flags()),
            if self.is_right() { "yes" } else { "no" }.to_owned(),
            numbers("demand"),
            numbers("supply"),
        ]
    }
}

/// Returns the names of a group's applications, joined by " + ".
pub(super) fn name(members: &Members) -> String {
    members.iter().map(|app| applications()[*app].name.as_str()).collect::<Vec<_>>().join(" + ")
}

/// Returns true for each member that Table 1 lists as memory-intensive.
pub(super) fn published_classes(members: &Members) -> Vec<bool> {
    members.iter().map(|app| applications()[*app].kind == ApplicationType::Memory).collect()
}

/// Returns the types of a group's members in words; `true` means memory-intensive.
pub(super) fn type_names(classes: &[bool]) -> String {
    classes.iter().map(|memory| if *memory { "memory" } else { "compute" }).collect::<Vec<_>>().join(" and ")
}

/// Returns the percentage of groups with a member that DRAM utilisation classifies differently from Table 1, with the best threshold.
/// `utilisation` has the fraction of DRAM cycles with data per application.
pub(super) fn utilisation_misses(utilisation: &[(usize, f64)], groups: &[&Members]) -> Option<f64> {
    let thresholds = utilisation.iter().map(|(_, busy)| *busy).chain([f64::INFINITY]);
    let misses = |threshold: f64| {
        let memory = |app: &usize| utilisation.iter().any(|(other, busy)| other == app && *busy >= threshold);
        let wrong = |app: &usize| memory(app) != (applications()[*app].kind == ApplicationType::Memory);
        let missed = groups.iter().filter(|members| members.iter().any(wrong)).count();
        (!groups.is_empty()).then(|| 100.0 * missed as f64 / groups.len() as f64)
    };
    thresholds.filter_map(misses).reduce(f64::min)
}

/// Simulates a pair of applications again; returns the pair's row of the table.
#[cfg(test)]
pub(super) fn simulate_row(pair: &str) -> String {
    use warpshard_lab::Task;
    let members = super::all_pairs().into_iter().find(|members| name(members) == pair).expect("a pair of the study");
    let own = &published().own.parameters;
    let apps = members.iter().map(|app| &applications()[*app]).collect();
    let policy = Some("cd_search".to_owned());
    let task = super::SharedRun { apps, policy, machine: &own.machine, settings: own.set.clone(), cycles: own.profile_cycles };
    ClassifiedGroup { run: task.run().expect("the study runs"), members }.row_cells().join(",")
}

/// Adds the table of groups and the comparison with the paper to the output.
pub(super) fn show_classes(output: &mut StudyOutput, groups: &[ClassifiedGroup], utilisation: &[(usize, f64)]) {
    output.columns(&["applications", "published", "classified", "as published", "demand, B/cycle", "supply, B/cycle"]);
    groups.iter().for_each(|group| output.row(group.row_cells()));
    let right = |group: &&ClassifiedGroup| group.is_right();
    for value in published().values.iter().filter(|value| value.of.configuration == Configuration::Classes) {
        let ours = match value.of.quantity {
            Quantity::Classified => (!groups.is_empty()).then(|| 100.0 * groups.iter().filter(right).count() as f64 / groups.len() as f64),
            Quantity::UtilisationMisses => utilisation_misses(utilisation, &groups.iter().map(|group| &group.members).collect::<Vec<_>>()),
            _ => None,
        };
        output.grade_number(value, ours, "");
    }
}
