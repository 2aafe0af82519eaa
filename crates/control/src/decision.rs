//! The decisions of controllers.

use std::fmt;

use warpshard_base::{AppId, CtaIndex, KernelIndex, SmId};
use warpshard_protocol::{PowerState, Preemption};

use super::{Knob, KnobSet};

/// A knob with its new value, which holds from the cut (plus the machine's `control.decision_latency`) until the next decision on the knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Limits the CTAs on an SM; a limit at or above the number that fits has no effect. Resident CTAs stay until they end.
    CtaLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The maximum number of CTAs.
        limit: u32,
    },
    /// Limits the warps that the schedulers of an SM consider, to the oldest warps that do not wait at a barrier or for a fence or an
    /// atomic.
    WarpLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The maximum number of warps.
        limit: u32,
    },
    /// Sets an SM active, paused or power-gated. An SM to be gated first finishes its CTAs.
    Power {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The new state.
        state: PowerState,
    },
    /// Assigns an SM to an application, with spatial sharing. Resident CTAs stay until they end.
    Owner {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The new owner.
        app: AppId,
    },
    /// Preempts the CTAs of an SM; the grid scheduler binds them again to this SM or another one.
    Preempt {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The preemption method.
        how: Preemption,
    },
    /// Preempts one CTA of an SM, if it is still resident, and the CTAs bound to the SM that have not started; the grid scheduler binds
    /// them again. Each CTA needs a separate decision.
    PreemptCta {
        /// The SM of the CTA.
        sm: SmId,
        /// The kernel of the CTA.
        kernel: KernelIndex,
        /// The index of the CTA in the kernel.
        cta: CtaIndex,
        /// The preemption method.
        how: Preemption,
    },
    /// Limits the CTAs of a kernel on an SM, with interleaved sharing; 0 binds none. A limit above the number that fits has no effect.
    /// Resident CTAs stay until they end. A decision for all SMs replaces earlier decisions for single SMs.
    KernelCtas {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The kernel.
        kernel: KernelIndex,
        /// The maximum number of CTAs.
        limit: u32,
    },
    /// Makes a CTA that starts bypass the L1 until its end if fewer than `ctas` resident CTAs of its kernel bypass the L1: its loads from
    /// global memory go directly to the LLC. Resident CTAs do not change.
    Bypass {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// The kernel.
        kernel: KernelIndex,
        /// The maximum number of bypassing CTAs.
        ctas: u32,
    },
}

impl Decision {
    /// Returns the SM of the decision; `None` for all SMs.
    pub fn sm(&self) -> Option<SmId> {
        match self {
            Self::CtaLimit { sm, .. } | Self::WarpLimit { sm, .. } | Self::Power { sm, .. } => *sm,
            Self::Owner { sm, .. } | Self::Preempt { sm, .. } => *sm,
            Self::KernelCtas { sm, .. } | Self::Bypass { sm, .. } => *sm,
            Self::PreemptCta { sm, .. } => Some(*sm),
        }
    }

    /// Returns the kernel of the decision, if it concerns a single kernel.
    pub fn kernel(&self) -> Option<KernelIndex> {
        match self {
            Self::KernelCtas { kernel, .. } | Self::Bypass { kernel, .. } | Self::PreemptCta { kernel, .. } => Some(*kernel),
            _ => None,
        }
    }

    /// Returns the value of the knob; power states are 0 for gated, 1 for paused, 2 for active.
    pub fn value(&self) -> u32 {
        match self {
            Self::CtaLimit { limit, .. } | Self::WarpLimit { limit, .. } | Self::KernelCtas { limit, .. } => *limit,
            Self::Bypass { ctas, .. } => *ctas,
            Self::Owner { app, .. } => u32::from(app.0),
            Self::Preempt { how, .. } | Self::PreemptCta { how, .. } => *how as u32,
            Self::Power { state, .. } => *state as u32,
        }
    }

    /// Returns the knob that the decision sets.
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

/// A number computed by a controller, for the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// The SM of the signal; `None` for the whole machine.
    pub sm: Option<SmId>,
    /// The name of the signal.
    pub name: &'static str,
    /// The value of the signal.
    pub value: f64,
}

/// The decisions of one controller at one cut, with their reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionSet {
    allowed_knobs: KnobSet,
    decisions: Vec<Decision>,
    /// The reason of each decision; empty for the common reason.
    reasons: Vec<String>,
    signals: Vec<Signal>,
    reason: String,
}

impl DecisionSet {
    /// Creates an empty set for a controller that may set the knobs `allowed`.
    pub fn new(allowed: KnobSet) -> Self {
        Self { allowed_knobs: allowed, decisions: Vec::new(), reasons: Vec::new(), signals: Vec::new(), reason: String::new() }
    }

    /// Adds a decision with the common reason. The last of several decisions on the same knob and SM holds, except for preemptions.
    ///
    /// # Panics
    /// The controller did not declare the knob.
    pub fn decide(&mut self, decision: Decision) {
        self.decide_because(decision, String::new());
    }

    /// Adds a decision with its own reason: a lower-case clause without a full stop.
    ///
    /// # Panics
    /// The controller did not declare the knob.
    pub fn decide_because(&mut self, decision: Decision, reason: impl Into<String>) {
        assert!(self.allowed_knobs.has(decision.knob()), "a controller sets {} without declaring it", decision.knob());
        self.decisions.push(decision);
        self.reasons.push(reason.into());
    }

    /// Sets the common reason for the timeline: a lower-case clause without a full stop. A cut with a reason and without decisions is also
    /// recorded.
    pub fn because(&mut self, reason: impl Into<String>) {
        self.reason = reason.into();
    }

    /// Records a number on which the decisions are based.
    pub fn signal(&mut self, sm: Option<SmId>, name: &'static str, value: f64) {
        self.signals.push(Signal { sm, name, value });
    }

    /// Returns the decisions in order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Returns the decisions in order, each with its reason.
    pub fn decisions_with_reasons(&self) -> impl Iterator<Item = (&Decision, &str)> {
        let reasons = self.reasons.iter().map(|own| if own.is_empty() { self.reason.as_str() } else { own });
        self.decisions.iter().zip(reasons)
    }

    /// Returns the recorded numbers in order.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// Returns the common reason; empty if there is none.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Formats decisions and reasons on one line: first the decisions with individual reasons, then those with the common reason.
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
        let reasons: Vec<&str> = set.decisions_with_reasons().map(|(_, why)| why).collect();
        assert_eq!(reasons, ["kernel 1 ended", "kernel 1 ended", "stalled"]);
    }

    #[test]
    #[should_panic(expected = "sets warp_limit without declaring it")]
    fn an_undeclared_knob_cannot_be_set() {
        DecisionSet::new(KnobSet::of(&[Knob::CtaLimit])).decide(Decision::WarpLimit { sm: None, limit: 1 });
    }
}
