//! What a controller sees at a cut: tables of counters, and events.

use warpshard_base::Cycle;
use warpshard_protocol::{EventKind, SmProgress};
use warpshard_stats::CounterInfo;

use super::Facts;

/// Counters of an SM whose sum is `stall_gpu`: scheduler cycles without an issue while warps are there (Kayiran et al., MICRO 2014,
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

/// Numbers of several components of one kind: a row per component, a column per counter.
///
/// A counter's number is what was counted since the same controller's last observation; a level's number ("CTAs resident")
/// is its value at the cut. The column's help text states which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table<'a> {
    columns: &'a [&'static CounterInfo],
    values: &'a [u64],
}

impl<'a> Table<'a> {
    /// A table over `values`, row after row.
    ///
    /// # Panics
    /// When the values do not fill whole rows.
    pub fn new(columns: &'a [&'static CounterInfo], values: &'a [u64]) -> Self {
        assert!(values.is_empty() || values.len().is_multiple_of(columns.len()), "a table is made of whole rows");
        Self { columns, values }
    }

    /// The columns.
    pub fn columns(&self) -> &'a [&'static CounterInfo] {
        self.columns
    }

    /// The index of the column called `name`; a controller looks it up once.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|info| info.name == name)
    }

    /// The components' rows in the order of their identifiers.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u64]> {
        self.values.chunks_exact(self.columns.len().max(1))
    }

    /// The sum of a column over all components.
    pub fn sum(&self, column: usize) -> u64 {
        self.rows().map(|row| row[column]).sum()
    }
}

/// An event that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Seen {
    /// Core cycle in which it happened, at most the cut's: it takes effect about one lookahead later.
    pub cycle: Cycle,
    /// What happened.
    pub kind: EventKind,
}

/// Everything that a controller sees at a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// The cut, in core cycles.
    pub cycle: Cycle,
    /// Core cycles since this controller's last observation, or since the start of the run.
    pub interval: u64,
    /// The machine and the workload.
    pub facts: &'a Facts,
    /// One row per SM.
    pub sms: Table<'a>,
    /// One row per memory partition.
    pub partitions: Table<'a>,
    /// One row, for the grid scheduler; in a system of several GPUs one for that of each. SMs and partitions are counted over all GPUs there.
    pub grid: Table<'a>,
    /// One row per CPU core that is on.
    pub cpus: Table<'a>,
    /// In a system of several GPUs one row per GPU and then per switch and host: the counters of the hub, which switches leave at 0, and the sums
    /// over the links that lead away from it. No rows elsewhere.
    pub hubs: Table<'a>,
    /// One row per application, over all SMs and LLC slices; none where a single one has the GPU.
    pub applications: Table<'a>,
    /// The same by SM, without LLC slices: the rows of the applications on the first SM, then those on the second, and so on.
    pub sm_applications: Table<'a>,
    /// How far the CTAs of each SM are, where the controller [wants](super::Controller::wants_ctas) to see it; else none.
    pub ctas: &'a [SmProgress],
    /// Events that took effect since this controller's last observation, at this cut included, in the order of (cycle, unit,
    /// order of reporting).
    pub events: &'a [Seen],
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: [CounterInfo; 2] =
        [CounterInfo { name: "issued", unit: "instructions", help: "" }, CounterInfo { name: "stalled", unit: "cycles", help: "" }];

    #[test]
    fn a_table_finds_and_sums_its_columns() {
        let table = Table::new(const { &[&INFO[0], &INFO[1]] }, &[1, 10, 2, 20, 3, 30]);
        let stalled = table.column("stalled").unwrap();
        assert_eq!(table.sum(stalled), 60);
        assert_eq!(table.rows().map(|row| row[stalled]).collect::<Vec<_>>(), [10, 20, 30]);
        assert_eq!(table.column("hits"), None);
    }

    #[test]
    #[should_panic(expected = "whole rows")]
    fn half_a_row_is_refused() {
        Table::new(const { &[&INFO[0], &INFO[1]] }, &[1, 10, 2]);
    }
}
