//! The counters of a CPU core.

use warpshard_stats::counters;

counters! {
    /// Counters of a CPU core.
    pub struct CpuCounters {
        cycles: "cycles", "Cycles of the core's clock.";
        instructions: "instructions", "Retired instructions, including writebacks of the trace if they count as instructions.";
        loads: "instructions", "Loads fetched.";
        stores: "instructions", "Stores fetched.";
        trace_writebacks: "writebacks", "Writebacks contained in the trace.";
        l1_hits: "accesses", "Loads and stores that hit in the L1.";
        l1_pending_hits: "accesses", "Loads and stores to a line in flight to the L1.";
        l1_misses: "accesses", "Loads and stores that missed in the L1.";
        l2_hits: "accesses", "Fetches of the L1 that hit in the L2.";
        l2_misses: "accesses", "Fetches of the L1 that missed in the L2.";
        reads: "requests", "Reads sent to the network.";
        writes: "requests", "Writes sent to the network.";
        read_cycles: "cycles", "Outstanding reads, summed over cycles; divided by the number of reads, the average read latency.";
        window_full_cycles: "cycles", "Cycles in which nothing was fetched because the window was full.";
        memory_full_cycles: "cycles", "Cycles in which nothing was fetched because the caches or the network accepted no access.";
    }
}

counters! {
    /// Counters of a CPU core at its goals; 0 until the core reaches a goal.
    pub struct CpuMarks {
        warm_cycles: "cycles", "Cycles of the core's clock until the warm-up ended.";
        warm_instructions: "instructions", "Instructions retired when the warm-up ended.";
        measured_cycles: "cycles", "Cycles of the core's clock from the end of the warm-up to the end of the measurement.";
        measured_instructions: "instructions", "Instructions retired during the measurement.";
        measured_reads: "requests", "Reads sent to the network during the measurement.";
    }
}
