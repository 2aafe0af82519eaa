//! Results of a kernel.

use warpshard_lab::verdict::RunEnd;

use super::super::CoreType;
use super::detect::{Detection, WholeGrid};
use super::oracle::{MACHINE_CORES, CoreCountCurve};
use super::published::{KernelEntry, DetectionScheme};

/// Performance and saved energy relative to all cores, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RelativeResult {
    pub(super) performance: f64,
    pub(super) saved: f64,
}

impl RelativeResult {
    pub(super) fn compare(all: &WholeGrid, other: &WholeGrid) -> Self {
        Self { performance: 100.0 * all.cycles / other.cycles, saved: 100.0 * (1.0 - other.joules / all.joules) }
    }
}

/// The results of a kernel.
#[derive(Clone, Debug)]
pub(super) struct GatingPoint {
    pub(super) entry: KernelEntry,
    pub(super) published: CoreType,
    /// Number of CTAs of our grid.
    pub(super) ctas: u32,
    /// `true` if the kernel ran as a program, `false` if as a model.
    pub(super) program: bool,
    pub(super) fitted: bool,
    pub(super) curve: CoreCountCurve,
    /// Results of ONAC and Seq-Det.
    pub(super) detected: [Detection; 2],
    /// Result of ONAC from an empty LLC.
    pub(super) cold_detection: Detection,
    /// Time and energy of the whole grid with all cores.
    pub(super) all: WholeGrid,
    /// Whole grids under both searches, without extrapolation.
    pub(super) to_the_end: Option<[RelativeResult; 2]>,
    /// Result of the user's policy and warp order, over the same cycles as all cores.
    pub(super) candidate: Option<RelativeResult>,
}

impl GatingPoint {
    pub(super) fn of_type(&self) -> CoreType {
        if self.curve.least_cores < MACHINE_CORES { CoreType::A } else { CoreType::B }
    }

    pub(super) fn detection(&self, scheme: DetectionScheme) -> &Detection {
        &self.detected[scheme as usize]
    }

    /// Returns the number of cores at the end of a search: all if it found none.
    pub(super) fn final_cores(&self, scheme: DetectionScheme) -> u32 {
        self.detection(scheme).found_cores.unwrap_or(MACHINE_CORES)
    }

    pub(super) fn relative_result(&self, scheme: DetectionScheme) -> RelativeResult {
        RelativeResult::compare(&self.all, &self.detection(scheme).whole_grid)
    }

    pub(super) fn performance_percent(&self, scheme: DetectionScheme) -> f64 {
        self.relative_result(scheme).performance
    }

    pub(super) fn saved_percent(&self, scheme: DetectionScheme) -> f64 {
        self.relative_result(scheme).saved
    }

    /// Returns by how much ONAC's detection is shorter than Seq-Det's, in percent.
    pub(super) fn detection_reduction_percent(&self) -> f64 {
        100.0 * (1.0 - self.detection(DetectionScheme::Onac).cycles as f64 / self.detection(DetectionScheme::SeqDet).cycles.max(1) as f64)
    }

    pub(super) fn ended(&self) -> RunEnd {
        let extrapolated = self.detected.iter().any(|detected| detected.ended == RunEnd::Extrapolated);
        if extrapolated { RunEnd::Extrapolated } else { RunEnd::Whole }
    }
}
