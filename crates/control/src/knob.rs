//! The knobs that decisions set, and sets of knobs.

use std::fmt;

use warpshard_base::named;

named! {
    /// A setting that decisions change.
    #[derive(Hash)]
    pub enum Knob {
        /// The name in timelines and messages.
        name: &'static str = 0;
        CtaLimit("cta_limit"): "Maximum number of CTAs on an SM.",
        WarpLimit("warp_limit"): "Maximum number of warps that an SM's schedulers consider.",
        Power("power"): "Power state of an SM: active, paused or power-gated.",
        Owner("owner"): "Application that owns an SM, with spatial sharing.",
        Preempt("preempt"): "Preempts the CTAs of an SM: 0 switches, 1 flushes, 2 drains, 3 drops.",
        PreemptCta("preempt_cta"): "Preempts one CTA: 0 switches, 1 flushes, 2 drains, 3 drops.",
        KernelCtas("kernel_ctas"): "Maximum number of CTAs of a kernel on an SM, with interleaved sharing.",
        Bypass("bypass"): "Number of CTAs of a kernel on an SM whose global loads bypass the L1.",
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of knobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnobSet(u32);

impl KnobSet {
    /// Creates the set of the given knobs.
    pub fn of(knobs: &[Knob]) -> Self {
        Self(knobs.iter().fold(0, |bits, &knob| bits | 1 << knob as u8))
    }

    /// Returns `true` if `knob` is in the set.
    pub fn has(self, knob: Knob) -> bool {
        self.0 >> knob as u8 & 1 != 0
    }

    /// Returns the knobs that are in both sets.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the knobs of the set in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Knob> {
        Knob::ALL.into_iter().filter(move |&knob| self.has(knob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_the_given_knobs() {
        let set = KnobSet::of(&[Knob::WarpLimit]);
        assert!(set.has(Knob::WarpLimit) && !set.has(Knob::CtaLimit));
        assert_eq!(set.both(KnobSet::of(&Knob::ALL)).iter().collect::<Vec<_>>(), [Knob::WarpLimit]);
        assert_eq!(set.both(KnobSet::of(&[Knob::CtaLimit])), KnobSet::default());
    }
}
