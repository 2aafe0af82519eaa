//! Energy by component, and power over time.

use warpshard_report::text::{joules, percent};

use super::super::series::CounterSeries;
use super::data::RunData;
use super::draw::{Bar, Layer, bars, colour, stacked_areas};
use super::figure::{Figure, Part, number};
use super::time::texts;

/// Maximum number of components with separate areas; the other components share one.
const MAX_AREAS: usize = 10;

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    let figures: Vec<Figure> = components(data).into_iter().chain(data.power.as_ref().and_then(power)).collect();
    (!figures.is_empty()).then(|| Part { title: "Energy", note: String::new(), figures })
}

fn components(data: &RunData<'_>) -> Option<Figure> {
    let all = data.run.stats.number(&["energy", "joules"]).filter(|all| *all > 0.0)?;
    let components = data.run.stats.object(&["energy", "components"])?;
    let mut parts: Vec<(String, f64)> =
        components.iter().map(|(name, value)| (name.replace('_', " "), value.as_f64().unwrap_or(0.0))).collect();
    parts.retain(|(_, value)| *value > 0.0);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bar = |(name, value): &(String, f64)| Bar {
        name: name.clone(),
        value: *value,
        label: format!("{}, {}", joules(*value), percent(value / all)),
    };
    Some(Figure {
        title: "Energy by component".into(),
        note: format!("{} in total, with the event energies {}.", joules(all), data.run.stats.at(&["energy", "set"])?.as_str()?),
        svg: bars(&parts.iter().map(bar).collect::<Vec<_>>(), "var(--accent)"),
        head: ["component", "energy", "share"].map(str::to_owned).to_vec(),
        rows: parts.iter().map(|(name, value)| vec![name.clone(), joules(*value), percent(value / all)]).collect(),
        ..Figure::default()
    })
}

fn power(series: &CounterSeries) -> Option<Figure> {
    let suffix = "_watts";
    let mut parts: Vec<(String, Vec<f64>)> = series
        .columns()
        .filter_map(|(name, watts)| Some((name.strip_suffix(suffix)?.replace('_', " "), watts.to_vec())))
        .filter(|(_, watts)| watts.iter().any(|watts| *watts > 0.0))
        .collect();
    parts.sort_by(|a, b| b.1.iter().sum::<f64>().total_cmp(&a.1.iter().sum()));
    if parts.len() > MAX_AREAS + 1 {
        let rest = parts.split_off(MAX_AREAS);
        let sum = (0..series.ends.len()).map(|i| rest.iter().map(|(_, watts)| watts[i]).sum()).collect();
        parts.push((format!("{} others", rest.len()), sum));
    }
    let layer =
        |(i, (name, watts)): (usize, (String, Vec<f64>))| Layer { name, colour: colour(i), values: watts.into_iter().map(Some).collect() };
    let layers: Vec<Layer> = parts.into_iter().enumerate().map(layer).collect();
    let columns: Vec<_> = layers.iter().map(|layer| (layer.name.clone(), texts(&layer.values, number))).collect();
    (!layers.is_empty()).then(|| {
        let figure = Figure {
            title: "Power over time".into(),
            note: "Watts, by component.".into(),
            legend: layers.iter().map(|layer| (layer.name.clone(), layer.colour.clone())).collect(),
            svg: stacked_areas(&series.ends, &layers, false),
            ..Figure::default()
        };
        figure.over_time(&series.ends, &columns)
    })
}
