//! Results of the runs: tables of kernels and groups, and our figures for the published values.

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::Value;
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use super::published::{Quantity, ValueSelector, KernelType, group_name, kernel_at, published};
use super::task::{Occupancy, RunResult};

/// The runs of a kernel alone, with 1, 2, ... CTAs per SM.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProfileRuns {
    pub(super) kernel: usize,
    pub(super) occupancy: Occupancy,
    pub(super) runs: Vec<RunResult>,
    /// The fraction by which the run with all CTAs must exceed the fewest cycles before a smaller number is the optimum.
    pub(super) tolerance: f64,
}

impl ProfileRuns {
    /// Returns the CTAs per SM with the fewest cycles, or all CTAs that fit if their cycles are within the tolerance.
    pub(super) fn optimal_ctas(&self) -> u32 {
        let best = self.runs.iter().enumerate().min_by_key(|(_, run)| run.cycles);
        let all = self.runs.last().filter(|all| {
            best.is_some_and(|(_, best)| self.tolerance > 0.0 && all.cycles as f64 <= best.cycles as f64 * (1.0 + self.tolerance))
        });
        if all.is_some() { self.runs.len() as u32 } else { best.map_or(1, |(at, _)| at as u32 + 1) }
    }

    fn kind(&self) -> KernelType {
        KernelType::from_optimum(self.optimal_ctas(), self.occupancy.most)
    }

    fn fastest_run(&self) -> &RunResult {
        &self.runs[self.optimal_ctas() as usize - 1]
    }

    /// Returns the utilisation of the SP pipelines over the utilisation of the LD/ST pipeline.
    pub(super) fn preference(&self) -> f64 {
        self.fastest_run().sp.max(1e-4) / self.fastest_run().ldst.max(1e-4)
    }
}

/// The runs of a group of kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KernelGroupRuns {
    pub(super) members: Vec<usize>,
    pub(super) left_over_run: RunResult,
    /// The run with static TLP modulation. `dynamic_run` adds dynamic modulation, and `bypassing` adds cache bypassing.
    pub(super) static_run: RunResult,
    pub(super) dynamic_run: RunResult,
    pub(super) bypassing: RunResult,
    pub(super) smart_even_run: RunResult,
    pub(super) smc: Option<RunResult>,
    /// The runs of an exhaustive search, each with its fixed numbers of CTAs.
    pub(super) fixed_runs: Vec<([u32; 2], RunResult)>,
}

impl KernelGroupRuns {
    /// Returns the speedup of a run over LeftOver, in percent.
    fn speedup_percent(&self, run: &RunResult) -> f64 {
        percent_over(self.left_over_run.cycles as f64, run.cycles as f64)
    }

    fn energy_change_percent(&self, run: &RunResult) -> f64 {
        percent_over(self.left_over_run.joules, run.joules)
    }

    fn published(&self) -> Option<&'static super::published::PublishedPair> {
        let names: Vec<&str> = self.members.iter().map(|member| kernel_at(*member).name.as_str()).collect();
        published().own.pair.iter().find(|pair| pair.kernels.iter().map(String::as_str).eq(names.iter().copied()))
    }

    /// Returns the fastest run of an exhaustive search, with its numbers of CTAs.
    fn fastest_fixed_run(&self) -> Option<&([u32; 2], RunResult)> {
        self.fixed_runs.iter().min_by_key(|(_, run)| run.cycles)
    }
}

/// The runs of a study.
pub(super) struct KernelMgmtResults {
    pub(super) profiles: Vec<ProfileRuns>,
    pub(super) groups: Vec<KernelGroupRuns>,
}

impl KernelMgmtResults {
    /// Returns the utilisation of threads, shared memory and registers of an SM by the static choice of a group, in percent.
    fn utilisation(&self, group: &KernelGroupRuns) -> [f64; 3] {
        let each = |member: &usize| self.profiles.iter().find(|profiled| profiled.kernel == *member).map(|one| one.occupancy.each);
        let mut sums = [0.0; 3];
        for (member, ctas) in group.members.iter().zip(&group.static_run.chosen) {
            let each = each(member).unwrap_or_default();
            sums.iter_mut().zip(each).for_each(|(sum, each)| *sum += each * f64::from(*ctas));
        }
        sums
    }

