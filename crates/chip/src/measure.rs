//! Measurement of single launches of a run: the counters of every component at the end of each launch, and after given numbers of its CTAs
//! have ended.
//!
//! Input: the counters of all units at cuts, and the ends of kernels. Output: a [`LaunchMeasurement`] for each launch. Before a launch, the LLC
//! slices may be filled with lines of launches that are not simulated ([`Skipped`]); otherwise the measurement has no effect on the
//! simulation.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle, KernelIndex, PartitionId, SECTOR_BYTES, SectorBytes, SectorMask, UnitId};
use warpshard_engine::Cut;
use warpshard_mem::{PartitionDecision, WarmLine};
use warpshard_protocol::{AddressMap, EventKind};
use warpshard_stats::CounterValue;
use warpshard_workload::UsedLine;

use super::layout::ChipLayout;
use super::snapshot::{CounterRows, Snapshot};
use super::unit::ChipDecision;

/// A source of the LLC lines that skipped launches leave behind.
pub trait Skipped: Send {
    /// Returns the lines used by the skipped launches before `kernel`, each once, the most recently used line last. It is called when the
    /// preceding simulated launch has ended, in launch order, and not for the first launch of a run.
    fn before(&mut self, kernel: KernelIndex) -> Vec<UsedLine>;
}

/// The configuration of a measurement.
#[derive(Default)]
pub struct LaunchSelection {
    /// Marks per launch: ascending numbers of CTAs. All counters are read when that many CTAs of the launch have ended.
    pub marks: BTreeMap<KernelIndex, Vec<u64>>,
    /// The LLC lines of skipped launches.
    pub skipped: Option<Box<dyn Skipped>>,
}

impl std::fmt::Debug for LaunchSelection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measure").field("marks", &self.marks).field("skipped", &self.skipped.is_some()).finish()
    }
}

/// All counters at a cycle: the values of all components in the order of [`Outcome::components`](warpshard_stats::Outcome::components).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterMark {
    /// The cycle of the cut, in core cycles of the run.
    pub cycle: u64,
    /// Warp instructions of the run up to the cut.
    pub warp_instructions: u64,
    /// LLC sector misses of the run up to the cut.
    pub llc_misses: u64,
    /// The counter values.
    pub values: Vec<u64>,
}

/// A measured launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchMeasurement {
    /// The launch.
    pub kernel: KernelIndex,
    /// The counters at the end of the launch.
    pub end: CounterMark,
    /// The counters at the marks, each at the end of the window in which the mark was reached; marks in one window are equal.
    pub marks: Vec<CounterMark>,
}

/// Length of a window in core cycles; marks are taken at the end of a window.
const WINDOW_CYCLES: u64 = 512;

/// A running launch with pending marks.
struct MarkedLaunch {
    kernel: KernelIndex,
    /// CTAs of the run that had ended before this launch.
    ctas_before: u64,
    marks: Vec<CounterMark>,
}

/// The part of the observer that measures launches.
pub(super) struct LaunchMeter {
    measure: LaunchSelection,
    map: AddressMap,
    open: Option<MarkedLaunch>,
    /// CTAs of the run that had ended at the end of the last launch.
    ctas_before: u64,
    measured: Vec<LaunchMeasurement>,
}

impl LaunchMeter {
    pub(super) fn new(measure: LaunchSelection, map: AddressMap) -> Self {
        Self { measure, map, open: None, ctas_before: 0, measured: Vec::new() }
    }

