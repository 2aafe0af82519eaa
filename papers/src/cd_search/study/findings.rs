//! Results of the runs: tables of applications and groups, and our figures for the published values.

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Claim, Value};
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use super::classes;
use super::published::{Configuration, Members, ValueSelector, Quantity, ApplicationType, applications, published};
use super::task::{Execution, RunResult};

/// The runs of an application alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AloneRuns {
    pub(super) app: usize,
    /// The run on all SMs.
    pub(super) full_run: RunResult,
    /// The run on half of the SMs.
    pub(super) half_run: RunResult,
}

impl AloneRuns {
    /// Returns the ratio of the IPC on all SMs to the IPC on half of the SMs.
    fn sensitivity(&self) -> f64 {
        self.full_run.apps.first().map_or(0.0, |app| app.ipc()) / self.half_run.apps.first().map_or(f64::NAN, |app| app.ipc())
    }
}

/// The runs of a group of applications.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupRuns {
    pub(super) members: Members,
    /// The run with the even partition.
    pub(super) even_run: RunResult,
    /// The run with CD-search.
    pub(super) search_run: RunResult,
    /// The run with CD-search's partition from the start; `None` if that partition is the even one.
    pub(super) fixed_run: Option<RunResult>,
    /// The runs with all applications on every SM, for mixed groups in the configuration of Section 7.5.
    pub(super) shared_runs: Option<SharedRuns>,
}

/// Runs with all applications of a group on every SM.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedRuns {
    pub(super) smk: RunResult,
    pub(super) maestro: RunResult,
}

impl SharedRuns {
    /// Returns true if Maestro kept the shared SMs, and `None` if the run ended before Maestro's choice.
    fn maestro_shares(&self) -> Option<bool> {
        let last = self.maestro.signals.iter().rev().find(|(_, _, name, _)| name == "shares_sms");
        last.map(|(.., shares)| *shares > 0.0)
    }
}

/// The kind of a group, by the types of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupKind {
    Mixed,
    Memory,
    Compute,
}

impl GroupRuns {
    fn group_kind(&self) -> GroupKind {
        let memory = self.members.iter().filter(|app| applications()[**app].kind == ApplicationType::Memory).count();
        match memory {
            0 => GroupKind::Compute,
            all if all == self.members.len() => GroupKind::Memory,
            _ => GroupKind::Mixed,
        }
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.group_kind() == GroupKind::Mixed
    }

    fn name(&self) -> String {
        classes::name(&self.members)
    }

    fn classified_as_published(&self) -> bool {
        self.search_run.memory_intensive_flags() == classes::published_classes(&self.members)
    }

    /// Returns the SMs per member in the partition that CD-search chose among `sms` SMs; `None` if the partition stayed even or the run
    /// ended during the search.
    pub(super) fn chosen_partition(&self, sms: u32) -> Option<Vec<u32>> {
        let (classes, kept) = (self.search_run.memory_intensive_flags(), self.search_run.last_signals("sms"));
        if kept.is_empty() {
            return None;
        }
        let count = self.members.len() as u32;
        // In the even partition, SM `i` belongs to application `i * count / sms`.
        let share = |app: u32| (0..sms).filter(|sm| sm * count / sms == app).count() as u32;
        let mut kept = kept.into_iter();
        let own: Vec<u32> = (0..count)
            .map(|app| if classes[app as usize] { kept.next().map_or(share(app), |(_, sms)| sms as u32) } else { share(app) })
            .collect();
        let compute: Vec<usize> = (0..classes.len()).filter(|app| !classes[*app]).collect();
        let mut partition = own.clone();
        if !compute.is_empty() {
            let spare = sms - own.iter().sum::<u32>();
            (0..spare as usize).for_each(|i| partition[compute[i % compute.len()]] += 1);
        }
        let even: Vec<u32> = (0..count).map(share).collect();
        (partition != even).then_some(partition)
    }
}

/// The runs of a study.
pub(super) struct CdSearchResults {
    pub(super) configuration: Configuration,
    pub(super) sms: u32,
    pub(super) alone: Vec<AloneRuns>,
    pub(super) groups: Vec<GroupRuns>,
}

impl CdSearchResults {
    fn alone_runs(&self, app: usize) -> Option<&AloneRuns> {
        self.alone.iter().find(|alone| alone.app == app)
    }

    /// Returns the normalised progress of each member in a run.
    fn normalised_progress(&self, group: &GroupRuns, run: &RunResult) -> Vec<f64> {
        let alone = |app: &usize| self.alone_runs(*app).and_then(|alone| alone.full_run.apps.first().copied()).unwrap_or_default();
        group.members.iter().zip(&run.apps).map(|(app, shared): (_, &Execution)| shared.ipc() / alone(app).ipc()).collect()
    }

