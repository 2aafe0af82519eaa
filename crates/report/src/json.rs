//! `stats.json` and `host.json`, with keys in a fixed order, so that equal outcomes give equal bytes.

use std::fmt::Write as _;
use std::io;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use warpshard_base::StreamId;
use warpshard_stats::{ComponentStats, CounterValue, EndedBy, HostFacts, KernelStats, LatencyCounts, Outcome, RelaxedDeviations};

use super::applications;
use super::energy;
use super::facts::{Configuration, RunFacts, SCHEMA_VERSION};
use super::folder::Target;
use super::metrics::{self, Totals, WorkTotals};
use super::sampled;
use super::system;
use super::text::controls_terminal;
use super::verdict::VerdictBuilder;

/// Returns the name of the end of a run in results.
pub fn ended_by(ended: EndedBy) -> &'static str {
    match ended {
        EndedBy::Completed => "completed",
        EndedBy::MaxCycles => "max_cycles",
        EndedBy::MaxInstructions => "max_instructions",
        EndedBy::Controller => "controller",
        EndedBy::Interrupted => "interrupted",
        EndedBy::Sampled => "sampled",
    }
}

/// Formats `stats.json`: all simulation results, without data about the host.
pub fn stats(facts: &RunFacts, outcome: &Outcome) -> String {
    let mut bytes = Vec::new();
    write_stats(facts, outcome, &mut bytes).expect("memory takes every byte");
    String::from_utf8(bytes).expect("JSON is text")
}

/// Writes `stats.json` launch by launch.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_stats(facts: &RunFacts, outcome: &Outcome, to: Target<'_>) -> io::Result<()> {
    let root = stats_without_kernels(facts, outcome);
    for (number, (key, value)) in root.iter().enumerate() {
        let mut text = String::from(if number == 0 { "{\n  " } else { ",\n  " });
        write_key(&mut text, key);
        if key == KERNELS_KEY {
            to.write_all(text.as_bytes())?;
            write_kernels(facts, outcome, to)?;
        } else {
            write_value(&mut text, value, 1);
            to.write_all(escape_controls(text).as_bytes())?;
        }
    }
    to.write_all(b"\n}\n")
}

/// Writes the started launches as an array at the top level.
fn write_kernels(facts: &RunFacts, outcome: &Outcome, to: Target<'_>) -> io::Result<()> {
    let joules = metrics::event_joules(facts, outcome);
    let judge = VerdictBuilder::new(facts, outcome);
    let mut none = true;
    for (place, stats) in outcome.kernels.iter().enumerate().filter(|(_, stats)| stats.launched.is_some()) {
        let mut text = String::from(if none { "[\n    " } else { ",\n    " });
        write_value(&mut text, &kernel(stats, (outcome, &judge), joules.get(place).copied()), 2);
        to.write_all(escape_controls(text).as_bytes())?;
        none = false;
    }
    to.write_all(if none { b"[]" } else { b"\n  ]" })
}

/// The key of the launches in `stats.json`.
const KERNELS_KEY: &str = "kernels";

