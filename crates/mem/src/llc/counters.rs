//! The counters of a slice. An access is one accepted sector (or one request of a line cache).

use warpshard_stats::counters;

counters! {
    /// What an LLC slice counts.
    pub struct LlcCounters {
        accesses: "accesses", "Requests taken, of all kinds.";
        misses: "accesses", "Requests whose line or sector was absent and not on its way.";
        pending_hits: "accesses", "Requests whose sector was on its way.";
        read_hits: "accesses", "Reads and atomics whose sector was there.";
        read_misses: "accesses", "Reads and atomics whose line was absent.";
        read_sector_misses: "accesses", "Reads and atomics whose line was there without the sector.";
        write_hits: "accesses", "Writes whose sector was there.";
        write_misses: "accesses", "Writes whose line was absent.";
        write_sector_misses: "accesses", "Writes whose line was there without the sector.";
        atomics: "accesses", "Atomics and reductions among the reads.";
        fetches: "requests", "Requests sent to DRAM for data.";
        write_backs: "sectors", "Modified sectors sent to DRAM.";
        fail_no_line: "cycles", "Cycles in which the oldest request waited because no line of its set could make room.";
        fail_no_mshr: "cycles", "Cycles in which it waited for an MSHR.";
        fail_merge_full: "cycles", "Cycles in which it waited because its MSHR took no more requests.";
        fail_queue_full: "cycles", "Cycles in which it waited for room in the miss queue.";
        to_dram_full: "cycles", "Cycles in which it waited because the queue to DRAM was full.";
        out_full: "cycles", "Cycles in which it waited because the queue to the network was full.";
    }
}

counters! {
    /// What an LLC slice counts for each kernel launch.
    pub struct LlcKernelCounters {
        llc_accesses: "accesses", "Requests of the kernel to the LLC, of all kinds.";
        llc_hits: "accesses", "Those whose sector was there.";
        llc_pending_hits: "accesses", "Those whose sector was on its way.";
        dram_reads: "sectors", "Sectors that its requests fetched from DRAM.";
        dram_writes: "sectors", "Sectors that its requests sent to DRAM, modified ones that they evicted included, whichever kernel wrote them.";
    }
}

counters! {
    /// What an LLC slice counts for each of several applications. Components are numbered by slice, then application.
    pub struct LlcApplicationCounters {
        llc_accesses: "accesses", "Requests of the application to the LLC, of all kinds.";
        llc_hits: "accesses", "Those whose sector was there.";
        llc_pending_hits: "accesses", "Those whose sector was on its way.";
        dram_reads: "sectors", "Sectors requested from DRAM for the application.";
        dram_writes: "sectors", "Sectors of the application sent to DRAM.";
    }
}
