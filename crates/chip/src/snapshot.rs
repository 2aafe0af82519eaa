//! Tables of all counters of the chip at a cut.
//!
//! Input: the values of every unit's counters, in the order in which the unit visits them. Output: for each kind of unit, a table with a
//! row per unit and a column per counter. The column of each value is determined once, when the machine is built, so that a cut costs a few
//! instructions per counter.

use std::sync::Arc;

use warpshard_base::{CpuId, Cycle, PartitionId, SmId, UnitId};
use warpshard_control::ObservationTable;
use warpshard_noc::hub::{HubCounters, LinkCounters};
use warpshard_stats::components::{APPLICATION_LLC, APPLICATION_SM};
use warpshard_stats::{ComponentStats, CounterInfo, CounterValue, Counters};

use super::layout::{ChipLayout, GpuLayout};

/// The columns of one kind of unit. If a unit has several components of a kind, their counters are summed.
#[derive(Debug, Default, PartialEq)]
struct CounterSchema {
    kinds: Vec<&'static str>,
    columns: Vec<&'static CounterInfo>,
    /// For each kind of GPU, the destination of each of a unit's values.
    destinations: Vec<Vec<ColumnDestination>>,
}

/// The destination of a value of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnDestination {
    /// The column with this index.
    Column(u16),
    /// Another table contains the value.
    OtherTable,
}

impl CounterSchema {
    /// Makes the columns of the components that `wanted` selects by kind, for a unit of each kind of GPU. Counters that the first kind
    /// lacks follow its counters.
    fn of(units: &[Vec<ComponentStats>], wanted: impl Fn(&str) -> bool) -> Arc<Self> {
        let mut schema = Self::default();
        for components in units {
            let mut destinations = Vec::new();
            for (kind, info) in components.iter().flat_map(|c| c.counters.iter().map(|counted| (c.kind, counted.info))) {
                destinations.push(if wanted(kind) {
                    ColumnDestination::Column(schema.column(kind, info) as u16)
                } else {
                    ColumnDestination::OtherTable
                });
            }
            schema.destinations.push(destinations);
        }
        Arc::new(schema)
    }

    /// Returns the column of a counter, and adds it if it does not exist.
    fn column(&mut self, kind: &'static str, info: &'static CounterInfo) -> usize {
        let same = |column: &usize| self.kinds[*column] == kind && std::ptr::eq(self.columns[*column], info);
        (0..self.columns.len()).find(same).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.columns.push(info);
            self.columns.len() - 1
        })
    }
}

/// Returns `true` if components of a kind count for one application.
fn of_application(kind: &str) -> bool {
    kind == APPLICATION_SM || kind == APPLICATION_LLC
}

/// Returns `true` if components of a kind count for all applications.
fn of_all(kind: &str) -> bool {
    !of_application(kind)
}

/// The positions of application counters among the values of a kind of unit.
#[derive(Debug, Default, PartialEq)]
struct ApplicationColumns {
    /// Each position, with its application and its column.
    at: Vec<(usize, usize, usize)>,
}

impl ApplicationColumns {
    /// Finds the application counters of a unit's `components`, and adds missing counters to `columns`.
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

    /// Adds the values of a unit to the rows of applications, which have `width` columns.
    fn add(&self, unit: &[u64], width: usize, rows: &mut [u64]) {
        for (at, app, column) in &self.at {
            rows[app * width + column] += unit[*at];
        }
    }
}

/// The table of applications by SM: a row for each SM and application.
#[derive(Debug, Default, PartialEq)]
struct SmApplications {
    schema: Arc<CounterSchema>,
    count: usize,
    /// Positions of the counters for each kind of GPU.
    parts: Vec<ApplicationColumns>,
}

impl SmApplications {
    fn of(count: usize, sms: &[Vec<ComponentStats>]) -> Self {
        let mut columns = Vec::new();
        let parts = sms.iter().map(|sm| ApplicationColumns::of(sm, count, &mut columns)).collect();
        let schema = CounterSchema { kinds: vec![APPLICATION_SM; columns.len()], columns, destinations: Vec::new() };
        Self { schema: Arc::new(schema), count, parts }
    }

