//! Warp states of a core with control words, counted over time: the states of Nsight Compute's "Warp State Statistics".
//!
//! In: the state of a warp when the core examines it, issues from it, or when it starts, finishes and leaves. Out: warp cycles by state and
//! launch. A state is counted when the next one begins, so that a waiting warp has no cost. The states of a cycle add up to the resident
//! warps.

use warpshard_base::{Cycle, KernelIndex};
use warpshard_stats::activity::{EventLog, WarpActivity as State, WarpChange, WarpReason};
use warpshard_stats::{CounterInfo, CounterVisitor, Counters, PerKernel, counters};

use super::core::{MAX_WARPS, bits};

/// Warp cycles by state, indexed by `WarpReason as usize`.
pub type WarpReasonCounts = [u64; WarpReason::ALL.len()];

counters! {
    /// Warp cycles by state, in the order of [`WarpReasonCounts`].
    pub struct WarpReasonCounters {
        warp_selected: "warp cycles", "The warp issues.";
        warp_not_selected: "warp cycles", "The warp could issue, but another warp issues.";
        warp_wait: "warp cycles", "The stall count of the last instruction has not elapsed.";
        warp_long_scoreboard: "warp cycles", "The warp waits for the L1 or the texture unit.";
        warp_short_scoreboard: "warp cycles", "The warp waits for shared memory or a unit of variable latency.";
        warp_gmma: "warp cycles", "The warp waits for products of its warp group.";
        warp_math_pipe_throttle: "warp cycles", "The pipe of the next instruction is busy.";
        warp_dispatch_stall: "warp cycles", "A preceding instruction waits for its register reads.";
        warp_lg_throttle: "warp cycles", "The memory instruction queue is full for an access to global or local memory.";
        warp_tex_throttle: "warp cycles", "The memory instruction queue is full for a texture access.";
        warp_mio_throttle: "warp cycles", "The memory instruction queue is full for an access to shared memory or a similar access.";
        warp_barrier: "warp cycles", "The warp waits at a barrier of its CTA or cluster.";
        warp_membar: "warp cycles", "The warp waits at a memory fence.";
        warp_branch_resolving: "warp cycles", "The target of its branch is not known yet.";
        warp_no_instruction: "warp cycles", "The next instruction has not arrived.";
        warp_imc_miss: "warp cycles", "The constant that its next instruction reads is not in the cache of its sub-core.";
        warp_drain: "warp cycles", "The warp has issued its last instruction and waits for outstanding operations.";
        warp_misc: "warp cycles", "A limit of warps or a preemption stops the warp.";
        warp_grid_dependency: "warp cycles", "The warp waits for the end of the preceding launch (griddepcontrol.wait).";
    }
}

/// The state of a warp, and its first cycle that is not counted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct CurrentState {
    since: u64,
    /// For a warp in [`WarpReason::Wait`] or [`WarpReason::Drain`]: the cycle in which its branch or its end is resolved.
    resolved_at: u64,
    /// For a warp in [`WarpReason::Wait`] or [`WarpReason::Drain`]: the cycle in which its next instruction arrives.
    fetched_at: u64,
    kernel: u32,
    reason: WarpReason,
}

/// Recorded changes of warp states.
#[derive(Debug, warpshard_state::State)]
struct ReasonChangeLog {
    log: EventLog<WarpChange>,
    /// The last logged reason, by warp.
    last: Box<[Option<WarpReason>; MAX_WARPS]>,
}

impl ReasonChangeLog {
    /// Records a state of a warp between two cycles; `None` is an empty slot. The cycle of an issue and the wait after it are one state.
    #[cold]
    fn append(&mut self, warp: usize, reason: Option<WarpReason>, (from, until): (u64, u64)) {
        let reason = reason.map(|reason| if reason == WarpReason::Wait { WarpReason::Selected } else { reason });
        if self.last[warp] != reason && from < until && until > self.log.from() {
            self.last[warp] = reason;
            self.log.push(until, WarpChange { at: from, warp: warp as u8, state: reason.map(State::Reason) });
        }
    }
}

/// The states of the warps of an SM, and the counted warp cycles.
#[derive(Debug, warpshard_state::State)]
pub(super) struct WarpReasons {
    /// True if results include the warp state counters.
    counted: bool,
    /// The log of every change, if a recording needs it.
    log: Option<Box<ReasonChangeLog>>,
    resident: u64,
    /// Warps in [`WarpReason::NotSelected`].
    not_selected: u64,
    warps: Box<[CurrentState; MAX_WARPS]>,
    /// Warp cycles of one launch that are not yet in `counts`.
    latest: WarpReasonCounts,
    latest_kernel: u32,
    counts: PerKernel<WarpReasonCounts>,
}

