//! Measures single launches of a run: what every component counted up to the end of each, and where a launch became steady.
//!
//! In: the counters of all units at cuts, ends of kernels. Out: a [`Measured`] for each launch, and decisions that end a launch before its last
//! CTA is bound, where a [`Judge`] says that the rest would be as what it has seen. Without a judge it has no effect on anything simulated.

use crate::base::{Cycle, KernelIndex, UnitId};
use crate::engine::Cut;
use crate::gpu::cta::GridDecision;
use crate::protocol::EventKind;
use crate::stats::Counted;

use super::layout::ChipLayout;
use super::snapshot::{Rows, Snapshot};
use super::unit::ChipDecision;

/// How far a launch is at the end of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchProgress {
    /// Which launch.
    pub kernel: KernelIndex,
    /// The cut, in core cycles of the run.
    pub cycle: u64,
    /// Warp instructions of the launch that all SMs issued so far.
    pub warp_instructions: u64,
    /// Its CTAs that ended so far.
    pub ctas_done: u64,
    /// Its CTAs that were bound to SMs so far.
    pub ctas_bound: u64,
    /// Requests of it that found their sector absent from the LLC so far.
    pub llc_misses: u64,
}

/// What a [`Judge`] makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet.
    Wait,
    /// The measured span of the launch begins here.
    Begin,
    /// The launch is steady since the span began: no further CTA is bound.
    Steady,
}

/// Judges at the end of every window whether the rest of a launch would be as what it has seen.
pub trait Judge: Send {
    /// Whether it wants to judge the launch at all.
    fn wants(&self, kernel: KernelIndex) -> bool;

    /// Core cycles of a window.
    fn window(&self) -> u64;

    /// Sees how far the launch is. It is called for one launch at a time, until it says [`Verdict::Steady`] or the launch ends.
    fn judge(&mut self, seen: &LaunchProgress) -> Verdict;
}

/// What a run is measured for.
#[derive(Default)]
pub struct Measure {
    /// Ends launches early; every launch runs to its end when not given.
    pub judge: Option<Box<dyn Judge>>,
}

impl std::fmt::Debug for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measure").field("judged", &self.judge.is_some()).finish()
    }
}

/// All counters at a cycle: the values of all components in the order of [`Outcome::components`](crate::stats::Outcome::components).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The cut, in core cycles of the run.
    pub cycle: u64,
    /// Warp instructions of the run so far.
    pub warp_instructions: u64,
    /// The values.
    pub values: Vec<u64>,
}

/// A launch that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Which launch.
    pub kernel: KernelIndex,
    /// The counters when it had ended.
    pub end: Mark,
    /// Begin and end of the span by which it was judged steady, where it was cut short.
    pub steady: Option<(Mark, Mark)>,
}

/// A launch that is judged.
struct Open {
    kernel: KernelIndex,
    /// Warp instructions, CTAs done and bound, and misses of the LLC before it.
    before: [u64; 4],
    begun: Option<Mark>,
    /// Set once it is cut short.
    steady: Option<(Mark, Mark)>,
}

/// The measuring part of the observer.
pub(super) struct Meter {
    judge: Option<Box<dyn Judge>>,
    open: Option<Open>,
    /// The same at the end of the last launch.
    before: [u64; 4],
    measured: Vec<Measured>,
}

impl Meter {
    pub(super) fn new(measure: Measure) -> Self {
        Self { judge: measure.judge, open: None, before: [0; 4], measured: Vec::new() }
    }

    /// Whether this kind of event needs a cut.
    pub(super) fn wants(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::KernelEnded(_) => true,
            EventKind::KernelStarted(kernel) => self.judge.as_ref().is_some_and(|judge| judge.wants(kernel)),
            _ => false,
        }
    }

    /// The end of the window after `now`.
    pub(super) fn next_cut(&self, now: Cycle) -> Option<Cycle> {
        let open = self.open.as_ref().filter(|open| open.steady.is_none());
        open.and(self.judge.as_ref()).map(|judge| Cycle((now.0 / judge.window() + 1) * judge.window()))
    }

    /// What was measured.
    pub(super) fn into_measured(self) -> Vec<Measured> {
        self.measured
    }

    pub(super) fn at_cut(&mut self, cut: &Cut<'_, EventKind>, now: &Snapshot, layout: &ChipLayout) -> Vec<(UnitId, ChipDecision)> {
        let sum = |rows: &Rows, name: &str| -> u64 {
            rows.sums().find(|(_, Counted { info, .. })| info.name == name).map_or(0, |(_, counted)| counted.value)
        };
        let counted: [u64; 4] =
            [sum(&now.sms, "warp_instructions"), sum(&now.grid, "ctas_done"), sum(&now.grid, "ctas_bound"), sum(&now.partitions, "misses")];
        let mark = || Mark { cycle: cut.at.0, warp_instructions: counted[0], values: cut.counters.concat() };
        for event in cut.events {
            match event.kind {
                EventKind::KernelStarted(kernel) if self.judge.as_ref().is_some_and(|judge| judge.wants(kernel)) => {
                    self.open = Some(Open { kernel, before: self.before, begun: None, steady: None });
                }
                EventKind::KernelEnded(kernel) => {
                    let steady = self.open.take().filter(|open| open.kernel == kernel).and_then(|open| open.steady);
                    self.measured.push(Measured { kernel, end: mark(), steady });
                    self.before = counted;
                }
                _ => {}
            }
        }
        let (Some(open), Some(judge)) = (&mut self.open, &mut self.judge) else { return Vec::new() };
        if open.steady.is_some() || !cut.at.0.is_multiple_of(judge.window()) || cut.last {
            return Vec::new();
        }
        let [warp_instructions, ctas_done, ctas_bound, llc_misses] = [0, 1, 2, 3].map(|i| counted[i] - open.before[i]);
        let seen = LaunchProgress { kernel: open.kernel, cycle: cut.at.0, warp_instructions, ctas_done, ctas_bound, llc_misses };
        match judge.judge(&seen) {
            Verdict::Wait => Vec::new(),
            Verdict::Begin => {
                open.begun = Some(mark());
                Vec::new()
            }
            Verdict::Steady => {
                open.steady = Some((open.begun.take().unwrap_or_default(), mark()));
                let decision = ChipDecision::Grid(GridDecision::CutShort { kernel: open.kernel });
                layout.grids().map(|grid| (grid, decision.clone())).collect()
            }
        }
    }
}
