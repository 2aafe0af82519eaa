//! The decisions of controllers on a page.

use std::collections::BTreeMap;

use warpshard_report::text::{count, count_with_noun};
use warpshard_report::timeline::{TimelineRecord, first_sm};

use super::data::RunData;
use super::draw::{Layer, colour, lines};
use super::figure::{Figure, Part, number};
use super::time::texts;

/// Number of steps of a picture.
const MAX_STEPS: usize = 240;

/// Maximum number of knobs and signals with a picture.
const MAX_PICTURES: usize = 8;

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    if data.timeline.is_empty() {
        return None;
    }
    let end = data.run.stats.number(&["counted_until"]).unwrap_or(0.0);
    let sm = first_sm(&data.timeline);
    let mut names: Vec<(&str, &str)> = Vec::new();
    for record in data.timeline.iter().filter(|record| record.value.is_some()) {
        let name = (record.controller.as_str(), record.name.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_sm = sm.map_or_else(|| "of the whole machine".to_owned(), |sm| format!("of SM {sm} and of the whole machine"));
    let hidden = names.len().saturating_sub(MAX_PICTURES);
    let more = if hidden > 0 { format!(" {hidden} more knobs and signals are in timeline.csv.") } else { String::new() };
    let note = format!("Knobs and signals of controllers {of_sm}; `warpshard timeline` shows other SMs.{more}");
    let pictures = names.iter().take(MAX_PICTURES).map(|name| over_time(&data.timeline, *name, sm, end));
    let figures = pictures.chain(std::iter::once(reasons(&data.timeline))).filter(|figure| !figure.rows.is_empty()).collect();
    Some(Part { title: "Decisions", note, figures })
}

/// Returns the figure of a knob or signal, with its last value in each step.
fn over_time(records: &[TimelineRecord], (controller, name): (&str, &str), sm: Option<u16>, end: f64) -> Figure {
    let concerns =
        |record: &&TimelineRecord| record.controller == controller && record.name == name && (record.sm.is_none() || record.sm == sm);
    let changes: Vec<(f64, f64)> =
        records.iter().filter(concerns).filter_map(|record| Some((record.cycle as f64, record.value?))).collect();
    let steps = MAX_STEPS.min(changes.len().max(1) * 2).max(24);
    let ends: Vec<f64> = (1..=steps).map(|i| end * i as f64 / steps as f64).collect();
    let mut next = changes.iter().peekable();
    let mut value = None;
    let values: Vec<Option<f64>> = ends
        .iter()
        .map(|end| {
            while let Some((_, set)) = next.next_if(|(cycle, _)| cycle < end) {
                value = Some(*set);
            }
            value
        })
        .collect();
    let columns = [(name.to_owned(), texts(&values, number))];
    let negative = values.iter().flatten().any(|value| *value < 0.0);
    // The axis begins at zero, so that negative values of a signal appear only in the table.
    let layer = Layer { name: name.to_owned(), colour: colour(0), values };
    let svg = if negative { String::new() } else { lines(&ends, &[layer], false) };
    let figure = Figure {
        title: format!("{controller}: {name}"),
        note: format!("{}.", count_with_noun(changes.len() as u64, "record")),
        svg,
        ..Figure::default()
    };
    figure.over_time(&ends, &columns)
}

/// Returns the figure with the number of occurrences of each reason.
fn reasons(records: &[TimelineRecord]) -> Figure {
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    records.iter().filter(|record| !record.reason.is_empty()).for_each(|record| *times.entry(&record.reason).or_default() += 1);
    let mut sorted: Vec<(&str, u64)> = times.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    Figure {
        title: "Reasons".into(),
        note: "Number of decisions per reason, over all SMs.".into(),
        head: ["reason", "times"].map(str::to_owned).to_vec(),
        rows: sorted.into_iter().take(100).map(|(reason, times)| vec![reason.to_owned(), count(times)]).collect(),
        ..Figure::default()
    }
}
