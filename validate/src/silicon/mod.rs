//! `study silicon`: launches of the suite's programs on machine `h100`, compared with a real H100.
//!
//! The inputs are Nsight Compute's cycles and counters (`validate/reference/h100`) of launches of the suite and of Triton kernels
//! (`triton/..`), which only run alone. Two comparisons use active cycles at the clock of each measurement. *Cold* compares each launch
//! alone with empty caches. *Sequence* compares launches 1 and later of a run of all launches; its measured cycles are the elapsed cycles
//! minus the machine's launch latency. Launch 0 of a sequence starts with data from the host's copies in the caches, so it is not compared.
//! Launches of at least [`classes::LONG_LAUNCH_CYCLES`] cycles make up the headline; shorter ones are compared in cycles. No parameter is fitted to a
//! program.

mod classes;
mod measured;
mod stored;
mod timing;

use std::collections::BTreeMap;

use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{error_percent, log_correlation, mean, median};
use warpshard_lab::verdict::magnitude_headline;
use warpshard_report::nsight::{STALL_METRICS, StallMetric, WARP_STATE_METRICS, WarpStateMetric};
use warpshard_report::plot::{Plot, PlotForm, Series};

use classes::{LONG_LAUNCH_CYCLES, LaunchClass, Spread};
pub use stored::measurements;

use measured::{ColdLaunch, DEFAULT_SIZES_NAME, SequenceLaunch, SiliconRows};
use timing::{ProgramResults, SiliconTiming, SimulatedLaunch};

/// Default machine of the study.
const DEFAULT_MACHINE: &str = "h100";
/// Largest difference of executed instructions, in percent, before a launch counts as a failure.
const MAX_INSTRUCTION_DIFFERENCE_PERCENT: f64 = 2.0;

/// A launch that ran alone: measurement, class and our result.
struct ComparedLaunch<'a> {
    measured: &'a ColdLaunch,
    class: LaunchClass,
    ours: SimulatedLaunch,
}

/// A launch of a sequence: measurement, class and active cycles.
struct SequenceCycles<'a> {
    measured: &'a SequenceLaunch,
    class: LaunchClass,
    /// Active cycles: measured and ours.
    cycles: (u64, u64),
}

/// A launch: class, name, and active cycles (measured, ours).
type NamedCycles = (LaunchClass, String, (u64, u64));

/// Runs the measured launches and compares them.
///
/// # Errors
/// Fails if the measurements cannot be read, the request matches none of them, or a program does not run.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let rows = SiliconRows::read(&request.references).map_err(StudyError::reference)?;
    let machine = request.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
    let timings = program_timings(&rows, request, machine).map_err(StudyError::reference)?;
    if timings.is_empty() {
        return Err(StudyError::Nothing(format!("no measured program matches `{}`", request.only.as_deref().unwrap_or_default())));
    }
    let taken = request.lab().run_tasks(&timings).map_err(StudyError::input)?;
    let overhead = launch_overhead(request, machine)?;
    let mut output = StudyOutput::new("silicon", format!("launches of programs on {machine}, compared with an H100"));
    for (timing, taken) in timings.iter().zip(&taken) {
        if let Some(refused) = &taken.refused {
            output.note(format!(
                "{} ({}) is skipped, since the simulator refuses it: {}",
                timing.program,
                timing.set,
                refused.replace('\n', "; ")
            ));
        }
    }
    let (cold, sequence) = compare_launches(&rows, &timings, taken, overhead)?;
    add_results(&mut output, &cold, &sequence);
    Ok(output)
}

/// Recomputes the stored row of a launch with empty caches.
#[cfg(test)]
pub(super) fn recompute_row(row: &[&str]) -> String {
    let program = row[1].split(' ').next().unwrap_or_default();
    let request = Request { only: Some(program.to_owned()), quick: true, ..Request::default() };
    let files = study(&request).and_then(|output| output.files().map_err(StudyError::input)).unwrap_or_else(|error| panic!("{error}"));
    let launches = files.iter().find(|file| file.name == "launches.csv").map(|file| String::from_utf8_lossy(&file.contents()).into_owned());
    let start = row[..2].join(",") + ",";
    launches.unwrap_or_default().lines().find(|line| line.starts_with(&start)).unwrap_or_default().to_owned()
}

