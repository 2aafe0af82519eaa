//! Warp states counted over time: the states of "Workload-aware scheduling techniques", Section 5.3.
//!
//! In: the masks of the warps and the full registers before the collectors, at the end of every cycle in which a stage had work. Out: warp
//! cycles by state. The masks do not change in between, so a state counts until the next such cycle.
//!
//! The thesis has eight states. They do not cover warps that wait at a barrier, a fence or an atomic, and warps that a limit or CCWS holds
//! back; this module has separate states for these warps. The states of a cycle add up to the resident warps.

use warpshard_base::Cycle;
use warpshard_stats::activity::{EventLog, WarpActivity, WarpChange, WarpState};
use warpshard_stats::counters;

use super::core::{Core, bits};
use super::kinds::{ALL_UNIT_KINDS, UnitKind};
use super::operands::OperandCollectors;

counters! {
    /// Warp cycles by state.
    pub struct WarpStateCounters {
        warps_buffer_empty: "warp cycles", "The instruction buffer is empty.";
        warps_scoreboard_alu: "warp cycles", "The next instruction waits for a register that an arithmetic instruction writes.";
        warps_scoreboard_memory: "warp cycles", "The next instruction waits for a register that a memory instruction writes.";
        warps_stall_alu: "warp cycles", "The next instruction is an arithmetic one that could issue, but the register before its unit is full.";
        warps_stall_memory: "warp cycles", "The next instruction is a memory one that could issue, but the register before the load/store unit is full.";
        warps_can_issue_alu: "warp cycles", "An arithmetic instruction can issue.";
        warps_can_issue_memory: "warp cycles", "A memory instruction can issue.";
        warps_completed: "warp cycles", "The warp has issued its last instruction and waits for others or for its stores.";
        warps_waiting: "warp cycles", "The warp waits at a barrier or a fence, or for an atomic.";
        warps_held_back: "warp cycles", "A limit of warps, a ready queue or CCWS holds the warp back.";
    }
}

/// Warps by state, and the warp cycles counted so far.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct WarpStates {
    /// True if results include the warp state counters.
    pub(super) counted: bool,
    /// The log of every change, if a recording needs it.
    log: Option<Box<StateChangeLog>>,
    pub(super) counters: WarpStateCounters,
    /// Warps in each state from `since` on.
    current_counts: WarpStateCounters,
    since: Cycle,
}

/// Recorded changes of warp states.
#[derive(Debug, warpshard_state::State)]
struct StateChangeLog {
    log: EventLog<WarpChange>,
    /// The warps in each state, in the order of [`WarpState::ALL`].
    current_counts: [u64; WarpState::ALL.len()],
}

impl StateChangeLog {
    /// Records the states of the warps from `now` on.
    fn append(&mut self, now: Cycle, states: [u64; WarpState::ALL.len()]) {
        let live = |states: &[u64]| states.iter().fold(0, |all, mask| all | mask);
        let gone = live(&self.current_counts) & !live(&states);
        let entered = states.iter().zip(&self.current_counts).map(|(new, old)| new & !old);
        let changes = WarpState::ALL.into_iter().map(Some).zip(entered).chain([(None, gone)]);
        for (state, warps) in changes {
            bits(warps)
                .for_each(|warp| self.log.push(now.0, WarpChange { at: now.0, warp: warp as u8, state: state.map(WarpActivity::State) }));
        }
        // States before the first recorded cycle are unknown, so that cycle records all states.
        if now.0 >= self.log.from() {
            self.current_counts = states;
        }
    }
}

impl WarpStates {
    /// Creates states that results count.
    pub(super) fn counted() -> Self {
        Self { counted: true, ..Self::default() }
    }

    /// Records every change from now on, in `log`.
    pub(super) fn record(&mut self, log: EventLog<WarpChange>) {
        self.log = Some(Box::new(StateChangeLog { log, current_counts: [0; WarpState::ALL.len()] }));
    }

    /// Removes and returns the recorded changes.
    pub(super) fn take_log(&mut self) -> Option<EventLog<WarpChange>> {
        self.log.take().map(|changes| changes.log)
    }

    /// Counts the uncounted cycles before `until`.
    pub(super) fn count(&mut self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.since.0);
        self.since = until;
        let (counted, present) = (&mut self.counters, &self.current_counts);
        counted.warps_buffer_empty += present.warps_buffer_empty * cycles;
        counted.warps_scoreboard_alu += present.warps_scoreboard_alu * cycles;
        counted.warps_scoreboard_memory += present.warps_scoreboard_memory * cycles;
        counted.warps_stall_alu += present.warps_stall_alu * cycles;
        counted.warps_stall_memory += present.warps_stall_memory * cycles;
        counted.warps_can_issue_alu += present.warps_can_issue_alu * cycles;
        counted.warps_can_issue_memory += present.warps_can_issue_memory * cycles;
        counted.warps_completed += present.warps_completed * cycles;
        counted.warps_waiting += present.warps_waiting * cycles;
        counted.warps_held_back += present.warps_held_back * cycles;
    }

    /// Updates the states at the end of the present cycle.
    pub(super) fn update(&mut self, core: &Core, operands: &OperandCollectors) {
        self.count(core.now);
        let warps = &core.warps;
        let mut left = warps.live;
        let mut states = [0; WarpState::ALL.len()];
        let mut take = |state: WarpState, mask: u64| {
            let taken = left & mask;
            left &= !mask;
            states[state as usize] = taken;
            u64::from(taken.count_ones())
        };
        let mut full = 0;
        for scheduler in 0..core.spec.schedulers as usize {
            let kinds = operands.full_kinds(scheduler);
            let own = ALL_UNIT_KINDS
                .into_iter()
                .filter(|kind| kinds >> *kind as u8 & 1 != 0)
                .fold(0, |all, kind| all | warps.of_kind[kind as usize]);
            full |= own & warps.of_scheduler(scheduler, core.spec.schedulers);
        }
        let memory = warps.of_kind[UnitKind::Mem as usize];
        self.current_counts = WarpStateCounters {
            warps_completed: take(WarpState::Completed, warps.finished),
            warps_waiting: take(WarpState::Waiting, warps.waiting()),
            warps_buffer_empty: take(WarpState::BufferEmpty, !warps.valid),
            warps_scoreboard_memory: take(WarpState::ScoreboardMemory, warps.hazard_memory),
            warps_scoreboard_alu: take(WarpState::ScoreboardAlu, warps.hazard),
            warps_held_back: take(WarpState::HeldBack, !warps.allowed),
            warps_stall_memory: take(WarpState::StallMemory, full & memory),
            warps_stall_alu: take(WarpState::StallAlu, full),
            warps_can_issue_memory: take(WarpState::CanIssueMemory, memory),
            warps_can_issue_alu: take(WarpState::CanIssueAlu, u64::MAX),
        };
        if let Some(changes) = &mut self.log {
            changes.append(core.now, states);
        }
    }
}
