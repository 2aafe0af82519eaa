//! Scheduler cycles, IPC and occupancy: over the whole run and over time.

use warpshard_report::nsight::{ADDITIONAL_WARP_STATE_METRICS, WARP_STATE_METRICS, WarpStateMetric};
use warpshard_report::text::{count, percent};

use super::super::series::{CounterSeries, ratios};
use super::data::RunData;
use super::draw::{Bar, Layer, bars, colour, lines, stacked_areas};
use super::figure::{Figure, Part, number};

pub(super) fn part(data: &RunData<'_>) -> Option<Part> {
    let schedulers = shares(
        &states(data),
        "Scheduler cycles by state",
        "Each scheduler of each SM is in one of these states in every cycle.",
        "scheduler cycles",
    );
    let warps = shares(
        &warp_states(data),
        "Warp cycles by state",
        "Each resident warp is in one of these states in every cycle, in the names of Nsight Compute.",
        "warp cycles",
    );
    let mut figures: Vec<Figure> = [schedulers, warps].into_iter().flatten().collect();
    let mut note = String::new();
    match &data.series {
        Some(series) => figures.extend([stalls(data, series), ipc(series), occupancy(series)].into_iter().flatten()),
        None => {
            note = "There are no pictures over time, because the run recorded no intervals: add --interval N to `warpshard run`.".into()
        }
    }
    Some(Part { title: "SMs", note, figures })
}

/// Returns the scheduler states that occur, in the order of their priority, with their cycles.
fn states(data: &RunData<'_>) -> Vec<(String, f64)> {
    let reasons = data.run.stats.object(&["scheduler_cycles", "reasons"]).into_iter().flatten();
    reasons.map(|(name, cycles)| (name.clone(), cycles.as_f64().unwrap_or(0.0))).filter(|(_, cycles)| *cycles > 0.0).collect()
}

/// Formats the name of a state for readers.
fn readable(state: &str) -> String {
    state.strip_prefix("stall_").unwrap_or(state).replace('_', " ")
}

/// Returns the warp states that occur with their cycles, in Nsight Compute's names and warpshard's additional names, if SMs count them.
fn warp_states(data: &RunData<'_>) -> Vec<(String, f64)> {
    let Some(counters) = data.run.stats.object(&["components", "sm", "total"]) else { return Vec::new() };
    let cycles = |state: &WarpStateMetric| Some((state.nsight.to_owned(), counters.get(state.ours)?.as_f64()?));
    WARP_STATE_METRICS.iter().chain(ADDITIONAL_WARP_STATE_METRICS).filter_map(cycles).filter(|(_, cycles)| *cycles > 0.0).collect()
}

/// Returns the figure of the states as shares of all cycles of the run.
fn shares(states: &[(String, f64)], title: &str, note: &str, cycles: &str) -> Option<Figure> {
    let all: f64 = states.iter().map(|(_, cycles)| cycles).sum();
    let bar = |(state, cycles): &(String, f64)| Bar { name: readable(state), value: *cycles, label: percent(cycles / all) };
    (!states.is_empty()).then(|| Figure {
        title: title.into(),
        note: note.into(),
        svg: bars(&states.iter().map(bar).collect::<Vec<_>>(), "var(--accent)"),
        head: ["state", cycles, "share"].map(str::to_owned).to_vec(),
        rows: states.iter().map(|(state, cycles)| vec![readable(state), count(*cycles as u64), percent(cycles / all)]).collect(),
        ..Figure::default()
    })
}

/// Returns the figure of the states as shares over time, stacked.
fn stalls(data: &RunData<'_>, series: &CounterSeries) -> Option<Figure> {
    let states: Vec<(String, &[f64])> =
        states(data).into_iter().filter_map(|(state, _)| series.get(&format!("sm.{state}")).map(|cycles| (state, cycles))).collect();
    let all: Vec<f64> = (0..series.ends.len()).map(|i| states.iter().map(|(_, cycles)| cycles[i]).sum()).collect();
    let layer =
        |(i, (state, cycles)): (usize, &(String, &[f64]))| Layer { name: readable(state), colour: colour(i), values: ratios(cycles, &all) };
    let layers: Vec<Layer> = states.iter().enumerate().map(layer).collect();
    (!layers.is_empty()).then(|| {
        let columns: Vec<_> = layers.iter().map(|layer| (layer.name.clone(), texts(&layer.values, percent))).collect();
        let figure = Figure {
            title: "Scheduler cycles over time".into(),
            note: "Shares of all schedulers, over core cycles.".into(),
            legend: layers.iter().map(|layer| (layer.name.clone(), layer.colour.clone())).collect(),
            svg: stacked_areas(&series.ends, &layers, true),
            ..Figure::default()
        };
        figure.over_time(&series.ends, &columns)
    })
}

/// Formats values as texts, with a dash for a missing value.
pub(super) fn texts(values: &[Option<f64>], form: impl Fn(f64) -> String) -> Vec<String> {
    values.iter().map(|value| value.map_or_else(|| "–".to_owned(), &form)).collect()
}

fn ipc(series: &CounterSeries) -> Option<Figure> {
    let values = ratios(series.get("sm.thread_instructions")?, &series.lengths());
    let columns = [("thread instructions per cycle".to_owned(), texts(&values, number))];
    let layer = Layer { name: "IPC".into(), colour: colour(0), values };
    let figure = Figure {
        title: "IPC over time".into(),
        note: "Thread instructions per core cycle, all SMs together.".into(),
        svg: lines(&series.ends, &[layer], false),
        ..Figure::default()
    };
    Some(figure.over_time(&series.ends, &columns))
}

fn occupancy(series: &CounterSeries) -> Option<Figure> {
    let values = ratios(series.get("sm.resident_warp_cycles")?, series.get("sm.cycles")?);
    let columns = [("warps per SM".to_owned(), texts(&values, number))];
    let layer = Layer { name: "resident warps".into(), colour: colour(2), values };
    let figure = Figure {
        title: "Occupancy over time".into(),
        note: "Resident warps of an SM, on average over all SMs.".into(),
        svg: lines(&series.ends, &[layer], false),
        ..Figure::default()
    };
    Some(figure.over_time(&series.ends, &columns))
}
