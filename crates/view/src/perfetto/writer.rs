//! Writer of a trace: the tracks of one run, and events at core cycles.

use super::super::RunFolder;
use super::proto::{Fact, Trace, Track, TrackEvent, TrackEventKind};

/// Id of the root track.
const RUN_TRACK: u64 = 1;

/// Writer of a trace.
pub(super) struct TraceWriter {
    trace: Trace,
    tracks: u64,
    nanoseconds_per_cycle: f64,
}

impl TraceWriter {
    /// Creates a trace with a root track for the run.
    pub(super) fn new(run: &RunFolder) -> Self {
        let mut writer = Self { trace: Trace::default(), tracks: RUN_TRACK, nanoseconds_per_cycle: seconds_of_a_cycle(run) * 1e9 };
        let name = format!("{} on {}", run.stats.text("workload"), run.stats.text("machine"));
        writer.trace.track(&Track { uuid: RUN_TRACK, name: &name, process: Some(&name), ..Track::default() });
        writer
    }

    /// Returns the trace as bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.trace.into_bytes()
    }

    /// Adds a track under the run; a track with a `unit` is a counter.
    pub(super) fn track(&mut self, name: &str, unit: Option<&str>) -> u64 {
        self.track_of(RUN_TRACK, name, unit)
    }

    /// Adds a track under another track.
    pub(super) fn track_of(&mut self, parent: u64, name: &str, unit: Option<&str>) -> u64 {
        self.tracks += 1;
        self.trace.track(&Track { uuid: self.tracks, name, parent: Some(parent), unit, process: None });
        self.tracks
    }

    pub(super) fn event(&mut self, cycle: f64, event: &TrackEvent<'_>) {
        self.trace.event((cycle * self.nanoseconds_per_cycle).round() as u64, event);
    }

    /// Adds a slice from one core cycle to another.
    pub(super) fn slice(&mut self, track: u64, (begin, end): (f64, f64), name: &str, facts: Vec<(&str, Fact)>) {
        self.event(begin, &TrackEvent { kind: TrackEventKind::SliceBegin, track, name: Some(name), value: None, facts });
        self.event(end, &TrackEvent { kind: TrackEventKind::SliceEnd, track, name: None, value: None, facts: Vec::new() });
    }

    /// Adds a counter that has each value from the end of the previous step to the end of its step.
    pub(super) fn counter(&mut self, name: &str, unit: &str, ends: &[f64], values: &[Option<f64>]) {
        let track = self.track(name, Some(unit));
        let mut begin = 0.0;
        let mut before = None;
        for (end, value) in ends.iter().zip(values) {
            let value = value.unwrap_or(0.0);
            // A value that equals the previous one needs no event.
            if before != Some(value) {
                self.event(begin, &TrackEvent { kind: TrackEventKind::Counter, track, name: None, value: Some(value), facts: Vec::new() });
            }
            (begin, before) = (*end, Some(value));
        }
        self.event(begin, &TrackEvent { kind: TrackEventKind::Counter, track, name: None, value: Some(0.0), facts: Vec::new() });
    }
}

/// Returns the duration of a core cycle in seconds.
pub(super) fn seconds_of_a_cycle(run: &RunFolder) -> f64 {
    1e-3 / run.stats.number(&["core_khz"]).filter(|khz| *khz > 0.0).unwrap_or(1e6)
}
