//! A run as a trace for the Perfetto viewer, in simulated time.
//!
//! The trace is generated from a result folder and the recorded activity of single units. It has a slice per kernel launch on the track of
//! its stream, an instant per decision on the track of its controller, counters of the intervals, CTAs, warp states and DRAM banks. A core
//! cycle of 1132 MHz is not a whole number of nanoseconds, so slices and instants also contain their cycles.

mod activity;
mod async_ops;
mod proto;
mod writer;

use std::collections::BTreeMap;

use serde_json::Value;

use warpshard_report::text::demangled;
use warpshard_report::timeline::TimelineRecord;
use warpshard_stats::activity::Activity;

use super::series::{CounterSeries, Fold, ratios};
use super::{ReadError, RunFolder, timeline_of};
use proto::{Fact, TrackEvent, TrackEventKind};
use writer::{TraceWriter, seconds_of_a_cycle};

/// Returns the trace of a run with the recorded activity of its units.
///
/// # Errors
/// Fails if a file of the result folder is invalid.
pub fn perfetto(run: &RunFolder, recorded: &Activity) -> Result<Vec<u8>, ReadError> {
    let mut writer = TraceWriter::new(run);
    kernels(run, &mut writer);
    activity::add(run, recorded, &mut writer);
    decisions(&timeline_of(run)?, &mut writer);
    if let Some(series) = CounterSeries::of(run, "intervals.csv", Fold::Sum, usize::MAX)? {
        counters(run, &series, &mut writer);
    }
    if let Some(power) = CounterSeries::of(run, "power.csv", Fold::Mean, usize::MAX)? {
        for (name, watts) in power.columns().filter(|(name, _)| *name != "joules") {
            let values: Vec<Option<f64>> = watts.iter().copied().map(Some).collect();
            let name =
                name.strip_suffix("_watts").map_or_else(|| "power".to_owned(), |part| format!("power of {}", part.replace('_', " ")));
            writer.counter(&name, "W", &power.ends, &values);
        }
    }
    Ok(writer.into_bytes())
}

/// Values of a launch that its slice contains.
const KERNEL_FACTS: [&str; 9] =
    ["id", "ctas", "ctas_done", "launched", "started", "ended", "cycles", "warp_instructions", "thread_instructions"];

/// Adds a slice per launch on the track of its stream.
fn kernels(run: &RunFolder, writer: &mut TraceWriter) {
    let end = run.stats.count(&["total", "cycles"]).unwrap_or(0);
    let mut tracks: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let get = |kernel: &Value, name: &str| kernel.get(name).and_then(Value::as_u64);
    for kernel in run.stats.kernels() {
        let (application, stream) = (get(kernel, "application"), get(kernel, "stream").unwrap_or(0));
        let Some(started) = get(kernel, "started") else { continue };
        let name =
            application.map_or_else(|| format!("stream {stream}"), |application| format!("application {application}, stream {stream}"));
        let track = *tracks.entry((application.unwrap_or(0), stream)).or_insert_with(|| writer.track(&name, None));
        let name = demangled(kernel.get("name").and_then(Value::as_str).unwrap_or_default());
        let facts = KERNEL_FACTS.iter().filter_map(|name| Some((*name, Fact::Number(get(kernel, name)?)))).collect();
        writer.slice(track, (started as f64, get(kernel, "ended").unwrap_or(end) as f64), &name, facts);
    }
}

/// Adds an instant per record of a controller.
fn decisions(records: &[TimelineRecord], writer: &mut TraceWriter) {
    let mut tracks: BTreeMap<&str, u64> = BTreeMap::new();
    for record in records {
        let track = *tracks.entry(&record.controller).or_insert_with(|| writer.track(&record.controller, None));
        let value = record.value.map_or_else(String::new, |value| format!(" = {value}"));
        let of = record.sm.map_or_else(String::new, |sm| format!(" of SM {sm}"));
        let reason = (!record.reason.is_empty()).then(|| ("reason", Fact::Text(record.reason.clone())));
        let facts = reason.into_iter().chain([("cycle", Fact::Number(record.cycle))]).collect();
        let name = format!("{}{of}{value}", record.name);
        writer.event(record.cycle as f64, &TrackEvent { kind: TrackEventKind::Instant, track, name: Some(&name), value: None, facts });
    }
}

