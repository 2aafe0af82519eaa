//! What a hub and its links count.

use warpshard_stats::counters;

counters! {
    /// Counters of a GPU's hub.
    pub struct HubCounters {
        remote_reads: "packets", "Reads of this GPU's SMs from memory of other GPUs.";
        remote_writes: "packets", "Writes and reductions of this GPU's SMs to memory of other GPUs.";
        remote_atomics: "packets", "Atomics of this GPU's SMs in memory of other GPUs.";
        remote_sectors: "sectors", "Sectors of these.";
        served_requests: "packets", "Requests of other GPUs that this one's memory answered.";
        served_sectors: "sectors", "Sectors of these.";
        forwarded: "packets", "Packets between two other GPUs that passed through.";
        copied_lines: "lines", "Lines, or parts of one, that the copy engine moved.";
        copies: "copies", "Copies that the copy engine finished.";
        signals: "signals", "Ends of kernels that other GPUs heard of through here.";
        page_lookups: "lookups", "Pages of which the home was asked for.";
        pages_placed: "pages", "Pages that the table of pages here gave to a GPU.";
        pending_stalls: "packets", "Times that a request of another GPU found no place among those that wait for answers.";
    }
}

counters! {
    /// Counters of a link, in one direction.
    pub struct LinkCounters {
        packets: "packets", "Packets sent.";
        bytes: "bytes", "Bytes sent, headers included.";
        peer_bytes: "bytes", "Those of `bytes` that crossed a link between GPUs.";
        host_bytes: "bytes", "Those of `bytes` that crossed a link to a host.";
        data_bytes: "bytes", "Bytes of data sent.";
        busy_cycles: "cycles", "Cycles in which the link sent.";
        credit_stalls: "cycles", "Cycles in which packets waited for room at the far end.";
        queue_cycles: "packet cycles", "Cycles that packets waited at the head of their queues until they were sent.";
    }
}