    fn rows(&self, sms: &[UnitSample<'_>]) -> CounterRows {
        let width = self.schema.columns.len();
        let mut values = vec![0; self.count * width * sms.len()];
        if self.count > 0 {
            let own = values.chunks_exact_mut((self.count * width).max(1));
            own.zip(sms).for_each(|(rows, (kind, sm))| self.parts[*kind].add(sm, width, rows));
        }
        CounterRows { schema: Arc::clone(&self.schema), values }
    }
}

/// The table of applications: a row for each application, over all SMs and slices.
#[derive(Debug, Default, PartialEq)]
struct ApplicationRows {
    schema: Arc<CounterSchema>,
    count: usize,
    /// Positions of the SM counters for each kind of GPU.
    sms: Vec<ApplicationColumns>,
    /// Positions of the partition counters for each kind of GPU.
    partitions: Vec<ApplicationColumns>,
}

impl ApplicationRows {
    fn of(count: usize, sms: &[Vec<ComponentStats>], partitions: &[Vec<ComponentStats>]) -> Self {
        let mut columns = Vec::new();
        let sms = sms.iter().map(|sm| ApplicationColumns::of(sm, count, &mut columns)).collect();
        let partitions = partitions.iter().map(|partition| ApplicationColumns::of(partition, count, &mut columns)).collect();
        let schema = CounterSchema { kinds: vec!["application"; columns.len()], columns, destinations: Vec::new() };
        Self { schema: Arc::new(schema), count, sms, partitions }
    }

    fn rows(&self, sms: &[UnitSample<'_>], partitions: &[UnitSample<'_>]) -> CounterRows {
        let width = self.schema.columns.len();
        let mut values = vec![0; self.count * width];
        if self.count > 0 {
            sms.iter().for_each(|(kind, sm)| self.sms[*kind].add(sm, width, &mut values));
            partitions.iter().for_each(|(kind, partition)| self.partitions[*kind].add(partition, width, &mut values));
        }
        CounterRows { schema: Arc::clone(&self.schema), values }
    }
}

/// Counters of the units of one kind: a row per unit, and a column per counter of each kind of component.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct CounterRows {
    #[state(fixed)]
    schema: Arc<CounterSchema>,
    values: Vec<u64>,
}