/// Adds the interval counters of the chip.
fn counters(run: &RunFolder, series: &CounterSeries, writer: &mut TraceWriter) {
    let (lengths, ends) = (series.lengths(), &series.ends);
    let mut rate = |name: &str, unit: &str, parts: Option<Vec<f64>>, wholes: &[f64]| {
        if let Some(parts) = parts {
            writer.counter(name, unit, ends, &ratios(&parts, wholes));
        }
    };
    rate("IPC", "instructions/cycle", series.sum(&["sm.thread_instructions"]), &lengths);
    if let Some(cycles) = series.get("sm.cycles") {
        rate("resident warps of an SM", "warps", series.sum(&["sm.resident_warp_cycles"]), cycles);
    }
    let reasons: Vec<String> =
        run.stats.object(&["scheduler_cycles", "reasons"]).into_iter().flatten().map(|(name, _)| format!("sm.{name}")).collect();
    let names: Vec<&str> = reasons.iter().map(String::as_str).collect();
    if let Some(all) = series.sum(&names) {
        for name in &names {
            let shown = name.strip_prefix("sm.").unwrap_or(name);
            let percent = series.get(name).map(|cycles| cycles.iter().map(|cycles| cycles * 100.0).collect());
            rate(shown, "% of scheduler cycles", percent, &all);
        }
    }
    let percent = |names: &[&str]| series.sum(names).map(|hits| hits.iter().map(|hits| hits * 100.0).collect());
    if let Some(accesses) = series.get("llc.accesses") {
        rate("LLC hit rate", "%", percent(&["llc.read_hits", "llc.write_hits"]), accesses);
    }
    if let Some(burst) = run.stats.number(&["dram_burst_bytes"]) {
        let seconds: Vec<f64> = lengths.iter().map(|cycles| cycles * seconds_of_a_cycle(run)).collect();
        for (name, counter) in [("DRAM reads", "dram.reads"), ("DRAM writes", "dram.writes")] {
            let gigabytes = series.get(counter).map(|bursts| bursts.iter().map(|bursts| bursts * burst / 1e9).collect());
            rate(name, "GB/s", gigabytes, &seconds);
        }
    }
    for (name, counter) in [("requests", "request_net.packets"), ("replies", "reply_net.packets")] {
        rate(name, "packets/cycle", series.sum(&[counter]), &lengths);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::sample::write;
    use super::proto::tests::{Value as Field, fields};
    use super::*;
    use warpshard_stats::activity::{AsyncEvent, AsyncEventKind, CopyKind, SmActivity, WarpActivity, WarpChange, WarpReason};

    fn bytes(field: &Field) -> &[u8] {
        if let Field::Bytes(bytes) = field { bytes } else { panic!("{field:?}") }
    }

    /// Returns the first field with this number.
    fn get(message: &[(u64, Field)], number: u64) -> Option<&Field> {
        message.iter().find(|(field, _)| *field == number).map(|(_, value)| value)
    }

    #[test]
    fn a_trace_has_kernels_decisions_and_counters_in_simulated_time() {
        let folder = tempfile::tempdir().unwrap();
        let run = write(folder.path(), 6, 4);
        fs::write(folder.path().join("timeline.csv"), "cycle,controller,sm,name,value,reason\n5,perf,2,limit,3,low\n").unwrap();
        fs::write(folder.path().join("power.csv"), "cycle,joules,watts,dram_watts\n30,1,10,4\n60,1,12,4\n").unwrap();
        let packets: Vec<_> =
            fields(&perfetto(&run, &Activity::default()).unwrap()).iter().map(|(_, packet)| fields(bytes(packet))).collect();
        let tracks: Vec<_> = packets.iter().filter_map(|packet| Some(fields(bytes(get(packet, 60)?)))).collect();
        let names: Vec<String> = tracks.iter().map(|track| String::from_utf8(bytes(get(track, 2).unwrap()).to_vec()).unwrap()).collect();
        for name in ["<b>two on tiny", "stream 0", "stream 2", "perf", "IPC", "issued", "DRAM reads", "power", "power of dram"] {
            assert!(names.iter().any(|known| known == name), "{name} is missing in {names:?}");
        }
        let events: Vec<_> = packets.iter().filter_map(|packet| Some((get(packet, 8)?.clone(), fields(bytes(get(packet, 11)?))))).collect();
        let of = |kind: TrackEventKind| events.iter().filter(move |(_, event)| get(event, 9) == Some(&Field::Number(kind as u64)));
        // At 1 GHz a cycle is a nanosecond.
        let begins: Vec<Field> = of(TrackEventKind::SliceBegin).map(|(at, _)| at.clone()).collect();
        assert_eq!(begins, [2, 12, 22, 32, 42, 52].map(Field::Number));
        assert_eq!((of(TrackEventKind::SliceEnd).count(), of(TrackEventKind::Instant).count()), (6, 1));
        let decision = &of(TrackEventKind::Instant).next().unwrap().1;
        assert_eq!(bytes(get(decision, 23).unwrap()), b"limit of SM 2 = 3");
        let watts = get(&tracks[names.iter().position(|name| name == "power").unwrap()], 1).unwrap();
        let points: Vec<_> = of(TrackEventKind::Counter).filter(|(_, event)| get(event, 11) == Some(watts)).collect();
        let points: Vec<_> = points.iter().map(|(at, event)| (at.clone(), get(event, 44).unwrap().clone())).collect();
        let expected = [(0, 10.0), (30, 12.0), (60, 0.0)].map(|(at, watts)| (Field::Number(at), Field::Double(watts)));
        assert_eq!(points, expected);
    }

    #[test]
    fn a_trace_has_copies_phases_and_products_of_a_specialised_kernel() {
        let event = |at, what| AsyncEvent { at, slot: 1, what };
        let load = |number| AsyncEventKind::CopyBegins { warp: 4, number, kind: CopyKind::Load, bytes: 8192, barrier: Some(0x40) };
        let events = vec![
            event(2, AsyncEventKind::BarrierBegins { address: 0x40 }),
            event(3, load(7)),
            event(4, load(8)),
            event(5, AsyncEventKind::WaitBegins { warp: 0, address: 0x40, parity: false }),
            event(20, AsyncEventKind::CopyEnds { number: 7 }),
            event(20, AsyncEventKind::PhaseEnds { address: 0x40, parity: false }),
            event(20, AsyncEventKind::WaitEnds { warp: 0 }),
            event(22, AsyncEventKind::Product { group: 0b1111, begins: 24, ends: 56 }),
        ];
        let state = Some(WarpActivity::Reason(WarpReason::LongScoreboard));
        let warps = vec![WarpChange { at: 5, warp: 0, state }, WarpChange { at: 5, warp: 4, state }];
        let mut sm = SmActivity { sm: 3, ..SmActivity::default() };
        events.into_iter().for_each(|event| sm.async_events.push(event.at, event));
        warps.into_iter().for_each(|change| sm.warps.push(change.at, change));
        let folder = tempfile::tempdir().unwrap();
        let recorded = Activity { sms: vec![sm], channels: Vec::new() };
        let trace = perfetto(&write(folder.path(), 6, 4), &recorded).unwrap();
        let packets: Vec<_> = fields(&trace).iter().map(|(_, packet)| fields(bytes(packet))).collect();
        let text = |field: &Field| String::from_utf8(bytes(field).to_vec()).unwrap();
        let track = |packet: &Vec<(u64, Field)>| {
            let track = fields(bytes(get(packet, 60)?));
            Some((format!("{:?}", get(&track, 1)?), text(get(&track, 2)?)))
        };
        let tracks: BTreeMap<String, String> = packets.iter().filter_map(track).collect();
        let slice = |packet: &Vec<(u64, Field)>| {
            let event = fields(bytes(get(packet, 11)?));
            let begins = get(&event, 9) == Some(&Field::Number(TrackEventKind::SliceBegin as u64));
            let track = &tracks[&format!("{:?}", get(&event, 11)?)];
            begins.then(|| (track.clone(), text(get(&event, 23).unwrap())))
        };
        let slices: Vec<_> = packets.iter().filter_map(slice).filter(|(track, _)| !track.starts_with("stream")).collect();
        let expected = [
            ("warp 0, consumer", "long_scoreboard"),
            ("warp 4, producer", "long_scoreboard"),
            ("bulk copy 0", "load of 8192 bytes"),
            ("bulk copy 1", "load of 8192 bytes"),
            ("mbarrier 0x40 of CTA slot 1", "phase 0"),
            ("waits of warp 0", "mbarrier 0x40, phase 0"),
            ("matrix units", "product of warps 0 to 3"),
        ];
        assert_eq!(slices, expected.map(|(track, name)| (track.to_owned(), name.to_owned())));
        assert!(tracks.values().any(|name| name == "bulk copies in flight"));
    }
}