    fn stp(&self, group: &GroupRuns, run: &RunResult) -> f64 {
        self.normalised_progress(group, run).iter().sum()
    }

    fn antt(&self, group: &GroupRuns, run: &RunResult) -> f64 {
        let progress = self.normalised_progress(group, run);
        progress.iter().map(|progress| 1.0 / progress).sum::<f64>() / progress.len() as f64
    }

    /// Returns the gain in STP of CD-search over the even partition, in percent.
    fn stp_gain(&self, group: &GroupRuns) -> f64 {
        percent_over(self.stp(group, &group.search_run), self.stp(group, &group.even_run))
    }

    /// Returns the gain in ANTT of CD-search: the ANTT of the even partition over the ANTT of CD-search, in percent.
    fn antt_gain(&self, group: &GroupRuns) -> f64 {
        percent_over(self.antt(group, &group.even_run), self.antt(group, &group.search_run))
    }

    /// Returns the gain in STP of a run with shared SMs over the even partition, in percent; `None` for a group without such runs.
    fn shared_gain(&self, group: &GroupRuns, run: impl Fn(&SharedRuns) -> &RunResult) -> Option<f64> {
        let inside = group.shared_runs.as_ref()?;
        Some(percent_over(self.stp(group, run(inside)), self.stp(group, &group.even_run)))
    }

    /// Returns the percentage of groups for which SMK has a lower STP than the even partition.
    pub(super) fn smk_loss_percent(&self) -> Option<f64> {
        let gains: Vec<f64> = self.groups.iter().filter_map(|group| self.shared_gain(group, |inside| &inside.smk)).collect();
        (!gains.is_empty()).then(|| 100.0 * gains.iter().filter(|gain| **gain < 0.0).count() as f64 / gains.len() as f64)
    }

    /// Returns the gain in STP over Maestro, in percent, if CD-search's partition replaces Maestro's even partition.
    fn gain_over_maestro(&self, group: &GroupRuns) -> Option<f64> {
        let inside = group.shared_runs.as_ref()?;
        let shares = inside.maestro_shares().unwrap_or(false);
        Some(if shares { 0.0 } else { percent_over(self.stp(group, &group.search_run), self.stp(group, &inside.maestro)) })
    }

    fn power_change_percent(group: &GroupRuns) -> f64 {
        percent_over(group.search_run.watts(), group.even_run.watts())
    }

    /// Returns the percentage of SMs that CD-search power-gated.
    fn gated_sms_percent(&self, group: &GroupRuns) -> f64 {
        let kept = group.chosen_partition(self.sms).map_or(self.sms, |partition| partition.iter().sum());
        100.0 - 100.0 * f64::from(kept) / f64::from(self.sms)
    }

    fn groups_of_kind(&self, kind: GroupKind) -> Vec<&GroupRuns> {
        self.groups.iter().filter(|group| group.group_kind() == kind).collect()
    }

    /// Returns the headline: the mean of a figure over the groups of a kind.
    fn mean_headline(&self, kind: GroupKind, of: &dyn Fn(&GroupRuns) -> Option<f64>) -> Headline {
        let by = Aggregate {
            of: &|groups: &[&GroupRuns]| mean(groups.iter().filter_map(|group| of(group))),
            fitted: &|_| false,
            ended: &|_| RunEnd::Cut,
            trivial: Some(("even", 0.0)),
        };
        Headline::new(&self.groups_of_kind(kind), &by)
    }

    fn extreme_figure(&self, kind: GroupKind, of: &dyn Fn(&GroupRuns) -> f64, pick: fn(f64, f64) -> f64) -> Option<f64> {
        self.groups_of_kind(kind).into_iter().map(of).reduce(pick)
    }

    /// Returns the percentage of groups for which `right` is true.
    fn percent_of_groups(&self, right: impl Fn(&GroupRuns) -> bool) -> Option<f64> {
        let all = self.groups.len();
        (all > 0).then(|| 100.0 * self.groups.iter().filter(|group| right(group)).count() as f64 / all as f64)
    }

    fn utilisation_misses(&self) -> Option<f64> {
        let utilisation: Vec<(usize, f64)> = self.alone.iter().map(|alone| (alone.app, alone.full_run.dram_utilisation())).collect();
        classes::utilisation_misses(&utilisation, &self.groups.iter().map(|group| &group.members).collect::<Vec<_>>())
    }

