//! A synthetic result folder for the tests of this crate.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::RunFolder;

/// Writes a run of `kernels` launches and `intervals` intervals.
pub(super) fn write(folder: &Path, kernels: u64, intervals: u64) -> RunFolder {
    let kernel = |i: u64| {
        json!({ "index": i, "name": format!("kernel<{}>", i % 20), "id": i, "stream": i % 3, "ctas": 8, "ctas_done": 8, "launched": i * 10,
            "started": i * 10 + 2, "ended": i * 10 + 9, "cycles": 7, "ipc": 1.5 })
    };
    let sms: Vec<u64> = (0..80).collect();
    let stats = json!({
        "schema_version": 1, "version": "0.1.0", "commit": "abc", "machine": "tiny", "workload": "<b>two", "seed": 1, "ended_by": "max_cycles",
        "core_khz": 1_000_000, "dram_burst_bytes": 32, "dram_bytes_per_second": 32e9, "counted_until": kernels * 10,
        "configuration": { "command": "warpshard run --machine tiny" },
        "total": { "cycles": kernels * 10, "ipc": 1.5, "warp_instructions": 100, "kernels": kernels, "kernels_ended": kernels, "counters": { "warp_instructions": 100 } },
        "kernels": (0..kernels).map(kernel).collect::<Vec<_>>(),
        "scheduler_cycles": { "total": 400, "reasons": { "issued": 100, "stall_barrier": 300 } },
        "energy": { "set": "volta", "joules": 2.0, "mean_watts": 100.0, "components": { "dram": 0.5, "llc": 1.5, "noc": 0.0 } },
        "components": {
            "sm": { "total": { "issued": 100, "warp_selected": 100, "warp_long_scoreboard": 300, "warp_drain": 0 }, "instances": { "id": sms, "issued": sms, "cycles": vec![100; 80], "resident_warp_cycles": sms } },
            "dram": { "total": { "reads": 5, "writes": 1, "row_hits": 3, "row_misses": 3 }, "instances": { "id": [0, 1], "reads": [2, 3], "writes": [1, 0], "row_hits": [1, 2] } },
        },
        "counters": { "sm": { "issued": { "unit": "scheduler cycles", "help": "An instruction was issued." } } },
        "notes": [{ "text": "a note", "times": 3 }],
    });
    fs::write(folder.join("stats.json"), stats.to_string()).unwrap();
    fs::write(folder.join("run.toml"), "").unwrap();
    let step = kernels * 10 / intervals.max(1);
    let row = |i: u64| format!("{},100,{},50,25,75,10,1,7\n", (i + 1) * step.max(1), i % 7);
    let head = "cycle,sm.cycles,sm.thread_instructions,sm.resident_warp_cycles,sm.issued,sm.stall_barrier,dram.reads,dram.writes,request_net.packets\n";
    fs::write(folder.join("intervals.csv"), head.to_owned() + &(0..intervals).map(row).collect::<String>()).unwrap();
    RunFolder::read(folder).unwrap()
}
