//! What decisions can set, and sets of such knobs.

use std::fmt;

use warpshard_base::named;

named! {
    /// Something that decisions change.
    #[derive(Hash)]
    pub enum Knob {
        /// Its name in timelines and messages.
        name: &'static str = 0;
        CtaLimit("cta_limit"): "Most CTAs that an SM holds.",
        WarpLimit("warp_limit"): "Most warps that an SM's schedulers consider.",
        Power("power"): "Whether an SM is active, paused or power-gated.",
        Owner("owner"): "The application that an SM belongs to, where applications own SMs.",
        Preempt("preempt"): "Takes the CTAs of an SM away: 0 switches, 1 flushes, 2 drains, 3 drops.",
        PreemptCta("preempt_cta"): "Takes one CTA away: 0 switches, 1 flushes, 2 drains, 3 drops.",
        KernelCtas("kernel_ctas"): "Most CTAs of a kernel on an SM, where kernels are interleaved.",
        Bypass("bypass"): "CTAs of a kernel on an SM whose global loads go past the L1.",
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
    /// The set of the knobs given.
    pub fn of(knobs: &[Knob]) -> Self {
        Self(knobs.iter().fold(0, |bits, &knob| bits | 1 << knob as u8))
    }

    /// Whether `knob` is in the set.
    pub fn has(self, knob: Knob) -> bool {
        self.0 >> knob as u8 & 1 != 0
    }

    /// The knobs that are in both sets.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The knobs of the set, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Knob> {
        Knob::ALL.into_iter().filter(move |&knob| self.has(knob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_the_knobs_put_into_it() {
        let set = KnobSet::of(&[Knob::WarpLimit]);
        assert!(set.has(Knob::WarpLimit) && !set.has(Knob::CtaLimit));
        assert_eq!(set.both(KnobSet::of(&Knob::ALL)).iter().collect::<Vec<_>>(), [Knob::WarpLimit]);
        assert_eq!(set.both(KnobSet::of(&[Knob::CtaLimit])), KnobSet::default());
    }
}
