//! The SMs of a page, compared with each other.

use serde_json::Value;

use warpshard_report::text::percent;

use super::super::series::L1_COUNTERS;
use super::data::RunData;
use super::draw::{Tile, tiles};
use super::figure::{Figure, Part, number};

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    let ids = data.instances("sm", "id")?;
    let maps = [
        utilisation_map(data, &ids, ("Instructions issued", "Issued instructions per cycle of each SM."), &["issued"], &["cycles"], number),
        utilisation_map(
            data,
            &ids,
            ("Waiting for memory", "Share of scheduler cycles that wait for a register that memory writes, or for the load/store unit."),
            &["stall_scoreboard_memory", "stall_memory_pipeline", "stall_memory_collectors"],
            &scheduler_states(data),
            percent,
        ),
        utilisation_map(
            data,
            &ids,
            ("Occupancy", "Resident warps of each SM, on average."),
            &["resident_warp_cycles"],
            &["cycles"],
            number,
        ),
        utilisation_map(
            data,
            &ids,
            ("L1 hit rate", "Hits as a share of the accesses of each SM."),
            &L1_COUNTERS[..2],
            &L1_COUNTERS,
            percent,
        ),
    ];
    let figures: Vec<Figure> = maps.into_iter().flatten().collect();
    (!figures.is_empty()).then(|| Part {
        title: "SM by SM",
        note: "Light is the least value of all SMs, full colour the largest.".into(),
        figures,
    })
}

fn scheduler_states<'a>(data: &'a RunData<'_>) -> Vec<&'a str> {
    data.run
        .stats
        .object(&["scheduler_cycles", "reasons"])
        .into_iter()
        .flatten()
        .map(|(name, _): (&String, &Value)| name.as_str())
        .collect()
}

fn utilisation_map(
    data: &RunData<'_>,
    ids: &[f64],
    (title, note): (&str, &str),
    parts: &[&str],
    wholes: &[&str],
    form: impl Fn(f64) -> String,
) -> Option<Figure> {
    let sum = |names: &[&str]| {
        let columns = names.iter().filter_map(|name| data.instances("sm", name));
        columns.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
    };
    let (part, whole) = (sum(parts)?, sum(wholes)?);
    let value = |i: usize| (whole[i] > 0.0).then(|| part[i] / whole[i]);
    let label = |i: usize| value(i).map_or_else(|| "–".to_owned(), &form);
    let all: Vec<Tile> =
        ids.iter().enumerate().map(|(i, id)| Tile { id: *id as u64, value: value(i), label: format!("{title} {}", label(i)) }).collect();
    let known: Vec<f64> = (0..ids.len()).filter_map(value).collect();
    let range = |pick: fn(f64, f64) -> f64| known.iter().copied().reduce(pick).map_or_else(|| "–".to_owned(), &form);
    Some(Figure {
        title: title.to_owned(),
        note: format!("{note} From {} to {}.", range(f64::min), range(f64::max)),
        svg: tiles(&all),
        head: ["SM".to_owned(), title.to_owned()].to_vec(),
        rows: ids.iter().enumerate().map(|(i, id)| vec![format!("{id}"), label(i)]).collect(),
        ..Figure::default()
    })
}
