//! Additional results of a run on several GPUs: totals of each GPU, and its links.

use serde_json::{Map, Value, json};

use warpshard_stats::{CounterValue, GpuStats, Outcome, SystemStats};

/// Returns the part `system` of `stats.json`.
pub(super) fn json(system: &SystemStats) -> Value {
    let values = |counters: &[CounterValue]| counters.iter().map(|c| (c.info.name.to_owned(), c.value.into())).collect::<Map<_, _>>();
    let gpu = |(number, gpu): (usize, &GpuStats)| {
        let totals: Map<String, Value> = gpu.totals.iter().map(|(kind, sums)| ((*kind).to_owned(), values(sums).into())).collect();
        json!({ "gpu": number, "kernels": gpu.kernels, "ended": gpu.ended, "totals": totals })
    };
    json!({
        "gpus": system.gpus.iter().enumerate().map(gpu).collect::<Vec<_>>(),
        "links": system.links,
    })
}

/// Maximum number of links in the report; the busiest links are listed.
const MAX_LINKS: usize = 8;

/// Returns a line per GPU, and a line for each of the busiest links; empty for a single GPU.
pub(super) fn lines(outcome: &Outcome, khz: u64) -> Vec<String> {
    let Some(system) = &outcome.system else { return Vec::new() };
    let mut lines = Vec::new();
    for (number, gpu) in system.gpus.iter().enumerate() {
        let value = |kind: &str, name: &str| {
            let sums = gpu.totals.iter().find(|(known, _)| *known == kind).map(|(_, sums)| sums.as_slice()).unwrap_or_default();
            sums.iter().find(|counted| counted.info.name == name).map_or(0, |counted| counted.value)
        };
        let ended = gpu.ended.map_or_else(|| "no kernel ended".to_owned(), |cycle| format!("last kernel ended at cycle {cycle}"));
        let remote = value("hub", "remote_reads") + value("hub", "remote_writes") + value("hub", "remote_atomics");
        lines.push(format!(
            "gpu{number}: {} kernels, {} warp instructions, {remote} remote requests, {} served, {} lines copied; {ended}",
            gpu.kernels,
            value("sm", "warp_instructions"),
            value("hub", "served_requests"),
            value("hub", "copied_lines"),
        ));
    }
    let mut links: Vec<(u64, u64, u64, u32)> = Vec::new();
    for component in outcome.components.iter().filter(|component| component.kind == "link") {
        let value = |name: &str| component.counters.iter().find(|c| c.info.name == name).map_or(0, |c| c.value);
        if value("packets") > 0 {
            links.push((value("busy_cycles"), value("bytes"), value("credit_stalls"), component.id));
        }
    }
    links.sort_by_key(|(busy, _, _, id)| (std::cmp::Reverse(*busy), *id));
    let used = links.len();
    for (busy, bytes, stalls, id) in links.into_iter().take(MAX_LINKS) {
        let cycles = outcome.counted_until.max(1) as f64;
        let gigabytes = bytes as f64 / (cycles / (khz as f64 * 1e3)) / 1e9;
        let name = system.links.get(id as usize).map_or("", String::as_str);
        lines.push(format!(
            "link {id}, {name}: {bytes} bytes, {gigabytes:.2} GB/s, busy {:.1} %, {stalls} cycles without credits",
            100.0 * busy as f64 / cycles
        ));
    }
    if used > MAX_LINKS {
        lines.push(format!("and {} links more; all are in stats.json", used - MAX_LINKS));
    }
    lines
}
