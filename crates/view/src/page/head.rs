//! The head of a page: machine, workload, and headline numbers.

use serde::Serialize;

use warpshard_report::text::{count, joules, percent, seconds, si_number};

use super::super::RunFolder;
use super::data::RunData;

/// A headline number.
#[derive(Debug, Serialize)]
pub(super) struct HeadlineTile {
    name: &'static str,
    value: String,
    note: String,
}

pub(super) fn title(run: &RunFolder) -> String {
    format!("{} on {}", run.stats.text("workload"), run.stats.text("machine"))
}

/// Returns names and values for the top of the page.
pub(super) fn facts(run: &RunFolder) -> Vec<(&'static str, String)> {
    let stats = &run.stats;
    let command = stats.at(&["configuration", "command"]).and_then(serde_json::Value::as_str).unwrap_or_default();
    let all = [
        ("command", command.to_owned()),
        ("seed", stats.count(&["seed"]).map_or_else(String::new, |seed| seed.to_string())),
        ("ended", stats.text("ended_by").replace('_', " ")),
        ("build", format!("{} ({})", stats.text("version"), stats.text("commit"))),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// Returns warnings that concern the validity of the numbers.
pub(super) fn warnings(run: &RunFolder) -> Vec<String> {
    let mut warnings = Vec::new();
    if run.stats.text("ended_by") == "sampled" {
        let width = run.stats.number(&["sampled", "estimates", "cycles", "relative_half_width"]);
        let width = width.map_or_else(String::new, |width| format!(", the cycles within {:.2} %", 100.0 * width));
        warnings.push(format!("The run is sampled: all its numbers are estimates{width}."));
    } else if run.stats.text("ended_by") != "completed" {
        warnings.push(format!(
            "The run was cut off ({}): its numbers cover only a part of the workload.",
            run.stats.text("ended_by").replace('_', " ")
        ));
    }
    if run.stats.number(&["relaxed", "late_messages"]).is_some_and(|late| late > 0.0) {
        warnings.push("The run is relaxed: its numbers are approximate.".into());
    }
    let notes = run.stats.at(&["notes"]).and_then(serde_json::Value::as_array).into_iter().flatten();
    warnings.extend(notes.filter_map(|note| {
        let (text, times) = (note.get("text")?.as_str()?, note.get("times")?.as_u64()?);
        Some(if times > 1 { format!("{text} ({} times)", count(times)) } else { text.to_owned() })
    }));
    warnings
}

pub(super) fn headlines(data: &RunData<'_>) -> Vec<HeadlineTile> {
    let stats = &data.run.stats;
    let total = |name: &str| stats.count(&["total", name]);
    let levels = stats.memory_levels();
    let level = |name: &str| levels.iter().find(|level| level.name == name);
    let time = total("cycles").map(|cycles| cycles as f64 / data.hertz()).filter(|time| time.is_finite() && *time > 0.0);
    let hits = |name: &'static str| {
        let level = level(name)?;
        Some((level.share(level.hits).map(percent)?, format!("of {} accesses", count(level.accesses))))
    };
    let bytes = level("DRAM").and_then(|level| level.bytes).filter(|bytes| *bytes > 0);
    let peak = stats.number(&["dram_bytes_per_second"]);
    let share = bytes
        .zip(data.counted_seconds())
        .zip(peak)
        .map(|((bytes, time), peak)| format!("{} of peak bandwidth", percent(bytes as f64 / time / peak)));
    let ended = total("kernels_ended").zip(total("kernels")).map(|(ended, all)| {
        let ctas = total("ctas_done").map_or_else(String::new, |ctas| format!("{} CTAs", count(ctas)));
        (if ended == all { count(all) } else { format!("{} of {}", count(ended), count(all)) }, ctas)
    });
    let ipc = stats.number(&["total", "ipc"]).map(|ipc| {
        let warps = total("warp_instructions").map_or_else(String::new, |warps| format!("{} warp instructions", count(warps)));
        (format!("{ipc:.1}"), warps)
    });
    let energy = stats.number(&["energy", "joules"]).map(|energy| {
        let watts = stats.number(&["energy", "mean_watts"]).map_or_else(String::new, |watts| format!("{watts:.1} W on average"));
        (joules(energy), watts)
    });
    let all = [
        ("core cycles", total("cycles").map(|cycles| (count(cycles), time.map_or_else(String::new, seconds)))),
        ("kernels ended", ended),
        ("thread instructions per cycle", ipc),
        ("L1 hits", hits("L1")),
        ("LLC hits", hits("LLC")),
        ("DRAM", bytes.map(|bytes| (format!("{}B", si_number(bytes as f64)), share.unwrap_or_default()))),
        ("energy", energy),
    ];
    all.into_iter().filter_map(|(name, found)| found.map(|(value, note)| HeadlineTile { name, value, note })).collect()
}
