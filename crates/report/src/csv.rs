//! `kernels.csv`, `intervals.csv`, `timeline.csv` and tables of studies: a header and one row per entry, quoted according to RFC 4180.

use std::io;

use warpshard_stats::{IntervalSeries, Outcome, TimelineEntry};

use super::facts::RunFacts;
use super::folder::{ResultFile, Target};
use super::frame::{Cell, ColumnKind, Frame, NoParquet};
use super::metrics::{WorkTotals, event_joules};
use super::rows::{write, write_to};
use super::text::demangled;

pub use super::rows::table;

/// Formats the interval series as CSV; the header names the columns of the first row, each with its kind of component ("dram.reads"). A
/// series without rows has only the column `cycle`.
pub fn intervals(series: &IntervalSeries) -> String {
    let mut bytes = Vec::new();
    write_intervals(series, &mut bytes).expect("memory takes every byte");
    String::from_utf8(bytes).expect("numbers and their names are text")
}

/// Writes the interval series as CSV row by row.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_intervals(series: &IntervalSeries, to: Target<'_>) -> io::Result<()> {
    let none: [[&str; 0]; 0] = [];
    to.write_all(write(interval_columns(series), none).as_bytes())?;
    let (mut rows, mut line) = (series.values(), String::new());
    while let Some((cycle, values)) = rows.next_row() {
        line.clear();
        line += &cycle.to_string();
        for value in values {
            // Most counters of a short interval are zero.
            line += if *value == 0 { ",0" } else { "," };
            if *value != 0 {
                write_number(&mut line, *value);
            }
        }
        line.push('\n');
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn write_number(line: &mut String, value: u64) {
    use std::fmt::Write as _;
    write!(line, "{value}").expect("memory takes every byte");
}

/// Returns the interval series as the file `intervals.parquet`.
///
/// # Errors
/// Fails in builds without the feature `parquet`.
pub fn intervals_parquet(series: &IntervalSeries) -> Result<ResultFile, NoParquet> {
    NoParquet::check()?;
    let series = series.clone();
    Ok(ResultFile::streamed("intervals.parquet", move |to| write_intervals_parquet(&series, to)))
}

#[cfg(not(feature = "parquet"))]
fn write_intervals_parquet(_: &IntervalSeries, _: Target<'_>) -> io::Result<()> {
    Err(io::Error::other(NoParquet))
}

#[cfg(feature = "parquet")]
fn write_intervals_parquet(series: &IntervalSeries, to: Target<'_>) -> io::Result<()> {
    super::parquet::write_counts(&interval_columns(series), series.len(), to, |columns, numbers| {
        let mut rows = series.values();
        while let Some((cycle, values)) = rows.next_row() {
            for (column, numbers) in columns.clone().zip(numbers.iter_mut()) {
                numbers.push(column.checked_sub(1).map_or(cycle, |counter| values[counter]));
            }
        }
    })
}

fn interval_columns(series: &IntervalSeries) -> Vec<String> {
    let names = series.columns().iter().map(|(kind, info)| format!("{kind}.{}", info.name));
    std::iter::once("cycle".to_owned()).chain(names).collect()
}

/// Formats the decisions of the controllers and the values on which they are based as CSV, one per row; an empty `sm` means the whole
/// machine.
pub fn timeline(entries: &[TimelineEntry]) -> String {
    let rows = entries.iter().map(|entry| {
        [
            entry.cycle.to_string(),
            entry.controller.clone(),
            entry.sm.map_or_else(String::new, |sm| sm.to_string()),
            entry.name.to_string(),
            entry.value.map_or_else(String::new, |value| value.to_string()),
            entry.reason.clone(),
        ]
    });
    write(["cycle", "controller", "sm", "name", "value", "reason"], rows)
}

/// Columns of [`kernels`] that precede the counters.
const KERNEL_COLUMNS: [&str; 18] = [
    "index",
    "id",
    "name",
    "demangled",
    "application",
    "stream",
    "ctas",
    "ctas_done",
    "ctas_per_sm",
    "launched",
    "started",
    "ended",
    "cycles",
    "cycles_active",
    "launch_latency_cycles",
    "warp_instructions",
    "thread_instructions",
    "ipc",
];

/// Text columns of [`kernels`].
const TEXT_COLUMNS: [&str; 3] = ["name", "demangled", "sampled"];

/// Formats the started kernel launches as CSV, one per row, with the counters of SMs and LLC slices per kernel, and the event energy in
/// joules on machines with event energies. Values that a launch lacks are empty.
pub fn kernels(facts: &RunFacts, outcome: &Outcome) -> String {
    let mut bytes = Vec::new();
    write_kernels(facts, outcome, &mut bytes).expect("memory takes every byte");
    String::from_utf8(bytes).expect("cells are text")
}

/// Writes the started kernel launches as CSV row by row.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_kernels(facts: &RunFacts, outcome: &Outcome, to: Target<'_>) -> io::Result<()> {
    let (head, rows) = kernel_cells(facts, outcome);
    write_to(to, head, rows.map(|row| row.iter().map(Cell::csv).collect::<Vec<_>>()))
}

