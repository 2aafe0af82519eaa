//! The observation of a controller at a cut: tables of counters, and events.

use warpshard_base::Cycle;
use warpshard_protocol::{EventKind, SmProgress};
use warpshard_stats::CounterInfo;

use super::Facts;

/// Counters of an SM whose sum is `stall_gpu`: scheduler cycles without an issue while warps are resident (Kayiran et al., MICRO 2014,
/// Section 4.2).
pub const STALL_GPU: [&str; 9] = [
    "stall_memory_pipeline",
    "stall_memory_collectors",
    "stall_pipeline",
    "stall_scoreboard_memory",
    "stall_scoreboard_alu",
    "stall_fence",
    "stall_barrier",
    "stall_throttled",
    "stall_fetch",
];

/// A table of counters: a row per component of one kind, a column per counter.
///
/// A counter's value is its increase since the same controller's last observation; a level ("CTAs resident") has its value at the cut. The
/// column's help text states which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservationTable<'a> {
    columns: &'a [&'static CounterInfo],
    values: &'a [u64],
}

impl<'a> ObservationTable<'a> {
    /// Creates a table over `values`, row after row.
    ///
    /// # Panics
    /// `values` does not consist of whole rows.
    pub fn new(columns: &'a [&'static CounterInfo], values: &'a [u64]) -> Self {
        assert!(values.is_empty() || values.len().is_multiple_of(columns.len()), "a table is made of whole rows");
        Self { columns, values }
    }

    /// Returns the columns.
    pub fn columns(&self) -> &'a [&'static CounterInfo] {
        self.columns
    }

    /// Returns the index of the column called `name`; a controller looks it up once.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|info| info.name == name)
    }

    /// Returns the rows of the components in the order of their identifiers.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u64]> {
        self.values.chunks_exact(self.columns.len().max(1))
    }

    /// Returns the sum of a column over all components.
    pub fn sum(&self, column: usize) -> u64 {
        self.rows().map(|row| row[column]).sum()
    }
}

/// An event that has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct ObservedEvent {
    /// The core cycle of the event, at most the cycle of the cut: an event takes effect about one lookahead later.
    pub cycle: Cycle,
    /// The kind of the event.
    pub kind: EventKind,
}

/// The state of the machine that a controller observes at a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// The cycle of the cut, in core cycles.
    pub cycle: Cycle,
    /// Core cycles since this controller's last observation, or since the start of the run.
    pub interval: u64,
    /// Facts about the machine and the workload.
    pub facts: &'a Facts,
    /// One row per SM.
    pub sms: ObservationTable<'a>,
    /// One row per memory partition.
    pub partitions: ObservationTable<'a>,
    /// One row per grid scheduler; a system of several GPUs has one per GPU. SMs and partitions are counted over all GPUs of a system.
    pub grid: ObservationTable<'a>,
    /// One row per CPU core that is on.
    pub cpus: ObservationTable<'a>,
    /// In a system of several GPUs, one row per GPU and then per switch and host: the counters of the hub, which are 0 for switches, and
    /// the sums over its outgoing links. No rows for a single GPU.
    pub hubs: ObservationTable<'a>,
    /// One row per application, over all SMs and LLC slices; no rows for a single application.
    pub applications: ObservationTable<'a>,
    /// One row per SM and application, without LLC slices: the rows of the applications on the first SM, then on the second, and so on.
    pub sm_applications: ObservationTable<'a>,
    /// The progress of the CTAs of each SM, if the controller [requests](super::Controller::reads_ctas) it; otherwise empty.
    pub ctas: &'a [SmProgress],
    /// Events that took effect since this controller's last observation, including events at this cut, in the order of (cycle, unit, order
    /// of reporting).
    pub events: &'a [ObservedEvent],
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_COUNTERS: [CounterInfo; 2] =
        [CounterInfo { name: "issued", unit: "instructions", help: "" }, CounterInfo { name: "stalled", unit: "cycles", help: "" }];

    #[test]
    fn a_table_finds_and_sums_its_columns() {
        let table = ObservationTable::new(const { &[&TWO_COUNTERS[0], &TWO_COUNTERS[1]] }, &[1, 10, 2, 20, 3, 30]);
        let stalled = table.column("stalled").unwrap();
        assert_eq!(table.sum(stalled), 60);
        assert_eq!(table.rows().map(|row| row[stalled]).collect::<Vec<_>>(), [10, 20, 30]);
        assert_eq!(table.column("hits"), None);
    }

    #[test]
    #[should_panic(expected = "whole rows")]
    fn half_a_row_is_refused() {
        ObservationTable::new(const { &[&TWO_COUNTERS[0], &TWO_COUNTERS[1]] }, &[1, 10, 2]);
    }
}
