//! Results of a kernel.

use warpshard_lab::verdict::Ended;

use super::super::CoreType;
use super::detect::{Detection, Whole};
use super::oracle::{CORES, Curve};
use super::published::{Entry, Scheme};

/// Performance and saved energy relative to all cores, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Relative {
    pub(super) performance: f64,
    pub(super) saved: f64,
}

impl Relative {
    pub(super) fn of(all: &Whole, other: &Whole) -> Self {
        Self { performance: 100.0 * all.cycles / other.cycles, saved: 100.0 * (1.0 - other.joules / all.joules) }
    }
}

/// The results of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) entry: Entry,
    pub(super) published: CoreType,
    /// Number of CTAs of our grid.
    pub(super) ctas: u32,
    /// `true` if the kernel ran as a program, `false` if as a model.
    pub(super) program: bool,
    pub(super) fitted: bool,
    pub(super) curve: Curve,
    /// Results of ONAC and Seq-Det.
    pub(super) detected: [Detection; 2],
    /// Result of ONAC from an empty LLC.
    pub(super) cold: Detection,
    /// Time and energy of the whole grid with all cores.
    pub(super) all: Whole,
    /// Whole grids under both searches, without extrapolation.
    pub(super) to_the_end: Option<[Relative; 2]>,
    /// Result of the user's policy and warp order, over the same cycles as all cores.
    pub(super) candidate: Option<Relative>,
}

impl Point {
    pub(super) fn of_type(&self) -> CoreType {
        if self.curve.least_cores < CORES { CoreType::A } else { CoreType::B }
    }

    pub(super) fn detection(&self, scheme: Scheme) -> &Detection {
        &self.detected[scheme as usize]
    }

    /// Returns the number of cores at the end of a search: all if it found none.
    pub(super) fn final_cores(&self, scheme: Scheme) -> u32 {
        self.detection(scheme).found.unwrap_or(CORES)
    }

    pub(super) fn relative(&self, scheme: Scheme) -> Relative {
        Relative::of(&self.all, &self.detection(scheme).whole)
    }

    pub(super) fn performance(&self, scheme: Scheme) -> f64 {
        self.relative(scheme).performance
    }

    pub(super) fn saved(&self, scheme: Scheme) -> f64 {
        self.relative(scheme).saved
    }

    /// Returns by how much ONAC's detection is shorter than Seq-Det's, in percent.
    pub(super) fn detection_reduction(&self) -> f64 {
        100.0 * (1.0 - self.detection(Scheme::Onac).cycles as f64 / self.detection(Scheme::SeqDet).cycles.max(1) as f64)
    }

    pub(super) fn ended(&self) -> Ended {
        let extrapolated = self.detected.iter().any(|detected| detected.ended == Ended::Extrapolated);
        if extrapolated { Ended::Extrapolated } else { Ended::Whole }
    }
}
