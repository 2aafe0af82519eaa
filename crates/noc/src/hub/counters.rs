//! Counters of a hub and its links.

use warpshard_stats::counters;

counters! {
    /// Counters of a GPU's hub.
    pub struct HubCounters {
        remote_reads: "packets", "Reads by this GPU's SMs from memory of other GPUs.";
        remote_writes: "packets", "Writes and reductions by this GPU's SMs to memory of other GPUs.";
        remote_atomics: "packets", "Atomics by this GPU's SMs on memory of other GPUs.";
        remote_sectors: "sectors", "Sectors of reads, writes, reductions and atomics by this GPU's SMs on memory of other GPUs.";
        served_requests: "packets", "Requests of other GPUs that this GPU's memory served.";
        served_sectors: "sectors", "Sectors of the requests of other GPUs that this GPU's memory served.";
        forwarded: "packets", "Packets between two other GPUs that passed through.";
        copied_lines: "lines", "Lines or parts of lines that the copy engine copied.";
        copies: "copies", "Copies that the copy engine finished.";
        signals: "signals", "Kernel-end signals that this hub delivered to other GPUs.";
        page_lookups: "lookups", "Lookups of the home of a page.";
        pages_placed: "pages", "Pages that the page directory of this GPU assigned to a GPU.";
        pending_stalls: "packets", "Times that a request of another GPU found no free slot for a request in flight.";
    }
}

counters! {
    /// Counters of a link, in one direction.
    pub struct LinkCounters {
        packets: "packets", "Packets sent.";
        bytes: "bytes", "Bytes sent, headers included.";
        peer_bytes: "bytes", "The part of `bytes` that crossed a link between GPUs.";
        host_bytes: "bytes", "The part of `bytes` that crossed a link to a host.";
        data_bytes: "bytes", "Bytes of data sent.";
        busy_cycles: "cycles", "Cycles in which the link sent.";
        credit_stalls: "cycles", "Cycles in which packets waited for buffer space at the far end.";
        queue_cycles: "packet cycles", "Cycles for which packets waited at the head of their queues until they were sent.";
    }
}
