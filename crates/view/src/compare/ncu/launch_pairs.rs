//! Comparison of the launches of a run with the launches of a profile.

use serde::Serialize;
use serde_json::{Value, json};

use warpshard_report::nsight::{ADDITIONAL_WARP_STATE_METRICS, STALL_METRICS, StallMetric, WARP_STATE_METRICS, WarpStateMetric};
use warpshard_report::text::{Align, Style, Table, UNKNOWN, clip, count, demangled, format_known, printable};

use super::super::super::RunFolder;
use super::super::super::folder::at;
use super::table::{Profile, ProfiledLaunch};

/// Bytes of a sector, the unit in which a launch's counters count DRAM traffic.
const SECTOR_BYTES: f64 = 32.0;

/// A measured and a simulated metric of a launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricPair {
    /// Nsight Compute's name of the metric, or several names whose values are added.
    pub metric: &'static str,
    /// The measured value; `None` if the profile lacks the metric.
    pub measured: Option<f64>,
    /// The simulated value; `None` if the run lacks the metric.
    pub ours: Option<f64>,
    /// True for a share in percent, whose error is a difference.
    pub share: bool,
}

impl MetricPair {
    /// Returns the error of the simulated value in percent: relative to the measured value, or the difference of two shares.
    pub fn error(&self) -> Option<f64> {
        let (measured, ours) = (self.measured?, self.ours?);
        match self.share {
            true => Some(ours - measured),
            false if measured != 0.0 => Some((ours / measured - 1.0) * 100.0),
            false => None,
        }
    }
}

/// A launch of both the run and the profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedLaunch {
    /// The number of the launch in the run.
    pub number: usize,
    /// Name of the kernel.
    pub kernel: String,
    /// The line of the launch in the profile.
    pub line: u64,
    /// The compared metrics.
    pub metrics: Vec<MetricPair>,
}

/// A comparison of a run with a profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchComparison {
    /// Path of the result folder.
    pub run: String,
    /// Path of the profile.
    pub profile: String,
    /// Launches of both the run and the profile.
    pub launches: Vec<MatchedLaunch>,
    /// Launches of the profile that the run lacks, or that are duplicates, each with its line.
    pub only_measured: Vec<String>,
    /// Number of the run's launches that were not profiled.
    pub only_ours: usize,
}

/// Returns the name of a kernel without template arguments and parameters.
fn base_name(name: &str) -> String {
    let plain = demangled(name);
    let plain = plain.strip_prefix("void ").unwrap_or(&plain);
    let end = plain.find(['<', '(']).unwrap_or(plain.len());
    plain[..end].trim().rsplit("::").next().unwrap_or_default().to_owned()
}

impl LaunchComparison {
    /// Compares the launches of a run with the launches of a profile. A profiled launch with a number matches the run's launch with this
    /// number; other launches are matched in order, by the kernel's name.
    pub fn of(run: &RunFolder, profile: &Profile) -> Self {
        let kernels = run.stats.kernels();
        let names: Vec<String> =
            kernels.iter().map(|kernel| base_name(kernel.get("name").and_then(Value::as_str).unwrap_or_default())).collect();
        let (mut launches, mut only_measured, mut next) = (Vec::new(), Vec::new(), 0);
        for profiled in &profile.launches {
            let wanted = base_name(&profiled.kernel);
            let found = match profiled.launch {
                Some(number) => (names.get(number) == Some(&wanted)).then_some(number),
                None => (next..names.len()).find(|number| names[*number] == wanted),
            };
            match found {
                Some(number) if launches.iter().any(|launch: &MatchedLaunch| launch.number == number) => {
                    only_measured.push(format!("{wanted} (line {}, launch {number} once more)", profiled.line));
                }
                Some(number) => {
                    next = number + 1;
                    let metrics = pairs(run, &kernels[number], profiled);
                    launches.push(MatchedLaunch { number, kernel: wanted, line: profiled.line, metrics });
                }
                None => only_measured.push(format!("{wanted} (line {})", profiled.line)),
            }
        }
        let only_ours = kernels.len().saturating_sub(launches.len());
        Self { run: run.path.display().to_string(), profile: profile.name.clone(), launches, only_measured, only_ours }
    }

    /// Returns the comparison as a JSON value.
    pub fn json(&self) -> Value {
        json!(self)
    }