/// Returns all of `stats.json` but the launches, whose value is null.
fn stats_without_kernels(facts: &RunFacts, outcome: &Outcome) -> Map<String, Value> {
    let totals = Totals::of(&outcome.components);
    let mut root = Map::new();
    root.insert("schema_version".into(), SCHEMA_VERSION.into());
    root.insert("simulator".into(), "warpshard".into());
    root.insert("version".into(), facts.version.as_str().into());
    root.insert("commit".into(), facts.commit.as_str().into());
    root.insert("machine".into(), facts.machine.as_str().into());
    root.insert("workload".into(), facts.workload.as_str().into());
    root.insert("compute_capability".into(), facts.capability.as_str().into());
    if !facts.code.is_empty() {
        root.insert("code".into(), facts.code.as_str().into());
    }
    root.insert("seed".into(), facts.seed.into());
    root.insert("core_khz".into(), facts.core_clock.0.into());
    root.insert("dram_burst_bytes".into(), facts.dram_burst_bytes.into());
    root.insert("dram_bytes_per_second".into(), facts.dram_bytes_per_second.into());
    if let Some(Configuration { command, options, .. }) = &facts.configuration {
        let command = ("command".to_owned(), Value::from(command.as_str()));
        root.insert("configuration".into(), std::iter::once(command).chain(options.clone()).collect::<Map<_, _>>().into());
    }
    if let Some(part) = &outcome.relaxed {
        root.insert("relaxed".into(), relaxed_json(part));
    }
    if let Some(part) = &outcome.sampled {
        root.insert("sampled".into(), sampled::json(part));
    }
    root.insert("ended_by".into(), ended_by(outcome.ended_by).into());
    root.insert("counted_until".into(), outcome.counted_until.into());
    root.insert("total".into(), total_json(outcome));
    root.insert(KERNELS_KEY.into(), Value::Null);
    root.insert("streams".into(), metrics::streams(outcome).iter().map(stream).collect());
    if !outcome.applications.is_empty() {
        root.insert("applications".into(), applications::json(facts, outcome));
    }
    if !outcome.dram_read_latencies.is_empty() {
        root.insert("dram_read_latency_cycles".into(), read_latencies(&outcome.dram_read_latencies));
    }
    if !outcome.cpu_applications.is_empty() {
        root.insert("cpu_cores".into(), metrics::cpu_cores(outcome).iter().map(cpu_core).collect());
    }
    if let Some(part) = &outcome.system {
        root.insert("system".into(), system::json(part));
    }
    if let Some(energy) = energy::json(facts, outcome) {
        root.insert("energy".into(), energy);
    }
    root.insert("scheduler_cycles".into(), scheduler_cycles(&totals));
    root.insert("components".into(), components(&totals, &outcome.components));
    root.insert("counters".into(), counter_help(&totals, &outcome.kernels));
    root.insert("notes".into(), outcome.notes.iter().map(|(text, times)| json!({ "text": text, "times": times })).collect());
    root
}

/// Returns the lateness of messages, which makes a relaxed run approximate.
fn relaxed_json(relaxed: &RelaxedDeviations) -> Value {
    let class = |(class, messages): (usize, &u64)| json!({ "from_cycles": 1u64 << class, "messages": messages });
    json!({
        "epoch_cycles": relaxed.epoch_cycles,
        "lookahead_cycles": relaxed.lookahead_cycles,
        "messages": relaxed.messages,
        "late_messages": relaxed.late.count,
        "late_cycles": relaxed.late.cycles,
        "late_cycles_mean": relaxed.mean_lateness(),
        "late_cycles_max": relaxed.late.worst,
        "late_by": relaxed.late.classes.iter().enumerate().map(class).collect::<Vec<_>>(),
    })
}

/// Returns the latencies over the chip, and the means and tails of each channel.
fn read_latencies(channels: &[LatencyCounts]) -> Value {
    let mut all = LatencyCounts::default();
    channels.iter().for_each(|channel| all.add(channel));
    let all = all.histogram();
    let each: Vec<_> = channels.iter().map(LatencyCounts::histogram).collect();
    let mean = |histogram: &Histogram<u64>| if histogram.is_empty() { Value::Null } else { histogram.mean().into() };
    let known = |histogram: &Histogram<u64>, value: u64| if histogram.is_empty() { Value::Null } else { value.into() };
    let quantile = |histogram: &Histogram<u64>, q| known(histogram, histogram.value_at_quantile(q));
    json!({
        "unit": "dram cycles",
        "reads": all.len(),
        "mean": mean(&all),
        "min": known(&all, all.min()),
        "p50": quantile(&all, 0.5),
        "p90": quantile(&all, 0.9),
        "p99": quantile(&all, 0.99),
        "max": known(&all, all.max()),
        "channel_means": each.iter().map(mean).collect::<Value>(),
        "channel_p99s": each.iter().map(|channel| quantile(channel, 0.99)).collect::<Value>(),
    })
}

fn cpu_core(core: &metrics::CpuWork) -> Value {
    json!({
        "application": core.application,
        "instructions": core.instructions,
        "cycles": core.cycles,
        "ipc": core.ipc(),
        "measured": core.measured,
        "reads_per_kilo_instruction": core.reads_per_kilo(),
        "read_latency_cycles": core.read_latency,
    })
}

fn add_work(map: &mut Map<String, Value>, work: &WorkTotals) {
    map.insert("warp_instructions".into(), work.warp_instructions.into());
    map.insert("thread_instructions".into(), work.thread_instructions.into());
    map.insert("ipc".into(), work.ipc().into());
}

