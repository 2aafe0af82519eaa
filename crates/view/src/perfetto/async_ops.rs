//! Tracks of asynchronous operations of an SM: bulk copies in flight, phases of barriers in shared memory, waits for these barriers, and
//! warp-group products.

use std::collections::BTreeMap;

use warpshard_stats::activity::{AsyncEvent, AsyncEventKind, CopyKind};

use super::proto::{Fact, TrackEvent, TrackEventKind};
use super::writer::TraceWriter;

/// Returns the role of a warp in its kernel: it issues bulk loads (producer), matrix products (consumer), or both.
pub(super) fn role(events: &[AsyncEvent], slot: u8) -> Option<&'static str> {
    let (mut produces, mut consumes) = (false, false);
    for event in events {
        match event.what {
            AsyncEventKind::Product { group, .. } => consumes |= group >> slot & 1 != 0,
            AsyncEventKind::CopyBegins { warp, kind: CopyKind::Load, .. } => produces |= warp == slot,
            _ => {}
        }
    }
    match (produces, consumes) {
        (true, true) => Some("producer and consumer"),
        (true, false) => Some("producer"),
        (false, true) => Some("consumer"),
        (false, false) => None,
    }
}

/// Adds the tracks under the track of the SM.
pub(super) fn add(events: &[AsyncEvent], parent: u64, end: u64, writer: &mut TraceWriter) {
    copies(events, parent, end, writer);
    phases(events, parent, writer);
    waits(events, parent, end, writer);
    products(events, parent, end, writer);
}

