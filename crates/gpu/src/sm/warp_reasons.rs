//! What each warp of a core with control words does, counted over time: the warp states of Nsight Compute's "Warp State Statistics".
//!
//! In: the state of a warp when the core looks at it, issues it, or sees it start, finish and leave. Out: warp cycles by state and launch. A state is
//! counted when the next one begins, so that a warp that waits costs nothing. The states of a cycle add up to the resident warps.

use warpshard_base::{Cycle, KernelIndex};
use warpshard_stats::activity::{Doing as State, Log, WarpChange, WarpReason};
use warpshard_stats::{CounterInfo, CounterVisitor, Counters, PerKernel, counters};

use super::core::{MAX_WARPS, bits};

/// Warp cycles by state, indexed by `WarpReason as usize`.
pub type WarpReasonCounts = [u64; WarpReason::ALL.len()];

counters! {
    /// Warp cycles by state, in the order of [`WarpReasonCounts`].
    pub struct WarpReasonCounters {
        warp_selected: "warp cycles", "The warp issues.";
        warp_not_selected: "warp cycles", "The warp could issue, and another one does.";
        warp_wait: "warp cycles", "The stall count of its last instruction is not over.";
        warp_long_scoreboard: "warp cycles", "The warp waits for the L1 or the texture unit.";
        warp_short_scoreboard: "warp cycles", "The warp waits for shared memory or a unit of variable latency.";
        warp_gmma: "warp cycles", "The warp waits for products of its warp group.";
        warp_math_pipe_throttle: "warp cycles", "The pipe of its next instruction takes nothing.";
        warp_dispatch_stall: "warp cycles", "An instruction before it waits for its register reads.";
        warp_lg_throttle: "warp cycles", "The queue has no room for an access to global or local memory.";
        warp_tex_throttle: "warp cycles", "The queue has no room for a texture access.";
        warp_mio_throttle: "warp cycles", "The queue has no room for an access to shared memory or the like.";
        warp_barrier: "warp cycles", "The warp waits at a barrier of its CTA or cluster.";
        warp_membar: "warp cycles", "The warp waits at a memory fence.";
        warp_branch_resolving: "warp cycles", "The target of its branch is not known yet.";
        warp_no_instruction: "warp cycles", "Its next instruction is not there.";
        warp_imc_miss: "warp cycles", "The constant that its next instruction reads is not in the cache of its sub-core.";
        warp_drain: "warp cycles", "The warp has issued its last instruction, and something of it is under way.";
        warp_misc: "warp cycles", "A limit of warps or a preemption holds the warp back.";
        warp_grid_dependency: "warp cycles", "The warp waits for the end of the launch before its own (griddepcontrol.wait).";
    }
}

/// The state of a warp, and since when it is not counted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Doing {
    since: u64,
    /// Of a warp in [`WarpReason::Wait`] or [`WarpReason::Drain`]: before, its branch or its end is not resolved.
    resolved_at: u64,
    /// The same: before, its next instruction is not there.
    fetched_at: u64,
    kernel: u32,
    reason: WarpReason,
}

/// The changes of the warps' states.
#[derive(Debug, warpshard_state::State)]
struct Changes {
    log: Log<WarpChange>,
    /// The reason that was logged last, by warp.
    last: Box<[Option<WarpReason>; MAX_WARPS]>,
}

impl Changes {
    /// A warp did something from one cycle until another; `None` is an empty slot. The cycle in which it issues and the wait after it are one.
    #[cold]
    fn note(&mut self, warp: usize, reason: Option<WarpReason>, (from, until): (u64, u64)) {
        let reason = reason.map(|reason| if reason == WarpReason::Wait { WarpReason::Selected } else { reason });
        if self.last[warp] != reason && from < until && until > self.log.from() {
            self.last[warp] = reason;
            self.log.push(until, WarpChange { at: from, warp: warp as u8, state: reason.map(State::Reason) });
        }
    }
}

