//! `study dram`: every point that the reference simulators measured, ours beside it.
//!
//! A point of Ramulator 2 has bounds; a point of DRAMsim3 has none, since that controller differs by design, and its errors
//! are shown as they are.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::mem::dram::control::Policy;
use crate::mem::dram::standard::Standard;
use crate::report::plot::{Form, Plot, Series};
use crate::rig::Pattern;
use crate::rig::dram::{Options, Outcome, run as run_point};

use super::reference::{Measured, References};
use super::{StudyError, StudyOutput};

/// One measured point.
#[derive(Clone, Debug)]
struct Point {
    simulator: String,
    device: String,
    options: Options,
    achieved: f64,
    latency: f64,
    hits: f64,
}

impl Point {
    /// What tells the sweeps apart.
    fn sweep(&self) -> String {
        let refresh = if self.options.policy.refresh { "ref" } else { "noref" };
        let writes = self.options.writes;
        format!("{} {} {refresh} {} {writes:.1}", self.simulator, self.device, self.options.pattern.name())
    }
}

/// Errors of a point.
struct Errors {
    /// Achieved bandwidth, %.
    bandwidth: f64,
    /// Mean read latency in the controller, %; `None` without reads.
    latency: Option<f64>,
    /// Row-hit rate, points of a hundred.
    hits: f64,
}

impl Errors {
    fn of(point: &Point, ours: &Outcome) -> Self {
        let percent = |ours: f64, theirs: f64| (ours / theirs - 1.0) * 100.0;
        Self {
            bandwidth: percent(ours.achieved, point.achieved),
            latency: (point.latency > 0.0).then(|| percent(ours.mean_controller_latency(), point.latency)),
            hits: (ours.row_hit_rate() - point.hits) * 100.0,
        }
    }
}

/// Bounds of a point of Ramulator 2: bandwidth in %, latency in %, hits in points of a hundred.
fn bounds(point: &Point, saturated: f64) -> (f64, f64, f64) {
    let Options { pattern, writes, load, .. } = point.options;
    // Between these loads an even mix of reads and writes is metastable: the source queue fills or it does not.
    let knee = pattern == Pattern::SeqBg && writes == 0.5 && (0.8..=0.85).contains(&load);
    let latency = if knee {
        f64::INFINITY
    } else if point.achieved <= 0.9 * saturated {
        4.0
    } else {
        10.0
    };
    (2.0, latency, 1.0)
}