    /// Formats the comparison as text: a table for each launch, or for many launches a table with their sums.
    pub fn text(&self, all: bool, style: Style) -> String {
        let mut text = format!("{}\n{}\n", style.title(&printable(&self.run)), clip(&printable(&self.profile), style.width()));
        let shown = if all { self.launches.len() } else { self.launches.len().min(MAX_LAUNCHES) };
        if self.launches.len() > 1 {
            let title = format!("\n{} launches together\n", self.launches.len());
            text += &(style.title(&title) + &table(&self.sums(), all).render(style));
        }
        for launch in &self.launches[..shown] {
            let title = format!("\nlaunch {}: {}\n", launch.number, printable(&launch.kernel));
            text += &(style.title(&title) + &table(&launch.metrics, all).render(style));
        }
        if shown < self.launches.len() {
            text += &format!("\n{} more launches; --all shows them\n", self.launches.len() - shown);
        }
        if !self.only_measured.is_empty() {
            let some: Vec<_> = self.only_measured.iter().take(MAX_LAUNCHES).map(|name| printable(name).into_owned()).collect();
            text += &format!("\nmeasured and not compared: {} launches: {}\n", self.only_measured.len(), some.join(", "));
        }
        if self.only_ours > 0 {
            text += &format!("\nin the run and not measured: {} launches\n", self.only_ours);
        }
        text
    }

    /// Returns the metrics summed over all launches, if all launches have both values; shares are not summed.
    fn sums(&self) -> Vec<MetricPair> {
        let Some(first) = self.launches.first() else { return Vec::new() };
        let sum = |(i, pair): (usize, &MetricPair)| {
            let whole = |number: &dyn Fn(&MetricPair) -> Option<f64>| self.launches.iter().map(|launch| number(&launch.metrics[i])).sum();
            (!pair.share).then(|| MetricPair { measured: whole(&|pair| pair.measured), ours: whole(&|pair| pair.ours), ..pair.clone() })
        };
        first.metrics.iter().enumerate().filter_map(sum).collect()
    }
}

/// Maximum number of launches and names that are shown by default.
const MAX_LAUNCHES: usize = 12;

fn table(pairs: &[MetricPair], all: bool) -> Table {
    let mut table = Table::new(&[("metric", Align::Left), ("measured", Align::Right), ("ours", Align::Right), ("error", Align::Right)]);
    for pair in pairs.iter().filter(|pair| all || pair.measured.is_some() && pair.ours.is_some()) {
        let cell = |value| {
            format_known(value, |value: f64| match pair.share {
                true => format!("{value:.1} %"),
                false if value >= 0.0 && value.fract() == 0.0 => count(value as u64),
                false => format!("{value:.2}"),
            })
        };
        let error = pair.error().map_or_else(|| UNKNOWN.into(), |error| format!("{error:+.1} {}", if pair.share { "points" } else { "%" }));
        table.row(vec![pair.metric.into(), cell(pair.measured), cell(pair.ours), error]);
    }
    table
}

