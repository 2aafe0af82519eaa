//! Results of the runs: tables of kernels and groups, and our figures for the published values.

use warpshard_report::bars::{Bars, Group as BarGroup};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::Value;
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, Ended, Headline};

use super::published::{Quantity, Selector, Type, group_name, kernel_at, published};
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
    pub(super) fn opt(&self) -> u32 {
        let best = self.runs.iter().enumerate().min_by_key(|(_, run)| run.cycles);
        let all = self.runs.last().filter(|all| {
            best.is_some_and(|(_, best)| self.tolerance > 0.0 && all.cycles as f64 <= best.cycles as f64 * (1.0 + self.tolerance))
        });
        if all.is_some() { self.runs.len() as u32 } else { best.map_or(1, |(at, _)| at as u32 + 1) }
    }

    fn kind(&self) -> Type {
        Type::of(self.opt(), self.occupancy.most)
    }

    fn best(&self) -> &RunResult {
        &self.runs[self.opt() as usize - 1]
    }

    /// Returns the utilisation of the SP pipelines over the utilisation of the LD/ST pipeline.
    pub(super) fn preference(&self) -> f64 {
        self.best().sp.max(1e-4) / self.best().ldst.max(1e-4)
    }
}

/// The runs of a group of kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    pub(super) members: Vec<usize>,
    pub(super) left_over: RunResult,
    /// The run with static TLP modulation. `dynamic` adds dynamic modulation, and `bypassing` adds cache bypassing.
    pub(super) first: RunResult,
    pub(super) dynamic: RunResult,
    pub(super) bypassing: RunResult,
    pub(super) smart_even: RunResult,
    pub(super) smc: Option<RunResult>,
    /// The runs of an exhaustive search, each with its fixed numbers of CTAs.
    pub(super) fixed: Vec<([u32; 2], RunResult)>,
}

impl Group {
    /// Returns the speedup of a run over LeftOver, in percent.
    fn gain(&self, run: &RunResult) -> f64 {
        percent_over(self.left_over.cycles as f64, run.cycles as f64)
    }

    fn energy(&self, run: &RunResult) -> f64 {
        percent_over(self.left_over.joules, run.joules)
    }

    fn published(&self) -> Option<&'static super::published::Pair> {
        let names: Vec<&str> = self.members.iter().map(|member| kernel_at(*member).name.as_str()).collect();
        published().own.pair.iter().find(|pair| pair.kernels.iter().map(String::as_str).eq(names.iter().copied()))
    }

    /// Returns the fastest run of an exhaustive search, with its numbers of CTAs.
    fn best(&self) -> Option<&([u32; 2], RunResult)> {
        self.fixed.iter().min_by_key(|(_, run)| run.cycles)
    }
}

/// The runs of a study.
pub(super) struct Results {
    pub(super) profiles: Vec<ProfileRuns>,
    pub(super) groups: Vec<Group>,
}

impl Results {
    /// Returns the utilisation of threads, shared memory and registers of an SM by the static choice of a group, in percent.
    fn utilisation(&self, group: &Group) -> [f64; 3] {
        let each = |member: &usize| self.profiles.iter().find(|profiled| profiled.kernel == *member).map(|one| one.occupancy.each);
        let mut sums = [0.0; 3];
        for (member, ctas) in group.members.iter().zip(&group.first.chosen) {
            let each = each(member).unwrap_or_default();
            sums.iter_mut().zip(each).for_each(|(sum, each)| *sum += each * f64::from(*ctas));
        }
        sums
    }

    fn headline(&self, of: &dyn Fn(&Group) -> Option<f64>) -> Headline {
        let by = Aggregate {
            of: &|groups: &[&Group]| mean(groups.iter().filter_map(|group| of(group))),
            fitted: &|_| false,
            ended: &|_| Ended::Whole,
            trivial: Some(("LeftOver", 0.0)),
        };
        Headline::new(&self.groups.iter().collect::<Vec<_>>(), &by)
    }

