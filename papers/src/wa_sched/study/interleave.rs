//! `study interleave`: a compute-bound and a memory-bound kernel on the same SMs, compared with Chapter 5 of the thesis on workload-aware
//! scheduling.
//!
//! Each pair of `programs/sharing/add.toml` and `stream.toml` runs alone, one after the other (left-over), and interleaved. The efficiency
//! is the speed-up of interleaving relative to the greatest possible speed-up, with which the shorter kernel takes no time. Cycles are
//! shown at the thesis's clock.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::machine::Sharing;
use warpshard_config::{Loaded, Machine, Override};
use warpshard_program::Program;
use warpshard_workload::{MixedApplication, mix};
use warpshard_report::bars::{BarGroup, Bars};
use warpshard_report::metrics::Totals;
use warpshard_lab::Task;
use warpshard_lab::published::{Claim, Published, read};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean, rank_correlation};
use warpshard_lab::output::{StudyError, StudyOutput};

/// Folder of the programs.
const PROGRAMS_FOLDER: &str = "programs/sharing";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    parameters: Parameters,
    row: Vec<PublishedRow>,
}

/// Parameters of the study, explained in its published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    machine: String,
    set: Vec<(String, String)>,
    clock_mhz: f64,
}

/// A row of Table 5.2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedRow {
    loops: u32,
    words: u32,
    alone: [f64; 2],
    sequential: f64,
    interleaved: f64,
}

impl PublishedRow {
    fn relative_efficiency(&self) -> f64 {
        relative_efficiency(self.alone, self.sequential, self.interleaved)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Quantity {
    Mean,
    Words,
    Loops,
    Bandwidth,
    Knee,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueSelector {
    quantity: Quantity,
}

fn published() -> &'static Published<StudySection, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudySection, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("interleave", include_str!("../published/interleave.toml")))
}

/// Returns the speed-up of interleaving over sequential execution, relative to the greatest possible speed-up.
fn relative_efficiency(alone: [f64; 2], sequential: f64, interleaved: f64) -> f64 {
    let most = sequential / alone[0].max(alone[1]);
    sequential / interleaved / most
}

/// A run of one or both programs.
struct ProgramPair<'a> {
    loops: Option<u32>,
    words: Option<u32>,
    sharing: Sharing,
    set: &'a [(String, String)],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct RunCounts {
    cycles: u64,
    dram_bursts: u64,
}

impl ProgramPair<'_> {
    fn machine(&self) -> Result<Loaded, TaskError> {
        let own = &published().own.parameters;
        let word = match self.sharing {
            Sharing::Interleaved => "interleaved",
            Sharing::LeftOver | Sharing::Spatial => "left-over",
        };
        let sharing = [("gpu.dispatch.sharing".to_owned(), word.to_owned())];
        let all: Vec<Override> = own.set.iter().chain(self.set).chain(&sharing).map(|(key, value)| Override::new(key, value)).collect();
        crate::machine(&own.machine, &all).map_err(TaskError::from)
    }

    /// Returns the programs with their parameters.
    fn programs(&self) -> Vec<(&'static str, &'static str, u32)> {
        let add = self.loops.map(|loops| ("add.toml", "loops", loops));
        add.into_iter().chain(self.words.map(|words| ("stream.toml", "words", words))).collect()
    }
}

impl fmt::Display for ProgramPair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.programs().iter().map(|(file, key, value)| format!("{file} {key}={value}")).collect();
        write!(f, "{} ({:?})", names.join(" + "), self.sharing)
    }
}

