//! `study dram`: our DRAM model, compared with every point measured with Ramulator 2 and DRAMsim3.
//!
//! Points of Ramulator 2 are graded by the bands of `validate/published/dram.toml`. Points of DRAMsim3 are not graded, since its controller
//! differs by design (D-008); their errors are reported.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::published::{Published, read as read_published};
use warpshard_lab::reference::References;
use warpshard_lab::verdict::Verdict;
use warpshard_mem::dram::control::ControllerPolicy;
use warpshard_mem::dram::standard::Standard;
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_rig::AccessPattern;
use warpshard_rig::dram::{DramOptions, DramOutcome, run as run_point};

use super::reference::MeasuredTable;

/// One measured point of a reference simulator.
#[derive(Clone, Debug)]
struct DramPoint {
    simulator: String,
    device: String,
    options: DramOptions,
    achieved: f64,
    latency: f64,
    hits: f64,
}

impl DramPoint {
    /// Returns the name of the sweep that the point belongs to.
    fn sweep_name(&self) -> String {
        let refresh = if self.options.policy.refresh { "ref" } else { "noref" };
        let writes = self.options.writes;
        format!("{} {} {refresh} {} {writes:.1}", self.simulator, self.device, self.options.pattern.name())
    }
}

/// Our errors at a point.
struct PointErrors {
    /// Error of the achieved bandwidth, in percent.
    bandwidth: f64,
    /// Error of the mean read latency in the controller, in percent; `None` without reads.
    latency: Option<f64>,
    /// Difference of the row-hit rates, in percentage points.
    hits: f64,
}

impl PointErrors {
    fn compare(point: &DramPoint, ours: &DramOutcome) -> Self {
        let percent = |ours: f64, theirs: f64| (ours / theirs - 1.0) * 100.0;
        Self {
            bandwidth: percent(ours.achieved, point.achieved),
            latency: (point.latency > 0.0).then(|| percent(ours.mean_controller_latency(), point.latency)),
            hits: (ours.row_hit_rate() - point.hits) * 100.0,
        }
    }
}

/// Fields of `validate/published/dram.toml` in addition to the bands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DramReference {
    near_saturation: f64,
}

fn published() -> Published<DramReference, ()> {
    read_published("dram", include_str!("../published/dram.toml"))
}

/// Returns `true` for each of bandwidth, latency and row hits that is outside its band; `most` is the greatest bandwidth of the point's
/// sweep.
fn outside_bands(bands: &Published<DramReference, ()>, point: &DramPoint, ours: &DramOutcome, most: f64) -> [bool; 3] {
    let latency = if point.achieved <= bands.own.near_saturation * most { "latency" } else { "latency_near_saturation" };
    let outside = |band: &str, theirs: f64, ours: f64| bands.band(band).around(theirs).grade(Some(ours)) != Verdict::Holds;
    [
        outside("bandwidth", point.achieved, ours.achieved),
        point.latency > 0.0 && outside(latency, point.latency, ours.mean_controller_latency()),
        outside("row_hits", point.hits, ours.row_hit_rate()),
    ]
}

