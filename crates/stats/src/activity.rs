//! Activity of selected units, event by event, for trace viewers. Plain data, with a bounded number of events per unit.

/// The selection of recorded units and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingSelection {
    /// SMs whose warps are recorded; CTAs are recorded for all SMs.
    pub sms: Vec<u16>,
    /// Memory partitions whose DRAM banks are recorded.
    pub partitions: Vec<u16>,
    /// First recorded core cycle.
    pub from: u64,
    /// Maximum number of events of each kind per unit.
    pub most: usize,
}

/// The recorded activity; empty if the run records nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Activity of the SMs, by number.
    pub sms: Vec<SmActivity>,
    /// Activity of the DRAM channels, by number.
    pub channels: Vec<ChannelActivity>,
}

/// Activity of an SM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmActivity {
    /// Number of the SM.
    pub sm: u16,
    /// CTAs in the order in which they left, followed by the CTAs that are resident at the end of the run.
    pub ctas: EventLog<CtaSpan>,
    /// Changes of the warps' states, by cycle.
    pub warps: EventLog<WarpChange>,
    /// Bulk copies, shared-memory barriers and warp-group matrix products, on cores with control words.
    pub async_events: EventLog<AsyncEvent>,
}

/// Residency of a CTA on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaSpan {
    /// Index of the kernel in the workload.
    pub kernel: u32,
    /// The CTA's number in its grid.
    pub cta: u32,
    /// Core cycle in which it started.
    pub started: u64,
    /// Core cycle in which it left the SM; `None` if it is resident at the end of the run.
    pub left: Option<u64>,
    /// True if the CTA was preempted.
    pub preempted: bool,
}

/// A change of the state of a warp slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct WarpChange {
    /// Core cycle of the change.
    pub at: u64,
    /// Warp slot.
    pub warp: u8,
    /// The new state; `None` for an empty slot.
    pub state: Option<WarpActivity>,
}

/// The state or stall reason of a resident warp, depending on the kind of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum WarpActivity {
    /// State of a warp on a core with a scoreboard.
    State(WarpState),
    /// Stall reason of a warp on a core with control words.
    Reason(WarpReason),
}

impl WarpActivity {
    /// Returns a readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::State(state) => state.name(),
            Self::Reason(reason) => reason.name(),
        }
    }
}

/// The state of a resident warp on a core with a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum WarpState {
    /// The warp has issued its last instruction and waits for other warps or for its stores.
    Completed,
    /// The warp waits at a barrier, for a fence or for an atomic.
    Waiting,
    /// The warp's instruction buffer is empty.
    BufferEmpty,
    /// The warp's next instruction waits for a register that a memory instruction writes.
    ScoreboardMemory,
    /// The warp's next instruction waits for a register that an arithmetic instruction writes.
    ScoreboardAlu,
    /// A limit of warps, a ready queue or CCWS keeps the warp from issuing.
    HeldBack,
    /// The warp's next instruction, a memory instruction, could issue, but the register before the load/store unit is full.
    StallMemory,
    /// The warp's next instruction, an arithmetic instruction, could issue, but the register before its unit is full.
    StallAlu,
    /// The warp can issue a memory instruction.
    CanIssueMemory,
    /// The warp can issue an arithmetic instruction.
    CanIssueAlu,
}

impl WarpState {
    /// All states, in the order of their precedence.
    pub const ALL: [Self; 10] = [
        Self::Completed,
        Self::Waiting,
        Self::BufferEmpty,
        Self::ScoreboardMemory,
        Self::ScoreboardAlu,
        Self::HeldBack,
        Self::StallMemory,
        Self::StallAlu,
        Self::CanIssueMemory,
        Self::CanIssueAlu,
    ];

    /// Returns a readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Waiting => "barrier, fence or atomic",
            Self::BufferEmpty => "instruction buffer empty",
            Self::ScoreboardMemory => "waits for memory",
            Self::ScoreboardAlu => "waits for arithmetic",
            Self::HeldBack => "held back",
            Self::StallMemory => "load/store unit full",
            Self::StallAlu => "arithmetic unit full",
            Self::CanIssueMemory => "can issue a memory instruction",
            Self::CanIssueAlu => "can issue an arithmetic instruction",
        }
    }
}