/// Simulates every point of Ramulator 2 and DRAMsim3.
///
/// # Errors
/// When the reference cannot be read.
pub fn run(references: &References) -> Result<StudyOutput, StudyError> {
    let mut points = Vec::new();
    for measured in [Measured::Ramulator2, Measured::DramSim3] {
        points.extend(read(references, measured).map_err(StudyError::Reference)?);
    }
    let outcomes: Vec<Outcome> = points.par_iter().map(|point| run_point(&point.options)).collect();
    let mut saturated: BTreeMap<String, f64> = BTreeMap::new();
    for point in &points {
        let most = saturated.entry(point.sweep()).or_default();
        *most = most.max(point.achieved);
    }
    let mut output = StudyOutput::new("dram", "a DRAM channel beside Ramulator 2 and DRAMsim3".into());
    output.columns(&[
        "simulator",
        "device",
        "refresh",
        "pattern",
        "writes",
        "load",
        "achieved",
        "ref",
        "error %",
        "latency",
        "ref",
        "error %",
        "hits",
        "ref",
        "outside",
    ]);
    let mut outside = [0u32; 3];
    let mut worst: BTreeMap<String, [f64; 3]> = BTreeMap::new();
    let (mut compared, mut scatter) = (0u32, Vec::new());
    for (point, ours) in points.iter().zip(&outcomes) {
        let sweep = point.sweep();
        let errors = Errors::of(point, ours);
        let magnitudes = [errors.bandwidth.abs(), errors.latency.unwrap_or(0.0).abs(), errors.hits.abs()];
        let (bandwidth, latency, hits) = bounds(point, saturated[&sweep]);
        let misses: Vec<usize> =
            [bandwidth, latency, hits].iter().zip(&magnitudes).enumerate().filter(|(_, (b, m))| m > b).map(|(i, _)| i).collect();
        let bounded = point.simulator == "ramulator2";
        if bounded {
            compared += 1;
            misses.iter().for_each(|&i| outside[i] += 1);
        }
        let most = worst.entry(sweep).or_default();
        most.iter_mut().zip(magnitudes).for_each(|(most, magnitude)| *most = most.max(magnitude));
        if point.latency > 0.0 && ours.reads > 0 {
            scatter.push((point.latency, ours.mean_controller_latency()));
        }
        output.row(vec![
            point.simulator.clone(),
            point.device.clone(),
            if point.options.policy.refresh { "on" } else { "off" }.into(),
            point.options.pattern.name().into(),
            format!("{:.2}", point.options.writes),
            format!("{:.4}", point.options.load),
            format!("{:.4}", ours.achieved),
            format!("{:.4}", point.achieved),
            format!("{:+.2}", errors.bandwidth),
            format!("{:.2}", ours.mean_controller_latency()),
            format!("{:.2}", point.latency),
            errors.latency.map_or_else(|| "-".into(), |error| format!("{error:+.2}")),
            format!("{:.4}", ours.row_hit_rate()),
            format!("{:.4}", point.hits),
            if bounded { misses.iter().map(|&i| ["bandwidth", "latency", "hits"][i]).collect::<Vec<_>>().join("+") } else { "-".into() },
        ]);
    }
    output.figure("points of Ramulator 2 compared", f64::from(compared));
    output.figure("outside 2 % of its bandwidth", f64::from(outside[0]));
    output.figure("outside 4 % (10 % near saturation) of its latency", f64::from(outside[1]));
    output.figure("outside 1 point of its row-hit rate", f64::from(outside[2]));
    for (sweep, [bandwidth, latency, hits]) in &worst {
        output.note(format!("{sweep}: at most {bandwidth:.2} % in bandwidth, {latency:.2} % in latency, {hits:.2} points in row hits"));
    }
    output.scatter(Plot {
        title: "Mean read latency in the controller".into(),
        x: "reference, cycles".into(),
        y: "warpshard, cycles".into(),
        form: Form::Scatter,
        series: vec![Series { name: "one point".into(), points: scatter }],
    });
    Ok(output)
}

/// Which of our standards and policies a device of the reference is.
fn device(simulator: &str, device: &str) -> Option<(&'static Standard, Policy)> {
    let (name, policy) = match (simulator, device) {
        ("ramulator2", "gddr6") => ("gddr6-14g", Policy::RAMULATOR2),
        ("ramulator2", "hbm2") => ("hbm2-2000", Policy::RAMULATOR2),
        ("dramsim3", "gddr5") => ("gddr5-6g", Policy::DRAMSIM3),
        _ => return None,
    };
    Standard::named(name).map(|standard| (standard, policy))
}

fn read(references: &References, measured: Measured) -> Result<Vec<Point>, String> {
    let columns = [
        "sim",
        "device",
        "refresh",
        "pattern",
        "write_frac",
        "offered_frac_of_peak",
        "achieved_frac_of_peak",
        "avg_read_lat_mc_cycles",
        "row_hit_rate",
        "measured_cycles",
    ];
    let table = references.table(measured, &columns)?;
    let points = table.rows().map(|row| {
        let (simulator, name) = (row.text("sim"), row.text("device"));
        let (standard, policy) = device(simulator, name).ok_or_else(|| row.wrong("device", "a device that is modelled"))?;
        let pattern = Pattern::named(row.text("pattern")).ok_or_else(|| row.wrong("pattern", "a pattern that is modelled"))?;
        let policy = Policy { refresh: row.text("refresh") == "ref", ..policy };
        let achieved: f64 = row.number("achieved_frac_of_peak")?;
        let cycles: f64 = row.number("measured_cycles")?;
        // How many requests the reference measured, whole thousands; a tenth more warmed it up.
        let measured = (achieved * standard.peak_per_clock() * cycles / 1000.0).round() as u64 * 1000;
        let (writes, load) = (row.number("write_frac")?, row.number("offered_frac_of_peak")?);
        Ok(Point {
            simulator: simulator.to_owned(),
            device: name.to_owned(),
            options: Options { standard, policy, pattern, writes, load, requests: measured + measured / 10 },
            achieved,
            latency: row.number("avg_read_lat_mc_cycles")?,
            hits: row.number("row_hit_rate")?,
        })
    });
    points.collect()
}