fn total_json(outcome: &Outcome) -> Value {
    let kernels = &outcome.kernels;
    let mut map = Map::new();
    map.insert("cycles".into(), outcome.cycles.into());
    map.insert("net_cycles".into(), metrics::net_cycles(outcome).into());
    map.insert("launch_latency_cycles".into(), metrics::launch_latency_cycles(outcome).into());
    add_work(&mut map, &WorkTotals::of_run(outcome));
    map.insert("kernels".into(), kernels.len().into());
    map.insert("kernels_ended".into(), kernels.iter().filter(|k| k.ended.is_some()).count().into());
    map.insert("kernels_not_launched".into(), kernels.iter().filter(|k| k.launched.is_none()).count().into());
    map.insert("ctas".into(), kernels.iter().map(|k| u64::from(k.ctas)).sum::<u64>().into());
    map.insert("ctas_done".into(), kernels.iter().map(|k| u64::from(k.ctas_done)).sum::<u64>().into());
    map.insert("counters".into(), values(&metrics::kernel_totals(outcome)));
    Value::Object(map)
}

fn kernel(kernel: &KernelStats, (outcome, judge): (&Outcome, &VerdictBuilder<'_>), joules: Option<f64>) -> Value {
    let work = WorkTotals::of_kernel(kernel, outcome);
    let mut map = Map::new();
    map.insert("index".into(), kernel.index.0.into());
    map.insert("name".into(), kernel.name.as_str().into());
    map.insert("id".into(), kernel.id.into());
    if !outcome.applications.is_empty() {
        map.insert("application".into(), kernel.app.0.into());
    }
    if let Some(gpu) = outcome.system.as_ref().and_then(|system| system.kernel_gpus.get(kernel.index.index())) {
        map.insert("gpu".into(), (*gpu).into());
    }
    map.insert("stream".into(), kernel.stream.0.into());
    map.insert("ctas".into(), kernel.ctas.into());
    map.insert("ctas_done".into(), kernel.ctas_done.into());
    map.insert("ctas_per_sm".into(), kernel.ctas_per_sm.into());
    map.insert("launched".into(), kernel.launched.into());
    map.insert("started".into(), kernel.started.into());
    map.insert("ended".into(), kernel.ended.into());
    map.insert("cycles".into(), (work.cycles + kernel.launch_latency_cycles).into());
    map.insert("cycles_active".into(), work.cycles.into());
    map.insert("launch_latency_cycles".into(), kernel.launch_latency_cycles.into());
    add_work(&mut map, &work);
    if let Some(joules) = joules {
        map.insert("event_joules".into(), joules.into());
    }
    if let Some(verdict) = judge.verdict(kernel).and_then(|verdict| serde_json::to_value(verdict).ok()) {
        map.insert("verdict".into(), verdict);
    }
    map.insert("counters".into(), values(&kernel.counters.iter().collect::<Vec<_>>()));
    Value::Object(map)
}

fn stream(stream: &metrics::StreamWork) -> Value {
    let StreamId(number) = stream.stream;
    let mut map = Map::new();
    map.insert("stream".into(), number.into());
    map.insert("kernels".into(), stream.kernels.into());
    map.insert("cycles".into(), stream.work.cycles.into());
    add_work(&mut map, &stream.work);
    map.insert("counters".into(), values(&stream.counters));
    Value::Object(map)
}

fn scheduler_cycles(totals: &Totals) -> Value {
    let reasons = metrics::scheduler_cycles(totals);
    let all: u64 = reasons.iter().map(|c| c.value).sum();
    json!({ "total": all, "reasons": values(&reasons) })
}

fn values(counters: &[CounterValue]) -> Value {
    Value::Object(counters.iter().map(|c| (c.info.name.to_owned(), c.value.into())).collect())
}

/// Returns for each kind of component: the number of components, the sums, and per counter an array over the components in the order of
/// their numbers.
fn components(totals: &Totals, components: &[ComponentStats]) -> Value {
    let mut kinds = Map::new();
    for total in &totals.0 {
        let mut members: Vec<&ComponentStats> = components.iter().filter(|c| c.kind == total.kind).collect();
        members.sort_by_key(|c| c.id);
        let mut instances = Map::new();
        instances.insert("id".into(), members.iter().map(|c| Value::from(c.id)).collect());
        for (i, counted) in total.counters.iter().enumerate() {
            let column = members.iter().map(|m| Value::from(value_at(&m.counters, i, counted.info.name)));
            instances.insert(counted.info.name.into(), column.collect());
        }
        let kind = json!({ "count": total.count, "total": values(&total.counters), "instances": instances });
        kinds.insert(total.kind.into(), kind);
    }
    Value::Object(kinds)
}

/// Returns the value of the counter `name`, which nearly always has the index `place`.
fn value_at(counters: &[CounterValue], place: usize, name: &str) -> Option<u64> {
    match counters.get(place) {
        Some(counted) if counted.info.name == name => Some(counted.value),
        _ => metrics::counter(counters, name),
    }
}

/// Returns the unit and description of every counter in the file.
fn counter_help(totals: &Totals, kernels: &[KernelStats]) -> Value {
    let help = |counters: &[CounterValue]| -> Value {
        let describe = |c: &CounterValue| (c.info.name.to_owned(), json!({ "unit": c.info.unit, "help": c.info.help }));
        Value::Object(counters.iter().map(describe).collect())
    };
    let mut map = Map::new();
    map.insert("kernel".into(), help(&kernels.iter().take(1).flat_map(|kernel| kernel.counters.iter()).collect::<Vec<_>>()));
    for total in &totals.0 {
        map.insert(total.kind.into(), help(&total.counters));
    }
    Value::Object(map)
}

/// Formats `host.json`: the execution of the run on the host.
pub fn host(facts: &RunFacts, outcome: &Outcome, host: &HostFacts) -> String {
    let work = WorkTotals::of_run(outcome);
    let rate = |amount: u64| metrics::per_second(amount as f64, host.simulate_seconds);
    let balance = metrics::worker_balance(host);
    let workers = host
        .workers
        .iter()
        .map(|w| json!({ "busy_seconds": w.busy_seconds, "wait_seconds": w.wait_seconds, "sleeps": w.sleeps, "shards": w.shards, "taken": w.taken }));
    let shares = host.network_share.iter().map(|(name, share)| (name.clone(), Value::from(*share)));
    render(&json!({
        "schema_version": SCHEMA_VERSION,
        "simulator": "warpshard",
        "version": facts.version,
        "commit": facts.commit,
        "arguments": facts.configuration.as_ref().map(|configuration| &configuration.arguments),
        "startup_seconds": host.startup_seconds,
        "decode_seconds": host.decode_seconds,
        "simulate_seconds": host.simulate_seconds,
        "warp_instructions_per_second": rate(work.warp_instructions),
        "thread_instructions_per_second": rate(work.thread_instructions),
        "cycles_per_second": rate(outcome.counted_until),
        "threads": host.threads,
        "mean_workers": host.mean_workers,
        "worker_changes": host.worker_changes,
        "epochs": host.epochs,
        "cuts": host.cuts,
        "moves": host.moves,
        "coordinator_seconds": host.coordinator_seconds,
        "epoch_cycles": host.epoch_cycles,
        "halves_in_turn": host.halves,
        "lookahead_cycles": host.lookahead_cycles,
        "limiting_link": host.limiting_link,
        "messages": host.messages,
        "busy_share": balance.map(|b| b.busy),
        "wait_share": balance.map(|b| b.wait),
        "imbalance": balance.map(|b| b.imbalance),
        "workers": workers.collect::<Value>(),
        "network_share": shares.collect::<Map<String, Value>>(),
        "ranks": host.ranks.map(|ranks| json!({
            "count": ranks.count,
            "exchanges": ranks.exchanges,
            "exchange_seconds": ranks.seconds,
            "bytes_sent": ranks.bytes,
        })),
        "peak_memory_bytes": host.peak_memory_bytes,
    }))
}

/// Formats JSON with one line per key. Arrays of scalars and objects of one or two scalars are on one line, so that 80 instances do not
/// take 80 lines.
pub fn render(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, 0);
    text.push('\n');
    escape_controls(text)
}

