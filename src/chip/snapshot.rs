//! Tables of all counters of the chip at a cut.
//!
//! In: the values of every unit's counters, in the order in which the unit visits them. Out: per kind of unit a table with a row
//! per unit and a column per counter. The column of each value is found once, when the machine is built, so that a cut costs a
//! few instructions per counter.

use std::sync::Arc;

use crate::base::Cycle;
use crate::control::Table;
use crate::noc::hub::{HubCounters, LinkCounters};
use crate::stats::components::{APPLICATION_LLC, APPLICATION_SM};
use crate::stats::{ComponentStats, Counted, CounterInfo, Counters};

use super::layout::ChipLayout;

/// The columns of one kind of unit; the same counter of several components of a kind inside a unit is summed.
#[derive(Debug, Default, PartialEq)]
struct Schema {
    kinds: Vec<&'static str>,
    columns: Vec<&'static CounterInfo>,
    /// Where each of a unit's values goes.
    places: Vec<Place>,
}

/// Where a value of a unit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To this column.
    Column(u16),
    /// Nowhere: another table has it.
    Elsewhere,
}

impl Schema {
    /// The columns of the components that `wanted` selects by kind.
    fn of(components: &[ComponentStats], wanted: impl Fn(&str) -> bool) -> Arc<Self> {
        let mut schema = Self::default();
        for (kind, info) in components.iter().flat_map(|c| c.counters.iter().map(|counted| (c.kind, counted.info))) {
            if !wanted(kind) {
                schema.places.push(Place::Elsewhere);
                continue;
            }
            let same = |column: &usize| schema.kinds[*column] == kind && std::ptr::eq(schema.columns[*column], info);
            let column = (0..schema.columns.len()).find(same).unwrap_or_else(|| {
                schema.kinds.push(kind);
                schema.columns.push(info);
                schema.columns.len() - 1
            });
            schema.places.push(Place::Column(column as u16));
        }
        Arc::new(schema)
    }
}

/// Whether components of a kind count for one application.
fn of_application(kind: &str) -> bool {
    kind == APPLICATION_SM || kind == APPLICATION_LLC
}

/// Whether they count for all.
fn of_all(kind: &str) -> bool {
    !of_application(kind)
}

/// Where the counters of applications lie among the values of a kind of unit.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    /// Each with its application and its column.
    at: Vec<(usize, usize, usize)>,
}

impl Parts {
    /// Those of a unit's `components`, each counter in the column that `columns` has or gets for it.
    fn of(components: &[ComponentStats], apps: usize, columns: &mut Vec<&'static CounterInfo>) -> Self {
        let mut parts = Self::default();
        let mut at = 0;
        for component in components {
            for counted in &component.counters {
                if of_application(component.kind) {
                    let known = columns.iter().position(|known| std::ptr::eq(*known, counted.info));
                    let column = known.unwrap_or_else(|| {
                        columns.push(counted.info);
                        columns.len() - 1
                    });
                    parts.at.push((at, component.id as usize % apps, column));
                }
                at += 1;
            }
        }
        parts
    }

    /// Adds the values of units to the rows of applications of `width` columns.
    fn add(&self, units: &[Vec<u64>], width: usize, rows: &mut [u64]) {
        for (at, app, column) in &self.at {
            rows[app * width + column] += units.iter().map(|unit| unit[*at]).sum::<u64>();
        }
    }
}

/// The table of applications by SM: for each SM a row for each application.
#[derive(Debug, Default, PartialEq)]
struct SmApplications {
    schema: Arc<Schema>,
    count: usize,
    parts: Parts,
}

impl SmApplications {
    fn of(count: usize, sm: &[ComponentStats]) -> Self {
        let mut columns = Vec::new();
        let parts = Parts::of(sm, count, &mut columns);
        let schema = Schema { kinds: vec![APPLICATION_SM; columns.len()], columns, places: Vec::new() };
        Self { schema: Arc::new(schema), count, parts }
    }

    fn rows(&self, sms: &[Vec<u64>]) -> Rows {
        let width = self.schema.columns.len();
        let mut values = vec![0; self.count * width * sms.len()];
        if self.count > 0 {
            let own = values.chunks_exact_mut((self.count * width).max(1));
            own.zip(sms).for_each(|(rows, sm)| self.parts.add(std::slice::from_ref(sm), width, rows));
        }
        Rows { schema: Arc::clone(&self.schema), values }
    }
}

/// The table of applications: a row for each, over all SMs and slices.
#[derive(Debug, Default, PartialEq)]
struct Applications {
    schema: Arc<Schema>,
    count: usize,
    sms: Parts,
    partitions: Parts,
}