/// A copy with its start and end; a copy without a recorded end is in flight at the end of the run.
struct CopySpan {
    begin: u64,
    end: u64,
    name: String,
    facts: Vec<(&'static str, Fact)>,
}

/// Adds a slice per copy, and a counter of copies in flight. Copies that are in flight at the same time are on different tracks.
fn copies(events: &[AsyncEvent], parent: u64, end: u64, writer: &mut TraceWriter) {
    let ended = |event: &AsyncEvent| if let AsyncEventKind::CopyEnds { number } = event.what { Some((number, event.at)) } else { None };
    let ends: BTreeMap<u64, u64> = events.iter().filter_map(ended).collect();
    let copy = |event: &AsyncEvent| {
        let AsyncEventKind::CopyBegins { warp, number, kind, bytes, barrier } = event.what else { return None };
        let mut facts = vec![
            ("begins", Fact::Number(event.at)),
            ("warp", Fact::Number(warp.into())),
            ("CTA slot", Fact::Number(event.slot.into())),
            ("bytes", Fact::Number(bytes.into())),
        ];
        facts.extend(ends.get(&number).map(|end| ("ends", Fact::Number(*end))));
        facts.extend(barrier.map(|address| ("mbarrier", Fact::Text(format!("{address:#x}")))));
        let end = ends.get(&number).copied().unwrap_or(end).max(event.at);
        Some(CopySpan { begin: event.at, end, name: format!("{} of {bytes} bytes", kind.name()), facts })
    };
    let copies: Vec<CopySpan> = events.iter().filter_map(copy).collect();
    if copies.is_empty() {
        return;
    }
    let mut steps: BTreeMap<u64, i64> = BTreeMap::new();
    // Tracks for copies, each with the end of its last copy.
    let mut places: Vec<(u64, u64)> = Vec::new();
    for CopySpan { begin, end, name, facts } in copies {
        *steps.entry(begin).or_default() += 1;
        *steps.entry(end).or_default() -= 1;
        let place = places.iter().position(|(_, free)| *free <= begin).unwrap_or_else(|| {
            places.push((writer.track_of(parent, &format!("bulk copy {}", places.len()), None), 0));
            places.len() - 1
        });
        places[place].1 = end;
        writer.slice(places[place].0, (begin as f64, end as f64), &name, facts);
    }
    let track = writer.track_of(parent, "bulk copies in flight", Some("copies"));
    let mut in_flight = 0;
    for (at, change) in steps.into_iter().filter(|(_, change)| *change != 0) {
        in_flight += change;
        let event = TrackEvent { kind: TrackEventKind::Counter, track, name: None, value: Some(in_flight as f64), facts: Vec::new() };
        writer.event(at as f64, &event);
    }
}

/// Adds a track per barrier of the CTA in a slot, with a slice for each completed phase.
fn phases(events: &[AsyncEvent], parent: u64, writer: &mut TraceWriter) {
    // Track of a barrier, start of its current phase, and number of earlier phases of this CTA.
    let mut barriers: BTreeMap<(u8, u32), (u64, u64, u64)> = BTreeMap::new();
    for event in events {
        let (address, ended) = match event.what {
            AsyncEventKind::BarrierBegins { address } => (address, None),
            AsyncEventKind::PhaseEnds { address, parity } => (address, Some(parity)),
            _ => continue,
        };
        let name = format!("mbarrier {address:#x} of CTA slot {}", event.slot);
        let (track, since, number) =
            barriers.entry((event.slot, address)).or_insert_with(|| (writer.track_of(parent, &name, None), event.at, 0));
        if let Some(parity) = ended {
            let facts = vec![("phase", Fact::Number(*number)), ("parity", Fact::Number(parity.into())), ("ends", Fact::Number(event.at))];
            writer.slice(*track, (*since as f64, event.at as f64), &format!("phase {}", u8::from(parity)), facts);
            *number += 1;
        } else {
            *number = 0;
        }
        *since = event.at;
    }
}

/// Adds a track per warp slot that waits for barrier phases or for its bulk stores.
fn waits(events: &[AsyncEvent], parent: u64, end: u64, writer: &mut TraceWriter) {
    // Track of a warp, and its current wait.
    let mut warps: BTreeMap<u8, (u64, Option<(u64, String)>)> = BTreeMap::new();
    for event in events {
        let (warp, begins) = match event.what {
            AsyncEventKind::WaitBegins { warp, address, parity } => {
                (warp, Some(format!("mbarrier {address:#x}, phase {}", u8::from(parity))))
            }
            AsyncEventKind::StoresWaitBegins { warp } => (warp, Some("bulk stores".to_owned())),
            AsyncEventKind::WaitEnds { warp } => (warp, None),
            _ => continue,
        };
        let (track, open) = warps.entry(warp).or_insert_with(|| (writer.track_of(parent, &format!("waits of warp {warp}"), None), None));
        let before = std::mem::replace(open, begins.map(|name| (event.at, name)));
        if let Some((since, name)) = before {
            writer.slice(*track, (since as f64, event.at as f64), &name, Vec::new());
        }
    }
    for (track, open) in warps.into_values() {
        if let Some((since, name)) = open {
            writer.slice(track, (since as f64, end.max(since) as f64), &name, Vec::new());
        }
    }
}

/// Adds a slice for each time span in which the matrix units multiply for a warp group.
fn products(events: &[AsyncEvent], parent: u64, end: u64, writer: &mut TraceWriter) {
    let product = |event: &AsyncEvent| match event.what {
        AsyncEventKind::Product { group, begins, ends } => Some((begins, ends, group, event.slot)),
        _ => None,
    };
    let mut products: Vec<_> = events.iter().filter_map(product).filter(|(begins, ..)| *begins < end).collect();
    products.sort_unstable();
    if products.is_empty() {
        return;
    }
    let track = writer.track_of(parent, "matrix units", None);
    for (begins, ends, group, slot) in products {
        let facts = vec![("begins", Fact::Number(begins)), ("CTA slot", Fact::Number(slot.into()))];
        let name = format!("product of warps {} to {}", group.trailing_zeros(), 63 - group.leading_zeros());
        writer.slice(track, (begins as f64, ends.min(end) as f64), &name, facts);
    }
}
