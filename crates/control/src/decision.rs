//! What controllers decide.

use std::fmt;

use warpshard_base::{AppId, CtaIndex, KernelIndex, SmId};
use warpshard_protocol::{PowerState, Preemption};

use super::{Knob, KnobSet};

/// A knob and its new value. It holds from the cut (plus the machine's `control.decision_latency`) until the next decision on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// At most `limit` CTAs on an SM; a limit at or above what fits limits nothing. CTAs already there stay until they end.
    CtaLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// CTAs.
        limit: u32,
    },
    /// The schedulers of an SM consider at most `limit` of its warps: the oldest that do not wait at a barrier or for a fence
    /// or an atomic.
    WarpLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// Warps.
        limit: u32,
    },
    /// Whether an SM is active, paused or power-gated. An SM to be gated first finishes its CTAs.
    Power {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The new state.
        state: PowerState,
    },
    /// An SM belongs to an application, where applications own SMs. CTAs already there stay until they end.
    Owner {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// Its new owner.
        app: AppId,
    },
    /// The CTAs of an SM are taken away; the grid scheduler binds them again, here or elsewhere.
    Preempt {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// How.
        how: Preemption,
    },
    /// One CTA of an SM is taken away, if it is still there, and those that were bound to the SM and have not started; the grid scheduler binds
    /// them again. Each CTA is named by a decision of its own.
    PreemptCta {
        /// The SM that it is on.
        sm: SmId,
        /// Its kernel.
        kernel: KernelIndex,
        /// Which CTA of it.
        cta: CtaIndex,
        /// How.
        how: Preemption,
    },
    /// At most `limit` CTAs of a kernel on an SM, where kernels are interleaved; 0 binds none. A limit above what fits limits nothing. CTAs
    /// already there stay until they end. A decision for all SMs replaces those for single ones.
    KernelCtas {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The kernel.
        kernel: KernelIndex,
        /// CTAs.
        limit: u32,
    },
    /// A CTA of a kernel that starts while fewer than `ctas` resident ones of the kernel bypass the L1 bypasses it, too, until it ends:
    /// its loads from global memory go past the L1. CTAs already there stay as they are.
    Bypass {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The kernel.
        kernel: KernelIndex,
        /// CTAs.
        ctas: u32,
    },
}

impl Decision {
    /// The SM that it is for; all SMs when `None`.
    pub fn sm(&self) -> Option<SmId> {
        match self {
            Self::CtaLimit { sm, .. } | Self::WarpLimit { sm, .. } | Self::Power { sm, .. } => *sm,
            Self::Owner { sm, .. } | Self::Preempt { sm, .. } => *sm,
            Self::KernelCtas { sm, .. } | Self::Bypass { sm, .. } => *sm,
            Self::PreemptCta { sm, .. } => Some(*sm),
        }
    }

    /// The kernel that it is for, where it is for one.
    pub fn kernel(&self) -> Option<KernelIndex> {
        match self {
            Self::KernelCtas { kernel, .. } | Self::Bypass { kernel, .. } | Self::PreemptCta { kernel, .. } => Some(*kernel),
            _ => None,
        }
    }

    /// The value of the knob; of power states, 0 is gated, 1 paused, 2 active.
    pub fn value(&self) -> u32 {
        match self {
            Self::CtaLimit { limit, .. } | Self::WarpLimit { limit, .. } | Self::KernelCtas { limit, .. } => *limit,
            Self::Bypass { ctas, .. } => *ctas,
            Self::Owner { app, .. } => u32::from(app.0),
            Self::Preempt { how, .. } | Self::PreemptCta { how, .. } => *how as u32,
            Self::Power { state, .. } => *state as u32,
        }
    }

    /// The knob that it sets.
    pub fn knob(&self) -> Knob {
        match self {
            Self::CtaLimit { .. } => Knob::CtaLimit,
            Self::WarpLimit { .. } => Knob::WarpLimit,
            Self::Power { .. } => Knob::Power,
            Self::Owner { .. } => Knob::Owner,
            Self::Preempt { .. } => Knob::Preempt,
            Self::PreemptCta { .. } => Knob::PreemptCta,
            Self::KernelCtas { .. } => Knob::KernelCtas,
            Self::Bypass { .. } => Knob::Bypass,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.knob(), self.value())?;
        if let Self::PreemptCta { cta, .. } = self {
            write!(f, "of {cta} ")?;
        }
        if let Some(kernel) = self.kernel() {
            write!(f, "for {kernel} ")?;
        }
        f.write_str("on ")?;
        match self.sm() {
            Some(sm) => write!(f, "{sm}"),
            None => f.write_str("every SM"),
        }
    }
}

