//! Classes of launches by the resource that bounds them, and the spread of errors.

use warpshard_base::named;
use warpshard_lab::statistics::{error_percent, mean, median};

use super::measured::ColdLaunch;

/// Minimum active cycles of a launch in the headline. Identical launches differ by 2 to 5 % at 5,000 cycles.
pub(super) const LONG_LAUNCH_CYCLES: u64 = 10_000;
/// Minimum utilisation, in percent of its peak, at which a resource bounds a launch.
const MIN_BOUND_PERCENT: f64 = 50.0;
/// Bytes per core cycle from the LLC to all SMs: 7.1 TB/s at 1.98 GHz (`stream_us.l2_read_264` of the measurements).
const LLC_BYTES_PER_CYCLE: f64 = 3_586.0;
/// Bytes of a sector.
const SECTOR_BYTES: f64 = 32.0;

/// Folder of the Triton kernels, which are classified by their computation.
const TRITON_FOLDER: &str = "triton/";

named! {
    /// Class of a launch: the resource that bounds it, or its computation.
    #[derive(PartialOrd, Ord)]
    pub enum LaunchClass {
        /// Name of the class in tables.
        name: &'static str = 0;
        Compute("compute"): "The schedulers issue in at least half of the cycles, or the tensor pipe is at least half busy.",
        Llc("LLC"): "SMs request at least half of the LLC's bandwidth.",
        Dram("DRAM"): "DRAM transfers at least half of its peak bandwidth.",
        Latency("latency"): "No resource is half busy.",
        Gemm("GEMM"): "A matrix product by a Triton kernel.",
        Attention("attention"): "Attention by a Triton kernel.",
        Rowwise("rowwise"): "A vector sum, softmax or norm by a Triton kernel.",
        Short("short"): "A launch that is too short for the headline.",
    }
}

impl LaunchClass {
    /// Returns the class of a launch.
    pub(super) fn from_utilisation(row: &ColdLaunch) -> Self {
        if row.active < LONG_LAUNCH_CYCLES { Self::Short } else { Self::of_long(row) }
    }

    /// Returns the class of a long launch with the same utilisation as `row`.
    pub(super) fn of_long(row: &ColdLaunch) -> Self {
        match row.program.strip_prefix(TRITON_FOLDER) {
            Some(name) if name.starts_with("matmul") => return Self::Gemm,
            Some(name) if name.starts_with("flash") => return Self::Attention,
            Some(_) => return Self::Rowwise,
            None => {}
        }
        let llc = 100.0 * row.llc_sectors as f64 * SECTOR_BYTES / row.active as f64 / LLC_BYTES_PER_CYCLE;
        let shares = [(Self::Compute, row.issue.max(row.tensor)), (Self::Llc, llc), (Self::Dram, row.dram)];
        let largest = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.filter(|(_, share)| *share >= MIN_BOUND_PERCENT).map_or(Self::Latency, |(class, _)| class)
    }
}

/// Spread of the errors of a group of launches.
pub(super) struct Spread {
    mean: f64,
    magnitude: f64,
    median: f64,
    /// 90th percentile of the magnitudes.
    percentile_90: f64,
    worst: (String, f64),
    cycles: f64,
}

impl Spread {
    /// Computes the spread of launches, given as name, measured cycles and our cycles; returns `None` without launches.
    pub(super) fn from_launches(launches: &[(&str, u64, u64)]) -> Option<Self> {
        let errors: Vec<(&str, f64)> =
            launches.iter().filter_map(|(name, measured, ours)| Some((*name, error_percent(*ours, *measured)?))).collect();
        let mut magnitudes: Vec<f64> = errors.iter().map(|(_, error)| error.abs()).collect();
        magnitudes.sort_by(f64::total_cmp);
        let cycles: Vec<f64> = launches.iter().map(|(_, measured, ours)| ours.abs_diff(*measured) as f64).collect();
        let worst = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        Some(Self {
            mean: mean(errors.iter().map(|(_, error)| *error))?,
            magnitude: mean(magnitudes.iter().copied())?,
            median: median(&magnitudes)?,
            percentile_90: magnitudes[(magnitudes.len() * 9).div_ceil(10) - 1],
            worst: (worst.0.to_owned(), worst.1),
            cycles: median(&cycles)?,
        })
    }

    /// Formats the cells of a table row.
    pub(super) fn spread_cells(&self) -> [String; 7] {
        let Self { mean, magnitude, median, percentile_90, worst: (name, worst), cycles } = self;
        [
            format!("{mean:+.1}"),
            format!("{magnitude:.1}"),
            format!("{median:.1}"),
            format!("{percentile_90:.1}"),
            format!("{worst:+.1}"),
            name.clone(),
            format!("{cycles:.0}"),
        ]
    }
}
