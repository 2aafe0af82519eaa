//! Progress of the CTAs of an SM, for controllers that preempt single CTAs; gathered at cuts only.

use warpshard_base::KernelIndex;
use warpshard_protocol::{CtaProgress, SmProgress};

use super::core::{Core, ResidentCta};
use super::preempt::PreemptStage;

/// Returns the instructions that a resident CTA has executed. Warps that exited have executed all their instructions.
pub(super) fn executed_instructions(core: &Core, cta: &ResidentCta) -> u64 {
    let first = cta.warps.trailing_zeros() as usize;
    let streams = cta.program.warps.iter().enumerate();
    let of_warp = |(i, stream): (usize, &warpshard_workload::WarpStream)| {
        if cta.unreleased >> (first + i) & 1 != 0 { core.warps.executed_count(first + i) } else { stream.len() }
    };
    streams.map(of_warp).map(u64::from).sum()
}

/// Returns the progress of the CTAs of an SM.
pub(super) fn progress(core: &Core, preempt: &PreemptStage) -> SmProgress {
    let one = |(slot, cta): (u8, &ResidentCta)| {
        let executed = executed_instructions(core, cta);
        CtaProgress {
            kernel: cta.launch.kernel,
            cta: cta.launch.cta,
            registers: (cta.place.register, cta.needs.registers),
            shared: (cta.place.shared, cta.needs.shared_bytes),
            threads: cta.needs.threads,
            started: cta.started,
            executed,
            executed_here: executed.saturating_sub(cta.executed_before),
            wrote: cta.wrote,
            leaving: preempt.is_leaving(slot),
        }
    };
    let ended = core.history.ended.counted().map(|(kernel, ended)| (kernel, ended.0)).filter(|(_, ended)| ended.ctas > 0);
    SmProgress {
        resident: core.ctas.iter().map(one).collect(),
        gone: core.history.departed.iter().copied().collect(),
        ended: ended.map(|(kernel, ended)| (KernelIndex(kernel as u32), ended)).collect(),
    }
}
