//! The kernels of a page: their time spans and numbers.

use std::collections::BTreeMap;

use serde_json::Value;

use warpshard_report::text::{count, count_with_noun, demangled};

use super::data::RunData;
use super::draw::{Lane, Span, colour, lanes};
use super::figure::{Figure, Part, number};

/// Maximum number of drawn lanes: the first streams.
const MAX_LANES: usize = 12;

/// Maximum number of kernels in the table: the longest.
const MAX_LISTED: usize = 300;

/// Number of kernel names with separate colours: the names with the most cycles.
const MAX_COLOURED: usize = 11;

/// A kernel launch of the run.
struct LaunchSpan<'a> {
    lane: (u64, u64),
    name: &'a str,
    from: f64,
    to: f64,
    cycles: u64,
    row: Vec<String>,
}

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    let stats = &data.run.stats;
    let end = stats.number(&["total", "cycles"])?;
    let launches: Vec<LaunchSpan<'_>> = stats.kernels().iter().filter_map(|kernel| launch(kernel, end)).collect();
    if launches.is_empty() {
        return None;
    }
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    launches.iter().for_each(|launch| *by_name.entry(launch.name).or_default() += launch.cycles);
    let mut names: Vec<(&str, u64)> = by_name.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let colours: BTreeMap<&str, String> = names.iter().enumerate().map(|(i, (name, _))| (*name, colour(i))).collect();
    let mut legend: Vec<(String, String)> =
        names.iter().take(MAX_COLOURED).map(|(name, _)| (demangled(name).into_owned(), colours[name].clone())).collect();
    if names.len() > MAX_COLOURED {
        legend.push((format!("{} more names", names.len() - MAX_COLOURED), colour(MAX_COLOURED)));
    }
    let (drawn, hidden) = in_lanes(&launches, &colours);
    let note = if hidden > 0 { format!("{} are not drawn. ", count_with_noun(hidden as u64, "more stream")) } else { String::new() };
    let mut longest: Vec<&LaunchSpan<'_>> = launches.iter().collect();
    longest.sort_by_key(|launch| std::cmp::Reverse(launch.cycles));
    let listed = if longest.len() > MAX_LISTED {
        format!("The table lists the {MAX_LISTED} longest of {} launches.", count(longest.len() as u64))
    } else {
        String::new()
    };
    let head = ["name", "id", "stream", "CTAs", "started", "ended", "active cycles", "IPC"].map(str::to_owned).to_vec();
    let figure = Figure {
        title: "Kernels over time".into(),
        note: note + "A lane per stream. " + &listed,
        legend,
        svg: lanes(&drawn, end),
        head,
        rows: longest.into_iter().take(MAX_LISTED).map(|launch| launch.row.clone()).collect(),
    };
    Some(Part { title: "Kernels", note: String::new(), figures: vec![figure] })
}

fn launch<'a>(kernel: &'a Value, end: f64) -> Option<LaunchSpan<'a>> {
    let get = |name: &str| kernel.get(name).and_then(Value::as_u64);
    let name = kernel.get("name")?.as_str()?;
    let (started, ended) = (get("started"), get("ended"));
    // Result folders of older versions store the active cycles as `cycles`.
    let active = get("cycles_active").or_else(|| get("cycles"));
    let text = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), count);
    let ctas = match (get("ctas_done"), get("ctas")) {
        (Some(done), Some(all)) if done < all => format!("{} of {}", count(done), count(all)),
        (_, all) => text(all),
    };
    let row = vec![
        demangled(name).into_owned(),
        get("id").unwrap_or(0).to_string(),
        get("stream").unwrap_or(0).to_string(),
        ctas,
        text(started),
        text(ended),
        text(active),
        kernel.get("ipc").and_then(Value::as_f64).map_or_else(|| "–".to_owned(), number),
    ];
    let (from, to) = (started? as f64, ended.map_or(end, |ended| ended as f64));
    let lane = (get("application").unwrap_or(0), get("stream").unwrap_or(0));
    Some(LaunchSpan { lane, name, from, to, cycles: active.unwrap_or(0), row })
}

/// Returns the lanes of the first streams, and the number of the other streams.
fn in_lanes(launches: &[LaunchSpan<'_>], colours: &BTreeMap<&str, String>) -> (Vec<Lane>, usize) {
    let mut streams: BTreeMap<(u64, u64), Vec<Span>> = BTreeMap::new();
    for launch in launches {
        let span =
            Span { name: demangled(launch.name).into_owned(), from: launch.from, to: launch.to, colour: colours[launch.name].clone() };
        streams.entry(launch.lane).or_default().push(span);
    }
    let several = streams.keys().any(|(application, _)| *application > 0);
    let hidden = streams.len().saturating_sub(MAX_LANES);
    let name = |(application, stream): (u64, u64)| if several { format!("app {application}.{stream}") } else { format!("stream {stream}") };
    let lane = |(key, mut spans): ((u64, u64), Vec<Span>)| {
        spans.sort_by(|a, b| a.from.total_cmp(&b.from));
        Lane { name: name(key), spans }
    };
    (streams.into_iter().take(MAX_LANES).map(lane).collect(), hidden)
}
