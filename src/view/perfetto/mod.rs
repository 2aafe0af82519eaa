//! A run as a trace for the Perfetto viewer, in simulated time.
//!
//! Input: a result folder. Output: the bytes of a trace: a slice per kernel launch on the track of its stream, an instant per decision on the
//! track of its controller, and counters of the intervals. A core cycle of 1132 MHz has no whole number of nanoseconds, so slices and
//! instants carry their cycles.

mod proto;

use std::collections::BTreeMap;

use prost::Message as _;
use serde_json::Value;

use super::series::{Fold, Series, ratios};
use super::{ReadError, RunFolder, timeline_of};
use crate::report::text::demangled;
use crate::report::timeline::Record;
use proto::{Annotation, Counter, Event, Kind, Packet, Process, Trace, Track};

/// The track that all others belong to.
const RUN: u64 = 1;

/// A trace that is being written.
struct Writer {
    packets: Vec<Packet>,
    tracks: u64,
    nanoseconds_per_cycle: f64,
}

impl Writer {
    /// A track of its own for the run.
    fn new(run: &RunFolder) -> Self {
        let khz = run.stats.number(&["core_khz"]).filter(|khz| *khz > 0.0).unwrap_or(1e6);
        let process_name = format!("{} on {}", run.stats.text("workload"), run.stats.text("machine"));
        let process = Process { pid: 1, process_name: process_name.clone() };
        let mut writer = Self { packets: Vec::new(), tracks: RUN, nanoseconds_per_cycle: 1e6 / khz };
        writer.describe(Track { uuid: RUN, name: process_name, process: Some(process), ..Track::default() });
        writer
    }

    fn describe(&mut self, track: Track) {
        self.packets.push(Packet { trusted_packet_sequence_id: 1, track_descriptor: Some(track), ..Packet::default() });
    }

    /// A new track under the run; `unit` makes it one of a counter.
    fn track(&mut self, name: &str, unit: Option<&str>) -> u64 {
        self.tracks += 1;
        let counter = unit.map(|unit| Counter { unit_name: unit.to_owned() });
        self.describe(Track { uuid: self.tracks, name: name.to_owned(), parent_uuid: Some(RUN), counter, ..Track::default() });
        self.tracks
    }

    fn event(&mut self, cycle: f64, event: Event) {
        let timestamp = Some((cycle * self.nanoseconds_per_cycle).round() as u64);
        self.packets.push(Packet { timestamp, trusted_packet_sequence_id: 1, track_event: Some(event), ..Packet::default() });
    }

    /// A counter that has each value from the end of the step before to that of its own.
    fn counter(&mut self, name: &str, unit: &str, ends: &[f64], values: &[Option<f64>]) {
        let track = self.track(name, Some(unit));
        let mut begin = 0.0;
        let mut before = None;
        for (end, value) in ends.iter().zip(values) {
            let value = value.unwrap_or(0.0);
            // Equal values make no point of their own.
            if before != Some(value) {
                let event = Event { kind: Kind::Counter.into(), track_uuid: track, double_counter_value: Some(value), ..Event::default() };
                self.event(begin, event);
            }
            (begin, before) = (*end, Some(value));
        }
        let last = Event { kind: Kind::Counter.into(), track_uuid: track, double_counter_value: Some(0.0), ..Event::default() };
        self.event(begin, last);
    }
}

/// The trace of a run.
///
/// # Errors
/// When a file of the result folder is not what a run writes.
pub fn perfetto(run: &RunFolder) -> Result<Vec<u8>, ReadError> {
    let mut writer = Writer::new(run);
    kernels(run, &mut writer);
    decisions(&timeline_of(run)?, &mut writer);
    if let Some(series) = Series::of(run, "intervals.csv", Fold::Sum, usize::MAX)? {
        counters(run, &series, &mut writer);
    }
    if let Some(power) = Series::of(run, "power.csv", Fold::Mean, usize::MAX)? {
        for (name, watts) in power.columns().filter(|(name, _)| *name != "joules") {
            let values: Vec<Option<f64>> = watts.iter().copied().map(Some).collect();
            let name =
                name.strip_suffix("_watts").map_or_else(|| "power".to_owned(), |part| format!("power of {}", part.replace('_', " ")));
            writer.counter(&name, "W", &power.ends, &values);
        }
    }
    Ok(Trace { packet: writer.packets }.encode_to_vec())
}

fn number(name: &str, value: Option<u64>) -> Option<Annotation> {
    value.map(|value| Annotation { name: name.to_owned(), uint_value: Some(value), string_value: None })
}