/// Simulates every point of Ramulator 2 and DRAMsim3.
///
/// # Errors
/// Fails if the reference cannot be read.
pub fn run(references: &References) -> Result<StudyOutput, StudyError> {
    let mut points = Vec::new();
    for measured in [MeasuredTable::Ramulator2, MeasuredTable::DramSim3] {
        points.extend(read_reference(references, measured).map_err(StudyError::reference)?);
    }
    let outcomes: Vec<DramOutcome> = points.par_iter().map(|point| run_point(&point.options)).collect();
    let mut saturated: BTreeMap<String, f64> = BTreeMap::new();
    for point in &points {
        let most = saturated.entry(point.sweep_name()).or_default();
        *most = most.max(point.achieved);
    }
    let mut output = StudyOutput::new("dram", "a DRAM channel, compared with Ramulator 2 and DRAMsim3".into());
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
    let bands = published();
    let mut outside = [0u32; 3];
    let mut worst: BTreeMap<String, [f64; 3]> = BTreeMap::new();
    let (mut compared, mut scatter) = (0u32, Vec::new());
    for (point, ours) in points.iter().zip(&outcomes) {
        let sweep = point.sweep_name();
        let errors = PointErrors::compare(point, ours);
        let magnitudes = [errors.bandwidth.abs(), errors.latency.unwrap_or(0.0).abs(), errors.hits.abs()];
        let misses = outside_bands(&bands, point, ours, saturated[&sweep]);
        let graded = point.simulator == "ramulator2";
        if graded {
            compared += 1;
            outside.iter_mut().zip(misses).for_each(|(count, miss)| *count += u32::from(miss));
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
            if graded { name_measures(misses) } else { "-".into() },
        ]);
    }
    output.figure("points of Ramulator 2 compared", f64::from(compared));
    for (what, count) in GRADED_MEASURES.iter().zip(outside) {
        output.figure(&format!("points outside the band of {what}"), f64::from(count));
    }
    let band = |name: &str| bands.band(name).around(100.0).band();
    output.note(format!(
        "bands of a value of 100 of {}: bandwidth {}, latency {}, near saturation {}; of row hits, 0.05 points",
        bands.source,
        band("bandwidth"),
        band("latency"),
        band("latency_near_saturation")
    ));
    for (sweep, [bandwidth, latency, hits]) in &worst {
        output.note(format!("{sweep}: at most {bandwidth:.2} % in bandwidth, {latency:.2} % in latency, {hits:.2} points in row hits"));
    }
    output.scatter(Plot {
        title: "Mean read latency in the controller".into(),
        x: "reference, cycles".into(),
        y: "warpshard, cycles".into(),
        form: PlotForm::Scatter,
        series: vec![Series { name: "one point".into(), points: scatter }],
    });
    Ok(output)
}

/// Graded measures of a point.
const GRADED_MEASURES: [&str; 3] = ["bandwidth", "latency", "row hits"];

/// Names the measures that are outside their bands.
fn name_measures(outside: [bool; 3]) -> String {
    GRADED_MEASURES.iter().zip(outside).filter(|(_, outside)| *outside).map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

/// Returns our standard and policy for a device of the reference.
fn device_and_policy(simulator: &str, device: &str) -> Option<(&'static Standard, ControllerPolicy)> {
    let (name, policy) = match (simulator, device) {
        ("ramulator2", "gddr6") => ("gddr6-14g", ControllerPolicy::RAMULATOR2),
        ("ramulator2", "hbm2") => ("hbm2-2000", ControllerPolicy::RAMULATOR2),
        ("dramsim3", "gddr5") => ("gddr5-6g", ControllerPolicy::DRAMSIM3),
        _ => return None,
    };
    Standard::named(name).map(|standard| (standard, policy))
}

fn read_reference(references: &References, measured: MeasuredTable) -> Result<Vec<DramPoint>, TaskError> {
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
    let table = measured.table(references, &columns)?;
    let points = table.rows().map(|row| {
        let (simulator, name) = (row.text("sim"), row.text("device"));
        let (standard, policy) = device_and_policy(simulator, name).ok_or_else(|| row.cell_error("device", "a device that is modelled"))?;
        let pattern = AccessPattern::named(row.text("pattern")).ok_or_else(|| row.cell_error("pattern", "a pattern that is modelled"))?;
        let policy = ControllerPolicy { refresh: row.text("refresh") == "ref", ..policy };
        let achieved: f64 = row.number("achieved_frac_of_peak")?;
        let cycles: f64 = row.number("measured_cycles")?;
        // The reference measured whole thousands of requests, after a warm-up of a tenth more.
        let measured = (achieved * standard.peak_per_clock() * cycles / 1000.0).round() as u64 * 1000;
        let (writes, load) = (row.number("write_frac")?, row.number("offered_frac_of_peak")?);
        Ok(DramPoint {
            simulator: simulator.to_owned(),
            device: name.to_owned(),
            options: DramOptions { standard, policy, pattern, writes, load, requests: measured + measured / 10 },
            achieved,
            latency: row.number("avg_read_lat_mc_cycles")?,
            hits: row.number("row_hit_rate")?,
        })
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_bands_is_complete() {
        let bands = published();
        for band in ["bandwidth", "latency", "latency_near_saturation", "row_hits"] {
            assert!(!bands.band(band).around(1.0).band().is_empty());
        }
    }
}