/// Escapes all characters in JSON strings that [control a terminal](controls_terminal), so that the text can be printed on a terminal. The
/// JSON value does not change.
pub fn escape_controls(text: String) -> String {
    let acts = |c: char| controls_terminal(c) && c != '\n';
    // Results are long, and nearly always plain ASCII; a loop without branches checks many bytes at a time.
    let is_plain = |byte: u8| (byte == b'\n') | ((b' '..0x7f).contains(&byte));
    if text.bytes().fold(true, |all, byte| all & is_plain(byte)) || !text.contains(acts) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = if acts(c) { write!(escaped, "\\u{:04x}", u32::from(c)) } else { write!(escaped, "{c}") };
    }
    escaped
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    let plain = |value: &Value| !value.is_object() && !value.is_array();
    match value {
        Value::Object(map) if map.len() <= 2 && map.values().all(plain) => {
            text.push('{');
            for (i, (key, entry)) in map.iter().enumerate() {
                text.push_str(if i == 0 { "" } else { ", " });
                write_key(text, key);
                write_plain(text, entry);
            }
            text.push('}');
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, entry)| (Some(key), entry));
            write_lines(text, ('{', '}'), entries, depth);
        }
        Value::Array(items) if !items.iter().all(plain) => {
            write_lines(text, ('[', ']'), items.iter().map(|item| (None, item)), depth);
        }
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                text.push_str(if i == 0 { "" } else { ", " });
                write_plain(text, item);
            }
            text.push(']');
        }
        scalar => write_plain(text, scalar),
    }
}