/// A slice per launch, on the track of its stream.
fn kernels(run: &RunFolder, writer: &mut Writer) {
    let end = run.stats.count(&["total", "cycles"]).unwrap_or(0);
    let mut tracks: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let get = |kernel: &Value, name: &str| kernel.get(name).and_then(Value::as_u64);
    for kernel in run.stats.kernels() {
        let (application, stream) = (get(kernel, "application"), get(kernel, "stream").unwrap_or(0));
        let Some(started) = get(kernel, "started") else { continue };
        let name =
            application.map_or_else(|| format!("stream {stream}"), |application| format!("application {application}, stream {stream}"));
        let track = *tracks.entry((application.unwrap_or(0), stream)).or_insert_with(|| writer.track(&name, None));
        let facts = ["id", "ctas", "ctas_done", "launched", "started", "ended", "cycles", "warp_instructions", "thread_instructions"];
        let begin = Event {
            kind: Kind::SliceBegin.into(),
            track_uuid: track,
            name: Some(demangled(kernel.get("name").and_then(Value::as_str).unwrap_or_default()).into_owned()),
            debug_annotations: facts.iter().filter_map(|name| number(name, get(kernel, name))).collect(),
            ..Event::default()
        };
        writer.event(started as f64, begin);
        let ended = get(kernel, "ended").unwrap_or(end);
        writer.event(ended as f64, Event { kind: Kind::SliceEnd.into(), track_uuid: track, ..Event::default() });
    }
}

/// An instant per record of a controller; numbers of the whole machine are counters, too.
fn decisions(records: &[Record], writer: &mut Writer) {
    let mut tracks: BTreeMap<&str, u64> = BTreeMap::new();
    for record in records {
        let track = *tracks.entry(&record.controller).or_insert_with(|| writer.track(&record.controller, None));
        let value = record.value.map_or_else(String::new, |value| format!(" = {value}"));
        let of = record.sm.map_or_else(String::new, |sm| format!(" of SM {sm}"));
        let reason = (!record.reason.is_empty()).then(|| Annotation {
            name: "reason".into(),
            uint_value: None,
            string_value: Some(record.reason.clone()),
        });
        let event = Event {
            kind: Kind::Instant.into(),
            track_uuid: track,
            name: Some(format!("{}{of}{value}", record.name)),
            debug_annotations: reason.into_iter().chain(number("cycle", Some(record.cycle))).collect(),
            ..Event::default()
        };
        writer.event(record.cycle as f64, event);
    }
}

/// What the intervals tell of the chip.
fn counters(run: &RunFolder, series: &Series, writer: &mut Writer) {
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

/// Seconds of a core cycle.
fn seconds_of_a_cycle(run: &RunFolder) -> f64 {
    1e-3 / run.stats.number(&["core_khz"]).filter(|khz| *khz > 0.0).unwrap_or(1e6)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::sample::write;
    use super::*;

    #[test]
    fn a_trace_has_kernels_decisions_and_counters_in_simulated_time() {
        let folder = tempfile::tempdir().unwrap();
        let run = write(folder.path(), 6, 4);
        fs::write(folder.path().join("timeline.csv"), "cycle,controller,sm,name,value,reason\n5,perf,2,limit,3,low\n").unwrap();
        fs::write(folder.path().join("power.csv"), "cycle,joules,watts,dram_watts\n30,1,10,4\n60,1,12,4\n").unwrap();
        let trace = Trace::decode(perfetto(&run).unwrap().as_slice()).unwrap();
        let tracks: Vec<&Track> = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
        let names: Vec<&str> = tracks.iter().map(|track| track.name.as_str()).collect();
        for name in ["<b>two on tiny", "stream 0", "stream 2", "perf", "IPC", "issued", "DRAM reads", "power", "power of dram"] {
            assert!(names.contains(&name), "{name} is missing in {names:?}");
        }
        let events =
            |kind: Kind| trace.packet.iter().filter(move |packet| packet.track_event.as_ref().is_some_and(|event| event.kind() == kind));
        assert_eq!((events(Kind::SliceBegin).count(), events(Kind::SliceEnd).count(), events(Kind::Instant).count()), (6, 6, 1));
        // A cycle of 1 GHz is a nanosecond.
        let begins: Vec<u64> = events(Kind::SliceBegin).filter_map(|packet| packet.timestamp).collect();
        assert_eq!(begins, [2, 12, 22, 32, 42, 52]);
        let decision = events(Kind::Instant).next().unwrap().track_event.as_ref().unwrap();
        assert_eq!(decision.name.as_deref(), Some("limit of SM 2 = 3"));
        let watts = tracks.iter().find(|track| track.name == "power").unwrap().uuid;
        let points: Vec<(u64, f64)> = events(Kind::Counter)
            .filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
            .filter(|(_, event)| event.track_uuid == watts)
            .map(|(at, event)| (at, event.double_counter_value.unwrap()))
            .collect();
        assert_eq!(points, [(0, 10.0), (30, 12.0), (60, 0.0)]);
    }
}
