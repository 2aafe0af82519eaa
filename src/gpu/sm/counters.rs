//! What an SM counts: per kernel launch, and for itself.

use crate::stats::{Counted, Counters, counters};

use super::stall::{StallCounts, StallReason};

counters! {
    /// What an SM did on behalf of one kernel launch.
    pub struct KernelCounters {
        warp_instructions: "instructions", "Instructions issued by warps, predicated-off ones included.";
        thread_instructions: "instructions", "Active lanes of the issued instructions.";
        load_instructions: "instructions", "Loads from global or local memory.";
        store_instructions: "instructions", "Stores to global or local memory.";
        atomic_instructions: "instructions", "Atomics and reductions on global memory.";
        shared_instructions: "instructions", "Accesses to shared memory.";
        barrier_instructions: "instructions", "CTA barriers.";
        shared_conflict_cycles: "cycles", "Cycles beyond the first that accesses to shared memory took because of bank conflicts.";
        memory_accesses: "accesses", "Accesses that the coalescer made, of one sector or line each.";
        l1_read_hits: "accesses", "Reads that hit in the L1.";
        l1_read_pending_hits: "accesses", "Reads of a sector that was on its way to the L1.";
        l1_read_misses: "accesses", "Reads that missed in the L1, the line absent.";
        l1_read_sector_misses: "accesses", "Reads that missed in the L1, the line present.";
        l1_write_hits: "accesses", "Writes that hit in the L1.";
        l1_write_pending_hits: "accesses", "Writes to a sector that was on its way to the L1.";
        l1_write_misses: "accesses", "Writes that missed in the L1, the line absent.";
        l1_write_sector_misses: "accesses", "Writes that missed in the L1, the line present.";
        l1_bypasses: "accesses", "Accesses that went past the L1.";
        ctas: "CTAs", "CTAs that ended.";
    }
}

counters! {
    /// What an SM did, whoever for.
    pub struct SmCounters {
        cycles: "cycles", "Core cycles.";
        active_cycles: "cycles", "Core cycles with a CTA resident.";
        resident_warp_cycles: "warps x cycles", "Resident warps, summed over the cycles.";
        paused_cycles: "cycles", "Core cycles paused: with state and power, but issuing nothing.";
        gated_cycles: "cycles", "Core cycles without power.";
        ctas_started: "CTAs", "CTAs that started.";
        ctas_ended: "CTAs", "CTAs that ended.";
        ended_cta_instructions: "instructions", "Warp instructions of the CTAs that ended.";
        packets_sent: "packets", "Requests sent to the network.";
        packets_received: "packets", "Replies received from the network.";
        l1_retries: "attempts", "Accesses that the L1 refused for want of a line, an MSHR or room in its miss queue.";
        l1_bank_conflicts: "cycles", "Cycles in which an access found its L1 bank taken.";
        l1_flushes: "flushes", "Times that the L1 was invalidated.";
        memory_stall_cycles: "cycles", "Cycles in which the instruction in the load/store unit could not leave it.";
        loads_answered: "loads", "Loads and atomics that got all their data.";
        load_cycles: "loads x cycles", "Loads and atomics that entered the load/store unit and have not got all their data, summed over the cycles.";
        load_overlapped_cycles: "loads x cycles", "The same, of cycles in which an arithmetic unit has an instruction.";
        network_full_cycles: "cycles", "Cycles in which a request found no credit.";
        operand_conflicts: "reads", "Operand reads that waited for their bank, once for each step.";
        instruction_misses: "misses", "Fetches that missed in the instruction cache.";
        constant_misses: "misses", "Accesses that missed in the constant cache.";
    }
}

/// All counters of an SM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmStats {
    /// Indexed by `KernelIndex`.
    pub kernels: Vec<KernelCounters>,
    /// For the SM as a whole.
    pub sm: SmCounters,
    /// Scheduler cycles by reason.
    pub stalls: StallCounts,
}

counters! {
    /// Scheduler cycles by what the scheduler did, in the order of [`StallReason`].
    pub struct StallCounters {
        issued: "scheduler cycles", "An instruction was issued.";
        stall_memory_pipeline: "scheduler cycles", "The way to the load/store unit was full.";
        stall_pipeline: "scheduler cycles", "The way to another unit was full.";
        stall_scoreboard_memory: "scheduler cycles", "Waited for a register that memory writes.";
        stall_scoreboard_alu: "scheduler cycles", "Waited for a register that a fixed-latency unit writes.";
        stall_fence: "scheduler cycles", "Waited at a memory fence or for an atomic.";
        stall_barrier: "scheduler cycles", "Waited at a CTA barrier.";
        stall_throttled: "scheduler cycles", "Held back by the limit of warps.";
        stall_fetch: "scheduler cycles", "Instruction buffers were empty.";
        stall_draining: "scheduler cycles", "All warps had issued their last instruction.";
        stall_no_warps: "scheduler cycles", "No warp was resident.";
    }
}

impl SmStats {
    /// Zeroes for `kernels` launches.
    pub fn new(kernels: usize) -> Self {
        Self { kernels: vec![KernelCounters::default(); kernels], sm: SmCounters::default(), stalls: [0; StallReason::COUNT] }
    }

    /// The counters that are not per kernel, with their names: those of the SM, then the stall reasons.
    pub fn component(&self) -> Vec<Counted> {
        let mut out = Vec::new();
        self.sm.visit(&mut |info, value| out.push(Counted { info, value }));
        out.extend(StallCounters::INFO.iter().zip(self.stalls).map(|(info, value)| Counted { info, value }));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stall_reason_has_a_counter() {
        assert_eq!(StallCounters::INFO.len(), StallReason::COUNT);
        assert!(StallReason::ALL.iter().enumerate().all(|(i, reason)| *reason as usize == i));
    }
}
