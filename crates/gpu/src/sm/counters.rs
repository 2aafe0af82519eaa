//! The counters of an SM: per kernel launch, and for the whole SM.

use std::ops::{Deref, DerefMut};

use warpshard_stats::components::APPLICATION_SM;
use warpshard_stats::{CounterInfo, CounterVisitor, Counters, PerKernel, Tally, counters};
use warpshard_workload::{OpClass, Workload};

use super::stall::{StallCounts, StallReason};

counters! {
    /// Counters of an SM for one kernel launch.
    pub struct KernelCounters {
        warp_instructions: "instructions", "Instructions issued by warps, predicated-off ones included.";
        thread_instructions: "instructions", "Active lanes of the issued instructions.";
        load_instructions: "instructions", "Loads from global or local memory.";
        store_instructions: "instructions", "Stores to global or local memory.";
        atomic_instructions: "instructions", "Atomics and reductions on global memory.";
        shared_instructions: "instructions", "Accesses to shared memory.";
        barrier_instructions: "instructions", "CTA barriers.";
        shared_conflict_cycles: "cycles", "Cycles beyond the first that accesses to shared memory took because of bank conflicts.";
        requested_bytes: "bytes", "Bytes of global and local memory that active lanes loaded, stored or changed.";
        memory_accesses: "accesses", "Accesses that the coalescer made, of one sector or line each.";
        l1_read_hits: "accesses", "Reads that hit in the L1.";
        l1_read_pending_hits: "accesses", "Reads of a sector with an outstanding fetch to the L1.";
        l1_read_misses: "accesses", "Reads that missed in the L1, the line absent.";
        l1_read_sector_misses: "accesses", "Reads that missed in the L1, the line present.";
        l1_write_hits: "accesses", "Writes that hit in the L1.";
        l1_write_pending_hits: "accesses", "Writes to a sector with an outstanding fetch to the L1.";
        l1_write_misses: "accesses", "Writes that missed in the L1, the line absent.";
        l1_write_sector_misses: "accesses", "Writes that missed in the L1, the line present.";
        l1_bypasses: "accesses", "Accesses that bypassed the L1.";
        ctas_begun: "CTAs", "CTAs that started; a CTA that resumes after a preemption counts again.";
        ctas_bypassing: "CTAs", "CTAs that started and whose loads bypass the L1, by decision of a controller.";
        ctas: "CTAs", "CTAs that ended.";
        register_reads: "operands", "Registers that issued instructions read, each once for all lanes of the warp.";
        register_writes: "operands", "Registers that issued instructions write, each once for all lanes of the warp.";
        shared_words: "words", "Words of four bytes that lanes read from shared memory or wrote to it.";
        constant_accesses: "accesses", "Loads from the constant bank.";
        flops: "operations", "Floating-point operations of active lanes: a fused multiply-add is two, special functions are none.";
    }
}

/// Issued instructions and their active lanes by class, indexed by `OpClass`; in results as [`ClassCounters`].
pub type ClassCounts = [[u64; 2]; OpClass::COUNT];

counters! {
    /// Issued instructions by class, in the order of `OpClass`: warp instructions, then active lanes, of each.
    pub struct ClassCounters {
        issued_sp: "instructions", "Warp instructions issued: single-precision floating point.";
        lanes_sp: "lanes", "Active lanes of these: single-precision floating point.";
        issued_int: "instructions", "Warp instructions issued: integer arithmetic.";
        lanes_int: "lanes", "Active lanes of these: integer arithmetic.";
        issued_alu: "instructions", "Warp instructions issued: moves, conversions and the like.";
        lanes_alu: "lanes", "Active lanes of these: moves, conversions and the like.";
        issued_sfu: "instructions", "Warp instructions issued: special functions.";
        lanes_sfu: "lanes", "Active lanes of these: special functions.";
        issued_dp: "instructions", "Warp instructions issued: double precision.";
        lanes_dp: "lanes", "Active lanes of these: double precision.";
        issued_tensor: "instructions", "Warp instructions issued: matrix units.";
        lanes_tensor: "lanes", "Active lanes of these: matrix units.";
        issued_branch: "instructions", "Warp instructions issued: branches.";
        lanes_branch: "lanes", "Active lanes of these: branches.";
        issued_texture: "instructions", "Warp instructions issued: texture.";
        lanes_texture: "lanes", "Active lanes of these: texture.";
        issued_uniform: "instructions", "Warp instructions issued: the uniform datapath.";
        lanes_uniform: "lanes", "Active lanes of these: the uniform datapath.";
        issued_load: "instructions", "Warp instructions issued: loads and atomics that return a value.";
        lanes_load: "lanes", "Active lanes of these: loads and atomics that return a value.";
        issued_store: "instructions", "Warp instructions issued: stores and reductions.";
        lanes_store: "lanes", "Active lanes of these: stores and reductions.";
        issued_fence: "instructions", "Warp instructions issued: memory fences.";
        lanes_fence: "lanes", "Active lanes of these: memory fences.";
        issued_barrier: "instructions", "Warp instructions issued: CTA barriers.";
        lanes_barrier: "lanes", "Active lanes of these: CTA barriers.";
        issued_exit: "instructions", "Warp instructions issued: thread exits.";
        lanes_exit: "lanes", "Active lanes of these: thread exits.";
    }
}