/// The states of an SM's warps, and the warp cycles counted so far.
#[derive(Debug, warpshard_state::State)]
pub(super) struct WarpReasons {
    /// Whether the machine has these counters.
    counted: bool,
    /// Every change, where a recording wants them.
    log: Option<Box<Changes>>,
    resident: u64,
    /// Warps in [`WarpReason::NotSelected`].
    not_selected: u64,
    warps: Box<[Doing; MAX_WARPS]>,
    /// What is not in `counts` yet: warp cycles of one launch.
    latest: WarpReasonCounts,
    latest_kernel: u32,
    counts: PerKernel<WarpReasonCounts>,
}

impl WarpReasons {
    /// Of an empty SM, for `kernels` launches; `counted` where results have the counters.
    pub(super) fn new(kernels: usize, counted: bool) -> Self {
        let nobody = Doing { since: 0, resolved_at: 0, fetched_at: 0, kernel: 0, reason: WarpReason::NoInstruction };
        Self {
            counted,
            log: None,
            resident: 0,
            not_selected: 0,
            warps: Box::new([nobody; MAX_WARPS]),
            latest: WarpReasonCounts::default(),
            latest_kernel: 0,
            counts: PerKernel::new(kernels),
        }
    }

    /// Records every change from now on, in `log`.
    pub(super) fn record(&mut self, log: Log<WarpChange>) {
        self.log = Some(Box::new(Changes { log, last: Box::new([None; MAX_WARPS]) }));
    }

    /// The changes so far.
    pub(super) fn take_log(&mut self) -> Option<Log<WarpChange>> {
        self.log.take().map(|changes| changes.log)
    }

    /// A warp of a launch is resident from cycle `at` on.
    pub(super) fn start(&mut self, warp: usize, kernel: KernelIndex, at: u64) {
        self.resident |= 1 << warp;
        let reason = WarpReason::NoInstruction;
        self.warps[warp] = Doing { since: at, resolved_at: 0, fetched_at: 0, kernel: kernel.0, reason };
    }

    /// A warp does something from cycle `at` on.
    #[inline]
    pub(super) fn turn(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if self.warps[warp % MAX_WARPS].reason != reason {
            self.change(warp % MAX_WARPS, reason, at);
        }
    }

    /// From cycle `at` on, these warps could issue, and are not selected.
    #[inline]
    pub(super) fn pass_over(&mut self, warps: u64, at: u64) {
        for warp in bits(warps & !self.not_selected) {
            self.change(warp, WarpReason::NotSelected, at);
            self.not_selected |= 1 << warp;
        }
    }

    /// A warp issues in cycle `now`.
    #[inline]
    pub(super) fn issue(&mut self, warp: usize, now: u64) {
        let warp = warp % MAX_WARPS;
        if self.is_one(warp) {
            let doing = &self.warps[warp];
            self.latest[doing.reason as usize] += now - doing.since;
        } else {
            self.count_parts(warp, now);
            if let Some(log) = &mut self.log {
                log.note(warp, Some(WarpReason::Selected), (now, now + 1));
            }
        }
        self.latest[WarpReason::Selected as usize] += 1;
        self.not_selected &= !(1 << warp);
        (self.warps[warp].since, self.warps[warp].reason) = (now + 1, WarpReason::Wait);
    }

    /// Whether what a warp did since it was counted last is one state, of the launch that is counted now, and is not recorded.
    #[inline]
    fn is_one(&self, warp: usize) -> bool {
        let doing = &self.warps[warp];
        let resolved = !matches!(doing.reason, WarpReason::Wait | WarpReason::Drain) || doing.since >= doing.fetched_at;
        resolved && doing.kernel == self.latest_kernel && self.log.is_none()
    }

    /// When the next instruction of a warp is there, and when the branch to it, or the end of the warp, is resolved, which is no later.
    #[inline]
    pub(super) fn goes_on(&mut self, warp: usize, resolved_at: u64, fetched_at: u64) {
        let doing = &mut self.warps[warp % MAX_WARPS];
        (doing.resolved_at, doing.fetched_at) = (resolved_at, fetched_at);
    }