/// The state of a warp in a cycle, by Nsight's names. Nsight's reason "sleeping" is missing, since the core does not model it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum WarpReason {
    /// The warp issues an instruction.
    Selected,
    /// The warp could issue, but another warp issues.
    NotSelected,
    /// The stall count of the warp's last instruction has not expired, or a register of its next instruction waits for a fixed-latency
    /// unit.
    Wait,
    /// The warp waits for a counter or register that the L1 or the texture unit will release.
    LongScoreboard,
    /// The warp waits for a counter that shared memory or a variable-latency unit will release.
    ShortScoreboard,
    /// The warp waits for matrix products of its warp group, or for queue space for another product.
    Gmma,
    /// The math pipe that the warp needs is busy.
    MathPipeThrottle,
    /// An instruction that waits for its register reads occupies the control stage or the latch of the pipe.
    Dispatch,
    /// The queue is full for the warp's access to global or local memory.
    LgThrottle,
    /// The queue is full for the warp's texture access.
    TexThrottle,
    /// The queue is full for another instruction of the warp.
    MioThrottle,
    /// The warp waits at a barrier of its CTA or cluster.
    Barrier,
    /// The warp waits at a memory fence.
    Membar,
    /// The warp's branch target is not resolved yet.
    BranchResolving,
    /// The warp's next instruction has not been fetched yet.
    NoInstruction,
    /// The constant that the warp's next instruction reads misses in the constant cache of its sub-core.
    ImcMiss,
    /// The warp has issued its last instruction and has operations in flight.
    Drain,
    /// A limit of warps or a preemption keeps the warp from issuing.
    Misc,
    /// The warp waits for the end of the previous launch in a programmatic dependent launch (griddepcontrol.wait).
    GridDependency,
}

impl WarpReason {
    /// All reasons, in their order.
    pub const ALL: [Self; 19] = [
        Self::Selected,
        Self::NotSelected,
        Self::Wait,
        Self::LongScoreboard,
        Self::ShortScoreboard,
        Self::Gmma,
        Self::MathPipeThrottle,
        Self::Dispatch,
        Self::LgThrottle,
        Self::TexThrottle,
        Self::MioThrottle,
        Self::Barrier,
        Self::Membar,
        Self::BranchResolving,
        Self::NoInstruction,
        Self::ImcMiss,
        Self::Drain,
        Self::Misc,
        Self::GridDependency,
    ];

    /// Returns Nsight's name; `grid_dependency` is warpshard's name for a wait that Nsight does not list.
    pub fn name(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::NotSelected => "not_selected",
            Self::Wait => "wait",
            Self::LongScoreboard => "long_scoreboard",
            Self::ShortScoreboard => "short_scoreboard",
            Self::Gmma => "gmma",
            Self::MathPipeThrottle => "math_pipe_throttle",
            Self::Dispatch => "dispatch_stall",
            Self::LgThrottle => "lg_throttle",
            Self::TexThrottle => "tex_throttle",
            Self::MioThrottle => "mio_throttle",
            Self::Barrier => "barrier",
            Self::Membar => "membar",
            Self::BranchResolving => "branch_resolving",
            Self::NoInstruction => "no_instruction",
            Self::ImcMiss => "imc_miss",
            Self::Drain => "drain",
            Self::Misc => "misc",
            Self::GridDependency => "grid_dependency",
        }
    }
}

/// An event of the asynchronous units of an SM, outside its warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct AsyncEvent {
    /// Core cycle of the event.
    pub at: u64,
    /// CTA slot of the SM.
    pub slot: u8,
    /// The kind of event.
    pub what: AsyncEventKind,
}

/// The kind of an event of an SM's asynchronous units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum AsyncEventKind {
    /// A warp begins a bulk copy.
    CopyBegins {
        /// Warp slot.
        warp: u8,
        /// Sequence number of the copy on its SM, counted from 0.
        number: u64,
        /// Direction of the copy.
        kind: CopyKind,
        /// Bytes of the copy.
        bytes: u32,
        /// For a load, the address of the barrier that counts the bytes.
        barrier: Option<u32>,
    },
    /// A bulk copy is complete.
    CopyEnds {
        /// Sequence number of the copy on its SM, counted from 0.
        number: u64,
    },
    /// A barrier in shared memory is initialised.
    BarrierBegins {
        /// The barrier's address in the CTA's shared memory.
        address: u32,
    },
    /// The phase of a barrier ends.
    PhaseEnds {
        /// The barrier's address.
        address: u32,
        /// The parity of the phase that ends.
        parity: bool,
    },
    /// A warp begins to wait for the end of a barrier's phase.
    WaitBegins {
        /// Warp slot.
        warp: u8,
        /// The barrier's address.
        address: u32,
        /// The parity of the phase.
        parity: bool,
    },
    /// A warp begins to wait for its bulk stores.
    StoresWaitBegins {
        /// Warp slot.
        warp: u8,
    },
    /// A warp stops waiting.
    WaitEnds {
        /// Warp slot.
        warp: u8,
    },
    /// The matrix units are scheduled to multiply for a warp group.
    Product {
        /// The unfinished warps of the group, as a bit set of warp slots.
        group: u64,
        /// First cycle of the multiplication.
        begins: u64,
        /// First cycle after the multiplication.
        ends: u64,
    },
}

