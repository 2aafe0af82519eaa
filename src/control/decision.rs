//! What controllers decide.

use std::fmt;

use crate::base::SmId;

use super::{Knob, KnobSet};

/// A knob turned. It holds from the cut (plus the machine's `control.decision_latency`) until the next decision on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// At most `limit` CTAs on an SM; a limit at or above what fits limits nothing. CTAs already there stay until they end.
    CtaLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// CTAs.
        limit: u32,
    },
    /// Each SM's schedulers consider at most `limit` warps of the SM, the oldest ones that do not wait at a barrier or for
    /// a fence or an atomic.
    WarpLimit {
        /// The SM; all SMs when `None`.
        sm: Option<SmId>,
        /// Warps.
        limit: u32,
    },
}

impl Decision {
    /// Which knob it turns.
    pub fn knob(&self) -> Knob {
        match self {
            Self::CtaLimit { .. } => Knob::CtaLimit,
            Self::WarpLimit { .. } => Knob::WarpLimit,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::CtaLimit { sm, limit } | Self::WarpLimit { sm, limit }) = self;
        write!(f, "{} {limit} on ", self.knob())?;
        match sm {
            Some(sm) => write!(f, "{sm}"),
            None => f.write_str("every SM"),
        }
    }
}

/// What one controller decides at one cut, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionSet {
    allowed: KnobSet,
    decisions: Vec<Decision>,
    reason: String,
}

impl DecisionSet {
    /// An empty set for a controller that may turn the knobs `allowed`.
    pub fn new(allowed: KnobSet) -> Self {
        Self { allowed, decisions: Vec::new(), reason: String::new() }
    }

    /// Adds a decision. Later ones on the same knob and SM win.
    ///
    /// # Panics
    /// When the controller did not name the knob among its own.
    pub fn decide(&mut self, decision: Decision) {
        assert!(self.allowed.has(decision.knob()), "a controller turns {} without having named it", decision.knob());
        self.decisions.push(decision);
    }

    /// Says why, for the timeline: a lower-case clause without a full stop. A cut with a reason and no decision is recorded too.
    pub fn because(&mut self, reason: impl Into<String>) {
        self.reason = reason.into();
    }

    /// The decisions in their order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Whether there is nothing to do and nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.reason.is_empty()
    }
}

/// The text of the timeline: the decisions, and why.
impl fmt::Display for DecisionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, decision) in self.decisions.iter().enumerate() {
            write!(f, "{}{decision}", if i > 0 { ", " } else { "" })?;
        }
        match (self.decisions.is_empty(), self.reason.is_empty()) {
            (false, false) => write!(f, ": {}", self.reason),
            _ => f.write_str(&self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeline_reads_what_and_why() {
        let mut set = DecisionSet::new(KnobSet::of(&Knob::ALL));
        assert!(set.is_empty());
        set.decide(Decision::CtaLimit { sm: None, limit: 4 });
        set.decide(Decision::WarpLimit { sm: Some(SmId(2)), limit: 8 });
        set.because("kernel 1 ended");
        assert_eq!(set.to_string(), "cta_limit 4 on every SM, warp_limit 8 on sm2: kernel 1 ended");
    }

    #[test]
    #[should_panic(expected = "turns warp_limit without having named it")]
    fn an_undeclared_knob_cannot_be_turned() {
        DecisionSet::new(KnobSet::of(&[Knob::CtaLimit])).decide(Decision::WarpLimit { sm: None, limit: 1 });
    }
}
