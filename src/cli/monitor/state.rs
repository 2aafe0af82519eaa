//! The state of the run as JSON for the page: progress, rates since the previous request, and the load of the host.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use warpshard_chip::LiveView;

use super::super::progress::Speed;

/// Minimum time between two samples that rates are computed from, in seconds.
const MIN_SAMPLE_SECONDS: f64 = 0.2;
/// Maximum time for which rates are kept while no newer view arrives, in seconds.
const MAX_SAMPLE_SECONDS: f64 = 3.0;

/// A sample of the counters from which rates are computed.
#[derive(Debug)]
struct CounterSample {
    at: Instant,
    cycles: u64,
    sms: Vec<Vec<u64>>,
    cpu_seconds: f64,
}

/// State that is kept between two requests of the page.
#[derive(Debug)]
pub(super) struct MonitorState {
    title: String,
    start: Instant,
    speed: Speed,
    last_sample: Option<CounterSample>,
    /// Rates and host load between the last two samples.
    recent: Value,
}

impl MonitorState {
    pub(super) fn new(title: String) -> Self {
        let began = Instant::now();
        Self { title, start: began, speed: Speed::new(began), last_sample: None, recent: Value::Null }
    }

    /// Returns the state of the run according to the newest view.
    pub(super) fn json(&mut self, view: Option<&LiveView>) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let Some(view) = view else {
            return json!({ "title": self.title, "seconds": seconds, "begun": false, "host": host() }).to_string();
        };
        self.sample(view);
        let progress = &view.progress;
        let column = |name: &str| view.columns.iter().position(|known| *known == name);
        let sum = |name: &str| column(name).map(|at| view.sms.iter().map(|row| row[at]).sum::<u64>());
        let reasons: Vec<_> =
            reasons(&view.columns).map(|(name, at)| json!([name, view.sms.iter().map(|row| row[at]).sum::<u64>()])).collect();
        json!({
            "title": self.title,
            "seconds": seconds,
            "begun": true,
            "paused": view.paused,
            "cycles": progress.cycles,
            "warp_instructions": progress.warp_instructions,
            "ctas_done": progress.ctas_done,
            "ctas": progress.ctas,
            "left": if view.paused { None } else { self.speed.remaining(progress) },
            "speed": self.speed.instructions,
            "ipc": sum("thread_instructions").filter(|_| progress.cycles > 0).map(|count| count as f64 / progress.cycles as f64),
            "reasons": reasons,
            "recent": self.recent,
            "totals": view.totals.iter().map(|(kind, name, value)| json!([format!("{kind}.{name}"), value])).collect::<Vec<_>>(),
            "waiting": { "number": view.waiting.0, "lines": view.waiting.1 },
            "host": host(),
        })
        .to_string()
    }

    /// Updates the rates if the last sample is old enough.
    fn sample(&mut self, view: &LiveView) {
        if view.paused {
            // The page keeps the rates from before the pause; the first sample after the pause starts new rates.
            self.last_sample = None;
            return;
        }
        let now = Instant::now();
        self.speed.update(now, &view.progress);
        let sample = CounterSample { at: now, cycles: view.progress.cycles, sms: view.sms.clone(), cpu_seconds: cpu_seconds() };
        let Some(last) = &self.last_sample else {
            self.last_sample = Some(sample);
            return;
        };
        let seconds = now.duration_since(last.at).as_secs_f64();
        let cycles = sample.cycles.saturating_sub(last.cycles);
        if seconds < MIN_SAMPLE_SECONDS || cycles == 0 && seconds < MAX_SAMPLE_SECONDS {
            return;
        }
        let change = |sm: usize, at: usize| sample.sms[sm][at].saturating_sub(last.sms.get(sm).map_or(0, |row| row[at]));
        let instructions = view.columns.iter().position(|name| *name == "thread_instructions");
        let reasons: Vec<_> = reasons(&view.columns).collect();
        let sms: Vec<_> = (0..sample.sms.len())
            .map(|sm| {
                let ipc = instructions.filter(|_| cycles > 0).map(|at| change(sm, at) as f64 / cycles as f64);
                let counts: Vec<u64> = reasons.iter().map(|(_, at)| change(sm, *at)).collect();
                let all = counts.iter().sum::<u64>();
                json!({ "ipc": ipc, "shares": counts.iter().map(|count| *count as f64 / all.max(1) as f64).collect::<Vec<_>>() })
            })
            .collect();
        let ipc = instructions.filter(|_| cycles > 0);
        let ipc = ipc.map(|at| (0..sample.sms.len()).map(|sm| change(sm, at)).sum::<u64>() as f64 / cycles as f64);
        self.recent = json!({
            "seconds": seconds,
            "cycles_per_second": cycles as f64 / seconds,
            "ipc": ipc,
            "sms": sms,
            "cores": (sample.cpu_seconds - last.cpu_seconds).max(0.0) / seconds,
        });
        self.last_sample = Some(sample);
    }
}

/// Returns the counters of scheduler cycles by reason, with their columns.
fn reasons<'a>(columns: &'a [&'static str]) -> impl Iterator<Item = (&'static str, usize)> + use<'a> {
    columns.iter().enumerate().filter(|(_, name)| **name == "issued" || name.starts_with("stall_")).map(|(at, name)| (*name, at))
}

/// Returns the processor time of this process in seconds, or 0 if the host does not report it.
fn cpu_seconds() -> f64 {
    /// Clock ticks per second of `/proc`, which are 100 on every Linux.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}

/// Returns the load of the host and the resident memory of this process.
fn host() -> Value {
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    json!({
        "cores": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "load": load,
        "memory": resident.map(|kib| kib * 1024),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use warpshard_chip::Progress;

    fn view(cycles: u64, rows: [[u64; 3]; 2]) -> LiveView {
        LiveView {
            progress: Progress { cycles, warp_instructions: 7, ctas_done: 1, ctas: 4 },
            paused: false,
            columns: vec!["issued", "stall_scoreboard", "thread_instructions"],
            sms: rows.map(|row| row.to_vec()).to_vec(),
            totals: vec![("dram", "reads", 5)],
            waiting: Arc::new((1, vec!["sm0: warp 3".into()])),
        }
    }

    #[test]
    fn the_state_has_sums_and_rates_since_the_last_sample() {
        let mut state = MonitorState::new("a on b".into());
        let read = |state: &mut MonitorState, view: Option<&LiveView>| serde_json::from_str::<Value>(&state.json(view)).unwrap();
        assert_eq!(read(&mut state, None)["begun"], false);
        let first = read(&mut state, Some(&view(100, [[10, 0, 320], [0, 10, 0]])));
        assert_eq!((first["ipc"].as_f64(), first["reasons"][1][1].as_u64()), (Some(3.2), Some(10)));
        assert_eq!((first["totals"][0][0].as_str(), first["waiting"]["number"].as_u64()), (Some("dram.reads"), Some(1)));
        if let Some(last) = &mut state.last_sample {
            last.at -= std::time::Duration::from_secs(1);
        }
        let second = read(&mut state, Some(&view(200, [[20, 30, 640], [0, 20, 0]])));
        assert_eq!(second["recent"]["ipc"].as_f64(), Some(3.2));
        assert_eq!(second["recent"]["sms"][0]["shares"], json!([0.25, 0.75]));
        assert_eq!(second["recent"]["sms"][1]["ipc"].as_f64(), Some(0.0));
    }
}