    /// Returns the lowest sensitivity of a compute-intensive application minus the highest sensitivity of a memory-intensive application.
    fn sensitivity(&self) -> Option<f64> {
        let of = |wanted: ApplicationType| {
            let some = self.alone.iter().filter(move |alone| applications()[alone.app].kind == wanted);
            some.map(AloneRuns::sensitivity)
        };
        Some(of(ApplicationType::Compute).reduce(f64::min)? - of(ApplicationType::Memory).reduce(f64::max)?)
    }

    /// Returns the cost of the search in percent: the figure of the run with CD-search's partition from the start over the figure of the
    /// CD-search run.
    fn search_cost_percent(&self, group: &GroupRuns, of: &dyn Fn(&RunResult) -> f64) -> Option<f64> {
        let fixed = group.fixed_run.as_ref()?;
        Some(percent_over(of(fixed), of(&group.search_run)))
    }

    /// Computes our figure for a published value and adds the comparison to the output.
    fn grade(&self, value: &Value<ValueSelector>, output: &mut StudyOutput) {
        let stp = |group: &GroupRuns| self.stp_gain(group);
        match value.of.quantity {
            Quantity::MixedStp => drop(output.grade_headline(value, &self.mean_headline(GroupKind::Mixed, &|group| Some(stp(group))))),
            Quantity::MixedAntt => drop(output.grade_headline(value, &self.mean_headline(GroupKind::Mixed, &|group| Some(self.antt_gain(group))))),
            Quantity::MixedOverhead => {
                let cost = |group: &GroupRuns| self.search_cost_percent(group, &|run| self.stp(group, run));
                output.grade_headline(value, &self.mean_headline(GroupKind::Mixed, &cost));
            }
            Quantity::MemoryStp => drop(output.grade_headline(value, &self.mean_headline(GroupKind::Memory, &|group| Some(stp(group))))),
            Quantity::MemoryPower => drop(output.grade_headline(value, &self.mean_headline(GroupKind::Memory, &|group| Some(Self::power_change_percent(group))))),
            Quantity::MemoryGated => drop(output.grade_headline(value, &self.mean_headline(GroupKind::Memory, &|group| Some(self.gated_sms_percent(group))))),
            Quantity::MemoryOverhead => {
                let cost = |group: &GroupRuns| self.search_cost_percent(group, &RunResult::watts).map(|less| -less);
                output.grade_headline(value, &self.mean_headline(GroupKind::Memory, &cost));
            }
            Quantity::MixedStpBest => drop(output.grade_number(value, self.extreme_figure(GroupKind::Mixed, &stp, f64::max), "")),
            Quantity::MixedStpWorst => drop(output.grade_number(value, self.extreme_figure(GroupKind::Mixed, &stp, f64::min), "")),
            Quantity::MemoryStpWorst => drop(output.grade_number(value, self.extreme_figure(GroupKind::Memory, &stp, f64::min), "")),
            Quantity::MemoryPowerBest => drop(output.grade_number(value, self.extreme_figure(GroupKind::Memory, &Self::power_change_percent, f64::min), "")),
            Quantity::Classified => drop(output.grade_number(value, self.percent_of_groups(GroupRuns::classified_as_published), "")),
            Quantity::UtilisationMisses => drop(output.grade_number(value, self.utilisation_misses(), "")),
            Quantity::SmkWorse => drop(output.grade_number(value, self.smk_loss_percent(), "")),
            Quantity::MaestroStp => {
                let gain = |group: &GroupRuns| self.shared_gain(group, |inside| &inside.maestro);
                output.grade_headline(value, &self.mean_headline(GroupKind::Mixed, &gain));
            }
            Quantity::CdSearchOnMaestro => {
                output.grade_headline(value, &self.mean_headline(GroupKind::Mixed, &|group| self.gain_over_maestro(group)));
            }
            Quantity::Sensitivity => {
                let ours = self.sensitivity();
                let shown = ours.map_or_else(|| "-".to_owned(), |ours| format!("{ours:+.2}"));
                match value.claim {
                    Claim::Direction => output.grade_direction(value, shown, ours.map(|ours| ours > 0.0)),
                    _ => output.grade_number(value, ours, ""),
                };
            }
        }
    }
}

/// Adds the tables, the comparison and the bar chart to the output.
pub(super) fn show_findings(output: &mut StudyOutput, results: &CdSearchResults) {
    show_groups(output, results);
    show_shared(output, results);
    show_alone(output, results);
    for value in published().values.iter().filter(|value| value.of.configuration == results.configuration.compared_as()) {
        results.grade(value, output);
    }
    let mut mixed: Vec<(String, f64)> =
        results.groups_of_kind(GroupKind::Mixed).into_iter().map(|group| (group.name(), results.stp_gain(group))).collect();
    mixed.sort_by(|a, b| a.1.total_cmp(&b.1));
    if !mixed.is_empty() {
        output.bars(
            "stp.svg",
            Bars {
                title: "Mixed groups: STP of CD-search over the even partition".into(),
                y: "%".into(),
                series: vec!["simulated".into()],
                groups: mixed.into_iter().map(|(name, gain)| BarGroup { name, values: vec![gain] }).collect(),
                line: None,
            },
        );
    }
}