fn pairs(run: &RunFolder, kernel: &Value, profiled: &ProfiledLaunch) -> Vec<MetricPair> {
    let field = |name: &str| kernel.get(name).and_then(Value::as_f64);
    let counter = |name: &str| at(kernel, &["counters", name]).and_then(Value::as_f64);
    let counters = |names: &[&str]| names.iter().map(|name| counter(name)).sum::<Option<f64>>();
    let metric = |name: &str| profiled.metrics.get(name).copied();
    let metrics = |names: &[&str]| names.iter().map(|name| metric(name)).sum::<Option<f64>>();
    let active = field("ended").zip(field("started")).map(|(ended, started)| ended - started);
    let amount = |metric, measured, ours| MetricPair { metric, measured, ours, share: false };
    let mut pairs = vec![
        amount("sm__cycles_active.max", metric("sm__cycles_active.max"), active),
        amount(
            "gpc__cycles_elapsed.max",
            metric("gpc__cycles_elapsed.max"),
            active.zip(field("launch_latency_cycles")).map(|(active, launch)| active + launch),
        ),
        amount("smsp__inst_executed.sum", metric("smsp__inst_executed.sum"), field("warp_instructions")),
        amount("smsp__thread_inst_executed.sum", metric("smsp__thread_inst_executed.sum"), field("thread_instructions")),
        amount(
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum + _st.sum",
            metrics(&["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]),
            counter("memory_accesses"),
        ),
        amount(
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
            metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"),
            counters(&["l1_read_hits", "l1_read_pending_hits"]),
        ),
        amount(
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            metric("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
            counter("shared_conflict_cycles"),
        ),
        amount("lts__t_sectors_srcunit_tex.sum", metric("lts__t_sectors_srcunit_tex.sum"), counter("llc_accesses")),
        amount("lts__t_sectors_srcunit_tex_lookup_hit.sum", metric("lts__t_sectors_srcunit_tex_lookup_hit.sum"), counter("llc_hits")),
        amount("dram__bytes_read.sum", metric("dram__bytes_read.sum"), counter("dram_reads").map(|sectors| sectors * SECTOR_BYTES)),
        amount("dram__bytes_write.sum", metric("dram__bytes_write.sum"), counter("dram_writes").map(|sectors| sectors * SECTOR_BYTES)),
        amount("CTAs per SM: least of launch__occupancy_limit_*", ctas_per_sm(profiled), field("ctas_per_sm")),
        amount("smsp__warps_active.avg.per_cycle_active", metric("smsp__warps_active.avg.per_cycle_active"), warps_active(run)),
    ];
    let measured_stall = |reason: &str| metric(&format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"));
    let is_stall = |name: &str| name.starts_with("smsp__average_warps_issue_stalled_") && name.ends_with("_per_issue_active.ratio");
    let measured_all: f64 = profiled.metrics.iter().filter(|(name, _)| is_stall(name)).map(|(_, value)| value).sum();
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole * 100.0);
    let states: Vec<Option<f64>> = WARP_STATE_METRICS.iter().map(|state| counter(state.ours)).collect();
    if states.iter().any(Option::is_some) {
        // A core with control words counts the same states as Nsight Compute.
        let ours_all: f64 =
            states.iter().flatten().copied().chain(ADDITIONAL_WARP_STATE_METRICS.iter().filter_map(|state| counter(state.ours))).sum();
        for (WarpStateMetric { metric, nsight, .. }, ours) in WARP_STATE_METRICS.iter().zip(states) {
            let measured = measured_stall(nsight).and_then(|part| share(part, measured_all));
            pairs.push(MetricPair { metric, measured, ours: ours.and_then(|part| share(part, ours_all)), share: true });
        }
        return pairs;
    }
    let ours_all: f64 = STALL_METRICS.iter().flat_map(|stalls| stalls.ours).filter_map(|name| counter(name)).sum();
    for StallMetric { metric, nsight, ours } in STALL_METRICS {
        let measured: Vec<f64> = nsight.iter().filter_map(|reason| measured_stall(reason)).collect();
        let measured = if measured.is_empty() { None } else { share(measured.iter().sum(), measured_all) };
        let ours = counters(ours).and_then(|part| share(part, ours_all));
        pairs.push(MetricPair { metric, measured, ours, share: true });
    }
    pairs
}

/// Returns the number of the kernel's CTAs that fit an SM, from the limits in the profile.
fn ctas_per_sm(profiled: &ProfiledLaunch) -> Option<f64> {
    let limits = profiled.metrics.iter().filter(|(name, _)| name.starts_with("launch__occupancy_limit"));
    limits.map(|(_, limit)| *limit).reduce(f64::min)
}

/// Returns the mean warps per scheduler while its SM has resident warps, for a run with one launch: SMs count these warps over the whole
/// run.
fn warps_active(run: &RunFolder) -> Option<f64> {
    let total = |name: &str| run.stats.number(&["components", "sm", "total", name]).filter(|value| *value > 0.0);
    let schedulers = run.configuration.get("gpu")?.get("sm")?.get("schedulers")?.as_integer()?;
    (run.stats.kernels().len() == 1).then_some(())?;
    Some(total("resident_warp_cycles")? / total("active_cycles")? / schedulers as f64)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Stats;
    use super::*;

    fn run() -> RunFolder {
        let kernel = |name: &str, ended: u64, reads: u64| {
            json!({
                "name": name, "started": 100, "ended": ended, "launch_latency_cycles": 40, "ctas_per_sm": 4,
                "warp_instructions": 10, "thread_instructions": 320,
                "counters": { "memory_accesses": 64, "dram_reads": reads, "dram_writes": 0, "issued": 25, "stall_scoreboard_memory": 75 },
            })
        };
        let kernels = [kernel("_Z3addPfi", 1100, 10), kernel("scale", 600, 1), kernel("_Z3addPfi", 2100, 20)];
        RunFolder {
            path: "results/x".into(),
            stats: Stats(json!({ "kernels": kernels })),
            configuration: toml::from_str("[gpu.sm]\nschedulers = 4\n").unwrap(),
        }
    }

    fn comparison(text: &str) -> LaunchComparison {
        LaunchComparison::of(&run(), &Profile::parse("ncu.csv", text, &[]).unwrap())
    }

    #[test]
    fn launches_are_matched_by_name_in_order() {
        let text = "ID,Kernel Name,sm__cycles_active.max,gpc__cycles_elapsed.max,dram__bytes_read.sum,\
            smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_selected_per_issue_active.ratio,launch__occupancy_limit_warps,launch__occupancy_limit_blocks\n\
            0,\"add(float *, int)\",800,1040,320,1,1,8,4\n1,\"add(float *, int)\",1000,,640,,,,\n2,other,1,,,,,,\n";
        let comparison = comparison(text);
        assert_eq!(comparison.launches.iter().map(|launch| launch.number).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((comparison.only_measured.clone(), comparison.only_ours), (vec!["other (line 4)".to_owned()], 1));
        let find = |launch: usize, name: &str| comparison.launches[launch].metrics.iter().find(|pair| pair.metric == name).unwrap();
        assert_eq!(find(0, "sm__cycles_active.max").error(), Some(25.0));
        assert_eq!(find(0, "gpc__cycles_elapsed.max").error(), Some(0.0));
        assert_eq!((find(1, "dram__bytes_read.sum").measured, find(1, "dram__bytes_read.sum").ours), (Some(640.0), Some(640.0)));
        assert_eq!(find(0, "stall shares: long_scoreboard").error(), Some(25.0), "75 % and half");
        assert_eq!(find(0, "CTAs per SM: least of launch__occupancy_limit_*").error(), Some(0.0));
        let text = comparison.text(false, Style::Plain);
        assert!(text.contains("2 launches together") && text.contains("other (line 4)") && !text.contains("lts__"), "{text}");
        assert!(comparison.text(true, Style::Plain).contains("lts__t_sectors_srcunit_tex.sum"));
        assert_eq!(comparison.json()["launches"][0]["metrics"][0]["measured"], 800.0);
    }

    /// If a run counts Nsight Compute's warp states, the comparison uses these states instead of the scheduler cycles.
    #[test]
    fn warp_states_are_compared_by_nsight_names() {
        let mut run = run();
        let counters = json!({ "issued": 1, "warp_selected": 10, "warp_long_scoreboard": 60, "warp_gmma": 30 });
        run.stats.0["kernels"][1]["counters"] = counters;
        let text = "ID,Kernel Name,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_selected_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio\n0,scale,2.5,1,1.5\n";
        let comparison = LaunchComparison::of(&run, &Profile::parse("ncu.csv", text, &[]).unwrap());
        let find = |name: &str| comparison.launches[0].metrics.iter().find(|pair| pair.metric == name);
        assert_eq!(find("warp states: long_scoreboard").unwrap().error(), Some(10.0), "60 % and half");
        assert_eq!(find("warp states: selected").unwrap().error(), Some(-10.0));
        assert_eq!(find("warp states: imc_miss").map(|pair| (pair.measured, pair.ours)), Some((Some(30.0), None)));
        assert_eq!(find("warp states: gmma").map(|pair| (pair.measured, pair.ours)), Some((None, Some(30.0))));
        assert!(comparison.launches[0].metrics.iter().all(|pair| !pair.metric.starts_with("stall shares")));
    }

    #[test]
    fn a_numbered_launch_matches_only_its_number() {
        let text = "launch,Kernel Name,smsp__inst_executed.sum\n2,add,10\n1,add,10\n9,add,10\n2,add,11\n";
        let comparison = comparison(text);
        assert_eq!(comparison.launches.iter().map(|launch| launch.number).collect::<Vec<_>>(), [2]);
        assert_eq!(comparison.only_measured, ["add (line 3)", "add (line 4)", "add (line 5, launch 2 once more)"]);
        assert_eq!(["void ns::k<int>(float)", "_Z3addPfi", "k"].map(base_name), ["k", "add", "k"]);
    }
}