impl CounterRows {
    /// Makes a row for each group of `together` consecutive units.
    fn of(schema: &Arc<CounterSchema>, together: usize, units: &[UnitSample<'_>]) -> Self {
        let width = schema.columns.len();
        let mut values = vec![0; units.len() / together * width];
        for (row, parts) in units.chunks(together).enumerate() {
            let row = &mut values[row * width..][..width];
            let destinations = &schema.destinations[parts[0].0];
            let of_unit = parts.iter().flat_map(|(_, unit)| unit.iter());
            debug_assert_eq!(of_unit.clone().count(), destinations.len(), "a unit has other counters than its kind");
            for (value, place) in of_unit.zip(destinations) {
                if let ColumnDestination::Column(column) = *place {
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

    /// Returns the sum of each column over all units, with the kind of its component.
    pub(super) fn sums(&self) -> impl Iterator<Item = (&'static str, CounterValue)> {
        let width = self.schema.columns.len().max(1);
        (0..self.schema.columns.len()).map(move |column| {
            let value = self.values.iter().skip(column).step_by(width).sum();
            (self.schema.kinds[column], CounterValue { info: self.schema.columns[column], value })
        })
    }

    /// Returns the table for controllers.
    pub(super) fn table(&self) -> ObservationTable<'_> {
        ObservationTable::new(&self.schema.columns, &self.values)
    }
}

/// The values of a unit, and the kind of its GPU.
type UnitSample<'a> = (usize, &'a [u64]);

/// Returns the columns of hubs and switches: the counters of a hub, and the sums over its outgoing links.
fn hub_schema() -> Arc<CounterSchema> {
    let (hub, link) = (HubCounters::INFO, LinkCounters::INFO);
    let kinds = std::iter::repeat_n("hub", hub.len()).chain(std::iter::repeat_n("link", link.len())).collect();
    Arc::new(CounterSchema { kinds, columns: hub.iter().chain(link).collect(), destinations: Vec::new() })
}

/// The columns of all kinds of units of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterSchemas {
    layout: Option<ChipLayout>,
    /// The kind of each GPU.
    kind_of: Vec<usize>,
    sms: Arc<CounterSchema>,
    partitions: Arc<CounterSchema>,
    networks: Arc<CounterSchema>,
    grid: Arc<CounterSchema>,
    cpus: Arc<CounterSchema>,
    /// Columns of hubs and switches; empty for a machine that is not a system.
    hubs: Arc<CounterSchema>,
    applications: Arc<ApplicationRows>,
    sm_applications: Arc<SmApplications>,
}

impl CounterSchemas {
    /// Makes the columns of a machine whose unit `i` has the components `components(i)`, shared by `apps` applications; 0 for a single
    /// application. `kind_of` has the kind of each GPU, counted from 0.
    pub(super) fn of(layout: &ChipLayout, kind_of: Vec<usize>, apps: usize, components: impl Fn(UnitId) -> Vec<ComponentStats>) -> Self {
        let kinds = kind_of.iter().max().map_or(0, |last| last + 1);
        // The first GPU of each kind.
        let firsts = (0..kinds).filter_map(|kind| kind_of.iter().position(|of| *of == kind)).map(|gpu| layout.gpus[gpu]);
        let firsts: Vec<GpuLayout> = firsts.collect();
        let each = |unit: &dyn Fn(GpuLayout) -> UnitId| -> Vec<_> { firsts.iter().map(|gpu| components(unit(*gpu))).collect() };
        let sms = each(&|gpu| gpu.sm(SmId(0)));
        let partitions = each(&|gpu| gpu.partition(PartitionId(0)));
        let networks = firsts.iter().map(|gpu| [components(gpu.request_net()), components(gpu.reply_net())].concat());
        let applications = if apps == 0 { ApplicationRows::default() } else { ApplicationRows::of(apps, &sms, &partitions) };
        let sm_applications = if apps == 0 { SmApplications::default() } else { SmApplications::of(apps, &sms) };
        Self {
            layout: Some(layout.clone()),
            sms: CounterSchema::of(&sms, of_all),
            partitions: CounterSchema::of(&partitions, of_all),
            networks: CounterSchema::of(&networks.collect::<Vec<_>>(), of_all),
            grid: CounterSchema::of(&each(&|gpu| gpu.grid()), of_all),
            cpus: if layout.cpus == 0 { Arc::default() } else { CounterSchema::of(&[components(layout.cpu(CpuId(0)))], of_all) },
            hubs: if layout.gpus.len() > 1 { hub_schema() } else { Arc::default() },
            applications: Arc::new(applications),
            sm_applications: Arc::new(sm_applications),
            kind_of,
        }
    }

    /// Returns the counters of the chip at cycle `at`, given the values of every unit.
    pub(super) fn snapshot(&self, at: Cycle, samples: &[Vec<u64>]) -> Snapshot {
        let Some(layout) = &self.layout else { return Snapshot { at, ..Snapshot::default() } };
        let (mut sms, mut partitions, mut networks, mut grid): (Vec<_>, Vec<_>, Vec<_>, Vec<_>) = Default::default();
        let mut hubs: Vec<&Vec<u64>> = Vec::new();
        for (gpu, kind) in layout.gpus.iter().zip(&self.kind_of) {
            let mut units = samples[usize::from(gpu.first)..].iter().map(|values| (*kind, values.as_slice()));
            sms.extend(units.by_ref().take(gpu.sms as usize));
            partitions.extend(units.by_ref().take(gpu.partitions as usize));
            networks.extend(units.by_ref().take(2));
            grid.extend(units.take(1));
            hubs.extend(samples.get(gpu.hub().index()).filter(|_| layout.gpus.len() > 1));
        }
        let after = samples.len() - (layout.switches + layout.cpus) as usize;
        let cpus: Vec<UnitSample<'_>> = samples[after..].iter().take(layout.cpus as usize).map(|values| (0, values.as_slice())).collect();
        hubs.extend(&samples[after + layout.cpus as usize..]);
        let hubs = if layout.gpus.len() > 1 { self.hub_rows(layout.gpus.len(), hubs.into_iter()) } else { CounterRows::default() };
        Snapshot {
            at,
            applications: self.applications.rows(&sms, &partitions),
            sm_applications: self.sm_applications.rows(&sms),
            sms: CounterRows::of(&self.sms, 1, &sms),
            partitions: CounterRows::of(&self.partitions, 1, &partitions),
            networks: CounterRows::of(&self.networks, 2, &networks),
            grid: CounterRows::of(&self.grid, 1, &grid),
            cpus: CounterRows::of(&self.cpus, 1, &cpus),
            hubs,
        }
    }

    /// Returns the rows of hubs and switches; the first `gpus` rows have hub counters in addition to link counters.
    fn hub_rows<'a>(&self, gpus: usize, units: impl Iterator<Item = &'a Vec<u64>>) -> CounterRows {
        let (own, links) = (HubCounters::INFO.len(), LinkCounters::INFO.len());
        let mut values = Vec::new();
        for (number, unit) in units.enumerate() {
            let (hub_ports, of_links) = unit.split_at(if number < gpus { own } else { 0 });
            let first = values.len();
            values.resize(first + own + links, 0);
            values[first..first + hub_ports.len()].copy_from_slice(hub_ports);
            for link in of_links.chunks(links) {
                values[first + own..].iter_mut().zip(link).for_each(|(sum, value)| *sum += value);
            }
        }
        CounterRows { schema: Arc::clone(&self.hubs), values }
    }
}

impl CounterSchemas {
    /// Returns the columns of an interval row: the kind of component and the counter.
    pub(super) fn interval_columns(&self) -> impl Iterator<Item = (&'static str, &'static CounterInfo)> {
        let kinds = [&self.sms, &self.partitions, &self.networks, &self.grid, &self.cpus, &self.hubs];
        kinds.into_iter().flat_map(|schema| schema.kinds.iter().copied().zip(schema.columns.iter().copied()))
    }
}

/// All counters of the chip at a cut.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Snapshot {
    pub(super) at: Cycle,
    pub(super) sms: CounterRows,
    pub(super) partitions: CounterRows,
    pub(super) networks: CounterRows,
    pub(super) grid: CounterRows,
    pub(super) cpus: CounterRows,
    pub(super) hubs: CounterRows,
    pub(super) applications: CounterRows,
    pub(super) sm_applications: CounterRows,
}