impl WarpReasons {
    /// Creates the states of an empty SM, for `kernels` launches; `counted` is true if results have the counters.
    pub(super) fn new(kernels: usize, counted: bool) -> Self {
        let nobody = CurrentState { since: 0, resolved_at: 0, fetched_at: 0, kernel: 0, reason: WarpReason::NoInstruction };
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
    pub(super) fn record(&mut self, log: EventLog<WarpChange>) {
        self.log = Some(Box::new(ReasonChangeLog { log, last: Box::new([None; MAX_WARPS]) }));
    }

    /// Removes and returns the recorded changes.
    pub(super) fn take_log(&mut self) -> Option<EventLog<WarpChange>> {
        self.log.take().map(|changes| changes.log)
    }

    /// Records that a warp of a launch is resident from cycle `at` on.
    pub(super) fn start(&mut self, warp: usize, kernel: KernelIndex, at: u64) {
        self.resident |= 1 << warp;
        let reason = WarpReason::NoInstruction;
        self.warps[warp] = CurrentState { since: at, resolved_at: 0, fetched_at: 0, kernel: kernel.0, reason };
    }

    /// Sets the state of a warp from cycle `at` on.
    #[inline]
    pub(super) fn set_state(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if self.warps[warp % MAX_WARPS].reason != reason {
            self.change(warp % MAX_WARPS, reason, at);
        }
    }

    /// Records that `warps`, from cycle `at` on, could issue and are not selected.
    #[inline]
    pub(super) fn set_not_selected(&mut self, warps: u64, at: u64) {
        for warp in bits(warps & !self.not_selected) {
            self.change(warp, WarpReason::NotSelected, at);
            self.not_selected |= 1 << warp;
        }
    }

    /// Records that a warp issues in cycle `now`.
    #[inline]
    pub(super) fn issue(&mut self, warp: usize, now: u64) {
        let warp = warp % MAX_WARPS;
        if self.is_single_state(warp) {
            let doing = &self.warps[warp];
            self.latest[doing.reason as usize] += now - doing.since;
        } else {
            self.count_parts(warp, now);
            if let Some(log) = &mut self.log {
                log.append(warp, Some(WarpReason::Selected), (now, now + 1));
            }
        }
        self.latest[WarpReason::Selected as usize] += 1;
        self.not_selected &= !(1 << warp);
        (self.warps[warp].since, self.warps[warp].reason) = (now + 1, WarpReason::Wait);
    }

    /// Returns true if a warp has had a single state since it was counted last, of the launch that is counted now, and changes are not
    /// recorded.
    #[inline]
    fn is_single_state(&self, warp: usize) -> bool {
        let doing = &self.warps[warp];
        let resolved = !matches!(doing.reason, WarpReason::Wait | WarpReason::Drain) || doing.since >= doing.fetched_at;
        resolved && doing.kernel == self.latest_kernel && self.log.is_none()
    }

    /// Sets the cycle in which the next instruction of a warp arrives, and the earlier cycle in which the branch to it, or the end of the
    /// warp, is resolved.
    #[inline]
    pub(super) fn set_fetch_cycles(&mut self, warp: usize, resolved_at: u64, fetched_at: u64) {
        let doing = &mut self.warps[warp % MAX_WARPS];
        (doing.resolved_at, doing.fetched_at) = (resolved_at, fetched_at);
    }

    #[inline]
    fn change(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if self.is_single_state(warp) {
            let doing = &self.warps[warp];
            self.latest[doing.reason as usize] += at - doing.since;
        } else {
            self.count_parts(warp, at);
        }
        (self.warps[warp].since, self.warps[warp].reason) = (at, reason);
        self.not_selected &= !(1 << warp);
    }

    /// Counts the state of a warp before cycle `at`, which may be a sequence of several states, and records it if a recording needs it.
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
                    log.append(warp, Some(before), (doing.since, until));
                }
                doing.since = until;
            }
        }
        self.latest[doing.reason as usize] += at - doing.since;
        if let Some(log) = &mut self.log {
            log.append(warp, Some(doing.reason), (doing.since, at));
        }
    }

    /// Records that a warp is not resident from cycle `at` on.
    pub(super) fn end(&mut self, warp: usize, at: u64) {
        self.change(warp, WarpReason::NoInstruction, at);
        self.resident &= !(1 << warp);
        if let Some(log) = &mut self.log {
            log.append(warp, None, (at, u64::MAX));
        }
    }

    /// Counts the uncounted cycles before `until`.
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

    /// Returns the warp cycles by launch, if results have them.
    pub(super) fn counts(&self) -> Option<&PerKernel<WarpReasonCounts>> {
        self.counted.then_some(&self.counts)
    }

    /// Visits the sums over all launches, if results have them.
    pub(super) fn visit(&self, visitor: &mut dyn CounterVisitor) {
        if !self.counted {
            return;
        }
        let mut all = WarpReasonCounts::default();
        self.counts.parts().for_each(|part| all.iter_mut().zip(part).for_each(|(all, part)| *all += part));
        visit_warp_reasons(&all, &mut |info, value| visitor.counter(info, value));
    }
}

/// Adds the cycles of a launch in `latest` to `counts`.
fn add(counts: &mut WarpReasonCounts, latest: &mut WarpReasonCounts) {
    counts.iter_mut().zip(latest).for_each(|(sum, part)| *sum += std::mem::take(part));
}

/// Visits warp cycles by state, with their names.
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
