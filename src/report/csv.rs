//! `kernels.csv`, `intervals.csv`, `timeline.csv` and tables of studies: a header and one row per entry, quoted according to RFC 4180.

use crate::stats::{IntervalRow, Outcome, TimelineEntry};

use super::facts::RunFacts;
use super::metrics::{Work, event_joules};
use super::text::demangled;

/// The interval series; the header names the columns of the first row, each with its kind of component ("dram.reads").
/// Without rows, only the column `cycle`.
pub fn intervals(rows: &[IntervalRow]) -> String {
    let columns = rows.first().map_or(&[][..], |row| &row.counters);
    let head = columns.iter().map(|(kind, counted)| format!("{kind}.{}", counted.info.name));
    let lines = rows.iter().map(|row| {
        debug_assert_eq!(row.counters.len(), columns.len(), "interval rows differ in their columns at cycle {}", row.cycle);
        std::iter::once(row.cycle).chain(row.counters.iter().map(|(_, counted)| counted.value)).map(|value| value.to_string())
    });
    write(std::iter::once("cycle".to_owned()).chain(head), lines)
}

/// The decisions of the controllers and the values that they are based on: a row each, an empty `sm` for the whole machine.
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

/// Columns of [`kernels`] before the counters.
const KERNEL: [&str; 17] = [
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
    "launch_latency_cycles",
    "warp_instructions",
    "thread_instructions",
    "ipc",
];

/// The kernel launches: a row each, with the counters of SMs and LLC slices per kernel, and the joules of its events on machines that have event
/// energies. What a launch does not have is empty.
pub fn kernels(facts: &RunFacts, outcome: &Outcome) -> String {
    let counters = outcome.kernels.first().map_or(&[][..], |kernel| &kernel.counters);
    let own = |name: &str| !KERNEL.contains(&name);
    let head = KERNEL.iter().copied().chain(counters.iter().map(|counted| counted.info.name).filter(|name| own(name)));
    let joules = event_joules(facts, outcome);
    let head = head.chain(joules.first().map(|_| "event_joules"));
    let rows = outcome.kernels.iter().enumerate().map(|(i, kernel)| {
        let work = Work::of_kernel(kernel, outcome);
        let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let facts = [
            kernel.index.0.to_string(),
            kernel.id.to_string(),
            kernel.name.clone(),
            demangled(&kernel.name).into_owned(),
            kernel.app.0.to_string(),
            kernel.stream.0.to_string(),
            kernel.ctas.to_string(),
            kernel.ctas_done.to_string(),
            kernel.ctas_per_sm.to_string(),
            number(kernel.launched),
            number(kernel.started),
            number(kernel.ended),
            work.cycles.to_string(),
            kernel.launch_latency_cycles.to_string(),
            work.warp_instructions.to_string(),
            work.thread_instructions.to_string(),
            work.ipc().map_or_else(String::new, |ipc| ipc.to_string()),
        ];
        let counters = kernel.counters.iter().filter(|counted| own(counted.info.name)).map(|counted| counted.value.to_string());
        facts.into_iter().chain(counters).chain(joules.get(i).map(f64::to_string)).collect::<Vec<_>>()
    });
    write(head, rows)
}

/// A table of texts, for studies.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    write(head, rows)
}

fn write<C: AsRef<[u8]>, D: AsRef<[u8]>, R: IntoIterator<Item = D>>(
    head: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut out = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let mut written = out.write_record(head);
    for row in rows {
        written = written.and_then(|()| out.write_record(row));
    }
    written.expect("memory takes every byte");
    let bytes = out.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("cells are text, and so are the separators")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn intervals_have_a_header_and_a_row_each() {
        assert_eq!(intervals(&sample::outcome().intervals), "cycle,sm.warp_instructions,dram.reads\n1000,120,30\n2000,80,45\n");
        assert_eq!(intervals(&[]), "cycle\n");
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
