//! Tracks of single units: CTAs on SMs, warp states, bulk copies, barriers and matrix products, and rows and commands of DRAM banks.

use serde_json::Value;

use warpshard_report::text::demangled;
use warpshard_stats::activity::{Activity, BankCommand, BankEvent, ChannelActivity, CtaSpan, SmActivity, WarpChange};

use super::super::RunFolder;
use super::async_ops;
use super::proto::{Fact, TrackEvent, TrackEventKind};
use super::writer::TraceWriter;

/// Adds the tracks of all units with recorded activity.
pub(super) fn add(run: &RunFolder, recorded: &Activity, writer: &mut TraceWriter) {
    let end = run.stats.count(&["counted_until"]).unwrap_or(0);
    let name = |kernel: &Value| demangled(kernel.get("name").and_then(Value::as_str).unwrap_or_default()).into_owned();
    let names: Vec<String> = run.stats.kernels().iter().map(name).collect();
    for sm in
        recorded.sms.iter().filter(|sm| !sm.ctas.events.is_empty() || !sm.warps.events.is_empty() || !sm.async_events.events.is_empty())
    {
        let track = writer.track(&format!("SM {}", sm.sm), None);
        ctas(sm, track, &names, end, writer);
        warps(sm, track, end, writer);
        async_ops::add(&sm.async_events.events, track, end, writer);
    }
    for channel in recorded.channels.iter().filter(|channel| !channel.commands.events.is_empty()) {
        let track = writer.track(&format!("DRAM channel {}", channel.partition), None);
        banks(channel, track, run, end, writer);
    }
}

/// Adds a slice per CTA. CTAs that are resident at the same time are on different tracks.
fn ctas(sm: &SmActivity, parent: u64, names: &[String], end: u64, writer: &mut TraceWriter) {
    let mut spans: Vec<&CtaSpan> = sm.ctas.events.iter().collect();
    spans.sort_by_key(|span| (span.started, span.kernel, span.cta));
    // Track of each CTA slot, and the end of its last CTA.
    let mut places: Vec<(u64, u64)> = Vec::new();
    for span in spans {
        let left = span.left.unwrap_or(end).max(span.started);
        let place = places.iter().position(|(_, free)| *free <= span.started).unwrap_or_else(|| {
            places.push((writer.track_of(parent, &format!("SM {} CTA {}", sm.sm, places.len()), None), 0));
            places.len() - 1
        });
        places[place].1 = left;
        let kernel = names.get(span.kernel as usize).map_or("", String::as_str);
        let mut facts = vec![
            ("kernel", Fact::Text(kernel.to_owned())),
            ("cta", Fact::Number(span.cta.into())),
            ("started", Fact::Number(span.started)),
        ];
        facts.extend(span.left.map(|left| ("left", Fact::Number(left))));
        facts.extend(span.preempted.then(|| ("preempted", Fact::Text("yes".into()))));
        writer.slice(places[place].0, (span.started as f64, left as f64), &format!("{kernel} CTA {}", span.cta), facts);
    }
}

/// Adds a track per warp slot, with a slice for each state.
fn warps(sm: &SmActivity, parent: u64, end: u64, writer: &mut TraceWriter) {
    let changes: &[WarpChange] = &sm.warps.events;
    let mut slots: Vec<u8> = changes.iter().map(|change| change.warp).collect();
    slots.sort_unstable();
    slots.dedup();
    for slot in slots {
        let role = async_ops::role(&sm.async_events.events, slot).map_or_else(String::new, |role| format!(", {role}"));
        let track = writer.track_of(parent, &format!("warp {slot}{role}"), None);
        let mut own = changes.iter().filter(|change| change.warp == slot).peekable();
        while let Some(change) = own.next() {
            let until = own.peek().map_or(end, |next| next.at).max(change.at);
            if let Some(state) = change.state {
                writer.slice(track, (change.at as f64, until as f64), state.name(), vec![("cycle", Fact::Number(change.at))]);
            }
        }
    }
}

/// An open row of a bank.
struct OpenRow {
    row: u32,
    since: u64,
    /// Bursts of the row: the cycle of the command, and true for a write.
    bursts: Vec<(u64, bool)>,
}

