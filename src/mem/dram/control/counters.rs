//! What a controller counts, for the channel and for each bank.

use crate::stats::counters;

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

/// What a controller counts for a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCounters {
    /// Requests whose row was open.
    pub row_hits: u64,
    /// Requests that found no open row.
    pub row_misses: u64,
    /// Requests that found another row open.
    pub row_conflicts: u64,
    /// Rows opened.
    pub activates: u64,
    /// Precharge commands to this bank.
    pub precharges: u64,
    /// Read commands.
    pub reads: u64,
    /// Write commands.
    pub writes: u64,
}
