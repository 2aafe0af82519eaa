//! `warpshard dram`: simulates one DRAM channel alone under synthetic load, at one load or over a sweep of loads.

use std::path::PathBuf;
use std::time::Instant;

use warpshard_mem::dram::control::{ControllerPolicy, Order, Page};
use warpshard_report::picture::{Picture, PictureError};
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_report::text::{Align, Style, Table};
use warpshard_report::{Destination, ResultFile, csv};
use warpshard_rig::dram::{DramOptions, DramOutcome, run};
use warpshard_run::{Exit, check_study};
use warpshard_stats::Counters as _;

use super::args::{ControllerName, DramArgs, OnOff};
use super::failure::Failure;
use super::output;

/// Offered loads of a sweep, as fractions of the peak bandwidth.
const SWEEP_LOADS: &[f64] = &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.2];

/// Simulates one load or a sweep.
///
/// # Errors
/// Fails if results cannot be written.
pub(super) fn dram(args: &DramArgs) -> Result<Exit, Failure> {
    if args.sweep {
        return sweep_loads(args);
    }
    let (outcome, speed) = timed_run(&options(args, args.load));
    if args.json {
        return output::print_json(&json(args, &outcome, speed)).map(|()| Exit::Ok);
    }
    output::print(&text(args, &outcome, speed)).map(|()| Exit::Ok)
}

fn options(args: &DramArgs, load: f64) -> DramOptions {
    let policy = match args.controller {
        ControllerName::Ramulator2 => ControllerPolicy::RAMULATOR2,
        ControllerName::Ramulator1 => ControllerPolicy::RAMULATOR1,
        ControllerName::Dramsim3 => ControllerPolicy::DRAMSIM3,
        ControllerName::Fcfs => ControllerPolicy { order: Order::Fcfs, protect_hits: false, ..ControllerPolicy::RAMULATOR2 },
    };
    let page = if args.closed_page { Page::Closed } else { Page::Open };
    let policy = ControllerPolicy { page, refresh: args.refresh == OnOff::On, ..policy };
    DramOptions { standard: args.standard, policy, pattern: args.pattern, writes: args.writes, load, requests: args.requests }
}

/// Simulates one load; returns the outcome and the simulated requests per second of host time.
fn timed_run(options: &DramOptions) -> (DramOutcome, f64) {
    let begin = Instant::now();
    let outcome = run(options);
    (outcome, options.requests as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// Returns the figures of one load as name and value, in the order of the output.
fn figures(outcome: &DramOutcome, speed: f64) -> Vec<(&'static str, f64)> {
    vec![
        ("achieved_frac_of_peak", outcome.achieved),
        ("avg_read_lat_mc_cycles", outcome.mean_controller_latency()),
        ("avg_read_lat_total_cycles", outcome.mean_total_latency()),
        ("min_read_lat_mc_cycles", if outcome.reads == 0 { 0.0 } else { outcome.latencies.min() as f64 }),
        ("p99_read_lat_mc_cycles", outcome.latencies.value_at_quantile(0.99) as f64),
        ("max_read_lat_mc_cycles", outcome.latencies.max() as f64),
        ("row_hit_rate", outcome.row_hit_rate()),
        ("measured_cycles", outcome.cycles as f64),
        ("max_source_backlog", outcome.backlog as f64),
        ("requests_per_host_second", speed),
    ]
}

fn json(args: &DramArgs, outcome: &DramOutcome, speed: f64) -> serde_json::Value {
    let mut value = serde_json::Map::new();
    value.insert("standard".into(), args.standard.name.into());
    value.insert("pattern".into(), args.pattern.name().into());
    value.insert("writes".into(), args.writes.into());
    value.insert("load".into(), args.load.into());
    value.insert("refresh".into(), (args.refresh == OnOff::On).into());
    value.insert("requests".into(), args.requests.into());
    value.extend(figures(outcome, speed).into_iter().map(|(name, figure)| (name.to_owned(), figure.into())));
    let mut counters = serde_json::Map::new();
    outcome.counters.visit(&mut |info, count| {
        counters.insert(info.name.into(), count.into());
    });
    value.insert("counters".into(), counters.into());
    let banks = outcome.banks.iter().map(|bank| {
        serde_json::json!({
            "row_hits": bank.row_hits, "row_misses": bank.row_misses, "row_conflicts": bank.row_conflicts,
            "activates": bank.activates, "precharges": bank.precharges, "reads": bank.reads, "writes": bank.writes,
        })
    });
    value.insert("banks".into(), banks.collect());
    value.into()
}

fn text(args: &DramArgs, outcome: &DramOutcome, speed: f64) -> String {
    let mut text = format!("{}: {}\n{}\n\n", args.standard.name, args.standard.summary, args.standard.source);
    let mut table = Table::new(&[("figure", Align::Left), ("value", Align::Right)]);
    for (name, value) in figures(outcome, speed) {
        let whole = value.fract() == 0.0 || value > 1e5;
        table.row(vec![name.to_owned(), if whole { format!("{value:.0}") } else { format!("{value:.4}") }]);
    }
    outcome.counters.visit(&mut |info, count| table.row(vec![format!("{} [{}]", info.name, info.unit), count.to_string()]));
    text += &table.wide(Style::Plain);
    text
}

fn sweep_loads(args: &DramArgs) -> Result<Exit, Failure> {
    let points: Vec<(f64, DramOutcome, f64)> = SWEEP_LOADS
        .iter()
        .map(|&load| {
            let (outcome, speed) = timed_run(&options(args, load));
            (load, outcome, speed)
        })
        .collect();
    let mut header = vec!["load"];
    header.extend(figures(&points[0].1, points[0].2).iter().map(|(name, _)| *name));
    let rows: Vec<Vec<String>> = points
        .iter()
        .map(|(load, outcome, speed)| {
            let values = figures(outcome, *speed).into_iter().map(|(_, value)| format!("{value:.4}"));
            std::iter::once(format!("{load:.4}")).chain(values).collect()
        })
        .collect();
    let latency = points.iter().map(|(_, outcome, _)| (outcome.achieved, outcome.mean_controller_latency()));
    let plot = Plot {
        title: format!("{}, {}, {:.0} % writes", args.standard.name, args.pattern.name(), args.writes * 100.0),
        x: "achieved, fraction of peak".into(),
        y: "mean read latency in the controller, cycles".into(),
        form: PlotForm::Lines,
        series: vec![Series { name: args.pattern.name().into(), points: latency.collect() }],
    };
    let drawn = |error: PictureError| Failure::new(Exit::Internal, error.to_string());
    let files = [ResultFile::new("table.csv", csv::table(&header, &rows)), ResultFile::new("latency.svg", plot.svg().map_err(drawn)?)];
    let name = format!("results/dram-{}-{}", args.standard.name, args.pattern.name());
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    let destination = Destination::folder(&folder, false)?;
    check_study(&folder, "")?;
    let mut table = Table::new(&header.iter().map(|&name| (name, Align::Right)).collect::<Vec<_>>());
    rows.into_iter().for_each(|row| table.row(row));
    output::print(&table.wide(Style::Plain))?;
    let folder = destination.write(&files)?;
    output::print(&format!("\nResults in {}\n", folder.display()))?;
    Ok(Exit::Ok)
}