counters! {
    /// Counters of an SM over all kernels.
    pub struct SmCounters {
        cycles: "cycles", "Core cycles.";
        active_cycles: "cycles", "Core cycles with a CTA resident.";
        resident_warp_cycles: "warps x cycles", "Resident warps, summed over the cycles.";
        stalled_core_cycles: "cycles", "Core cycles in which no scheduler issues, and all schedulers with warps wait for a register, a unit, a barrier, a fence or outstanding memory accesses.";
        paused_cycles: "cycles", "Core cycles paused: with state and power, but issuing nothing.";
        paused_resident_cycles: "cycles", "Core cycles paused with a CTA resident.";
        gated_cycles: "cycles", "Core cycles without power.";
        ctas_switched: "CTAs", "CTAs that were preempted and whose context was saved.";
        ctas_flushed: "CTAs", "CTAs that were preempted and restart from their beginning.";
        ctas_returned: "CTAs", "CTAs that were preempted before they started.";
        flushed_warp_instructions: "instructions", "Warp instructions that flushed CTAs had issued, and issue again.";
        replayed_warp_instructions: "instructions", "Warp instructions that were squashed when their CTA was switched, and issued again.";
        context_cycles: "cycles", "Cycles in which the context of a CTA was saved or restored, summed over CTAs.";
        ctas_started: "CTAs", "CTAs that started.";
        ctas_ended: "CTAs", "CTAs that ended.";
        ended_cta_instructions: "instructions", "Warp instructions of the CTAs that ended.";
        packets_sent: "packets", "Requests sent to the network.";
        packets_received: "packets", "Replies received from the network.";
        l1_retries: "attempts", "Accesses that the L1 refused because it lacked a line, an MSHR or a miss queue entry; the next four counters divide them by the cause of the first refusal. An access that waits before a full bank is in `l1_bank_conflicts`.";
        l1_retries_line: "attempts", "Accesses that the L1 refused because all lines of the set wait for data.";
        l1_retries_merge: "attempts", "Accesses that the L1 refused because the MSHR of the address is full.";
        l1_retries_mshr: "attempts", "Accesses that the L1 refused because no MSHR was free.";
        l1_retries_queue: "attempts", "Accesses that the L1 refused because the miss queue was full.";
        l1_bank_conflicts: "cycles", "Cycles in which an access found its L1 bank occupied.";
        l1_flushes: "flushes", "Invalidations of the L1.";
        memory_stall_cycles: "cycles", "Cycles in which the instruction in the load/store unit could not leave it.";
        loads_answered: "loads", "Loads and atomics that received all their data.";
        load_cycles: "loads x cycles", "Outstanding loads and atomics, from their entry into the load/store unit to their last data, summed over the cycles.";
        load_overlapped_cycles: "loads x cycles", "Outstanding loads and atomics, summed over the cycles in which an arithmetic unit has an instruction.";
        network_full_cycles: "cycles", "Cycles in which a request found no credit.";
        operand_conflicts: "reads", "Operand reads that waited for their bank, counted once per step.";
        instruction_fetches: "fetches", "Fetches from the instruction cache, each of the number of instructions that fit the buffer of a warp.";
        instruction_misses: "misses", "Fetches that missed in the instruction cache.";
        constant_misses: "misses", "Accesses that missed in the constant cache.";
        group_products: "products", "Products of warp groups (wgmma) that began.";
        group_product_cycles: "cycles", "Cycles in which the matrix units multiplied for products of warp groups.";
    }
}

/// Statistics of an SM for one kernel launch: its counters, and issued instructions by class. Both are stored together, since every issue
/// updates both.
#[derive(Clone, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct SmKernelStats {
    counters: KernelCounters,
    /// Issued instructions by class.
    pub classes: ClassCounts,
}

impl Deref for SmKernelStats {
    type Target = KernelCounters;

    #[inline]
    fn deref(&self) -> &KernelCounters {
        &self.counters
    }
}

impl DerefMut for SmKernelStats {
    #[inline]
    fn deref_mut(&mut self) -> &mut KernelCounters {
        &mut self.counters
    }
}

impl Tally for SmKernelStats {
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
        self.counters.counts(see);
        self.classes.counts(see);
    }
}

/// All counters of an SM.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SmStats {
    /// Statistics by launch, indexed by `KernelIndex`.
    pub kernels: PerKernel<SmKernelStats>,
    /// Counters for the whole SM.
    pub sm: SmCounters,
    /// Scheduler cycles by reason: first the cycles of schedulers without warps, then the cycles of the kernels in the order of
    /// `KernelIndex`.
    pub stalls: PerKernel<StallCounts>,
}