/// Returns the machine's launch latency: the cycles that elapsed time has in addition to active time.
fn launch_overhead(request: &Request, machine: &str) -> Result<u64, StudyError> {
    let overrides: Vec<_> = request.set.iter().map(|(key, value)| warpshard_config::Override::new(key, value)).collect();
    Ok(request.catalogue.machine(machine, &overrides).map_err(StudyError::input)?.machine.gpu.dispatch.launch_latency)
}

/// Returns the runs of each measured pair of program and set of sizes that the request selects.
fn program_timings<'a>(rows: &SiliconRows, request: &'a Request, machine: &'a str) -> Result<Vec<SiliconTiming<'a>>, String> {
    let mut wanted: BTreeMap<(&str, &str), SiliconTiming<'a>> = BTreeMap::new();
    let measured = rows.cold.iter().map(|row| (&row.program, &row.set)).chain(rows.sequence.iter().map(|row| (&row.program, &row.set)));
    for (program, set) in measured {
        if !request.includes(program)
            || request.quick && set != DEFAULT_SIZES_NAME
            || wanted.contains_key(&(program.as_str(), set.as_str()))
        {
            continue;
        }
        let parameters = rows.size_parameters(program, set).ok_or_else(|| format!("h100/sizes.toml has no sizes `{set}` of {program}"))?;
        let own = rows.cold.iter().filter(|row| row.program == *program && row.set == *set);
        let mut alone: Vec<(u64, f64)> = own.map(|row| (row.launch, row.clock)).collect();
        alone.sort_by_key(|(launch, _)| *launch);
        alone.dedup_by_key(|(launch, _)| *launch);
        let own: Vec<&SequenceLaunch> = rows.sequence.iter().filter(|row| row.program == *program && row.set == *set).collect();
        let clocks: Vec<f64> = own.iter().map(|row| row.elapsed as f64 / row.nanoseconds * 1e9).collect();
        let last = own.iter().map(|row| row.launch).max().filter(|last| *last > 0 && !request.quick);
        let until = last.zip(median(&clocks));
        let timing = SiliconTiming {
            program: program.clone(),
            set: set.clone(),
            parameters,
            alone,
            until,
            catalogue: request.catalogue,
            machine,
            overrides: &request.set,
        };
        wanted.insert((program, set), timing);
    }
    Ok(wanted.into_values().collect())
}

/// Pairs our results with the measurements, launch by launch.
fn compare_launches<'a>(
    rows: &'a SiliconRows,
    timings: &[SiliconTiming<'_>],
    taken: Vec<ProgramResults>,
    overhead: u64,
) -> Result<(Vec<ComparedLaunch<'a>>, Vec<SequenceCycles<'a>>), StudyError> {
    let (mut cold, mut sequence) = (Vec::new(), Vec::new());
    for (timing, taken) in timings.iter().zip(taken) {
        let SiliconTiming { program, set, .. } = timing;
        let own = |row: &&ColdLaunch| row.program == *program && row.set == *set;
        for ((launch, _), ours) in timing.alone.iter().zip(taken.alone) {
            let Some(measured) = rows.cold.iter().filter(own).find(|row| row.launch == *launch) else { continue };
            cold.push(ComparedLaunch { measured, class: LaunchClass::from_utilisation(measured), ours });
        }
        for measured in rows.sequence.iter().filter(|row| row.program == *program && row.set == *set && row.launch > 0) {
            let Some((_, ours)) = taken.sequence.get(measured.launch as usize) else { continue };
            let active = measured.elapsed.saturating_sub(overhead);
            let same = rows.cold.iter().filter(own).find(|row| row.kernel == measured.kernel);
            // The counters come from another launch of the same kernel, which may be a short one.
            let class =
                if active < LONG_LAUNCH_CYCLES { LaunchClass::Short } else { same.map_or(LaunchClass::Latency, LaunchClass::of_long) };
            sequence.push(SequenceCycles { measured, class, cycles: (active, *ours) });
        }
    }
    Ok((cold, sequence))
}