/// Returns the started kernel launches as Parquet.
///
/// # Errors
/// Fails in builds without the feature `parquet`.
pub fn kernels_parquet(facts: &RunFacts, outcome: &Outcome) -> Result<Vec<u8>, NoParquet> {
    let (head, rows) = kernel_cells(facts, outcome);
    let kind = |name: &str| match name {
        _ if TEXT_COLUMNS.contains(&name) => ColumnKind::Text,
        "ipc" | "event_joules" => ColumnKind::Number,
        _ => ColumnKind::Count,
    };
    Frame::new(head.into_iter().map(|name| (name.to_owned(), kind(name))).collect(), rows.collect()).parquet()
}

fn kernel_cells<'a>(facts: &RunFacts, outcome: &'a Outcome) -> (Vec<&'static str>, impl Iterator<Item = Vec<Cell>> + use<'a>) {
    let counters = outcome.kernels.iter().take(1).flat_map(|kernel| kernel.counters.iter());
    let own = |name: &str| !KERNEL_COLUMNS.contains(&name);
    let head = KERNEL_COLUMNS.iter().copied().chain(counters.map(|counted| counted.info.name).filter(|name| own(name)));
    let joules = event_joules(facts, outcome);
    let bases = outcome.sampled.as_ref().map(|sampled| &sampled.kernels);
    let head = head.chain(joules.first().map(|_| "event_joules")).chain(bases.map(|_| "sampled")).collect();
    let reached = outcome.kernels.iter().enumerate().filter(|(_, kernel)| kernel.launched.is_some());
    let rows = reached.map(move |(i, kernel)| {
        let work = WorkTotals::of_kernel(kernel, outcome);
        let facts = [
            Cell::Count(kernel.index.0.into()),
            Cell::Count(kernel.id),
            Cell::text(&kernel.name),
            Cell::text(demangled(&kernel.name)),
            Cell::Count(kernel.app.0.into()),
            Cell::Count(kernel.stream.0),
            Cell::Count(kernel.ctas.into()),
            Cell::Count(kernel.ctas_done.into()),
            Cell::Count(kernel.ctas_per_sm.into()),
            Cell::count(kernel.launched),
            Cell::count(kernel.started),
            Cell::count(kernel.ended),
            Cell::Count(work.cycles + kernel.launch_latency_cycles),
            Cell::Count(work.cycles),
            Cell::Count(kernel.launch_latency_cycles),
            Cell::Count(work.warp_instructions),
            Cell::Count(work.thread_instructions),
            Cell::number(work.ipc()),
        ];
        let counters = kernel.counters.iter().filter(|counted| own(counted.info.name)).map(|counted| Cell::Count(counted.value));
        let row = facts.into_iter().chain(counters).chain(joules.get(i).map(|joules| Cell::Number(*joules)));
        let basis = bases.map(|bases| Cell::text(bases.get(i).map_or("", |basis| basis.name())));
        row.chain(basis).collect()
    });
    (head, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn intervals_have_a_header_and_a_row_each() {
        assert_eq!(intervals(&sample::outcome().intervals), "cycle,sm.warp_instructions,dram.reads\n1000,120,30\n2000,80,45\n");
        assert_eq!(intervals(&IntervalSeries::default()), "cycle\n");
    }

    #[test]
    fn kernels_have_a_row_each_with_their_counters_once() {
        let mut outcome = sample::outcome();
        outcome.kernels[0].name = "_Z5saxpyifPKfPf".into();
        outcome.kernels[1].started = None;
        outcome.kernels[1].ended = None;
        let facts = sample::facts();
        let text = kernels(&facts, &outcome);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + outcome.kernels.len());
        assert!(lines[0].starts_with("index,id,name,demangled,application,stream,"), "{text}");
        assert_eq!(lines[0].matches("warp_instructions").count(), 1, "{text}");
        assert!(lines[0].contains(",l1_read_hits,"), "{text}");
        assert!(lines[1].contains("_Z5saxpyifPKfPf,\"saxpy(int, float, float const*, float*)\","), "{text}");
        assert!(lines[2].contains(",,,0,"), "a kernel that did not start: {text}");
        assert_eq!(kernels(&facts, &Outcome { kernels: Vec::new(), ..outcome }).lines().count(), 1);
    }

    #[test]
    fn a_decision_with_commas_and_quotes_stays_one_field() {
        let entry = |sm, name, value, reason: &str| TimelineEntry {
            cycle: 1024,
            controller: "cm-bal".into(),
            sm,
            name,
            value,
            reason: reason.into(),
        };
        let entries = [entry(None, "warp_limit", Some(8.0), "low, \"stalled\""), entry(Some(3), "diff_up", Some(1.5), "")];
        assert_eq!(
            timeline(&entries),
            "cycle,controller,sm,name,value,reason\n1024,cm-bal,,warp_limit,8,\"low, \"\"stalled\"\"\"\n1024,cm-bal,3,diff_up,1.5,\n"
        );
    }

    #[test]
    fn a_table_quotes_its_cells() {
        assert_eq!(table(&["a", "b,c"], &[vec!["1".into(), "x".into()]]), "a,\"b,c\"\n1,x\n");
    }
}
