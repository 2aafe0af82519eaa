//! The counters of a crossbar.

use warpshard_stats::counters;

counters! {
    /// Counters of a subnet that is a crossbar.
    pub struct NetCounters {
        packets: "packets", "Packets granted.";
        flits: "flits", "Flits of 32 bytes of these packets: one for the header, one for each sector of data.";
        busy_cycles: "cycles", "Cycles in which a packet waited at an input.";
        conflicts: "packets", "Head packets of inputs in excess of one per output, summed over the cycles.";
        credit_stalls: "output cycles", "Outputs that were requested but had no credit, summed over the cycles.";
        queue_cycles: "packet cycles", "Cycles for which granted packets waited at their inputs.";
    }
}
