//! Tables of all counters of the chip at a cut.
//!
//! In: the values of every unit's counters, in the order in which the unit visits them. Out: per kind of unit a table with a row
//! per unit and a column per counter. The column of each value is found once, when the machine is built, so that a cut costs a
//! few instructions per counter.

use std::sync::Arc;

use crate::base::Cycle;
use crate::control::Table;
use crate::stats::{ComponentStats, Counted, CounterInfo};

use super::build::ChipLayout;

/// The columns of one kind of unit; the same counter of several components of a kind inside a unit is summed.
#[derive(Debug, Default, PartialEq)]
struct Schema {
    kinds: Vec<&'static str>,
    columns: Vec<&'static CounterInfo>,
    /// The column of each of a unit's values.
    column_of: Vec<u16>,
}

impl Schema {
    fn of(components: &[ComponentStats]) -> Arc<Self> {
        let mut schema = Self::default();
        for (kind, info) in components.iter().flat_map(|c| c.counters.iter().map(|counted| (c.kind, counted.info))) {
            let same = |column: &usize| schema.kinds[*column] == kind && std::ptr::eq(schema.columns[*column], info);
            let column = (0..schema.columns.len()).find(same).unwrap_or_else(|| {
                schema.kinds.push(kind);
                schema.columns.push(info);
                schema.columns.len() - 1
            });
            schema.column_of.push(column as u16);
        }
        Arc::new(schema)
    }
}

/// Counters of the units of one kind: a row per unit, a column per counter of each kind of component inside.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rows {
    schema: Arc<Schema>,
    values: Vec<u64>,
}

impl Rows {
    fn of<'a>(schema: &Arc<Schema>, rows: usize, units: impl Iterator<Item = &'a [Vec<u64>]>) -> Self {
        let width = schema.columns.len();
        let mut values = vec![0; rows * width];
        for (row, parts) in units.enumerate() {
            let row = &mut values[row * width..][..width];
            let of_unit = parts.iter().flatten();
            debug_assert_eq!(of_unit.clone().count(), schema.column_of.len(), "a unit has other counters than its kind");
            of_unit.zip(&schema.column_of).for_each(|(value, &column)| row[usize::from(column)] += value);
        }
        Self { schema: Arc::clone(schema), values }
    }

    fn since(&self, earlier: &Self) -> Self {
        let before = earlier.values.iter().copied().chain(std::iter::repeat(0));
        let values = self.values.iter().zip(before).map(|(now, before)| now - before).collect();
        Self { schema: Arc::clone(&self.schema), values }
    }

    /// The columns' sums over all units, each with the kind of its component.
    pub(super) fn sums(&self) -> impl Iterator<Item = (&'static str, Counted)> {
        let width = self.schema.columns.len().max(1);
        (0..self.schema.columns.len()).map(move |column| {
            let value = self.values.iter().skip(column).step_by(width).sum();
            (self.schema.kinds[column], Counted { info: self.schema.columns[column], value })
        })
    }

    /// The table that a controller sees.
    pub(super) fn table(&self) -> Table<'_> {
        Table::new(&self.schema.columns, &self.values)
    }
}

/// The columns of all kinds of units of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Schemas {
    layout: Option<ChipLayout>,
    sms: Arc<Schema>,
    partitions: Arc<Schema>,
    networks: Arc<Schema>,
    grid: Arc<Schema>,
    cpus: Arc<Schema>,
}

impl Schemas {
    /// The columns of a machine whose unit `i` has the components `components(i)`.
    pub(super) fn of(layout: ChipLayout, components: impl Fn(usize) -> Vec<ComponentStats>) -> Self {
        let partitions = layout.sms as usize;
        let networks = partitions + layout.partitions as usize;
        let some = |count: u32, first: usize| if count == 0 { Arc::default() } else { Schema::of(&components(first)) };
        Self {
            layout: Some(layout),
            sms: some(layout.sms, 0),
            partitions: some(layout.partitions, partitions),
            networks: Schema::of(&[components(networks), components(networks + 1)].concat()),
            grid: Schema::of(&components(networks + 2)),
            cpus: some(layout.cpus, networks + 3),
        }
    }

    /// The chip at cycle `at`, given every unit's values.
    pub(super) fn snapshot(&self, at: Cycle, samples: &[Vec<u64>]) -> Snapshot {
        let Some(layout) = self.layout else { return Snapshot { at, ..Snapshot::default() } };
        let (sms, rest) = samples.split_at(layout.sms as usize);
        let (partitions, rest) = rest.split_at(layout.partitions as usize);
        let (networks, rest) = rest.split_at(2);
        let (grid, cpus) = rest.split_at(1);
        let each = |schema: &Arc<Schema>, units: &[Vec<u64>]| Rows::of(schema, units.len(), units.chunks(1));
        Snapshot {
            at,
            sms: each(&self.sms, sms),
            partitions: each(&self.partitions, partitions),
            networks: Rows::of(&self.networks, 1, std::iter::once(networks)),
            grid: each(&self.grid, grid),
            cpus: each(&self.cpus, cpus),
        }
    }
}

/// All counters of the chip at a cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    pub(super) at: Cycle,
    pub(super) sms: Rows,
    pub(super) partitions: Rows,
    pub(super) networks: Rows,
    pub(super) grid: Rows,
    pub(super) cpus: Rows,
}

impl Snapshot {
    /// What was counted since the snapshot `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            at: self.at,
            sms: self.sms.since(&earlier.sms),
            partitions: self.partitions.since(&earlier.partitions),
            networks: self.networks.since(&earlier.networks),
            grid: self.grid.since(&earlier.grid),
            cpus: self.cpus.since(&earlier.cpus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HITS: CounterInfo = CounterInfo { name: "hits", unit: "accesses", help: "Hits." };
    static READS: CounterInfo = CounterInfo { name: "reads", unit: "bursts", help: "Reads." };

    fn component(kind: &'static str, infos: &[&'static CounterInfo]) -> ComponentStats {
        ComponentStats { kind, id: 0, counters: infos.iter().map(|info| Counted { info, value: 0 }).collect() }
    }

    #[test]
    fn the_same_counter_of_two_components_of_a_unit_is_one_column() {
        let schema = Schema::of(&[component("llc", &[&HITS]), component("llc", &[&HITS]), component("dram", &[&READS, &HITS])]);
        let rows = |values: [[u64; 4]; 2]| {
            let units: Vec<Vec<u64>> = values.iter().map(|values| values.to_vec()).collect();
            Rows::of(&schema, 2, units.chunks(1))
        };
        let (before, now) = (rows([[1, 2, 3, 4], [0; 4]]), rows([[1, 5, 9, 4], [10, 20, 30, 40]]));
        let sums: Vec<_> = now.since(&before).sums().map(|(kind, counted)| (kind, counted.info.name, counted.value)).collect();
        assert_eq!(sums, [("llc", "hits", 3 + 30), ("dram", "reads", 6 + 30), ("dram", "hits", 40)]);
        assert_eq!(now.since(&Rows::default()), now);
    }
}