impl Applications {
    fn of(count: usize, sm: &[ComponentStats], partition: &[ComponentStats]) -> Self {
        let mut columns = Vec::new();
        let sms = Parts::of(sm, count, &mut columns);
        let partitions = Parts::of(partition, count, &mut columns);
        let schema = Schema { kinds: vec!["application"; columns.len()], columns, places: Vec::new() };
        Self { schema: Arc::new(schema), count, sms, partitions }
    }

    fn rows(&self, sms: &[Vec<u64>], partitions: &[Vec<u64>]) -> Rows {
        let width = self.schema.columns.len();
        let mut values = vec![0; self.count * width];
        self.sms.add(sms, width, &mut values);
        self.partitions.add(partitions, width, &mut values);
        Rows { schema: Arc::clone(&self.schema), values }
    }
}

/// Counters of the units of one kind: a row per unit, a column per counter of each kind of component inside.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Rows {
    #[state(fixed)]
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
            debug_assert_eq!(of_unit.clone().count(), schema.places.len(), "a unit has other counters than its kind");
            for (value, place) in of_unit.zip(&schema.places) {
                if let Place::Column(column) = *place {
                    row[usize::from(column)] += value;
                }
            }
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

/// The columns of hubs and switches: what a hub counts, and the sums over the links that lead away from it.
fn hub_schema() -> Arc<Schema> {
    let (hub, link) = (HubCounters::INFO, LinkCounters::INFO);
    let kinds = std::iter::repeat_n("hub", hub.len()).chain(std::iter::repeat_n("link", link.len())).collect();
    Arc::new(Schema { kinds, columns: hub.iter().chain(link).collect(), places: Vec::new() })
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
    /// Of a system; empty elsewhere.
    hubs: Arc<Schema>,
    applications: Arc<Applications>,
    sm_applications: Arc<SmApplications>,
}

impl Schemas {
    /// The columns of a machine whose unit `i` has the components `components(i)`, shared by `apps` applications; 0 where one has it.
    pub(super) fn of(layout: ChipLayout, apps: usize, components: impl Fn(usize) -> Vec<ComponentStats>) -> Self {
        let partitions = layout.sms as usize;
        let networks = partitions + layout.partitions as usize;
        let some = |count: u32, first: usize| if count == 0 { Arc::default() } else { Schema::of(&components(first), of_all) };
        let applications =
            if apps == 0 { Applications::default() } else { Applications::of(apps, &components(0), &components(partitions)) };
        let sm_applications = if apps == 0 { SmApplications::default() } else { SmApplications::of(apps, &components(0)) };
        Self {
            layout: Some(layout),
            sms: some(layout.sms, 0),
            partitions: some(layout.partitions, partitions),
            networks: Schema::of(&[components(networks), components(networks + 1)].concat(), of_all),
            grid: Schema::of(&components(networks + 2), of_all),
            cpus: some(layout.cpus, networks + 3),
            hubs: if layout.gpus > 1 { hub_schema() } else { Arc::default() },
            applications: Arc::new(applications),
            sm_applications: Arc::new(sm_applications),
        }
    }

    /// The chip at cycle `at`, given every unit's values.
    pub(super) fn snapshot(&self, at: Cycle, samples: &[Vec<u64>]) -> Snapshot {
        let Some(layout) = self.layout else { return Snapshot { at, ..Snapshot::default() } };
        if self.hubs.columns.is_empty() {
            return self.of_gpus(at, layout, samples);
        }
        // By kind, as on one GPU.
        let (gpus, switches) = samples.split_at(layout.gpus as usize * usize::from(layout.units_of_gpu));
        let mut by_kind: Vec<Vec<u64>> = Vec::with_capacity(samples.len());
        let (sms, networks) = (layout.sms as usize, layout.sms as usize + layout.partitions as usize);
        for part in [0..sms, sms..networks, networks..networks + 2, networks + 2..networks + 3] {
            let chunks = gpus.chunks(usize::from(layout.units_of_gpu));
            by_kind.extend(chunks.flat_map(|gpu| &gpu[part.clone()]).cloned());
        }
        let hubs = gpus.chunks(usize::from(layout.units_of_gpu)).filter_map(<[_]>::last);
        let hubs = self.hub_rows(layout.gpus as usize, hubs.chain(switches));
        Snapshot { hubs, ..self.of_gpus(at, layout, &by_kind) }
    }

