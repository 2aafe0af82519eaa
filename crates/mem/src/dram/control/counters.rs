//! The counters of a controller, for the channel and for each bank.

use warpshard_stats::counters;

counters! {
    /// Counters of a controller.
    pub struct ControlCounters {
        reads: "bursts", "Read commands.";
        writes: "bursts", "Write commands.";
        activates: "commands", "Rows opened.";
        precharges: "commands", "Precharge commands to one bank, without auto-precharges.";
        precharges_all: "commands", "Precharge commands to all banks.";
        auto_precharges: "commands", "Read and write commands with auto-precharge.";
        refreshes: "commands", "Refreshes of all banks.";
        bank_refreshes: "commands", "Refreshes of one bank.";
        row_hits: "requests", "Requests whose row was open when they got their first command.";
        row_misses: "requests", "Requests whose bank had no open row when they got their first command.";
        row_conflicts: "requests", "Requests whose bank had another row open when they got their first command.";
        forwarded: "requests", "Reads served from the write queue.";
        coalesced: "requests", "Writes merged with a waiting write to the same location.";
        data_cycles: "dram cycles", "Command clocks of data transfer, summed over the data buses.";
        read_queue_full: "dram cycles", "Command clocks in which a read found the read queue full.";
        write_queue_full: "dram cycles", "Command clocks in which a write found the write queue full.";
    }
}

counters! {
    /// Counters of a controller per bank.
    pub struct BankCounters {
        row_hits: "requests", "Requests whose row was open when they got their first command.";
        row_misses: "requests", "Requests whose bank had no open row when they got their first command.";
        row_conflicts: "requests", "Requests whose bank had another row open when they got their first command.";
        activates: "commands", "Rows opened.";
        precharges: "commands", "Precharge commands to this bank only.";
        reads: "bursts", "Read commands.";
        writes: "bursts", "Write commands.";
    }
}
