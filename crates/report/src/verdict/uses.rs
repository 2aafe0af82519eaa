//! Utilisation of each resource by a kernel.

use warpshard_base::SECTOR_BYTES;

use super::terms::{Utilisation, rounded};
use crate::roofs::{PipeRoof, Roofs};

/// Names of a kernel's counters of DRAM sectors.
pub(super) const DRAM_COUNTERS: [&str; 2] = ["dram_reads", "dram_writes"];

/// Utilisation of the resources over a kernel's cycles, each as a share of its roof from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Utilisations {
    /// The kind of the busiest execution units.
    pub(super) pipe_name: &'static str,
    /// Share of the issue slots.
    pub(super) issue: f64,
    /// Share of the busiest execution units.
    pub(super) pipe: f64,
    /// Share of load/store unit cycles for shared memory.
    pub(super) shared: f64,
    /// Share of load/store unit cycles, or of bank cycles, for the L1.
    pub(super) l1: f64,
    /// Share of the network ports.
    pub(super) network: f64,
    /// Share of the cycles of the LLC slices.
    pub(super) llc: f64,
    /// Share of the peak rate of LLC requests.
    pub(super) llc_requests: f64,
    /// Share of the peak DRAM bandwidth.
    pub(super) dram: f64,
    /// Share of the peak rate of DRAM row activations.
    pub(super) rows: f64,
    /// Share of cycles in which the instruction in the load/store unit waits for a stage behind shared memory and the L1 tags.
    pub(super) behind_unit: f64,
}

/// Wait cycles of a kernel in all load/store units, estimated from the counters of the SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    /// Cycles in which accesses wait for their L1 bank.
    pub(super) banks: f64,
    /// Cycles in which instructions cannot leave the unit.
    pub(super) unit: f64,
}

impl Utilisations {
    /// Computes the utilisation of a kernel with the counters `get` that took `cycles`, activated `rows` DRAM rows, and had `waits` in the
    /// load/store units.
    pub(super) fn of(get: &dyn Fn(&str) -> f64, rows: f64, waits: Waits, cycles: f64, roofs: &Roofs) -> Self {
        let sms = f64::from(roofs.sms);
        let of_pipe = |pipe: &PipeRoof| pipe.classes.iter().map(|(counter, each)| get(counter) * each).sum::<f64>() / sms;
        let busiest = roofs.pipes.iter().map(|pipe| (pipe.name, of_pipe(pipe))).max_by(|a, b| a.1.total_cmp(&b.1));
        let (pipe_name, pipe) = busiest.unwrap_or(("SP", 0.0));
        let share = |busy: f64| if cycles > 0.0 && busy.is_finite() { (busy / cycles).clamp(0.0, 1.0) } else { 0.0 };
        let accesses = l1_accesses(get);
        // An instruction takes one cycle, and one more for each access that waits for its bank.
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
            llc: share((llc + write_slice_time(get, roofs)) / roofs.llc),
            llc_requests: share(llc / roofs.llc),
            dram: share(DRAM_COUNTERS.map(get).iter().sum::<f64>() * 32.0 / roofs.dram),
            rows: share(roofs.rows.map_or(0.0, |most| rows / most)),
            behind_unit: share((all - shared - l1).max(0.0) / sms),
        }
    }

    /// Returns the utilisations with names, from issue to DRAM.
    pub(super) fn list(&self) -> Vec<Utilisation> {
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
        all.into_iter().map(|(name, share)| Utilisation { name: name.to_owned(), share: rounded(share) }).collect()
    }
}

/// Returns the additional time of a kernel's writes in the LLC slices, in units of the time of a sector read. The bytes that the kernel
/// requests bound the number of whole-sector writes; the other writes are partial.
fn write_slice_time(get: &dyn Fn(&str) -> f64, roofs: &Roofs) -> f64 {
    let writes = ["l1_write_hits", "l1_write_pending_hits", "l1_write_misses", "l1_write_sector_misses"].map(get).iter().sum::<f64>();
    let writes = writes.min(get("llc_accesses"));
    let parts = (writes - get("requested_bytes") / SECTOR_BYTES as f64).max(0.0);
    writes * roofs.llc_writes.0 + parts * roofs.llc_writes.1
}

/// Returns the L1 accesses of a kernel.
pub(super) fn l1_accesses(get: &dyn Fn(&str) -> f64) -> f64 {
    (get("memory_accesses") - get("l1_bypasses")).max(0.0)
}
