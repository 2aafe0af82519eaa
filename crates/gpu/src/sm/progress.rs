//! How far the CTAs of an SM are: what controllers that take single CTAs away look at, gathered at cuts alone.

use warpshard_base::KernelIndex;
use warpshard_protocol::{CtaProgress, SmProgress};

use super::core::{Core, Resident};
use super::preempt::PreemptStage;

/// Instructions that a resident CTA has executed. Warps that left have executed everything.
pub(super) fn executed(core: &Core, cta: &Resident) -> u64 {
    let first = cta.warps.trailing_zeros() as usize;
    let streams = cta.program.warps.iter().enumerate();
    let of_warp = |(i, stream): (usize, &warpshard_workload::WarpStream)| {
        if cta.left >> (first + i) & 1 != 0 { core.warps.executed(first + i) } else { stream.len() }
    };
    streams.map(of_warp).map(u64::from).sum()
}

/// How far the CTAs of an SM are.
pub(super) fn progress(core: &Core, preempt: &PreemptStage) -> SmProgress {
    let one = |(slot, cta): (u8, &Resident)| {
        let executed = executed(core, cta);
        CtaProgress {
            kernel: cta.launch.kernel,
            cta: cta.launch.cta,
            registers: (cta.place.register, cta.needs.registers),
            shared: (cta.place.shared, cta.needs.shared_bytes),
            threads: cta.needs.threads,
            started: cta.started,
            executed,
            executed_here: executed.saturating_sub(cta.before),
            wrote: cta.wrote,
            leaving: preempt.is_leaving(slot),
        }
    };
    let ended = core.history.ended.counted().map(|(kernel, ended)| (kernel, ended.0)).filter(|(_, ended)| ended.ctas > 0);
    SmProgress {
        resident: core.ctas.iter().map(one).collect(),
        gone: core.history.gone.iter().copied().collect(),
        ended: ended.map(|(kernel, ended)| (KernelIndex(kernel as u32), ended)).collect(),
    }
}
