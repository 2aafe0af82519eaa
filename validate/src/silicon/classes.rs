//! What bounds a launch, by what was measured of it, and how errors spread.

use warpshard_base::named;
use warpshard_lab::statistics::{error_percent, mean, median};

use super::measured::Cold;

/// Active cycles from which on a launch is in the headline. Identical launches differ by 2 to 5 % at 5,000 cycles.
pub(super) const LONG: u64 = 10_000;
/// A resource at so many percent of its peak bounds a launch.
const BOUND: f64 = 50.0;
/// Bytes that the LLC gives all SMs in a core cycle: 7.1 TB/s at 1.98 GHz (`stream_us.l2_read_264` of the measurements).
const LLC_BYTES: f64 = 3_586.0;
/// SMs of the measured GPU, and bytes of a sector.
const SECTOR: f64 = 32.0;

/// The folder of the kernels of Triton, whose classes are those of what they compute.
const TRITON: &str = "triton/";

named! {
    /// What bounds a launch, or what it computes.
    #[derive(PartialOrd, Ord)]
    pub enum Class {
        /// As tables name it.
        name: &'static str = 0;
        Compute("compute"): "The schedulers issue in half of the cycles or more, or the tensor pipe is half busy.",
        Llc("LLC"): "SMs request half of what the LLC can give, or more.",
        Dram("DRAM"): "DRAM moves half of what it can, or more.",
        Latency("latency"): "None of these.",
        Gemm("GEMM"): "A product of matrices by a kernel of Triton.",
        Attention("attention"): "Attention by a kernel of Triton.",
        Rowwise("rowwise"): "A sum of vectors, softmax or norm by a kernel of Triton.",
        Short("short"): "It takes less than the headline's launches.",
    }
}

impl Class {
    /// The class of a launch.
    pub(super) fn of(row: &Cold) -> Self {
        if row.active < LONG { Self::Short } else { Self::of_long(row) }
    }

    /// The class of a launch that does what this one does for long enough.
    pub(super) fn of_long(row: &Cold) -> Self {
        match row.program.strip_prefix(TRITON) {
            Some(name) if name.starts_with("matmul") => return Self::Gemm,
            Some(name) if name.starts_with("flash") => return Self::Attention,
            Some(_) => return Self::Rowwise,
            None => {}
        }
        let llc = 100.0 * row.llc_sectors as f64 * SECTOR / row.active as f64 / LLC_BYTES;
        let shares = [(Self::Compute, row.issue.max(row.tensor)), (Self::Llc, llc), (Self::Dram, row.dram)];
        let largest = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.filter(|(_, share)| *share >= BOUND).map_or(Self::Latency, |(class, _)| class)
    }
}

/// How the errors of some launches spread.
pub(super) struct Spread {
    mean: f64,
    magnitude: f64,
    median: f64,
    /// Nine of ten magnitudes are at most this.
    ninth: f64,
    worst: (String, f64),
    cycles: f64,
}

impl Spread {
    /// Of launches with a name, measured and our cycles; `None` without any.
    pub(super) fn of(launches: &[(&str, u64, u64)]) -> Option<Self> {
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
            ninth: magnitudes[(magnitudes.len() * 9).div_ceil(10) - 1],
            worst: (worst.0.to_owned(), worst.1),
            cycles: median(&cycles)?,
        })
    }

    /// The cells of a table.
    pub(super) fn cells(&self) -> [String; 7] {
        let Self { mean, magnitude, median, ninth, worst: (name, worst), cycles } = self;
        [
            format!("{mean:+.1}"),
            format!("{magnitude:.1}"),
            format!("{median:.1}"),
            format!("{ninth:.1}"),
            format!("{worst:+.1}"),
            name.clone(),
            format!("{cycles:.0}"),
        ]
    }
}
