//! Records of kernels: cycles of launch, start and end, and the number of completed CTAs.
//!
//! In: events with their exact cycles. Out: the plain data of [`KernelStats`]. The records influence no decision.

use warpshard_base::{Cycle, KernelIndex};
use warpshard_stats::{KernelStats, LaunchCounters};
use warpshard_workload::Workload;

/// The record of one kernel, in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct KernelRecord {
    pub(super) launched: Option<Cycle>,
    pub(super) started: Option<Cycle>,
    pub(super) ended: Option<Cycle>,
    pub(super) ended_ctas: u32,
}

/// The records of all kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct KernelRecords {
    records: Box<[KernelRecord]>,
    /// The number of records of first launches, which come first.
    first_launches: usize,
}

impl KernelRecords {
    /// Creates records of `kernels` kernels, of which the first `first_launches` are first launches.
    pub(super) fn new(kernels: usize, first_launches: usize) -> Self {
        Self { records: vec![KernelRecord::default(); kernels].into(), first_launches }
    }

    pub(super) fn record(&self, kernel: KernelIndex) -> &KernelRecord {
        &self.records[kernel.index()]
    }

    pub(super) fn record_mut(&mut self, kernel: KernelIndex) -> &mut KernelRecord {
        &mut self.records[kernel.index()]
    }

    /// Returns the cycle of the latest end of a kernel.
    pub(super) fn latest_end(&self) -> Cycle {
        self.records[..self.first_launches].iter().filter_map(|record| record.ended).max().unwrap_or_default()
    }

    /// Returns one row per kernel at `now`, without repeated launches and without the counters of SMs.
    pub(super) fn rows(&self, workload: &Workload, resident: &[u32], now: Cycle) -> Vec<KernelStats> {
        let records = &self.records[..self.first_launches];
        let latencies = bare_launch_latencies(records, now);
        let mut rows = Vec::with_capacity(records.len());
        for (i, (kernel, record)) in workload.kernels.iter().zip(records).enumerate() {
            rows.push(KernelStats {
                index: KernelIndex(i as u32),
                name: kernel.info.name.clone(),
                id: kernel.info.id,
                app: kernel.info.app,
                stream: kernel.info.stream,
                ctas: kernel.info.ctas(),
                ctas_done: record.ended_ctas,
                ctas_per_sm: resident[i],
                launched: record.launched.map(|cycle| cycle.0),
                started: record.started.map(|cycle| cycle.0),
                ended: record.ended.map(|cycle| cycle.0),
                launch_latency_cycles: latencies[i],
                counters: LaunchCounters::default(),
            });
        }
        rows
    }
}

/// Returns, for each kernel, the cycles of its launch latency during which no kernel ran.
///
/// If several kernels are being launched while none runs, the cycle is attributed to the kernel launched first (ties: the first in program
/// order), so that the sum over the kernels counts no cycle twice. Open intervals end at `now`.
fn bare_launch_latencies(records: &[KernelRecord], now: Cycle) -> Vec<u64> {
    let mut order: Vec<usize> = (0..records.len()).filter(|&i| records[i].launched.is_some()).collect();
    order.sort_by_key(|&i| (records[i].launched, i));

    let mut running: Vec<(u64, u64)> =
        records.iter().filter_map(|record| Some((record.started?.0, record.ended.unwrap_or(now).0))).collect();
    running.sort_unstable();
    running.dedup_by(|next, before| {
        let joins = next.0 <= before.1;
        if joins {
            before.1 = before.1.max(next.1);
        }
        joins
    });

    let mut latencies = vec![0; records.len()];
    let mut charged_until = 0;
    for i in order {
        let launched = records[i].launched.unwrap_or_default().0;
        let (from, until) = (launched.max(charged_until), records[i].started.unwrap_or(now).0);
        if from >= until {
            continue;
        }
        let first = running.partition_point(|span| span.1 <= from);
        let overlap = running[first..].iter().take_while(|span| span.0 < until);
        let ran: u64 = overlap.map(|span| span.1.min(until) - span.0.max(from)).sum();
        latencies[i] = until - from - ran;
        charged_until = until;
    }
    latencies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(launched: u64, started: Option<u64>, ended: Option<u64>) -> KernelRecord {
        KernelRecord { launched: Some(Cycle(launched)), started: started.map(Cycle), ended: ended.map(Cycle), ended_ctas: 0 }
    }

    #[test]
    fn launch_latency_counts_only_cycles_without_a_running_kernel() {
        let records = [record(0, Some(10), Some(50)), record(30, Some(70), Some(90)), record(0, Some(20), Some(40))];
        assert_eq!(bare_launch_latencies(&records, Cycle(90)), [10, 20, 0]);
    }

    #[test]
    fn kernels_launched_together_share_one_latency() {
        let records = [record(0, Some(10), Some(11)), record(0, Some(15), Some(20)), KernelRecord::default()];
        assert_eq!(bare_launch_latencies(&records, Cycle(20)), [10, 4, 0]);
    }

    #[test]
    fn an_open_launch_counts_up_to_now() {
        let records = [record(0, Some(5), Some(8)), record(8, None, None)];
        assert_eq!(bare_launch_latencies(&records, Cycle(20)), [5, 12]);
    }
}
