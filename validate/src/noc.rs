//! `study noc`: networks, compared with BookSim 2 at every measured load.
//!
//! Mean latencies are graded below saturation and the accepted rate above it, by the bands of `validate/published/noc.toml`. At low load,
//! the packets of the reference's short runs pass other numbers of routers than the pattern's mean, which causes most of the error. The
//! column "at equal distance" adds the difference in routers passed, times the cycles of a router, to the reference's latency.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::published::{Band, Published, read as read_published};
use warpshard_lab::reference::References;
use warpshard_lab::verdict::Verdict;
use warpshard_noc::mesh::{NetworkSpec, Pipeline, Topology};
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_rig::noc::{NocMeasurements, NocSetup, PATTERNS, measure};

use super::reference::MeasuredTable;

/// A measured point of the reference.
#[derive(Clone, Debug)]
struct NocPoint {
    configuration: String,
    pattern: String,
    flits: u16,
    load: f64,
    stable: bool,
    accepted: f64,
    latency: Option<f64>,
    routers: f64,
}

/// Points of one configuration, pattern and packet length, with our results.
type NocRows<'a> = Vec<(&'a NocPoint, &'a NocMeasurements)>;

/// Fields of `validate/published/noc.toml` in addition to the bands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NocReference {
    low_load: f64,
    graded_load: f64,
}

fn published() -> Published<NocReference, ()> {
    read_published("noc", include_str!("../published/noc.toml"))
}

/// Returns the network of a BookSim configuration, by the configuration's name.
pub fn network_spec(name: &str) -> Option<NetworkSpec> {
    let mesh = NetworkSpec::new(Topology::Mesh { columns: 6, rows: 6 });
    let crossbar = NetworkSpec::new(Topology::Crossbar { ports: 36 });
    Some(match name {
        "mesh_3st" => mesh,
        "mesh_4st_rc1" => NetworkSpec { pipeline: Pipeline::Four, ..mesh },
        "mesh_2st_spec" => NetworkSpec { pipeline: Pipeline::Speculative, ..mesh },
        "xbar_4vc4" => crossbar,
        "xbar_gpgpusim" => NetworkSpec { buffers: 64, speedup: 2, credit_delay: 0, ..crossbar.with_vcs(1) },
        _ => return None,
    })
}

/// Returns the cycles of a router and its output channel for a head flit that wins every arbitration.
fn cycles_per_router(spec: &NetworkSpec) -> f64 {
    match spec.pipeline {
        Pipeline::Speculative => 3.0,
        Pipeline::Three => 4.0,
        Pipeline::Four => 5.0,
    }
}