/// A number that a controller computed, for the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// The SM that it is of; of the whole machine when `None`.
    pub sm: Option<SmId>,
    /// Its name.
    pub name: &'static str,
    /// The number.
    pub value: f64,
}

/// What one controller decides at one cut, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionSet {
    allowed: KnobSet,
    decisions: Vec<Decision>,
    /// The reason of each decision; empty where the common reason applies.
    reasons: Vec<String>,
    signals: Vec<Signal>,
    reason: String,
}

impl DecisionSet {
    /// An empty set for a controller that may set the knobs `allowed`.
    pub fn new(allowed: KnobSet) -> Self {
        Self { allowed, decisions: Vec::new(), reasons: Vec::new(), signals: Vec::new(), reason: String::new() }
    }

    /// Adds a decision with the common reason. Of several on the same knob and SM, the last one holds, except of those that take CTAs away.
    ///
    /// # Panics
    /// When the controller did not declare the knob.
    pub fn decide(&mut self, decision: Decision) {
        self.decide_because(decision, String::new());
    }

    /// Adds a decision that has a reason of its own: a lower-case clause without a full stop.
    ///
    /// # Panics
    /// When the controller did not declare the knob.
    pub fn decide_because(&mut self, decision: Decision, reason: impl Into<String>) {
        assert!(self.allowed.has(decision.knob()), "a controller sets {} without having declared it", decision.knob());
        self.decisions.push(decision);
        self.reasons.push(reason.into());
    }

    /// Sets the common reason, for the timeline: a lower-case clause without a full stop. A cut with a reason and no decision is
    /// recorded, too.
    pub fn because(&mut self, reason: impl Into<String>) {
        self.reason = reason.into();
    }

    /// Records a number that the decisions are based on.
    pub fn signal(&mut self, sm: Option<SmId>, name: &'static str, value: f64) {
        self.signals.push(Signal { sm, name, value });
    }

    /// The decisions in their order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The decisions in their order, each with its reason.
    pub fn reasoned(&self) -> impl Iterator<Item = (&Decision, &str)> {
        let reasons = self.reasons.iter().map(|own| if own.is_empty() { self.reason.as_str() } else { own });
        self.decisions.iter().zip(reasons)
    }

    /// The numbers recorded, in their order.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// The common reason; empty when none was given.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Decisions and reasons on one line: decisions with reasons of their own first, then those with the common reason.
impl fmt::Display for DecisionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for (decision, own) in self.decisions.iter().zip(&self.reasons).filter(|(_, own)| !own.is_empty()) {
            parts.push(format!("{decision}: {own}"));
        }
        let common = self.decisions.iter().zip(&self.reasons).filter(|(_, own)| own.is_empty());
        let common = common.map(|(decision, _)| decision.to_string()).collect::<Vec<_>>().join(", ");
        match (common.is_empty(), self.reason.is_empty()) {
            (false, false) => parts.push(format!("{common}: {}", self.reason)),
            (false, true) => parts.push(common),
            (true, false) => parts.push(self.reason.clone()),
            (true, true) => {}
        }
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeline_shows_decisions_and_reasons() {
        let mut set = DecisionSet::new(KnobSet::of(&Knob::ALL));
        set.decide(Decision::CtaLimit { sm: None, limit: 4 });
        set.decide(Decision::WarpLimit { sm: Some(SmId(2)), limit: 8 });
        set.because("kernel 1 ended");
        assert_eq!(set.to_string(), "cta_limit 4 on every SM, warp_limit 8 on sm2: kernel 1 ended");
        set.decide_because(Decision::WarpLimit { sm: Some(SmId(3)), limit: 6 }, "stalled");
        assert_eq!(set.to_string(), "warp_limit 6 on sm3: stalled; cta_limit 4 on every SM, warp_limit 8 on sm2: kernel 1 ended");
        let reasons: Vec<&str> = set.reasoned().map(|(_, why)| why).collect();
        assert_eq!(reasons, ["kernel 1 ended", "kernel 1 ended", "stalled"]);
    }

    #[test]
    #[should_panic(expected = "sets warp_limit without having declared it")]
    fn an_undeclared_knob_cannot_be_set() {
        DecisionSet::new(KnobSet::of(&[Knob::CtaLimit])).decide(Decision::WarpLimit { sm: None, limit: 1 });
    }
}