    /// Returns the percentage of groups for which `right` is true.
    fn share(&self, right: impl Fn(&Group) -> bool) -> Option<f64> {
        let all = self.groups.len();
        (all > 0).then(|| 100.0 * self.groups.iter().filter(|group| right(group)).count() as f64 / all as f64)
    }

    /// Returns the mean change of the L1 miss rate by bypassing, in percent, over the pairs that the paper names.
    fn bypassing_misses(&self) -> Option<f64> {
        let named = ["BKP_KMS", "HST_KMS", "LBM_STC"];
        let some = self.groups.iter().filter(|group| named.contains(&group_name(&group.members).as_str()));
        mean(some.map(|group| percent_over(group.bypassing.miss_rate(), group.dynamic.miss_rate())))
    }

    /// Computes our figure for a published value and adds the comparison to the output.
    fn grade(&self, value: &Value<Selector>, output: &mut StudyOutput) {
        let gain = |run: fn(&Group) -> &RunResult| self.headline(&|group| Some(group.gain(run(group))));
        let used = |part: usize| self.headline(&|group| Some(self.utilisation(group)[part]));
        match value.of.quantity {
            Quantity::Static => drop(output.graded(value, &gain(|group| &group.first))),
            Quantity::Dynamic => drop(output.graded(value, &gain(|group| &group.dynamic))),
            Quantity::Bypassing | Quantity::Pools => drop(output.graded(value, &gain(|group| &group.bypassing))),
            Quantity::SmartEven => drop(output.graded(value, &gain(|group| &group.smart_even))),
            Quantity::Smc => {
                let smc = |group: &Group| group.smc.as_ref().map(|run| group.gain(run));
                output.graded(value, &self.headline(&smc));
            }
            Quantity::Energy => drop(output.graded(value, &self.headline(&|group| Some(group.energy(&group.bypassing))))),
            Quantity::MemoryStalls => {
                let change = |group: &Group| percent_over(group.bypassing.memory_stalls as f64, group.left_over.memory_stalls as f64);
                output.graded(value, &self.headline(&|group| Some(change(group))));
            }
            Quantity::StructuralStalls => {
                let change =
                    |group: &Group| percent_over(group.bypassing.structural_stalls as f64, group.left_over.structural_stalls as f64);
                output.graded(value, &self.headline(&|group| Some(change(group))));
            }
            Quantity::Types => {
                let right = self.profiles.iter().filter(|one| one.kind() == kernel_at(one.kernel).kind).count();
                output.graded_number(value, Some(100.0 * right as f64 / self.profiles.len().max(1) as f64), "");
            }
            Quantity::Choices => {
                let right = |group: &Group| group.published().is_some_and(|pair| group.first.chosen == pair.ctas);
                output.graded_number(value, self.share(right), "");
            }
            Quantity::Threads => drop(output.graded(value, &used(0))),
            Quantity::Shared => drop(output.graded(value, &used(1))),
            Quantity::Registers => drop(output.graded(value, &used(2))),
            Quantity::BypassingMisses => drop(output.graded_number(value, self.bypassing_misses(), "")),
            Quantity::BeatsSpatial => {
                let spatial = |group: &Group| group.smc.iter().chain([&group.smart_even]).map(|run| run.cycles).min().unwrap_or(0);
                output.graded_number(value, self.share(|group| group.bypassing.cycles <= spatial(group)), "");
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
pub(super) fn show_pairs(output: &mut StudyOutput, results: &Results) {
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
        let gain = |run: &RunResult| format!("{:+.1}", group.gain(run));
        output.row(vec![
            group_name(&group.members),
            format_ctas(&group.first.chosen),
            group.published().map_or_else(String::new, |pair| format_ctas(&pair.ctas)),
            group.left_over.cycles.to_string(),
            gain(&group.first),
            gain(&group.dynamic),
            gain(&group.bypassing),
            gain(&group.smart_even),
            group.smc.as_ref().map_or_else(String::new, gain),
            format!("{:+.1}", group.energy(&group.bypassing)),
        ]);
    }
    show_signals(output, results);
    show_profiles(output, results);
    results.grade_all(false, output);
    bars(output, results);
}

/// Adds the table of counters of the pairs.
fn show_signals(output: &mut StudyOutput, results: &Results) {
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
        let (before, after) = (&group.left_over, &group.bypassing);
        let misses = |run: &RunResult| format!("{:.1}", 100.0 * run.miss_rate());
        let change = |after: u64, before: u64| format!("{:+.1}", percent_over(after as f64, before as f64));
        vec![
            group_name(&group.members),
            format_percents(results.utilisation(group)),
            group.published().map_or_else(String::new, |pair| format_percents(pair.utilisation)),
            misses(before),
            misses(&group.dynamic),
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
    let (kernel, best) = (kernel_at(one.kernel), one.best());
    let cycles: Vec<String> = one.runs.iter().map(|run| run.cycles.to_string()).collect();
    vec![
        kernel.name.clone(),
        one.opt().to_string(),
        kernel.opt.to_string(),
        one.occupancy.most.to_string(),
        kernel.most.to_string(),
        one.kind().name().into(),
        kernel.kind.name().into(),
        format_percents(one.occupancy.each.map(|each| each * f64::from(one.opt()))),
        format_percents(kernel.utilisation),
        cycles.join(" "),
        format!("{:.1}", 100.0 * best.sp),
        format!("{:.1}", 100.0 * best.ldst),
        format!("{:.1}", 100.0 * best.miss_rate()),
        one.occupancy.ctas.to_string(),
    ]
}

/// Adds the profiles of the kernels next to the published ones (Table III).
fn show_profiles(output: &mut StudyOutput, results: &Results) {
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
pub(super) fn show_pools(output: &mut StudyOutput, results: &Results) {
    output.columns(&["pool", "LeftOver", "static %", "dynamic %", "bypassing %", "Smart-Even %", "per joule %"]);
    for group in &results.groups {
        let gain = |run: &RunResult| format!("{:+.1}", group.gain(run));
        output.row(vec![
            group_name(&group.members),
            group.left_over.cycles.to_string(),
            gain(&group.first),
            gain(&group.dynamic),
            gain(&group.bypassing),
            gain(&group.smart_even),
            format!("{:+.1}", group.energy(&group.bypassing)),
        ]);
    }
    show_profiles(output, results);
    results.grade_all(true, output);
}

/// Adds the table of the exhaustive search.
pub(super) fn show_exhaustive(output: &mut StudyOutput, results: &Results) {
    output.columns(&["pair", "static", "best", "of", "static %", "best %"]);
    for group in &results.groups {
        let Some((ctas, best)) = group.best() else { continue };
        output.row(vec![
            group_name(&group.members),
            format_ctas(&group.first.chosen),
            format_ctas(ctas),
            group.fixed.len().to_string(),
            format!("{:+.1}", group.gain(&group.first)),
            format!("{:+.1}", group.gain(best)),
        ]);
    }
    let best = mean(results.groups.iter().filter_map(|group| group.best().map(|(_, run)| group.gain(run))));
    let first = mean(results.groups.iter().map(|group| group.gain(&group.first)));
    best.into_iter().for_each(|best| output.figure("best fixed numbers of CTAs, speedup over LeftOver, mean, %", best));
    first.into_iter().for_each(|first| output.figure("static TLP modulation, speedup over LeftOver, mean, %", first));
    show_profiles(output, results);
}

fn bars(output: &mut StudyOutput, results: &Results) {
    let values = |group: &Group| {
        let smc = group.smc.as_ref().map_or(0.0, |run| group.gain(run));
        [&group.first, &group.dynamic, &group.bypassing, &group.smart_even].map(|run| group.gain(run)).into_iter().chain([smc]).collect()
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