    /// The rows of hubs and switches, of which the first `gpus` have counters of their own besides those of their links.
    fn hub_rows<'a>(&self, gpus: usize, units: impl Iterator<Item = &'a Vec<u64>>) -> Rows {
        let (own, links) = (HubCounters::INFO.len(), LinkCounters::INFO.len());
        let mut values = Vec::new();
        for (number, unit) in units.enumerate() {
            let (of_hub, of_links) = unit.split_at(if number < gpus { own } else { 0 });
            let first = values.len();
            values.resize(first + own + links, 0);
            values[first..first + of_hub.len()].copy_from_slice(of_hub);
            for link in of_links.chunks(links) {
                values[first + own..].iter_mut().zip(link).for_each(|(sum, value)| *sum += value);
            }
        }
        Rows { schema: Arc::clone(&self.hubs), values }
    }

    /// The GPUs of the chip: samples by kind of unit, and of each kind GPU by GPU.
    fn of_gpus(&self, at: Cycle, layout: ChipLayout, samples: &[Vec<u64>]) -> Snapshot {
        let gpus = layout.gpus as usize;
        let (sms, rest) = samples.split_at(gpus * layout.sms as usize);
        let (partitions, rest) = rest.split_at(gpus * layout.partitions as usize);
        let (networks, rest) = rest.split_at(gpus * 2);
        let (grid, cpus) = rest.split_at(gpus);
        let each = |schema: &Arc<Schema>, units: &[Vec<u64>]| Rows::of(schema, units.len(), units.chunks(1));
        Snapshot {
            at,
            sms: each(&self.sms, sms),
            partitions: each(&self.partitions, partitions),
            networks: Rows::of(&self.networks, gpus, networks.chunks(2)),
            grid: each(&self.grid, grid),
            cpus: each(&self.cpus, cpus),
            hubs: Rows::default(),
            applications: self.applications.rows(sms, partitions),
            sm_applications: self.sm_applications.rows(sms),
        }
    }
}

impl Schemas {
    /// The columns of an interval row: the kind of component and the counter.
    pub(super) fn interval_columns(&self) -> impl Iterator<Item = (&'static str, &'static CounterInfo)> {
        let kinds = [&self.sms, &self.partitions, &self.networks, &self.grid, &self.cpus, &self.hubs];
        kinds.into_iter().flat_map(|schema| schema.kinds.iter().copied().zip(schema.columns.iter().copied()))
    }
}

/// All counters of the chip at a cut.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Snapshot {
    pub(super) at: Cycle,
    pub(super) sms: Rows,
    pub(super) partitions: Rows,
    pub(super) networks: Rows,
    pub(super) grid: Rows,
    pub(super) cpus: Rows,
    pub(super) hubs: Rows,
    pub(super) applications: Rows,
    pub(super) sm_applications: Rows,
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
            hubs: self.hubs.since(&earlier.hubs),
            applications: self.applications.since(&earlier.applications),
            sm_applications: self.sm_applications.since(&earlier.sm_applications),
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
        let components = [component("llc", &[&HITS]), component("llc", &[&HITS]), component("dram", &[&READS, &HITS])];
        let schema = Schema::of(&components, of_all);
        let rows = |values: [[u64; 4]; 2]| {
            let units: Vec<Vec<u64>> = values.iter().map(|values| values.to_vec()).collect();
            Rows::of(&schema, 2, units.chunks(1))
        };
        let (before, now) = (rows([[1, 2, 3, 4], [0; 4]]), rows([[1, 5, 9, 4], [10, 20, 30, 40]]));
        let sums: Vec<_> = now.since(&before).sums().map(|(kind, counted)| (kind, counted.info.name, counted.value)).collect();
        assert_eq!(sums, [("llc", "hits", 3 + 30), ("dram", "reads", 6 + 30), ("dram", "hits", 40)]);
        assert_eq!(now.since(&Rows::default()), now);
    }

    #[test]
    fn applications_have_a_row_each_over_all_sms_and_slices() {
        let of = |kind, id, info| ComponentStats { id, ..component(kind, &[info]) };
        // An SM counts for itself and for two applications; a partition has two slices that do.
        let sm = [component("sm", &[&READS]), of(APPLICATION_SM, 0, &READS), of(APPLICATION_SM, 1, &READS)];
        let slice = |i: u32| [component("llc", &[&HITS]), of(APPLICATION_LLC, 2 * i, &HITS), of(APPLICATION_LLC, 2 * i + 1, &HITS)];
        let partition = [slice(0), slice(1)].concat();
        let applications = Applications::of(2, &sm, &partition);
        let rows = applications.rows(&[vec![9, 1, 2], vec![9, 10, 20]], &[vec![9, 100, 200, 9, 300, 400]]);
        assert_eq!(rows.table().rows().collect::<Vec<_>>(), [[11, 400], [22, 600]]);
        let by_sm = SmApplications::of(2, &sm).rows(&[vec![9, 1, 2], vec![9, 10, 20]]);
        assert_eq!(by_sm.table().rows().collect::<Vec<_>>(), [[1], [2], [10], [20]]);
        let own = Rows::of(&Schema::of(&sm, of_all), 1, [vec![9, 1, 2]].chunks(1));
        assert_eq!(own.values, [9], "what an SM counts for applications is no column of the SM's");
    }
}