    fn mean_headline(&self, of: &dyn Fn(&KernelGroupRuns) -> Option<f64>) -> Headline {
        let by = Aggregate {
            of: &|groups: &[&KernelGroupRuns]| mean(groups.iter().filter_map(|group| of(group))),
            fitted: &|_| false,
            ended: &|_| RunEnd::Whole,
            trivial: Some(("LeftOver", 0.0)),
        };
        Headline::new(&self.groups.iter().collect::<Vec<_>>(), &by)
    }

    /// Returns the percentage of groups for which `right` is true.
    fn percent_of_groups(&self, right: impl Fn(&KernelGroupRuns) -> bool) -> Option<f64> {
        let all = self.groups.len();
        (all > 0).then(|| 100.0 * self.groups.iter().filter(|group| right(group)).count() as f64 / all as f64)
    }

    /// Returns the mean change of the L1 miss rate by bypassing, in percent, over the pairs that the paper names.
    fn bypassing_miss_change(&self) -> Option<f64> {
        let named = ["BKP_KMS", "HST_KMS", "LBM_STC"];
        let some = self.groups.iter().filter(|group| named.contains(&group_name(&group.members).as_str()));
        mean(some.map(|group| percent_over(group.bypassing.miss_rate(), group.dynamic_run.miss_rate())))
    }

    /// Computes our figure for a published value and adds the comparison to the output.
    fn grade(&self, value: &Value<ValueSelector>, output: &mut StudyOutput) {
        let gain = |run: fn(&KernelGroupRuns) -> &RunResult| self.mean_headline(&|group| Some(group.speedup_percent(run(group))));
        let used = |part: usize| self.mean_headline(&|group| Some(self.utilisation(group)[part]));
        match value.of.quantity {
            Quantity::Static => drop(output.grade_headline(value, &gain(|group| &group.static_run))),
            Quantity::Dynamic => drop(output.grade_headline(value, &gain(|group| &group.dynamic_run))),
            Quantity::Bypassing | Quantity::Pools => drop(output.grade_headline(value, &gain(|group| &group.bypassing))),
            Quantity::SmartEven => drop(output.grade_headline(value, &gain(|group| &group.smart_even_run))),
            Quantity::Smc => {
                let smc = |group: &KernelGroupRuns| group.smc.as_ref().map(|run| group.speedup_percent(run));
                output.grade_headline(value, &self.mean_headline(&smc));
            }
            Quantity::Energy => drop(output.grade_headline(value, &self.mean_headline(&|group| Some(group.energy_change_percent(&group.bypassing))))),
            Quantity::MemoryStalls => {
                let change = |group: &KernelGroupRuns| percent_over(group.bypassing.memory_stalls as f64, group.left_over_run.memory_stalls as f64);
                output.grade_headline(value, &self.mean_headline(&|group| Some(change(group))));
            }
            Quantity::StructuralStalls => {
                let change =
                    |group: &KernelGroupRuns| percent_over(group.bypassing.structural_stalls as f64, group.left_over_run.structural_stalls as f64);
                output.grade_headline(value, &self.mean_headline(&|group| Some(change(group))));
            }
            Quantity::Types => {
                let right = self.profiles.iter().filter(|one| one.kind() == kernel_at(one.kernel).kind).count();
                output.grade_number(value, Some(100.0 * right as f64 / self.profiles.len().max(1) as f64), "");
            }
            Quantity::Choices => {
                let right = |group: &KernelGroupRuns| group.published().is_some_and(|pair| group.static_run.chosen == pair.ctas);
                output.grade_number(value, self.percent_of_groups(right), "");
            }
            Quantity::Threads => drop(output.grade_headline(value, &used(0))),
            Quantity::Shared => drop(output.grade_headline(value, &used(1))),
            Quantity::Registers => drop(output.grade_headline(value, &used(2))),
            Quantity::BypassingMisses => drop(output.grade_number(value, self.bypassing_miss_change(), "")),
            Quantity::BeatsSpatial => {
                let spatial = |group: &KernelGroupRuns| group.smc.iter().chain([&group.smart_even_run]).map(|run| run.cycles).min().unwrap_or(0);
                output.grade_number(value, self.percent_of_groups(|group| group.bypassing.cycles <= spatial(group)), "");
            }
        }
    }

