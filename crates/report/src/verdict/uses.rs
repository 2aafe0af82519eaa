//! How much of each resource a kernel uses.

use warpshard_base::SECTOR_BYTES;

use super::terms::{Use, rounded};
use crate::roofs::{PipeRoof, Roofs};

/// The counters of a kernel's sectors of DRAM.
pub(super) const DRAM: [&str; 2] = ["dram_reads", "dram_writes"];

/// Use of the resources over a kernel's cycles, each as a share of its roof from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uses {
    /// The kind of the busiest execution units.
    pub(super) pipe_name: &'static str,
    /// Issue slots.
    pub(super) issue: f64,
    /// The busiest execution units.
    pub(super) pipe: f64,
    /// Shared memory: cycles of the load/store unit.
    pub(super) shared: f64,
    /// The L1: cycles of the load/store unit, or of the banks.
    pub(super) l1: f64,
    /// Ports of the network.
    pub(super) network: f64,
    /// Cycles of the LLC's slices.
    pub(super) llc: f64,
    /// Requests to the LLC.
    pub(super) llc_requests: f64,
    /// Data of DRAM.
    pub(super) dram: f64,
    /// Rows of DRAM that are opened.
    pub(super) rows: f64,
    /// Cycles in which the instruction in the load/store unit waits for what is behind shared memory and the tags of the L1.
    pub(super) behind_unit: f64,
}

/// Cycles of all load/store units that a kernel has a part in, from the counters of the SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    /// Accesses waited for their bank of the L1.
    pub(super) banks: f64,
    /// Instructions could not leave the unit.
    pub(super) unit: f64,
}

impl Uses {
    /// Of a kernel with the counters `get` that took `cycles` and opened `rows` of DRAM, and whose instructions waited in the load/store units.
    pub(super) fn of(get: &dyn Fn(&str) -> f64, rows: f64, waits: Waits, cycles: f64, roofs: &Roofs) -> Self {
        let sms = f64::from(roofs.sms);
        let of_pipe = |pipe: &PipeRoof| pipe.classes.iter().map(|(counter, each)| get(counter) * each).sum::<f64>() / sms;
        let busiest = roofs.pipes.iter().map(|pipe| (pipe.name, of_pipe(pipe))).max_by(|a, b| a.1.total_cmp(&b.1));
        let (pipe_name, pipe) = busiest.unwrap_or(("SP", 0.0));
        let share = |busy: f64| if cycles > 0.0 && busy.is_finite() { (busy / cycles).clamp(0.0, 1.0) } else { 0.0 };
        let accesses = l1_accesses(get);
        // An instruction takes a cycle, and one more for each access that waits for its bank.
        let instructions = get("load_instructions") + get("store_instructions");
        let in_unit = (instructions + waits.banks).min(accesses);
        let shared = get("shared_instructions") + get("shared_conflict_cycles");
        let l1 = in_unit.max(accesses / roofs.l1) + get("l1_bypasses");
        let all = instructions + get("atomic_instructions") + get("shared_instructions") + waits.unit;
        let llc = get("llc_accesses");
        Self {
            pipe_name,
            issue: share(get("warp_instructions") / roofs.issue / sms),
            pipe: share(pipe),
            shared: share(shared / sms),
            l1: share(l1 / sms),
            network: share(llc / roofs.network),
            llc: share((llc + longer_writes(get, roofs)) / roofs.llc),
            llc_requests: share(llc / roofs.llc),
            dram: share(DRAM.map(get).iter().sum::<f64>() * 32.0 / roofs.dram),
            rows: share(roofs.rows.map_or(0.0, |most| rows / most)),
            behind_unit: share((all - shared - l1).max(0.0) / sms),
        }
    }

    /// The same with names, from issue to DRAM.
    pub(super) fn list(&self) -> Vec<Use> {
        let Self { pipe_name, issue, pipe, shared, l1, network, llc, dram, rows, .. } = *self;
        let all = [
            ("issue", issue),
            (pipe_name, pipe),
            ("shared", shared),
            ("L1", l1),
            ("network", network),
            ("LLC", llc),
            ("DRAM", dram),
            ("DRAM rows", rows),
        ];
        all.into_iter().map(|(name, share)| Use { name: name.to_owned(), share: rounded(share) }).collect()
    }
}

/// Extra time of a kernel's writes in the LLC's slices, in reads of a sector. The bytes that the kernel requests bound the number of writes of whole
/// sectors; the other writes are of parts of sectors.
fn longer_writes(get: &dyn Fn(&str) -> f64, roofs: &Roofs) -> f64 {
    let writes = ["l1_write_hits", "l1_write_pending_hits", "l1_write_misses", "l1_write_sector_misses"].map(get).iter().sum::<f64>();
    let writes = writes.min(get("llc_accesses"));
    let parts = (writes - get("requested_bytes") / SECTOR_BYTES as f64).max(0.0);
    writes * roofs.llc_writes.0 + parts * roofs.llc_writes.1
}

/// Accesses of a kernel to the L1.
pub(super) fn l1_accesses(get: &dyn Fn(&str) -> f64) -> f64 {
    (get("memory_accesses") - get("l1_bypasses")).max(0.0)
}
