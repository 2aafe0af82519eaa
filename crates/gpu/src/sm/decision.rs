//! The settings of an SM that controllers turn.

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_protocol::{PowerState, Preemption};

/// What a controller may ask of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum SmDecision {
    /// No further CTA starts while this many are resident; at least 1.
    CtaLimit(u32),
    /// Only this many of the oldest warps may issue; at least 1.
    WarpLimit(u32),
    /// Whether it works, stands still or is turned off.
    Power(PowerState),
    /// All CTAs on it or bound to it are taken away.
    Preempt(Preemption),
    /// CTAs of a kernel start bypassing the L1 while fewer than so many resident ones do.
    Bypass {
        /// The kernel.
        kernel: KernelIndex,
        /// CTAs.
        ctas: u32,
    },
    /// One CTA on it, and those bound to it that have not started.
    PreemptCta(KernelIndex, CtaIndex, Preemption),
}