/// Writes a scalar.
fn write_plain(text: &mut String, value: &Value) {
    // Writing to a string cannot fail.
    let _ = match value.as_u64() {
        Some(number) => write!(text, "{number}"),
        None => write!(text, "{value}"),
    };
}

fn write_key(text: &mut String, key: &str) {
    write_plain(text, &Value::from(key));
    text.push_str(": ");
}

fn write_lines<'a>(
    text: &mut String,
    (open, close): (char, char),
    entries: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    depth: usize,
) {
    let new_line = |text: &mut String, depth: usize| {
        text.push('\n');
        (0..depth).for_each(|_| text.push_str("  "));
    };
    text.push(open);
    for (i, (key, entry)) in entries.enumerate() {
        text.push_str(if i == 0 { "" } else { "," });
        new_line(text, depth + 1);
        if let Some(key) = key {
            write_key(text, key);
        }
        write_value(text, entry, depth + 1);
    }
    new_line(text, depth);
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn stats_json_looks_like_this() {
        insta::assert_snapshot!(stats(&sample::facts(), &sample::outcome()));
    }

    #[test]
    fn host_json_looks_like_this() {
        insta::assert_snapshot!(host(&sample::facts(), &sample::outcome(), &sample::host()));
    }

    #[test]
    fn rendered_json_parses_to_the_same_value() {
        let value = json!({"z": [1, 2.5, null, "a\"b"], "a": {"empty": {}, "none": []}, "rows": [{"k": 1}, {"k": [2]}], "s": "é\n"});
        let text = render(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("\"z\": [1, 2.5, null, \"a\\\"b\"],\n"), "{text}");
    }

    #[test]
    fn escaped_strings_keep_their_value() {
        let all: String = ('\0'..='\u{ffff}').filter(|&c| controls_terminal(c)).collect();
        let value = json!({ "name": all, "other": [all] });
        for text in [render(&value), escape_controls(format!("{value:#}"))] {
            assert!(!text.contains(|c| controls_terminal(c) && c != '\n'), "{text:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn required_keys_come_in_their_order() {
        let value: Value = serde_json::from_str(&stats(&sample::facts(), &sample::outcome())).unwrap();
        let keys: Vec<&str> = value["total"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(&keys[..6], ["cycles", "net_cycles", "launch_latency_cycles", "warp_instructions", "thread_instructions", "ipc"]);
        let (cycles, net) = (value["total"]["cycles"].as_u64().unwrap(), value["total"]["net_cycles"].as_u64().unwrap());
        let launches: u64 = value["kernels"].as_array().unwrap().iter().map(|k| k["launch_latency_cycles"].as_u64().unwrap()).sum();
        assert_eq!(cycles - launches, net);
    }

    #[test]
    fn a_run_without_kernels_has_no_ipc_instead_of_a_wrong_one() {
        let mut outcome = sample::outcome();
        outcome.kernels.clear();
        outcome.components.clear();
        outcome.cycles = 0;
        let value: Value = serde_json::from_str(&stats(&sample::facts(), &outcome)).unwrap();
        assert_eq!(value["total"]["ipc"], Value::Null);
    }
}