    fn grade_all(&self, pools: bool, output: &mut StudyOutput) {
        published()
            .values
            .iter()
            .filter(|value| (value.of.quantity == Quantity::Pools) == pools)
            .for_each(|value| self.grade(value, output));
    }
}

/// Formats numbers of CTAs in the notation of the paper.
fn format_ctas(ctas: &[u32]) -> String {
    let all: Vec<String> = ctas.iter().map(u32::to_string).collect();
    format!("{{{}}}", all.join(", "))
}

fn format_percents(all: [f64; 3]) -> String {
    all.map(|one| format!("{one:.1}")).join(" / ")
}

/// Adds the tables of the pairs, the comparison and the bar chart to the output.
pub(super) fn show_pairs(output: &mut StudyOutput, results: &KernelMgmtResults) {
    output.columns(&[
        "pair",
        "static",
        "paper",
        "LeftOver",
        "static %",
        "dynamic %",
        "bypassing %",
        "Smart-Even %",
        "SMC %",
        "per joule %",
    ]);
    for group in &results.groups {
        let gain = |run: &RunResult| format!("{:+.1}", group.speedup_percent(run));
        output.row(vec![
            group_name(&group.members),
            format_ctas(&group.static_run.chosen),
            group.published().map_or_else(String::new, |pair| format_ctas(&pair.ctas)),
            group.left_over_run.cycles.to_string(),
            gain(&group.static_run),
            gain(&group.dynamic_run),
            gain(&group.bypassing),
            gain(&group.smart_even_run),
            group.smc.as_ref().map_or_else(String::new, gain),
            format!("{:+.1}", group.energy_change_percent(&group.bypassing)),
        ]);
    }
    show_signals(output, results);
    show_profiles(output, results);
    results.grade_all(false, output);
    add_bar_charts(output, results);
}

/// Adds the table of counters of the pairs.
fn show_signals(output: &mut StudyOutput, results: &KernelMgmtResults) {
    let header = [
        "pair",
        "used: threads / shared / registers %",
        "paper",
        "L1 misses % LeftOver",
        "dynamic",
        "bypassing",
        "memory stalls %",
        "structural stalls %",
        "periods",
        "moves",
        "CTAs that bypass",
    ];
    let rows = results.groups.iter().map(|group| {
        let (before, after) = (&group.left_over_run, &group.bypassing);
        let misses = |run: &RunResult| format!("{:.1}", 100.0 * run.miss_rate());
        let change = |after: u64, before: u64| format!("{:+.1}", percent_over(after as f64, before as f64));
        vec![
            group_name(&group.members),
            format_percents(results.utilisation(group)),
            group.published().map_or_else(String::new, |pair| format_percents(pair.utilisation)),
            misses(before),
            misses(&group.dynamic_run),
            misses(after),
            change(after.memory_stalls, before.memory_stalls),
            change(after.structural_stalls, before.structural_stalls),
            after.periods.to_string(),
            after.moves.to_string(),
            after.bypassing.to_string(),
        ]
    });
    output.section(
        "Counters of the pairs, with bypassing against LeftOver",
        "signals.csv",
        header.map(String::from).to_vec(),
        rows.collect(),
    );
}