fn add_results(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>], sequence: &[SequenceCycles<'_>]) {
    let of_cold: Vec<NamedCycles> = cold
        .iter()
        .map(|row| (row.class, name(&row.measured.program, &row.measured.set, row.measured.launch), (row.measured.active, row.ours.active)))
        .collect();
    let of_sequence: Vec<NamedCycles> =
        sequence.iter().map(|row| (row.class, name(&row.measured.program, &row.measured.set, row.measured.launch), row.cycles)).collect();
    add_class_table(output, &[("cold", &of_cold), ("sequence", &of_sequence)]);
    add_resource_table(output, cold);
    add_stall_table(output, cold);
    add_state_table(output, cold);
    add_instruction_table(output, cold);
    add_memory_split_table(output, cold);
    add_launch_file(output, cold, &of_sequence);
    for (what, rows) in [("cold", &of_cold), ("sequence", &of_sequence)] {
        let long: Vec<f64> =
            rows.iter().filter(|row| row.2.0 >= LONG_LAUNCH_CYCLES).filter_map(|row| error_percent(row.2.1, row.2.0)).collect();
        if !long.is_empty() {
            output.headline(
                &format!("{what}: mean absolute error of launches of {LONG_LAUNCH_CYCLES} cycles and more, %"),
                &magnitude_headline(&long, None),
            );
        }
        let short = rows.iter().filter(|row| row.2.0 < LONG_LAUNCH_CYCLES).map(|row| row.2.1.abs_diff(row.2.0) as f64).collect::<Vec<_>>();
        if let Some(median) = median(&short) {
            output.figure(&format!("{what}: median error of shorter launches, cycles"), median);
        }
    }
    let points: Vec<(f64, f64)> = of_cold.iter().map(|row| (row.2.0 as f64, row.2.1 as f64)).collect();
    if let Some(correlation) = log_correlation(&points) {
        output.figure("cold: correlation of the logarithms", correlation);
    }
    let series = LaunchClass::ALL.into_iter().map(|class| {
        let own = of_cold.iter().filter(|row| row.0 == class).map(|row| (row.2.0 as f64, row.2.1 as f64));
        Series { name: class.name().into(), points: own.collect() }
    });
    output.scatter(Plot {
        title: "Active cycles of launches from empty caches".into(),
        x: "measured, cycles".into(),
        y: "warpshard, cycles".into(),
        form: PlotForm::Scatter,
        series: series.filter(|series| !series.points.is_empty()).collect(),
    });
    output.note(format!(
        "errors are of active cycles; a launch of at least {LONG_LAUNCH_CYCLES} is in the headline, others are in class `short`"
    ));
    output.note("a launch has the class of the resource that its measured counters show at half of the peak or more: DRAM, LLC, or schedulers and tensor pipe (compute); its class is latency if there is none".into());
}

fn name(program: &str, set: &str, launch: u64) -> String {
    format!("{program} {set} {launch}")
}

/// Adds the first table: errors by class.
fn add_class_table(output: &mut StudyOutput, comparisons: &[(&str, &[NamedCycles])]) {
    output.columns(&[
        "launches",
        "class",
        "number",
        "mean %",
        "mean abs %",
        "median abs %",
        "P90 %",
        "worst %",
        "worst launch",
        "median abs cycles",
    ]);
    for (what, rows) in comparisons {
        // The last group is the headline: all long launches.
        for group in LaunchClass::ALL.into_iter().map(Some).chain([None]) {
            let of = |class: LaunchClass| group.map_or(class != LaunchClass::Short, |group| group == class);
            let own: Vec<(&str, u64, u64)> = rows.iter().filter(|row| of(row.0)).map(|row| (row.1.as_str(), row.2.0, row.2.1)).collect();
            let Some(spread) = Spread::from_launches(&own) else { continue };
            let class = group.map_or("all but short", LaunchClass::name);
            let mut cells = vec![(*what).to_owned(), class.to_owned(), own.len().to_string()];
            cells.extend(spread.spread_cells());
            output.row(cells);
        }
    }
}

/// Adds the table of traffic and occupancy: ratios of sums over the launches of a class.
fn add_resource_table(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>]) {
    /// Minimum DRAM bytes of a launch. Below this value, the front end and the preceding copies dominate DRAM's counters.
    const MIN_DRAM_BYTES: u64 = 4 << 20;
    let header = ["class", "instructions", "LLC sectors", "DRAM bytes", "resident warps", "our resident warps"];
    let rows = LaunchClass::ALL.into_iter().filter_map(|class| {
        let own: Vec<&ComparedLaunch<'_>> = cold.iter().filter(|row| row.class == class).collect();
        let ratio = |of: &dyn Fn(&ComparedLaunch<'_>) -> (u64, u64)| {
            let (measured, ours) = own.iter().map(|row| of(row)).fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
            if measured == 0 { "-".to_owned() } else { format!("{:.3}", ours as f64 / measured as f64) }
        };
        (!own.is_empty()).then(|| {
            let dram = |row: &ComparedLaunch<'_>| {
                if row.measured.dram_bytes < MIN_DRAM_BYTES { (0, 0) } else { (row.measured.dram_bytes, row.ours.dram_bytes) }
            };
            vec![
                class.name().to_owned(),
                ratio(&|row| (row.measured.instructions, row.ours.instructions)),
                ratio(&|row| (row.measured.llc_sectors, row.ours.llc_sectors)),
                ratio(&dram),
                format!("{:.1}", mean(own.iter().map(|row| row.measured.warps * 4.0)).unwrap_or_default()),
                format!("{:.1}", mean(own.iter().map(|row| row.ours.warps)).unwrap_or_default()),
            ]
        })
    });
    output.section("Ours to measured, ratios of sums", "resources.csv", header.map(str::to_owned).into(), rows.collect());
}

