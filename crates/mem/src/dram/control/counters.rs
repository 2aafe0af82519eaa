//! The counters of a controller, for the channel and for each bank.

use warpshard_stats::counters;

counters! {
    /// What a controller counts.
    pub struct ControlCounters {
        reads: "bursts", "Read commands.";
        writes: "bursts", "Write commands.";
        activates: "commands", "Rows opened.";
        precharges: "commands", "Precharge commands to one bank; commands that close their row by themselves are not counted here.";
        precharges_all: "commands", "Precharge commands to all banks.";
        auto_precharges: "commands", "Read and write commands that closed their row.";
        refreshes: "commands", "Refreshes of all banks.";
        bank_refreshes: "commands", "Refreshes of one bank.";
        row_hits: "requests", "Requests whose row was open when they got their first command.";
        row_misses: "requests", "Requests whose bank had no open row when they got their first command.";
        row_conflicts: "requests", "Requests whose bank had another row open when they got their first command.";
        forwarded: "requests", "Reads answered from the write queue.";
        coalesced: "requests", "Writes merged with a waiting write to the same place.";
        data_cycles: "dram cycles", "Command clocks of data, summed over the data buses.";
        read_queue_full: "dram cycles", "Command clocks in which a read found the read queue full.";
        write_queue_full: "dram cycles", "Command clocks in which a write found the write queue full.";
    }
}

counters! {
    /// What a controller counts for a bank.
    pub struct BankCounters {
        row_hits: "requests", "Requests whose row was open when they got their first command.";
        row_misses: "requests", "Requests whose bank had no open row when they got their first command.";
        row_conflicts: "requests", "Requests whose bank had another row open when they got their first command.";
        activates: "commands", "Rows opened.";
        precharges: "commands", "Precharge commands to this bank alone.";
        reads: "bursts", "Read commands.";
        writes: "bursts", "Write commands.";
    }
}