/// Returns the table row of a kernel that ran alone.
pub(super) fn profile_row(one: &ProfileRuns) -> Vec<String> {
    let (kernel, best) = (kernel_at(one.kernel), one.fastest_run());
    let cycles: Vec<String> = one.runs.iter().map(|run| run.cycles.to_string()).collect();
    vec![
        kernel.name.clone(),
        one.optimal_ctas().to_string(),
        kernel.opt.to_string(),
        one.occupancy.most.to_string(),
        kernel.most.to_string(),
        one.kind().name().into(),
        kernel.kind.name().into(),
        format_percents(one.occupancy.each.map(|each| each * f64::from(one.optimal_ctas()))),
        format_percents(kernel.utilisation),
        cycles.join(" "),
        format!("{:.1}", 100.0 * best.sp),
        format!("{:.1}", 100.0 * best.ldst),
        format!("{:.1}", 100.0 * best.miss_rate()),
        one.occupancy.ctas.to_string(),
    ]
}

/// Adds the profiles of the kernels next to the published ones (Table III).
fn show_profiles(output: &mut StudyOutput, results: &KernelMgmtResults) {
    let header = [
        "kernel",
        "opt",
        "paper",
        "fit",
        "paper's",
        "type",
        "paper type",
        "used: threads / shared / registers %",
        "paper used",
        "cycles with 1, 2, ... CTAs per SM",
        "SP %",
        "LD/ST %",
        "L1 misses %",
        "CTAs",
    ];
    let rows = results.profiles.iter().map(profile_row);
    output.section("Kernels alone", "kernels.csv", header.map(String::from).to_vec(), rows.collect());
}

/// Adds the tables of the pools and the comparison to the output.
pub(super) fn show_pools(output: &mut StudyOutput, results: &KernelMgmtResults) {
    output.columns(&["pool", "LeftOver", "static %", "dynamic %", "bypassing %", "Smart-Even %", "per joule %"]);
    for group in &results.groups {
        let gain = |run: &RunResult| format!("{:+.1}", group.speedup_percent(run));
        output.row(vec![
            group_name(&group.members),
            group.left_over_run.cycles.to_string(),
            gain(&group.static_run),
            gain(&group.dynamic_run),
            gain(&group.bypassing),
            gain(&group.smart_even_run),
            format!("{:+.1}", group.energy_change_percent(&group.bypassing)),
        ]);
    }
    show_profiles(output, results);
    results.grade_all(true, output);
}

/// Adds the table of the exhaustive search.
pub(super) fn show_exhaustive(output: &mut StudyOutput, results: &KernelMgmtResults) {
    output.columns(&["pair", "static", "best", "of", "static %", "best %"]);
    for group in &results.groups {
        let Some((ctas, best)) = group.fastest_fixed_run() else { continue };
        output.row(vec![
            group_name(&group.members),
            format_ctas(&group.static_run.chosen),
            format_ctas(ctas),
            group.fixed_runs.len().to_string(),
            format!("{:+.1}", group.speedup_percent(&group.static_run)),
            format!("{:+.1}", group.speedup_percent(best)),
        ]);
    }
    let best = mean(results.groups.iter().filter_map(|group| group.fastest_fixed_run().map(|(_, run)| group.speedup_percent(run))));
    let first = mean(results.groups.iter().map(|group| group.speedup_percent(&group.static_run)));
    best.into_iter().for_each(|best| output.figure("best fixed numbers of CTAs, speedup over LeftOver, mean, %", best));
    first.into_iter().for_each(|first| output.figure("static TLP modulation, speedup over LeftOver, mean, %", first));
    show_profiles(output, results);
}

fn add_bar_charts(output: &mut StudyOutput, results: &KernelMgmtResults) {
    let values = |group: &KernelGroupRuns| {
        let smc = group.smc.as_ref().map_or(0.0, |run| group.speedup_percent(run));
        [&group.static_run, &group.dynamic_run, &group.bypassing, &group.smart_even_run].map(|run| group.speedup_percent(run)).into_iter().chain([smc]).collect()
    };
    output.bars(
        "speedup.svg",
        Bars {
            title: "Speedup over LeftOver".into(),
            y: "%".into(),
            series: ["static", "dynamic", "bypassing", "Smart-Even", "SMC"].map(String::from).to_vec(),
            groups: results.groups.iter().map(|group| BarGroup { name: group_name(&group.members), values: values(group) }).collect(),
            line: None,
        },
    );
}
