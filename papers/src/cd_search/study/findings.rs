//! Results of the runs: tables of applications and groups, and our figures for the published values.

use warpshard_report::bars::{Bars, Group as BarGroup};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Claim, Value};
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, Ended, Headline};

use super::classes;
use super::published::{Configuration, Members, Selector, Quantity, Type, applications, published};
use super::task::{Execution, RunResult};

/// The runs of an application alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AloneRuns {
    pub(super) app: usize,
    /// The run on all SMs.
    pub(super) all: RunResult,
    /// The run on half of the SMs.
    pub(super) half: RunResult,
}

impl AloneRuns {
    /// Returns the ratio of the IPC on all SMs to the IPC on half of the SMs.
    fn sensitivity(&self) -> f64 {
        self.all.apps.first().map_or(0.0, |app| app.ipc()) / self.half.apps.first().map_or(f64::NAN, |app| app.ipc())
    }
}

/// The runs of a group of applications.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) members: Members,
    /// The run with the even partition.
    pub(super) even: RunResult,
    /// The run with CD-search.
    pub(super) found: RunResult,
    /// The run with CD-search's partition from the start; `None` if that partition is the even one.
    pub(super) fixed: Option<RunResult>,
    /// The runs with all applications on every SM, for mixed groups in the configuration of Section 7.5.
    pub(super) shared: Option<SharedRuns>,
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
enum Kind {
    Mixed,
    Memory,
    Compute,
}

impl Group {
    fn kind(&self) -> Kind {
        let memory = self.members.iter().filter(|app| applications()[**app].kind == Type::Memory).count();
        match memory {
            0 => Kind::Compute,
            all if all == self.members.len() => Kind::Memory,
            _ => Kind::Mixed,
        }
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.kind() == Kind::Mixed
    }

    fn name(&self) -> String {
        classes::name(&self.members)
    }

    fn classified_as_published(&self) -> bool {
        self.found.classes() == classes::published_classes(&self.members)
    }