/// The track of a bank that receives events.
struct BankTrack {
    track: u64,
    /// Core cycles per command clock.
    scale: f64,
    /// Command clocks per burst.
    burst: u64,
    open: Option<OpenRow>,
}

impl BankTrack {
    /// Closes the open row at a command clock and writes its slice, with the slices of its bursts. The first burst is a miss, for which the
    /// row was opened; the other bursts are hits.
    fn close(&mut self, at: u64, writer: &mut TraceWriter) {
        let Some(OpenRow { row, since, bursts }) = self.open.take() else { return };
        let cycle = |clock: u64| clock as f64 * self.scale;
        let writes = bursts.iter().filter(|(_, write)| *write).count() as u64;
        let facts = vec![
            ("row", Fact::Number(row.into())),
            ("reads", Fact::Number(bursts.len() as u64 - writes)),
            ("writes", Fact::Number(writes)),
        ];
        // Slices of a track must nest, so that the slice of a row begins before its bursts and ends after them.
        let begin =
            TrackEvent { kind: TrackEventKind::SliceBegin, track: self.track, name: Some(&format!("row {row}")), value: None, facts };
        writer.event(cycle(since), &begin);
        for (place, (from, write)) in bursts.iter().enumerate() {
            let next = bursts.get(place + 1).map_or(at, |(next, _)| *next);
            let name = match (write, place) {
                (false, 0) => "read, row miss",
                (true, 0) => "write, row miss",
                (false, _) => "read, row hit",
                (true, _) => "write, row hit",
            };
            writer.slice(self.track, (cycle(*from), cycle((from + self.burst).min(next))), name, Vec::new());
        }
        let last = TrackEvent { kind: TrackEventKind::SliceEnd, track: self.track, name: None, value: None, facts: Vec::new() };
        writer.event(cycle(at), &last);
    }
}

/// Adds a track per bank, with a slice for each open row and for each refresh.
fn banks(channel: &ChannelActivity, parent: u64, run: &RunFolder, end: u64, writer: &mut TraceWriter) {
    let core = run.stats.number(&["core_khz"]).unwrap_or(1.0);
    let scale = core / (channel.khz.max(1)) as f64;
    let commands = &channel.commands.events;
    let most = commands.iter().map(|command| command.bank).max().unwrap_or(0).max(channel.span.saturating_sub(1));
    let mut banks: Vec<BankTrack> = (0..=most)
        .map(|bank| BankTrack {
            track: writer.track_of(parent, &format!("bank {bank}"), None),
            scale,
            burst: channel.burst.max(1).into(),
            open: None,
        })
        .collect();
    for &BankCommand { at, bank, what, row } in commands {
        let first = usize::from(bank);
        let all = first..(first + usize::from(channel.span)).min(banks.len());
        match what {
            BankEvent::Open => {
                banks[first].close(at, writer);
                banks[first].open = Some(OpenRow { row, since: at, bursts: Vec::new() });
            }
            BankEvent::Close => banks[first].close(at, writer),
            BankEvent::CloseAll => banks[all].iter_mut().for_each(|bank| bank.close(at, writer)),
            BankEvent::Read { closes } | BankEvent::Write { closes } => {
                let write = matches!(what, BankEvent::Write { .. });
                let bank = &mut banks[first];
                // The row was opened before the recording began.
                bank.open.get_or_insert(OpenRow { row, since: at, bursts: Vec::new() }).bursts.push((at, write));
                if closes {
                    bank.close(at + bank.burst, writer);
                }
            }
            BankEvent::Refresh | BankEvent::RefreshBank => {
                let (refreshed, clocks) =
                    if what == BankEvent::Refresh { (all, channel.refresh) } else { (first..first + 1, channel.refresh_bank) };
                for bank in &mut banks[refreshed] {
                    bank.close(at, writer);
                    let span = (at as f64 * scale, (at + u64::from(clocks.max(1))) as f64 * scale);
                    writer.slice(bank.track, span, "refresh", Vec::new());
                }
            }
        }
    }
    let last = (end as f64 / scale).ceil() as u64;
    for bank in &mut banks {
        let at = bank.open.as_ref().and_then(|open| open.bursts.last()).map_or(last, |(at, _)| last.max(*at));
        bank.close(at, writer);
    }
}