/// The direction of a bulk copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CopyKind {
    /// From device memory to shared memory.
    Load,
    /// From shared memory to device memory.
    Store,
    /// From shared memory to device memory, combined with the contents of device memory.
    Reduce,
    /// From device memory to the LLC.
    Prefetch,
    /// Within the shared memory of a cluster.
    Move,
}

impl CopyKind {
    /// Returns a readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Reduce => "reduce",
            Self::Prefetch => "prefetch",
            Self::Move => "copy within the cluster",
        }
    }
}

/// Activity of a DRAM channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelActivity {
    /// Number of the memory partition.
    pub partition: u16,
    /// Frequency of the command clock in kHz.
    pub khz: u64,
    /// Banks that a refresh closes and keeps busy: the banks of a pseudo channel.
    pub span: u8,
    /// Duration of a burst on the data bus in command clocks.
    pub burst: u32,
    /// Duration of a refresh in command clocks; 0 without refresh.
    pub refresh: u32,
    /// Duration of a single-bank refresh in command clocks; 0 without such refreshes.
    pub refresh_bank: u32,
    /// Commands, by cycle.
    pub commands: EventLog<BankCommand>,
}

/// A command of a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankCommand {
    /// Command clock at which the command is issued.
    pub at: u64,
    /// The bank of the command; for a command to several banks, the first one.
    pub bank: u8,
    /// The kind of command.
    pub what: BankEvent,
    /// The row that is opened, read or written; 0 for other commands.
    pub row: u32,
}

/// The kind of a DRAM command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankEvent {
    /// Opens a row.
    Open,
    /// Closes the row of a bank.
    Close,
    /// Closes the rows of all banks of a pseudo channel.
    CloseAll,
    /// Reads a burst, and closes the row if `closes` is true.
    Read {
        /// True if the command closes the row.
        closes: bool,
    },
    /// Writes a burst, and closes the row if `closes` is true.
    Write {
        /// True if the command closes the row.
        closes: bool,
    },
    /// Refreshes the banks of a pseudo channel.
    Refresh,
    /// Refreshes one bank.
    RefreshBank,
}

/// A bounded event log: the first events from a given cycle on.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct EventLog<T> {
    /// The recorded events.
    pub events: Vec<T>,
    /// Number of events beyond the bound, which are not recorded.
    pub left_out: u64,
    from: u64,
    most: usize,
}

impl<T> Default for EventLog<T> {
    fn default() -> Self {
        Self::new(0, usize::MAX)
    }
}

impl<T> EventLog<T> {
    /// Creates an empty log for at most `most` events from cycle `from` of the unit's clock on.
    pub fn new(from: u64, most: usize) -> Self {
        Self { events: Vec::new(), left_out: 0, from, most }
    }

    /// Records an event that happened at, or lasted until, cycle `at`.
    #[cold]
    #[inline(never)]
    pub fn push(&mut self, at: u64, event: T) {
        if at < self.from {
            return;
        }
        if self.events.len() < self.most {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the first recorded cycle.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Returns the log with every event converted by `change`.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> EventLog<U> {
        EventLog { events: self.events.into_iter().map(change).collect(), left_out: self.left_out, from: self.from, most: self.most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_the_first_events_of_its_time_and_counts_the_others() {
        let mut log = EventLog::new(10, 2);
        (8..14).for_each(|at| log.push(at, at));
        assert_eq!((log.events.as_slice(), log.left_out), (&[10, 11][..], 2));
        assert_eq!(log.map(|at| at * 2).events, [20, 22]);
    }
}