    /// Returns the SMs per member in the partition that CD-search chose among `sms` SMs; `None` if the partition stayed even or the run
    /// ended during the search.
    pub(super) fn partition(&self, sms: u32) -> Option<Vec<u32>> {
        let (classes, kept) = (self.found.classes(), self.found.last("sms"));
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
pub(super) struct Results {
    pub(super) configuration: Configuration,
    pub(super) sms: u32,
    pub(super) alone: Vec<AloneRuns>,
    pub(super) groups: Vec<Group>,
}

impl Results {
    fn alone(&self, app: usize) -> Option<&AloneRuns> {
        self.alone.iter().find(|alone| alone.app == app)
    }

    /// Returns the normalised progress of each member in a run.
    fn progress(&self, group: &Group, run: &RunResult) -> Vec<f64> {
        let alone = |app: &usize| self.alone(*app).and_then(|alone| alone.all.apps.first().copied()).unwrap_or_default();
        group.members.iter().zip(&run.apps).map(|(app, shared): (_, &Execution)| shared.ipc() / alone(app).ipc()).collect()
    }

    fn stp(&self, group: &Group, run: &RunResult) -> f64 {
        self.progress(group, run).iter().sum()
    }

    fn antt(&self, group: &Group, run: &RunResult) -> f64 {
        let progress = self.progress(group, run);
        progress.iter().map(|progress| 1.0 / progress).sum::<f64>() / progress.len() as f64
    }

    /// Returns the gain in STP of CD-search over the even partition, in percent.
    fn stp_gain(&self, group: &Group) -> f64 {
        percent_over(self.stp(group, &group.found), self.stp(group, &group.even))
    }

    /// Returns the gain in ANTT of CD-search: the ANTT of the even partition over the ANTT of CD-search, in percent.
    fn antt_gain(&self, group: &Group) -> f64 {
        percent_over(self.antt(group, &group.even), self.antt(group, &group.found))
    }

    /// Returns the gain in STP of a run with shared SMs over the even partition, in percent; `None` for a group without such runs.
    fn shared_gain(&self, group: &Group, run: impl Fn(&SharedRuns) -> &RunResult) -> Option<f64> {
        let inside = group.shared.as_ref()?;
        Some(percent_over(self.stp(group, run(inside)), self.stp(group, &group.even)))
    }

    /// Returns the percentage of groups for which SMK has a lower STP than the even partition.
    pub(super) fn smk_worse(&self) -> Option<f64> {
        let gains: Vec<f64> = self.groups.iter().filter_map(|group| self.shared_gain(group, |inside| &inside.smk)).collect();
        (!gains.is_empty()).then(|| 100.0 * gains.iter().filter(|gain| **gain < 0.0).count() as f64 / gains.len() as f64)
    }

    /// Returns the gain in STP over Maestro, in percent, if CD-search's partition replaces Maestro's even partition.
    fn on_maestro(&self, group: &Group) -> Option<f64> {
        let inside = group.shared.as_ref()?;
        let shares = inside.maestro_shares().unwrap_or(false);
        Some(if shares { 0.0 } else { percent_over(self.stp(group, &group.found), self.stp(group, &inside.maestro)) })
    }

    fn power(group: &Group) -> f64 {
        percent_over(group.found.watts(), group.even.watts())
    }

    /// Returns the percentage of SMs that CD-search power-gated.
    fn gated(&self, group: &Group) -> f64 {
        let kept = group.partition(self.sms).map_or(self.sms, |partition| partition.iter().sum());
        100.0 - 100.0 * f64::from(kept) / f64::from(self.sms)
    }

    fn of_kind(&self, kind: Kind) -> Vec<&Group> {
        self.groups.iter().filter(|group| group.kind() == kind).collect()
    }

    /// Returns the headline: the mean of a figure over the groups of a kind.
    fn headline(&self, kind: Kind, of: &dyn Fn(&Group) -> Option<f64>) -> Headline {
        let by = Aggregate {
            of: &|groups: &[&Group]| mean(groups.iter().filter_map(|group| of(group))),
            fitted: &|_| false,
            ended: &|_| Ended::Cut,
            trivial: Some(("even", 0.0)),
        };
        Headline::new(&self.of_kind(kind), &by)
    }

    fn extreme(&self, kind: Kind, of: &dyn Fn(&Group) -> f64, pick: fn(f64, f64) -> f64) -> Option<f64> {
        self.of_kind(kind).into_iter().map(of).reduce(pick)
    }

    /// Returns the percentage of groups for which `right` is true.
    fn share(&self, right: impl Fn(&Group) -> bool) -> Option<f64> {
        let all = self.groups.len();
        (all > 0).then(|| 100.0 * self.groups.iter().filter(|group| right(group)).count() as f64 / all as f64)
    }

    fn utilisation_misses(&self) -> Option<f64> {
        let utilisation: Vec<(usize, f64)> = self.alone.iter().map(|alone| (alone.app, alone.all.dram_utilisation())).collect();
        classes::utilisation_misses(&utilisation, &self.groups.iter().map(|group| &group.members).collect::<Vec<_>>())
    }

    /// Returns the lowest sensitivity of a compute-intensive application minus the highest sensitivity of a memory-intensive application.
    fn sensitivity(&self) -> Option<f64> {
        let of = |wanted: Type| {
            let some = self.alone.iter().filter(move |alone| applications()[alone.app].kind == wanted);
            some.map(AloneRuns::sensitivity)
        };
        Some(of(Type::Compute).reduce(f64::min)? - of(Type::Memory).reduce(f64::max)?)
    }

    /// Returns the cost of the search in percent: the figure of the run with CD-search's partition from the start over the figure of the
    /// CD-search run.
    fn overhead(&self, group: &Group, of: &dyn Fn(&RunResult) -> f64) -> Option<f64> {
        let fixed = group.fixed.as_ref()?;
        Some(percent_over(of(fixed), of(&group.found)))
    }

    /// Computes our figure for a published value and adds the comparison to the output.
    fn grade(&self, value: &Value<Selector>, output: &mut StudyOutput) {
        let stp = |group: &Group| self.stp_gain(group);
        match value.of.quantity {
            Quantity::MixedStp => drop(output.graded(value, &self.headline(Kind::Mixed, &|group| Some(stp(group))))),
            Quantity::MixedAntt => drop(output.graded(value, &self.headline(Kind::Mixed, &|group| Some(self.antt_gain(group))))),
            Quantity::MixedOverhead => {
                let cost = |group: &Group| self.overhead(group, &|run| self.stp(group, run));
                output.graded(value, &self.headline(Kind::Mixed, &cost));
            }
            Quantity::MemoryStp => drop(output.graded(value, &self.headline(Kind::Memory, &|group| Some(stp(group))))),
            Quantity::MemoryPower => drop(output.graded(value, &self.headline(Kind::Memory, &|group| Some(Self::power(group))))),
            Quantity::MemoryGated => drop(output.graded(value, &self.headline(Kind::Memory, &|group| Some(self.gated(group))))),
            Quantity::MemoryOverhead => {
                let cost = |group: &Group| self.overhead(group, &RunResult::watts).map(|less| -less);
                output.graded(value, &self.headline(Kind::Memory, &cost));
            }
            Quantity::MixedStpBest => drop(output.graded_number(value, self.extreme(Kind::Mixed, &stp, f64::max), "")),
            Quantity::MixedStpWorst => drop(output.graded_number(value, self.extreme(Kind::Mixed, &stp, f64::min), "")),
            Quantity::MemoryStpWorst => drop(output.graded_number(value, self.extreme(Kind::Memory, &stp, f64::min), "")),
            Quantity::MemoryPowerBest => drop(output.graded_number(value, self.extreme(Kind::Memory, &Self::power, f64::min), "")),
            Quantity::Classified => drop(output.graded_number(value, self.share(Group::classified_as_published), "")),
            Quantity::UtilisationMisses => drop(output.graded_number(value, self.utilisation_misses(), "")),
            Quantity::SmkWorse => drop(output.graded_number(value, self.smk_worse(), "")),
            Quantity::MaestroStp => {
                let gain = |group: &Group| self.shared_gain(group, |inside| &inside.maestro);
                output.graded(value, &self.headline(Kind::Mixed, &gain));
            }
            Quantity::CdSearchOnMaestro => {
                output.graded(value, &self.headline(Kind::Mixed, &|group| self.on_maestro(group)));
            }
            Quantity::Sensitivity => {
                let ours = self.sensitivity();
                let shown = ours.map_or_else(|| "-".to_owned(), |ours| format!("{ours:+.2}"));
                match value.claim {
                    Claim::Direction => output.graded_direction(value, shown, ours.map(|ours| ours > 0.0)),
                    _ => output.graded_number(value, ours, ""),
                };
            }
        }
    }
}

/// Adds the tables, the comparison and the bar chart to the output.
pub(super) fn show(output: &mut StudyOutput, results: &Results) {
    show_groups(output, results);
    show_shared(output, results);
    show_alone(output, results);
    for value in published().values.iter().filter(|value| value.of.configuration == results.configuration.compared_as()) {
        results.grade(value, output);
    }
    let mut mixed: Vec<(String, f64)> =
        results.of_kind(Kind::Mixed).into_iter().map(|group| (group.name(), results.stp_gain(group))).collect();
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

fn show_groups(output: &mut StudyOutput, results: &Results) {
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
            .partition(results.sms)
            .map_or_else(|| "even".to_owned(), |partition| partition.iter().map(u32::to_string).collect::<Vec<_>>().join(" + "));
        let kind = match group.kind() {
            Kind::Mixed => "mixed",
            Kind::Memory => "memory",
            Kind::Compute => "compute",
        };
        output.row(vec![
            group.name(),
            kind.into(),
            classes::names(&group.found.classes()),
            partition,
            format!("{:.3}", stp(&group.even)),
            format!("{:.3}", stp(&group.found)),
            format!("{:+.1}", results.stp_gain(group)),
            format!("{:.2}", antt(&group.even)),
            format!("{:.2}", antt(&group.found)),
            format!("{:.1}", group.even.watts()),
            format!("{:.1}", group.found.watts()),
            format!("{:+.1}", Results::power(group)),
            group.fixed.as_ref().map_or_else(|| "-".to_owned(), |fixed| format!("{:.3}", stp(fixed))),
        ]);
    }
}

fn show_shared(output: &mut StudyOutput, results: &Results) {
    let row = |group: &Group| {
        let inside = group.shared.as_ref()?;
        let gain = |run: &RunResult| format!("{:+.1}", percent_over(results.stp(group, run), results.stp(group, &group.even)));
        let ctas: Vec<String> = inside.smk.last("ctas").iter().map(|(_, ctas)| ctas.to_string()).collect();
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
            gain(&group.found),
        ])
    };
    let rows: Vec<Vec<String>> = results.groups.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let header = ["applications", "CTAs per SM", "SMK, STP %", "Maestro keeps", "sampled", "Maestro, STP %", "CD-search, STP %"];
        output.section("Applications that share every SM", "shared.csv", header.map(String::from).to_vec(), rows);
    }
}

fn show_alone(output: &mut StudyOutput, results: &Results) {
    let header =
        ["application", "type", "IPC", "of half the SMs", "gain", "LLC accesses / 1000", "LLC misses %", "DRAM busy %", "W", "ended"];
    let rows = results.alone.iter().map(|alone| {
        let (app, run) = (&applications()[alone.app], &alone.all);
        let execution = run.apps.first().copied().unwrap_or_default();
        vec![
            app.name.clone(),
            if app.kind == Type::Memory { "memory" } else { "compute" }.to_owned(),
            format!("{:.2}", execution.ipc()),
            format!("{:.2}", alone.half.apps.first().copied().unwrap_or_default().ipc()),
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