    /// Returns `true` if this kind of event needs a cut.
    pub(super) fn needs_cut(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::KernelEnded(_) => true,
            EventKind::KernelStarted(kernel) => self.measure.marks.contains_key(&kernel),
            _ => false,
        }
    }

    /// Returns the end of the window after `now`, if a launch has pending marks.
    pub(super) fn next_cut(&self, now: Cycle) -> Option<Cycle> {
        let open = self.open.as_ref().filter(|open| open.marks.len() < self.measure.marks[&open.kernel].len());
        open.map(|_| Cycle((now.0 / WINDOW_CYCLES + 1) * WINDOW_CYCLES))
    }

    /// Returns the measured launches.
    pub(super) fn into_measured(self) -> Vec<LaunchMeasurement> {
        self.measured
    }

    pub(super) fn at_cut(&mut self, cut: &Cut<'_, EventKind>, now: &Snapshot, layout: &ChipLayout) -> Vec<(UnitId, ChipDecision)> {
        let sum = |rows: &CounterRows, name: &str| -> u64 {
            rows.sums().find(|(_, CounterValue { info, .. })| info.name == name).map_or(0, |(_, counted)| counted.value)
        };
        let ctas_done = sum(&now.grid, "ctas_done");
        let mark = || CounterMark {
            cycle: cut.at.0,
            warp_instructions: sum(&now.sms, "warp_instructions"),
            llc_misses: sum(&now.partitions, "misses"),
            values: cut.counters.concat(),
        };
        let mut decisions = Vec::new();
        for event in cut.events {
            match event.kind {
                EventKind::KernelStarted(kernel) if self.measure.marks.contains_key(&kernel) => {
                    self.open = Some(MarkedLaunch { kernel, ctas_before: self.ctas_before, marks: Vec::new() });
                }
                EventKind::KernelEnded(kernel) => {
                    let mut marks = self.open.take().filter(|open| open.kernel == kernel).map(|open| open.marks).unwrap_or_default();
                    if let Some(wanted) = self.measure.marks.remove(&kernel) {
                        marks.resize_with(wanted.len(), mark);
                    }
                    self.measured.push(LaunchMeasurement { kernel, end: mark(), marks });
                    self.ctas_before = ctas_done;
                    let lines = self.measure.skipped.as_mut().map(|skipped| skipped.before(KernelIndex(kernel.0 + 1)));
                    decisions.extend(warm_decisions(&self.map, layout, &lines.unwrap_or_default()));
                }
                _ => {}
            }
        }
        if let Some(open) = self.open.as_mut().filter(|_| cut.at.0.is_multiple_of(WINDOW_CYCLES)) {
            let wanted = &self.measure.marks[&open.kernel];
            let done = ctas_done - open.ctas_before;
            let reached = wanted.iter().filter(|ctas| **ctas <= done).count();
            if reached > open.marks.len() {
                open.marks.resize(reached, mark());
            }
        }
        decisions
    }
}

/// Returns the decisions that insert the lines into the LLC: each partition gets the parts of the lines that belong to its slices.
fn warm_decisions(map: &AddressMap, layout: &ChipLayout, lines: &[UsedLine]) -> Vec<(UnitId, ChipDecision)> {
    let mut parts: Vec<Vec<WarmLine>> = vec![Vec::new(); layout.gpus[0].partitions as usize];
    for line in lines {
        let mut before = None;
        for (index, bytes) in line.bytes.iter().enumerate().filter(|(_, bytes)| **bytes != 0) {
            let addr = Addr(line.addr.line().0 + index as u64 * SECTOR_BYTES);
            let slice = map.slice_of(addr);
            let part = &mut parts[usize::from(slice.0) / map.slices_per_partition as usize];
            if before != Some(slice) {
                part.push(WarmLine { addr, bytes: SectorBytes::default(), written: SectorMask(0) });
            }
            if let Some(left) = part.last_mut() {
                left.bytes[index] = *bytes;
                left.written.0 |= line.written.0 & 1 << index;
            }
            before = Some(slice);
        }
    }
    let told = parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty());
    told.map(|(i, part)| {
        let decision = PartitionDecision::Warm(Arc::from(part));
        (layout.gpus[0].partition(PartitionId(i as u16)), ChipDecision::Partition(decision))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::LINE_BYTES;
    use warpshard_config::Machine;

    #[test]
    fn every_sector_of_a_line_goes_to_its_partition() {
        let machine = Machine::load("v100", &[]).unwrap().machine;
        let (map, layout) = (&machine.mem.map, ChipLayout::of(&machine, 0, 0, false));
        let lines: Vec<UsedLine> =
            (0..64).map(|i| UsedLine { addr: Addr(i * LINE_BYTES), bytes: [u32::MAX, 0xf, 0, 1], written: SectorMask(0xa) }).collect();
        let decisions = warm_decisions(map, &layout, &lines);
        let mut sectors = 0;
        for (unit, decision) in &decisions {
            let ChipDecision::Partition(PartitionDecision::Warm(parts)) = decision else { panic!("{decision:?}") };
            for left in parts.iter() {
                let partition = map.slice_of(left.addr).0 / map.slices_per_partition as u16;
                assert_eq!(*unit, layout.gpus[0].partition(PartitionId(partition)));
                let of_line = [u32::MAX, 0xf, 0, 1];
                for (i, bytes) in left.bytes.iter().enumerate().filter(|(_, bytes)| **bytes != 0) {
                    assert_eq!((*bytes, left.written.0 >> i & 1), (of_line[i], 0xa >> i & 1));
                    sectors += 1;
                }
            }
        }
        assert_eq!(sectors, 3 * 64);
        assert!(warm_decisions(map, &layout, &[]).is_empty());
    }
}