    #[inline]
    fn change(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if self.is_one(warp) {
            let doing = &self.warps[warp];
            self.latest[doing.reason as usize] += at - doing.since;
        } else {
            self.count_parts(warp, at);
        }
        (self.warps[warp].since, self.warps[warp].reason) = (at, reason);
        self.not_selected &= !(1 << warp);
    }

    /// Counts the state of a warp before cycle `at`, which may be several one after the other, and records it where a recording wants it.
    #[inline(never)]
    fn count_parts(&mut self, warp: usize, at: u64) {
        let doing = &mut self.warps[warp];
        if doing.kernel != self.latest_kernel {
            add(self.counts.at(self.latest_kernel as usize), &mut self.latest);
            self.latest_kernel = doing.kernel;
        }
        if matches!(doing.reason, WarpReason::Wait | WarpReason::Drain) && doing.since < doing.fetched_at {
            for (until, before) in [(doing.resolved_at, WarpReason::BranchResolving), (doing.fetched_at, WarpReason::NoInstruction)] {
                let until = until.min(at).max(doing.since);
                self.latest[before as usize] += until - doing.since;
                if let Some(log) = &mut self.log {
                    log.note(warp, Some(before), (doing.since, until));
                }
                doing.since = until;
            }
        }
        self.latest[doing.reason as usize] += at - doing.since;
        if let Some(log) = &mut self.log {
            log.note(warp, Some(doing.reason), (doing.since, at));
        }
    }

    /// A warp is resident no longer from cycle `at` on.
    pub(super) fn end(&mut self, warp: usize, at: u64) {
        self.change(warp, WarpReason::NoInstruction, at);
        self.resident &= !(1 << warp);
        if let Some(log) = &mut self.log {
            log.note(warp, None, (at, u64::MAX));
        }
    }

    /// Counts the cycles before `until` that are not counted yet.
    pub(super) fn count(&mut self, until: Cycle) {
        let not_selected = self.not_selected;
        for warp in bits(self.resident) {
            self.change(warp, self.warps[warp].reason, until.0);
        }
        self.not_selected = not_selected;
        if self.latest.iter().any(|cycles| *cycles > 0) {
            add(self.counts.at(self.latest_kernel as usize), &mut self.latest);
        }
    }

    /// Warp cycles by launch, where results have them.
    pub(super) fn counts(&self) -> Option<&PerKernel<WarpReasonCounts>> {
        self.counted.then_some(&self.counts)
    }

    /// Shows the sums over all launches, where results have them.
    pub(super) fn visit(&self, visitor: &mut dyn CounterVisitor) {
        if !self.counted {
            return;
        }
        let mut all = WarpReasonCounts::default();
        self.counts.parts().for_each(|part| all.iter_mut().zip(part).for_each(|(all, part)| *all += part));
        visit_warp_reasons(&all, &mut |info, value| visitor.counter(info, value));
    }
}

/// Adds what a launch has in `latest` to `counts`.
fn add(counts: &mut WarpReasonCounts, latest: &mut WarpReasonCounts) {
    counts.iter_mut().zip(latest).for_each(|(sum, part)| *sum += std::mem::take(part));
}

/// Shows warp cycles by state, with their names.
pub fn visit_warp_reasons(counts: &WarpReasonCounts, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
    WarpReasonCounters::INFO.iter().zip(counts).for_each(|(info, value)| see(info, *value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_counter() {
        assert_eq!(WarpReasonCounters::INFO.len(), WarpReason::ALL.len());
        for (place, (reason, info)) in WarpReason::ALL.into_iter().zip(WarpReasonCounters::INFO).enumerate() {
            assert_eq!((reason as usize, format!("warp_{}", reason.name())), (place, info.name.to_owned()));
        }
    }
}