/// Simulates every point of the reference.
///
/// # Errors
/// Fails if the reference cannot be read or contains an unknown name.
pub fn run(references: &References) -> Result<StudyOutput, StudyError> {
    let points = read_reference(references).map_err(StudyError::reference)?;
    let results: Vec<NocMeasurements> = points.par_iter().map(simulate_point).collect::<Result<_, _>>().map_err(StudyError::reference)?;
    let mut output = StudyOutput::new("noc", "networks of virtual-channel routers, compared with BookSim 2".into());
    output.columns(&[
        "configuration",
        "pattern",
        "flits",
        "load",
        "latency",
        "BookSim",
        "error %",
        "at equal distance %",
        "accepted",
        "BookSim ",
        "error % ",
        "routers",
        "BookSim  ",
        "stable",
    ]);
    let mut groups: BTreeMap<(&str, &str, u16), NocRows<'_>> = BTreeMap::new();
    for (point, ours) in points.iter().zip(&results) {
        groups.entry((&point.configuration, &point.pattern, point.flits)).or_default().push((point, ours));
    }
    let bands = published();
    let NocReference { low_load, graded_load } = bands.own;
    let (mut low, mut high, mut saturation) = (PointTally::default(), PointTally::default(), PointTally::default());
    let mut series: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for ((configuration, pattern, flits), rows) in &groups {
        let (theirs, ours) =
            rows.iter().fold((0.0f64, 0.0f64), |most, (point, ours)| (most.0.max(point.accepted), most.1.max(ours.accepted)));
        let group = format!("{configuration} {pattern} {flits}");
        let (mut group_low, mut group_high) = (PointTally::default(), PointTally::default());
        for (point, ours) in rows {
            let error = point.latency.filter(|_| ours.stable).map(|latency| error_percent(ours.packet_latency, latency));
            let spec = network_spec(&point.configuration).map_or(0.0, |spec| cycles_per_router(&spec));
            // The reference's latency, adjusted to the number of routers that our packets pass.
            let theirs_adjusted = point.latency.filter(|_| ours.stable).map(|l| l + (ours.routers - point.routers) * spec);
            let adjusted = theirs_adjusted.map(|theirs| error_percent(ours.packet_latency, theirs));
            if let Some(reference) = theirs_adjusted.filter(|_| point.load <= graded_load * theirs) {
                let is_low = point.load <= low_load * theirs;
                let (tally, all, band) =
                    if is_low { (&mut group_low, &mut low, "latency_at_low_load") } else { (&mut group_high, &mut high, "latency") };
                tally.add(bands.band(band), ours.packet_latency, reference);
                all.add(bands.band(band), ours.packet_latency, reference);
            }
            if let Some(latency) = point.latency.filter(|_| ours.stable) {
                series.entry(configuration).or_default().push((latency, ours.packet_latency));
            }
            let text = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:+.2}"));
            output.row(vec![
                (*configuration).into(),
                (*pattern).into(),
                flits.to_string(),
                point.load.to_string(),
                if ours.stable { format!("{:.3}", ours.packet_latency) } else { "-".into() },
                point.latency.map_or_else(|| "-".into(), |latency| format!("{latency:.3}")),
                text(error),
                text(adjusted),
                format!("{:.4}", ours.accepted),
                format!("{:.4}", point.accepted),
                text(Some(error_percent(ours.accepted, point.accepted))),
                format!("{:.3}", ours.routers),
                format!("{:.3}", point.routers),
                match (ours.stable, point.stable) {
                    (true, true) => "both".into(),
                    (false, false) => "none".into(),
                    (true, false) => "ours".into(),
                    (false, true) => "BookSim".into(),
                },
            ]);
        }
        let error = error_percent(ours, theirs);
        saturation.add(bands.band("saturation"), ours, theirs);
        output.note(format!(
            "{group}: largest error {:.2} % at low load, {:.2} % up to {:.0} % of saturation; saturation throughput {ours:.4} ({error:+.2} %)",
            group_low.largest_error,
            group_high.largest_error,
            graded_load * 100.0
        ));
    }
    let graded = format!("latency up to {:.0} % of saturation", graded_load * 100.0);
    let tallies = [
        ("latency at low load", "latency_at_low_load", low),
        (&graded, "latency", high),
        ("saturation throughput", "saturation", saturation),
    ];
    for (name, band, tally) in tallies {
        output.figure(&format!("{name}: points outside the band"), tally.outside_band as f64);
        output.figure(&format!("{name}: points"), tally.count as f64);
        output.figure(&format!("{name}: largest error, %"), tally.largest_error);
        output.note(format!("{name}: band of a value of 100 of {}: {}", bands.source, bands.band(band).around(100.0).band()));
    }
    let series = series.into_iter().map(|(name, points)| Series { name: name.into(), points }).collect();
    let (x, y) = ("BookSim 2: packet latency [cycles]".into(), "warpshard: packet latency [cycles]".into());
    output.scatter(Plot { title: "mean packet latency of stable points".into(), x, y, form: PlotForm::Scatter, series });
    Ok(output)
}

#[derive(Clone, Copy, Debug, Default)]
struct PointTally {
    count: usize,
    outside_band: usize,
    largest_error: f64,
}

impl PointTally {
    fn add(&mut self, band: &Band, ours: f64, theirs: f64) {
        self.count += 1;
        self.outside_band += usize::from(band.around(theirs).grade(Some(ours)) != Verdict::Holds);
        self.largest_error = self.largest_error.max(error_percent(ours, theirs).abs());
    }
}

fn error_percent(ours: f64, theirs: f64) -> f64 {
    (ours / theirs - 1.0) * 100.0
}

fn simulate_point(point: &NocPoint) -> Result<NocMeasurements, TaskError> {
    let network = network_spec(&point.configuration).ok_or_else(|| format!("there is no configuration `{}`", point.configuration))?;
    let pattern = PATTERNS.iter().find(|(name, _)| *name == point.pattern);
    let pattern = pattern.ok_or_else(|| format!("there is no pattern `{}`", point.pattern))?.1;
    measure(&NocSetup { network, pattern, flits: point.flits, load: point.load, warm_up: 9000, measured: 30_000, seed: 1 })
        .map_err(|why| why.to_string().into())
}

fn read_reference(references: &References) -> Result<Vec<NocPoint>, TaskError> {
    let columns = [
        "config",
        "pattern",
        "packet_flits",
        "offered_flits_per_source_per_cycle",
        "stable",
        "accepted_flits_per_source_per_cycle",
        "avg_packet_latency",
        "avg_hops_routers",
    ];
    let table = MeasuredTable::BookSim2.table(references, &columns)?;
    let points = table.rows().map(|row| {
        let latency = "avg_packet_latency";
        Ok(NocPoint {
            configuration: row.text("config").to_owned(),
            pattern: row.text("pattern").to_owned(),
            flits: row.number("packet_flits")?,
            load: row.number("offered_flits_per_source_per_cycle")?,
            stable: row.text("stable") == "1",
            accepted: row.number("accepted_flits_per_source_per_cycle")?,
            latency: if row.text(latency).is_empty() { None } else { Some(row.number(latency)?) },
            routers: row.number("avg_hops_routers")?,
        })
    });
    points.collect()
}