/// Adds the table of stall reasons of warps and schedulers.
fn add_stall_table(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>]) {
    let mut rows = Vec::new();
    for class in LaunchClass::ALL {
        let own: Vec<&ComparedLaunch<'_>> = cold.iter().filter(|row| row.class == class).collect();
        if own.is_empty() {
            continue;
        }
        for StallMetric { nsight, ours, .. } in STALL_METRICS {
            let share = |row: &&ComparedLaunch<'_>| {
                let all: f64 = row.measured.stalls.values().sum();
                let part: f64 = nsight.iter().filter_map(|name| row.measured.stalls.get(*name)).sum();
                (all > 0.0).then(|| 100.0 * part / all)
            };
            let our_share = |row: &&ComparedLaunch<'_>| {
                let busy = row.ours.schedulers.iter().filter(|(name, _)| name != "stall_no_warps");
                let all: u64 = busy.map(|(_, cycles)| cycles).sum();
                let part: u64 =
                    row.ours.schedulers.iter().filter(|(name, _)| ours.contains(&name.as_str())).map(|(_, cycles)| cycles).sum();
                (all > 0).then(|| 100.0 * part as f64 / all as f64)
            };
            let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
            rows.push(vec![
                class.name().to_owned(),
                nsight.join(" + "),
                ours.join(" + "),
                cell(mean(own.iter().filter_map(share))),
                cell(mean(own.iter().filter_map(our_share))),
            ]);
        }
    }
    let header = ["class", "Nsight's reasons", "ours", "measured, % of warp cycles", "ours, % of scheduler cycles"];
    output.section("Stall reasons", "stalls.csv", header.map(str::to_owned).into(), rows);
}

/// Adds the table of warp cycles per instruction by state: sums over the launches of a class.
fn add_state_table(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>]) {
    let mut rows = Vec::new();
    for class in LaunchClass::ALL {
        let own: Vec<&ComparedLaunch<'_>> = cold.iter().filter(|row| row.class == class && !row.ours.states.is_empty()).collect();
        let (measured_all, ours_all) =
            own.iter().fold((0, 0), |(measured, ours), row| (measured + row.measured.instructions, ours + row.ours.instructions));
        for WarpStateMetric { nsight, ours, .. } in WARP_STATE_METRICS.iter().filter(|_| measured_all > 0 && ours_all > 0) {
            let ours: Option<u64> =
                own.iter().map(|row| row.ours.states.iter().find(|(counter, _)| counter == ours).map(|(_, cycles)| cycles)).sum();
            // Nsight's ratio is per issue-active cycle, and each instruction takes one such cycle.
            let measured: Option<f64> =
                own.iter().map(|row| Some(row.measured.stalls.get(*nsight)? * row.measured.instructions as f64)).sum();
            let (measured, ours) =
                (measured.map(|cycles| cycles / measured_all as f64), ours.map(|cycles| cycles as f64 / ours_all as f64));
            let cell = |value: Option<f64>, digits: usize| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"));
            let ratio = measured.zip(ours).filter(|(measured, _)| *measured > 0.0).map(|(measured, ours)| ours / measured);
            rows.push(vec![class.name().to_owned(), (*nsight).to_owned(), cell(measured, 2), cell(ours, 2), cell(ratio, 2)]);
        }
    }
    if !rows.is_empty() {
        let header = ["class", "state", "measured, warp cycles per instruction", "ours", "ours / measured"];
        output.section("Warp states, in Nsight's names", "states.csv", header.map(str::to_owned).into(), rows);
    }
}