impl Task for ProgramPair<'_> {
    type Result = RunCounts;

    fn key(&self) -> Result<String, TaskError> {
        let read = |name: &str| {
            let path = Path::new(PROGRAMS_FOLDER).join(name);
            warpshard_config::input::read_text(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let files = ["add.toml", "stream.toml", "overlap.sm_70.sass"].map(read).into_iter().collect::<Result<String, String>>()?;
        Ok(format!("interleave {self} {} {:08x}", self.machine()?.provenance.to_toml(), crc32fast::hash(files.as_bytes())))
    }

    fn run(&self) -> Result<RunCounts, TaskError> {
        let machine = self.machine()?.machine;
        let part = |(file, key, value): &(&str, &str, u32)| -> Result<MixedApplication, TaskError> {
            let set = [((*key).to_owned(), value.to_string())];
            let program = Program::load(&Path::new(PROGRAMS_FOLDER).join(file), Some(70), &set)?;
            Ok(MixedApplication { workload: program.workload()?, priority: 0 })
        };
        let parts = self.programs().iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let workload = mix(parts, false)?;
        let outcome = simulate(&machine, &Arc::new(workload), RunOptions::default())?.outcome;
        let totals = Totals::of(&outcome.components);
        Ok(RunCounts { cycles: outcome.cycles, dram_bursts: totals.sum("dram", &["reads", "writes"]).unwrap_or(0) })
    }
}

/// Our values of a row of the table.
struct MeasuredRow {
    loops: u32,
    words: u32,
    alone: [f64; 2],
    sequential: f64,
    interleaved: f64,
    bandwidth: f64,
}

impl MeasuredRow {
    /// Evaluates the four runs of a row on a machine.
    fn evaluate(row: &PublishedRow, counts: &[RunCounts], machine: &Machine) -> Self {
        let scale = published().own.parameters.clock_mhz * 1e3 / machine.clocks.core.0 as f64;
        // DRAM cycles per core cycle; `peak` is the number of bursts per core cycle that all channels can transfer.
        let clocks = machine.clocks.dram.0 as f64 / machine.clocks.core.0 as f64;
        let peak = f64::from(machine.mem.map.partitions) * machine.mem.dram.burst().1 * clocks;
        let cycles = |i: usize| counts[i].cycles as f64 * scale;
        Self {
            loops: row.loops,
            words: row.words,
            alone: [cycles(0), cycles(1)],
            sequential: cycles(2),
            interleaved: cycles(3),
            bandwidth: 100.0 * counts[1].dram_bursts as f64 / (counts[1].cycles as f64 * peak),
        }
    }

    /// Returns the cells of a row, ours next to the published values.
    fn cells(&self, row: &PublishedRow) -> Vec<String> {
        let pairs = [
            (self.alone[0], row.alone[0]),
            (self.alone[1], row.alone[1]),
            (self.sequential, row.sequential),
            (self.interleaved, row.interleaved),
        ];
        let mut cells = vec![format!("add {} + stream {}", row.loops, row.words)];
        cells.extend(pairs.iter().flat_map(|(ours, theirs)| [format!("{ours:.0}"), format!("{theirs:.0}")]));
        cells.extend([format!("{:.3}", self.relative_efficiency()), format!("{:.3}", row.relative_efficiency())]);
        cells
    }

    fn relative_efficiency(&self) -> f64 {
        relative_efficiency(self.alone, self.sequential, self.interleaved)
    }
}

/// Returns the runs of a row: each program alone, one after the other, and interleaved.
fn row_runs<'a>(row: &PublishedRow, set: &'a [(String, String)]) -> [ProgramPair<'a>; 4] {
    let (loops, words) = (Some(row.loops), Some(row.words));
    [
        (loops, None, Sharing::LeftOver),
        (None, words, Sharing::LeftOver),
        (loops, words, Sharing::LeftOver),
        (loops, words, Sharing::Interleaved),
    ]
    .map(|(loops, words, sharing)| ProgramPair { loops, words, sharing, set })
}

/// Simulates the pair `name` again and returns its row of the table.
#[cfg(test)]
pub(crate) fn recompute_row(name: &str) -> String {
    let named = |row: &&PublishedRow| format!("add {} + stream {}", row.loops, row.words) == name;
    let row = published().own.row.iter().find(named).expect("a row of the table");
    let runs = row_runs(row, &[]);
    let counts = runs.each_ref().map(|run| run.run().unwrap());
    MeasuredRow::evaluate(row, &counts, &runs[0].machine().unwrap().machine).cells(row).join(",")
}

/// Runs every pair alone, one after the other, and interleaved.
///
/// # Errors
/// Fails if the programs are missing, or a run fails.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let row = &published().own.row;
    let tasks: Vec<ProgramPair<'_>> = row.iter().flat_map(|row| row_runs(row, &request.set)).collect();
    let machine = tasks[0].machine().map_err(StudyError::input)?.machine;
    let counts = request.lab().run_tasks(&tasks).map_err(StudyError::input)?;
    let measured: Vec<MeasuredRow> = row.iter().zip(counts.chunks_exact(4)).map(|(row, counts)| MeasuredRow::evaluate(row, counts, &machine)).collect();
    let mut output = StudyOutput::new("interleave", format!("two kernels on the same SMs, compared with {}", published().source));
    add_table(&mut output, row, &measured);
    Ok(output)
}