impl Snapshot {
    /// Returns the counts since the snapshot `earlier`.
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

    static HITS_INFO: CounterInfo = CounterInfo { name: "hits", unit: "accesses", help: "Hits." };
    static READS_INFO: CounterInfo = CounterInfo { name: "reads", unit: "bursts", help: "Reads." };

    fn test_component(kind: &'static str, infos: &[&'static CounterInfo]) -> ComponentStats {
        ComponentStats { kind, id: 0, counters: infos.iter().map(|info| CounterValue { info, value: 0 }).collect() }
    }

    #[test]
    fn the_same_counter_of_two_components_of_a_unit_is_one_column() {
        let components = [
            test_component("llc", &[&HITS_INFO]),
            test_component("llc", &[&HITS_INFO]),
            test_component("dram", &[&READS_INFO, &HITS_INFO]),
        ];
        let schema = CounterSchema::of(&[components.to_vec()], of_all);
        let rows = |values: [[u64; 4]; 2]| {
            let units: Vec<UnitSample<'_>> = values.iter().map(|values| (0, values.as_slice())).collect();
            CounterRows::of(&schema, 1, &units)
        };
        let (before, now) = (rows([[1, 2, 3, 4], [0; 4]]), rows([[1, 5, 9, 4], [10, 20, 30, 40]]));
        let sums: Vec<_> = now.since(&before).sums().map(|(kind, counted)| (kind, counted.info.name, counted.value)).collect();
        assert_eq!(sums, [("llc", "hits", 3 + 30), ("dram", "reads", 6 + 30), ("dram", "hits", 40)]);
        assert_eq!(now.since(&CounterRows::default()), now);
    }

    #[test]
    fn applications_have_a_row_each_over_all_sms_and_slices() {
        let of = |kind, id, info| ComponentStats { id, ..test_component(kind, &[info]) };
        // An SM has counters for itself and for two applications; a partition has two slices, which also count for two applications.
        let sm = vec![test_component("sm", &[&READS_INFO]), of(APPLICATION_SM, 0, &READS_INFO), of(APPLICATION_SM, 1, &READS_INFO)];
        let slice = |i: u32| {
            [test_component("llc", &[&HITS_INFO]), of(APPLICATION_LLC, 2 * i, &HITS_INFO), of(APPLICATION_LLC, 2 * i + 1, &HITS_INFO)]
        };
        let partition = [slice(0), slice(1)].concat();
        let sms = [sm];
        let values: [&[u64]; 3] = [&[9, 1, 2], &[9, 10, 20], &[9, 100, 200, 9, 300, 400]];
        let [first, second, slices] = values.map(|values| (0, values));
        let rows = ApplicationRows::of(2, &sms, &[partition]).rows(&[first, second], &[slices]);
        assert_eq!(rows.table().rows().collect::<Vec<_>>(), [[11, 400], [22, 600]]);
        let by_sm = SmApplications::of(2, &sms).rows(&[first, second]);
        assert_eq!(by_sm.table().rows().collect::<Vec<_>>(), [[1], [2], [10], [20]]);
        let own = CounterRows::of(&CounterSchema::of(&sms, of_all), 1, &[first]);
        assert_eq!(own.values, [9], "what an SM counts for applications is no column of the SM's");
    }

    #[test]
    fn units_of_other_kinds_of_gpus_have_the_same_columns() {
        let units = [
            vec![test_component("dram", &[&HITS_INFO])],
            vec![test_component("bank", &[&READS_INFO]), test_component("dram", &[&READS_INFO, &HITS_INFO])],
        ];
        let schema = CounterSchema::of(&units, of_all);
        assert_eq!(schema.kinds, ["dram", "bank", "dram"]);
        let rows = CounterRows::of(&schema, 1, &[(0, &[1]), (1, &[10, 20, 30])]);
        assert_eq!(rows.values, [1, 0, 0, 30, 10, 20]);
    }
}