/// Adds the table of launches whose executed instructions differ from the hardware's.
fn add_instruction_table(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>]) {
    let differ = cold.iter().filter(|row| row.measured.instructions != row.ours.instructions);
    let rows: Vec<Vec<String>> = differ
        .map(|row| {
            let error = error_percent(row.ours.instructions, row.measured.instructions).unwrap_or_default();
            let verdict = if error.abs() > MAX_INSTRUCTION_DIFFERENCE_PERCENT { "fails" } else { "within the bound" };
            let name = name(&row.measured.program, &row.measured.set, row.measured.launch);
            vec![
                name,
                row.measured.kernel.clone(),
                row.measured.instructions.to_string(),
                row.ours.instructions.to_string(),
                format!("{error:+.3}"),
                verdict.into(),
            ]
        })
        .collect();
    let fails = rows.iter().filter(|row| row.last().is_some_and(|verdict| verdict == "fails")).count();
    output.figure("launches whose warp instructions are the hardware's", (cold.len() - rows.len()) as f64);
    output.figure("launches whose warp instructions differ", rows.len() as f64);
    output.figure(&format!("of these by more than {MAX_INSTRUCTION_DIFFERENCE_PERCENT} %"), fails as f64);
    if !rows.is_empty() {
        let header = ["launch", "kernel", "measured", "ours", "error %", "verdict"];
        output.section("Warp instructions that differ", "instructions.csv", header.map(str::to_owned).into(), rows);
    }
}

/// Adds the table of the split of an SM's memory.
fn add_memory_split_table(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>]) {
    let differ: Vec<&ComparedLaunch<'_>> = cold.iter().filter(|row| row.measured.shared_bytes != row.ours.shared_bytes).collect();
    output.figure("launches with the hardware's division of L1 and shared memory", (cold.len() - differ.len()) as f64);
    for row in differ {
        let ComparedLaunch { measured, ours, .. } = row;
        let name = name(&measured.program, &measured.set, measured.launch);
        output
            .note(format!("{name} ({}): {} B of shared memory, measured {} B", measured.kernel, ours.shared_bytes, measured.shared_bytes));
    }
}

/// Adds the file with every launch.
fn add_launch_file(output: &mut StudyOutput, cold: &[ComparedLaunch<'_>], sequence: &[NamedCycles]) {
    let noise = |row: &ComparedLaunch<'_>| {
        let same = cold.iter().filter(|other| {
            let (a, b) = (other.measured, row.measured);
            (&a.program, &a.set, &a.kernel, a.instructions) == (&b.program, &b.set, &b.kernel, b.instructions)
        });
        let cycles: Vec<u64> = same.map(|other| other.measured.active).collect();
        let (least, most) = (cycles.iter().min(), cycles.iter().max());
        least.zip(most).filter(|_| cycles.len() > 1).and_then(|(least, most)| error_percent(*most, *least))
    };
    let error = |ours, measured| format!("{:+.2}", error_percent(ours, measured).unwrap_or_default());
    let rows = cold.iter().map(|row| {
        let ComparedLaunch { measured, class, ours } = row;
        vec![
            "cold".into(),
            name(&measured.program, &measured.set, measured.launch),
            ours.kernel.clone(),
            class.name().into(),
            measured.active.to_string(),
            ours.active.to_string(),
            error(ours.active, measured.active),
            noise(row).map_or_else(|| "-".into(), |noise| format!("{noise:.2}")),
            measured.llc_sectors.to_string(),
            ours.llc_sectors.to_string(),
            measured.dram_bytes.to_string(),
            ours.dram_bytes.to_string(),
            format!("{:.1}", measured.tensor),
            format!("{:.1}", ours.tensor),
        ]
    });
    let later = sequence.iter().map(|(class, name, (measured, ours))| {
        let mut cells = vec!["sequence".into(), name.clone(), String::new(), class.name().into(), measured.to_string(), ours.to_string()];
        cells.push(error(*ours, *measured));
        cells.resize(14, String::new());
        cells
    });
    let header = [
        "comparison",
        "launch",
        "kernel",
        "class",
        "measured cycles",
        "our cycles",
        "error %",
        "spread of identical launches %",
        "measured LLC sectors",
        "our LLC sectors",
        "measured DRAM bytes",
        "our DRAM bytes",
        "measured tensor pipe %",
        "our tensor pipe %",
    ];
    output.table("launches.csv", &header, rows.chain(later).collect());
}

#[cfg(test)]
mod tests;