fn add_table(output: &mut StudyOutput, rows: &[PublishedRow], measured: &[MeasuredRow]) {
    output.columns(&[
        "pair",
        "add",
        "published",
        "stream",
        "published",
        "sequential",
        "published",
        "interleaved",
        "published",
        "efficiency",
        "published",
    ]);
    rows.iter().zip(measured).for_each(|(row, ours)| output.row(ours.cells(row)));
    let ours: Vec<f64> = measured.iter().map(MeasuredRow::relative_efficiency).collect();
    let theirs: Vec<f64> = rows.iter().map(PublishedRow::relative_efficiency).collect();
    let distance = mean(ours.iter().zip(&theirs).map(|(ours, theirs)| (ours - theirs).abs())).unwrap_or_default();
    output.figure("efficiency: mean distance from the published", distance);
    output.figure("efficiency: rank correlation with the published", rank_correlation(&ours, &theirs).unwrap_or_default());
    output.figure("efficiency if every pair had the mean of the published: mean distance", {
        let middle = mean(theirs.iter().copied()).unwrap_or_default();
        mean(theirs.iter().map(|theirs| (theirs - middle).abs())).unwrap_or_default()
    });
    for value in &published().values {
        let ours = compared_figure(value.of.quantity, measured);
        match value.claim {
            Claim::Direction => {
                let shown = ours.map_or_else(|| "-".to_owned(), |step| format!("{step:+.3}"));
                output.grade_direction(value, shown, ours.map(|step| step > 0.0));
            }
            _ => {
                output.grade_number(value, ours, "");
            }
        }
    }
    let group =
        |(row, ours): (&PublishedRow, &f64)| BarGroup { name: format!("{}+{}", row.loops, row.words), values: vec![*ours, row.relative_efficiency()] };
    output.bars(
        "efficiency.svg",
        Bars {
            title: "Efficiency of interleaving (loops + words)".into(),
            y: "efficiency".into(),
            series: vec!["simulated".into(), "published".into()],
            groups: rows.iter().zip(&ours).map(group).collect(),
            line: None,
        },
    );
}

/// Returns the figure that is compared with a published value.
fn compared_figure(of: Quantity, measured: &[MeasuredRow]) -> Option<f64> {
    let steps = |next: fn(&MeasuredRow, &MeasuredRow) -> bool| {
        let pairs = measured.iter().flat_map(|a| measured.iter().map(move |b| (a, b))).filter(move |(a, b)| next(a, b));
        pairs.map(|(a, b)| b.relative_efficiency() - a.relative_efficiency()).collect::<Vec<f64>>()
    };
    let bandwidth = |words: u32| measured.iter().find(|row| row.words == words).map(|row| row.bandwidth);
    match of {
        Quantity::Mean => mean(measured.iter().map(MeasuredRow::relative_efficiency)),
        Quantity::Words => steps(|a, b| a.loops == b.loops && b.words == a.words + 1).into_iter().map(|step| -step).min_by(f64::total_cmp),
        Quantity::Loops => steps(|a, b| a.words == b.words && b.loops > a.loops).into_iter().min_by(f64::total_cmp),
        Quantity::Bandwidth => bandwidth(4),
        Quantity::Knee => Some(100.0 * (bandwidth(4)? / bandwidth(3)? - 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_efficiencies_follow_from_the_published_cycles() {
        let stated = [0.94, 0.86, 0.87, 0.80, 0.97, 0.92, 0.92, 0.88];
        for (row, stated) in published().own.row.iter().zip(stated) {
            let computed = relative_efficiency(row.alone, row.sequential, row.interleaved);
            assert!((computed - stated).abs() < 0.015, "{} + {}: {computed}", row.loops, row.words);
        }
    }

    #[test]
    fn the_page_has_the_cycles_that_the_program_gives_now() {
        let page = include_str!("../interleave.md");
        let row = page.lines().find(|line| line.starts_with("| 10 loops, 1 word |")).expect("the first row of the table");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let counts = ProgramPair { loops: None, words: Some(1), sharing: Sharing::LeftOver, set: &[] }.run().unwrap();
        // The machine's clock is half of the thesis's clock.
        assert_eq!(cells[4], (2 * counts.cycles).to_string(), "papers/src/wa_sched/interleave.md is stale: run the study again");
    }

    #[test]
    fn directions_use_the_smallest_step() {
        let row = |loops, words, interleaved| MeasuredRow {
            loops,
            words,
            alone: [100.0, 50.0],
            sequential: 150.0,
            interleaved,
            bandwidth: f64::from(words),
        };
        // The rows have efficiencies 0.5, 0.4, 1 and 0.8.
        let rows = [row(10, 1, 200.0), row(10, 2, 250.0), row(20, 1, 100.0), row(20, 2, 125.0)];
        let close = |of, expected: f64| (compared_figure(of, &rows).unwrap() - expected).abs() < 1e-9;
        assert!(close(Quantity::Words, 0.1) && close(Quantity::Loops, 0.4) && close(Quantity::Mean, 0.675));
    }
}
