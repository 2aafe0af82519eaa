//! What is found of a kernel.

use warpshard_lab::verdict::Ended;

use super::super::CoreType;
use super::detect::{Detection, Whole};
use super::oracle::{CORES, Curve};
use super::published::{Entry, Scheme};

/// Performance and energy relative to all cores, in percent.
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

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) entry: Entry,
    pub(super) published: CoreType,
    /// CTAs of our grid.
    pub(super) ctas: u32,
    /// It ran as a program, and not as a model.
    pub(super) program: bool,
    pub(super) fitted: bool,
    pub(super) curve: Curve,
    /// Under ONAC and Seq-Det.
    pub(super) detected: [Detection; 2],
    /// Under ONAC from an empty LLC on.
    pub(super) cold: Detection,
    /// The whole grid with all cores.
    pub(super) all: Whole,
    /// Whole grids under both searches.
    pub(super) to_the_end: Option<[Relative; 2]>,
    /// With the user's policy and order, over the same cycles as all cores.
    pub(super) candidate: Option<Relative>,
}

impl Point {
    pub(super) fn of_type(&self) -> CoreType {
        if self.curve.enough < CORES { CoreType::A } else { CoreType::B }
    }

    pub(super) fn by(&self, scheme: Scheme) -> &Detection {
        &self.detected[scheme as usize]
    }

    /// The number of cores that a search ends with: all where it found none.
    pub(super) fn ends_with(&self, scheme: Scheme) -> u32 {
        self.by(scheme).found.unwrap_or(CORES)
    }

    pub(super) fn relative(&self, scheme: Scheme) -> Relative {
        Relative::of(&self.all, &self.by(scheme).whole)
    }

    pub(super) fn performance(&self, scheme: Scheme) -> f64 {
        self.relative(scheme).performance
    }

    pub(super) fn saved(&self, scheme: Scheme) -> f64 {
        self.relative(scheme).saved
    }

    /// How much shorter ONAC's detection is than Seq-Det's, in percent.
    pub(super) fn faster(&self) -> f64 {
        100.0 * (1.0 - self.by(Scheme::Onac).cycles as f64 / self.by(Scheme::SeqDet).cycles.max(1) as f64)
    }

    pub(super) fn ended(&self) -> Ended {
        let extrapolated = self.detected.iter().any(|detected| detected.ended == Ended::Extrapolated);
        if extrapolated { Ended::Extrapolated } else { Ended::Whole }
    }
}
