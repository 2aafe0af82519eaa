//! The counters of a slice. An access is one accepted sector, or one accepted request if lines have no sectors.

use warpshard_stats::counters;

counters! {
    /// Counters of an LLC slice.
    pub struct LlcCounters {
        accesses: "accesses", "Accepted requests of all kinds.";
        misses: "accesses", "Requests whose line or sector was neither present nor being fetched.";
        pending_hits: "accesses", "Requests whose sector was being fetched.";
        read_hits: "accesses", "Reads and atomics whose sector was present.";
        read_misses: "accesses", "Reads and atomics whose line was absent.";
        read_sector_misses: "accesses", "Reads and atomics whose line was present without the sector.";
        write_hits: "accesses", "Writes whose sector was present.";
        write_misses: "accesses", "Writes whose line was absent.";
        write_sector_misses: "accesses", "Writes whose line was present without the sector.";
        atomics: "accesses", "Atomics and reductions, which also count as reads.";
        fetches: "requests", "Fetches sent to DRAM.";
        write_backs: "sectors", "Modified sectors sent to DRAM.";
        fail_no_line: "cycles", "Cycles in which the oldest request waited because no line of its set was evictable.";
        fail_no_mshr: "cycles", "Cycles in which the oldest request waited for a free MSHR.";
        fail_merge_full: "cycles", "Cycles in which the oldest request waited because the MSHR of its sector accepted no more requests.";
        fail_queue_full: "cycles", "Cycles in which the oldest request waited for a free slot of the miss queue.";
        to_dram_full: "cycles", "Cycles in which the oldest request waited because the queue to DRAM was full.";
        out_full: "cycles", "Cycles in which the oldest request waited because the queue to the network was full.";
    }
}

counters! {
    /// Counters of an LLC slice per kernel launch.
    pub struct LlcKernelCounters {
        llc_accesses: "accesses", "Requests of the kernel to the LLC, of all kinds.";
        llc_hits: "accesses", "LLC requests of the kernel whose sector was present.";
        llc_pending_hits: "accesses", "LLC requests of the kernel whose sector was being fetched.";
        dram_reads: "sectors", "Sectors that the kernel's requests fetched from DRAM.";
        dram_writes: "sectors", "Sectors that the kernel's requests sent to DRAM, including evicted sectors that another kernel modified.";
    }
}

counters! {
    /// Counters of an LLC slice per application, if several share the GPU. Components are numbered by slice, then application.
    pub struct LlcApplicationCounters {
        llc_accesses: "accesses", "Requests of the application to the LLC, of all kinds.";
        llc_hits: "accesses", "LLC requests of the application whose sector was present.";
        llc_pending_hits: "accesses", "LLC requests of the application whose sector was being fetched.";
        dram_reads: "sectors", "Sectors fetched from DRAM for the application.";
        dram_writes: "sectors", "Sectors of the application that were sent to DRAM.";
    }
}