counters! {
    /// Scheduler cycles by the activity of the scheduler, in the order of [`StallReason`].
    pub struct StallCounters {
        issued: "scheduler cycles", "An instruction was issued.";
        stall_memory_pipeline: "scheduler cycles", "The input register of the load/store unit was full.";
        stall_memory_collectors: "scheduler cycles", "The input register of another unit was full, because memory instructions occupied the operand collectors.";
        stall_pipeline: "scheduler cycles", "The input register of another unit was full.";
        stall_scoreboard_memory: "scheduler cycles", "A warp waited for a register that a memory instruction writes.";
        stall_scoreboard_alu: "scheduler cycles", "A warp waited for a register that a fixed-latency unit writes.";
        stall_fence: "scheduler cycles", "A warp waited at a memory fence or for an atomic.";
        stall_barrier: "scheduler cycles", "A warp waited at a barrier, or for the preceding launch.";
        stall_throttled: "scheduler cycles", "The limit of warps held a warp back.";
        stall_fetch: "scheduler cycles", "Instruction buffers were empty.";
        stall_draining: "scheduler cycles", "All warps had issued their last instruction.";
        stall_no_warps: "scheduler cycles", "No warp was resident.";
    }
}

impl SmStats {
    /// Creates zeroed counters for `kernels` launches.
    pub fn new(kernels: usize) -> Self {
        Self { kernels: PerKernel::new(kernels), sm: SmCounters::default(), stalls: PerKernel::new(kernels + 1) }
    }

    /// Returns the scheduler cycles by reason, summed over all kernels.
    pub fn all_stalls(&self) -> StallCounts {
        let mut all = [0; StallReason::COUNT];
        self.stalls.parts().for_each(|part| all.iter_mut().zip(part).for_each(|(all, part)| *all += part));
        all
    }

    /// Visits all counters of the SM: the counters of the whole SM, the stall reasons, and the counters per kernel, summed over the
    /// kernels.
    pub fn visit(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        self.sm.visit(see);
        StallCounters::INFO.iter().zip(self.all_stalls()).for_each(|(info, value)| see(info, value));
        let (mut sum, mut classes) = (KernelCounters::default(), ClassCounts::default());
        for kernel in self.kernels.parts() {
            sum.add(kernel);
            add_classes(&mut classes, &kernel.classes);
        }
        sum.visit(see);
        visit_classes(&classes, see);
    }

    /// Visits the counters of SM number `sm` for each application of `workload`, if there are several. Components are numbered by SM, then
    /// application.
    pub fn visit_applications(&self, sm: u32, workload: &Workload, visitor: &mut dyn CounterVisitor) {
        let mut sums = vec![(KernelCounters::default(), ClassCounts::default()); workload.applications.len()];
        let app = |kernel: usize| workload.kernels[kernel].info.app.index();
        for (kernel, counters) in self.kernels.counted() {
            if let Some((sum, classes)) = sums.get_mut(app(kernel)) {
                sum.add(&counters);
                add_classes(classes, &counters.classes);
            }
        }
        for (number, (sum, classes)) in (sm * sums.len() as u32..).zip(&sums) {
            visitor.component(APPLICATION_SM, number);
            visitor.counters(sum);
            visit_classes(classes, &mut |info, value| visitor.counter(info, value));
        }
    }
}

/// Adds the counts of another SM or kernel.
pub fn add_classes(sum: &mut ClassCounts, part: &ClassCounts) {
    sum.as_flattened_mut().iter_mut().zip(part.as_flattened()).for_each(|(sum, part)| *sum += part);
}

/// Visits the scheduler cycles of a kernel; cycles of schedulers without warps belong to no kernel.
pub fn visit_stalls(stalls: &StallCounts, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
    let own = StallCounters::INFO.iter().zip(stalls).zip(StallReason::ALL).filter(|(_, reason)| *reason != StallReason::NoWarps);
    own.for_each(|((info, value), _)| see(info, *value));
}

/// Visits the counts by class with their names, in the order of [`ClassCounters`].
pub fn visit_classes(classes: &ClassCounts, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
    ClassCounters::INFO.iter().zip(classes.as_flattened()).for_each(|(info, value)| see(info, *value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_instruction_has_its_two_counters() {
        assert_eq!(ClassCounters::INFO.len(), 2 * OpClass::COUNT);
        let name = |class: OpClass, lanes: usize| ClassCounters::INFO[2 * class as usize + lanes].name;
        for (class, word) in [(OpClass::Sp, "sp"), (OpClass::Tensor, "tensor"), (OpClass::Load, "load"), (OpClass::Exit, "exit")] {
            assert_eq!((name(class, 0), name(class, 1)), (&*format!("issued_{word}"), &*format!("lanes_{word}")));
        }
    }

    #[test]
    fn every_stall_reason_has_a_counter() {
        assert_eq!(StallCounters::INFO.len(), StallReason::COUNT);
        assert!(StallReason::ALL.iter().enumerate().all(|(i, reason)| *reason as usize == i));
    }
}