fn show_groups(output: &mut StudyOutput, results: &CdSearchResults) {
    output.columns(&[
        "applications",
        "type",
        "classified",
        "SMs",
        "STP even",
        "STP",
        "gain %",
        "ANTT even",
        "ANTT",
        "W even",
        "W",
        "power %",
        "fixed STP",
    ]);
    for group in &results.groups {
        let (stp, antt) = (|run: &RunResult| results.stp(group, run), |run: &RunResult| results.antt(group, run));
        let partition = group
            .chosen_partition(results.sms)
            .map_or_else(|| "even".to_owned(), |partition| partition.iter().map(u32::to_string).collect::<Vec<_>>().join(" + "));
        let kind = match group.group_kind() {
            GroupKind::Mixed => "mixed",
            GroupKind::Memory => "memory",
            GroupKind::Compute => "compute",
        };
        output.row(vec![
            group.name(),
            kind.into(),
            classes::type_names(&group.search_run.memory_intensive_flags()),
            partition,
            format!("{:.3}", stp(&group.even_run)),
            format!("{:.3}", stp(&group.search_run)),
            format!("{:+.1}", results.stp_gain(group)),
            format!("{:.2}", antt(&group.even_run)),
            format!("{:.2}", antt(&group.search_run)),
            format!("{:.1}", group.even_run.watts()),
            format!("{:.1}", group.search_run.watts()),
            format!("{:+.1}", CdSearchResults::power_change_percent(group)),
            group.fixed_run.as_ref().map_or_else(|| "-".to_owned(), |fixed| format!("{:.3}", stp(fixed))),
        ]);
    }
}

fn show_shared(output: &mut StudyOutput, results: &CdSearchResults) {
    let row = |group: &GroupRuns| {
        let inside = group.shared_runs.as_ref()?;
        let gain = |run: &RunResult| format!("{:+.1}", percent_over(results.stp(group, run), results.stp(group, &group.even_run)));
        let ctas: Vec<String> = inside.smk.last_signals("ctas").iter().map(|(_, ctas)| ctas.to_string()).collect();
        let kept = match inside.maestro_shares() {
            Some(true) => "shared SMs",
            Some(false) => "even partition",
            None => "-",
        };
        let sums = ["shared_sum", "even_sum"].map(|name| {
            let last = inside.maestro.signals.iter().rev().find(|(_, _, other, _)| other == name);
            last.map_or_else(|| "-".to_owned(), |(.., value)| format!("{value:.2}"))
        });
        Some(vec![
            group.name(),
            ctas.join(" + "),
            gain(&inside.smk),
            kept.to_owned(),
            sums.join(" / "),
            gain(&inside.maestro),
            gain(&group.search_run),
        ])
    };
    let rows: Vec<Vec<String>> = results.groups.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let header = ["applications", "CTAs per SM", "SMK, STP %", "Maestro keeps", "sampled", "Maestro, STP %", "CD-search, STP %"];
        output.section("Applications that share every SM", "shared.csv", header.map(String::from).to_vec(), rows);
    }
}

fn show_alone(output: &mut StudyOutput, results: &CdSearchResults) {
    let header =
        ["application", "type", "IPC", "of half the SMs", "gain", "LLC accesses / 1000", "LLC misses %", "DRAM busy %", "W", "ended"];
    let rows = results.alone.iter().map(|alone| {
        let (app, run) = (&applications()[alone.app], &alone.full_run);
        let execution = run.apps.first().copied().unwrap_or_default();
        vec![
            app.name.clone(),
            if app.kind == ApplicationType::Memory { "memory" } else { "compute" }.to_owned(),
            format!("{:.2}", execution.ipc()),
            format!("{:.2}", alone.half_run.apps.first().copied().unwrap_or_default().ipc()),
            format!("{:.2}", alone.sensitivity()),
            format!("{:.1}", 1000.0 * run.llc_accesses as f64 / run.instructions.max(1) as f64),
            format!("{:.1}", 100.0 * run.llc_misses as f64 / run.llc_accesses.max(1) as f64),
            format!("{:.1}", 100.0 * run.dram_utilisation()),
            format!("{:.1}", run.watts()),
            if execution.cycles < run.cycles { "yes" } else { "-" }.to_owned(),
        ]
    });
    output.section("Applications alone", "applications.csv", header.map(String::from).to_vec(), rows.collect());
}
