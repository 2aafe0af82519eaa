//! What chosen units did, event by event, for viewers of traces. Plain data, a bounded number of events per unit.

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// SMs whose warps are recorded, besides the CTAs of all SMs.
    pub sms: Vec<u16>,
    /// Memory partitions whose DRAM banks are recorded.
    pub partitions: Vec<u16>,
    /// Nothing before this core cycle.
    pub from: u64,
    /// Events of each unit of each kind, at most.
    pub most: usize,
}

/// What was recorded; empty where nothing was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// SMs, by number.
    pub sms: Vec<SmActivity>,
    /// DRAM channels, by number.
    pub channels: Vec<ChannelActivity>,
}

/// What an SM did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmActivity {
    /// Which SM.
    pub sm: u16,
    /// CTAs in the order in which they left, then those that are resident at the end.
    pub ctas: Log<CtaSpan>,
    /// Changes of the warps' states, by cycle.
    pub warps: Log<WarpChange>,
    /// Bulk copies, barriers in shared memory and products of warp groups, of cores with control words.
    pub beside: Log<BesideEvent>,
}

/// A CTA on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CtaSpan {
    /// The kernel's place in the workload.
    pub kernel: u32,
    /// The CTA's number in its grid.
    pub cta: u32,
    /// Core cycle in which it started.
    pub started: u64,
    /// Core cycle in which it left; `None` where it is resident at the end.
    pub left: Option<u64>,
    /// Whether it was taken away before its end.
    pub preempted: bool,
}

/// A warp slot has another state from a cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct WarpChange {
    /// Core cycle.
    pub at: u64,
    /// Warp slot.
    pub warp: u8,
    /// The state; `None` for an empty slot.
    pub state: Option<Doing>,
}

/// What a resident warp does or waits for, as its kind of core counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Doing {
    /// On a core with a scoreboard.
    State(WarpState),
    /// On a core with control words.
    Reason(WarpReason),
}

impl Doing {
    /// A name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::State(state) => state.name(),
            Self::Reason(reason) => reason.name(),
        }
    }
}

/// What a resident warp does or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum WarpState {
    /// It has issued its last instruction and waits for others or for its stores.
    Completed,
    /// It waits at a barrier, for a fence or an atomic.
    Waiting,
    /// Its instruction buffer is empty.
    BufferEmpty,
    /// Its next instruction waits for a register that a memory instruction writes.
    ScoreboardMemory,
    /// Its next instruction waits for a register that an arithmetic instruction writes.
    ScoreboardAlu,
    /// A limit of warps, a ready queue or CCWS holds it back.
    HeldBack,
    /// Its next instruction, a memory one, could issue, but the register before the load/store unit is full.
    StallMemory,
    /// Its next instruction, an arithmetic one, could issue, but the register before its unit is full.
    StallAlu,
    /// A memory instruction can issue.
    CanIssueMemory,
    /// An arithmetic instruction can issue.
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

    /// A name for people.
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

/// What a warp does in a cycle, by Nsight's names. The core has no warps that sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub enum WarpReason {
    /// It issues.
    Selected,
    /// It could issue, and another warp does.
    NotSelected,
    /// The stall count of its last instruction is not over, or a register that it names waits for a unit of fixed latency.
    Wait,
    /// It waits for a counter or register that the L1 or the texture unit will release.
    LongScoreboard,
    /// It waits for a counter that shared memory or a unit of variable latency will release.
    ShortScoreboard,
    /// It waits for products of its warp group, or for room for one more.
    Gmma,
    /// Its pipe is busy.
    MathPipeThrottle,
    /// An instruction that waits for its register reads holds the control stage, or the latch of the pipe.
    Dispatch,
    /// The queue is full for an access to global or local memory.
    LgThrottle,
    /// The queue is full for a texture access.
    TexThrottle,
    /// The queue is full for another instruction.
    MioThrottle,
    /// It waits at a barrier of its CTA or cluster.
    Barrier,
    /// It waits at a memory fence.
    Membar,
    /// The target of its branch is not known yet.
    BranchResolving,
    /// Its next instruction is not there.
    NoInstruction,
    /// The constant that its next instruction reads is not in the cache of its sub-core.
    ImcMiss,
    /// It has issued its last instruction, and something of it is under way.
    Drain,
    /// A limit of warps or a preemption holds it back.
    Misc,
    /// It waits for the end of the launch before its own, a programmatic dependent one (griddepcontrol.wait).
    GridDependency,
}

impl WarpReason {
    /// All of them, in their order.
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

    /// Nsight's name; `grid_dependency` is our own, for a wait that Nsight does not list.
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

/// What an SM begins or ends beside its warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct BesideEvent {
    /// Core cycle.
    pub at: u64,
    /// Slot of the CTA in its SM.
    pub slot: u8,
    /// What happens.
    pub what: BesideChange,
}

/// What happens beside the warps of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum BesideChange {
    /// A warp begins a bulk copy.
    CopyBegins {
        /// Warp slot.
        warp: u8,
        /// Copies of the SM before it.
        number: u64,
        /// Where it goes.
        kind: CopyKind,
        /// Its bytes.
        bytes: u32,
        /// The barrier at which they count, of a load.
        barrier: Option<u32>,
    },
    /// A bulk copy is complete.
    CopyEnds {
        /// Copies of the SM before it.
        number: u64,
    },
    /// A barrier in shared memory is initialised.
    BarrierBegins {
        /// Its address in the CTA's shared memory.
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
    /// A warp waits no longer.
    WaitEnds {
        /// Warp slot.
        warp: u8,
    },
    /// The matrix units will multiply for a warp group.
    Product {
        /// Its warps that have not finished, as a set of slots.
        group: u64,
        /// The first cycle in which they do.
        begins: u64,
        /// The first cycle in which they no longer do.
        ends: u64,
    },
}

/// Where a bulk copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CopyKind {
    /// From device memory to shared memory.
    Load,
    /// From shared memory to device memory.
    Store,
    /// The same, combined with the contents of device memory.
    Reduce,
    /// From device memory to the LLC.
    Prefetch,
    /// Within the shared memory of a cluster.
    Move,
}

impl CopyKind {
    /// A name for people.
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

/// What a DRAM channel did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelActivity {
    /// Which memory partition.
    pub partition: u16,
    /// kHz of the command clock.
    pub khz: u64,
    /// Banks that a refresh closes and keeps busy: those of a pseudo channel.
    pub span: u8,
    /// Command clocks of a burst on the data bus.
    pub burst: u32,
    /// Command clocks of a refresh; 0 where there is none.
    pub refresh: u32,
    /// Command clocks of the refresh of one bank; 0 where there is none.
    pub refresh_bank: u32,
    /// Commands, by cycle.
    pub commands: Log<BankCommand>,
}

/// A command of a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankCommand {
    /// Command clock.
    pub at: u64,
    /// The bank, or the first one of those that the command addresses.
    pub bank: u8,
    /// What it does.
    pub what: BankEvent,
    /// The row that is opened, read or written; 0 for other commands.
    pub row: u32,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankEvent {
    /// Opens a row.
    Open,
    /// Closes the row of a bank.
    Close,
    /// Closes the rows of all banks of a pseudo channel.
    CloseAll,
    /// Reads a burst, and closes the row if `closes`.
    Read {
        /// Whether the row is closed.
        closes: bool,
    },
    /// Writes a burst, and closes the row if `closes`.
    Write {
        /// Whether the row is closed.
        closes: bool,
    },
    /// Refreshes the banks of a pseudo channel.
    Refresh,
    /// Refreshes one bank.
    RefreshBank,
}

/// A bounded list of events: the first ones from a cycle on.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Log<T> {
    /// The events.
    pub events: Vec<T>,
    /// How many there were beyond the bound.
    pub left_out: u64,
    from: u64,
    most: usize,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self::new(0, usize::MAX)
    }
}

impl<T> Log<T> {
    /// An empty list for at most `most` events from cycle `from` of the unit's clock on.
    pub fn new(from: u64, most: usize) -> Self {
        Self { events: Vec::new(), left_out: 0, from, most }
    }

    /// An event that happened at, or lasted until, cycle `at`.
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

    /// The first cycle that is recorded.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// The same list of other events.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Log<U> {
        Log { events: self.events.into_iter().map(change).collect(), left_out: self.left_out, from: self.from, most: self.most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_the_first_events_of_its_time_and_counts_the_others() {
        let mut log = Log::new(10, 2);
        (8..14).for_each(|at| log.push(at, at));
        assert_eq!((log.events.as_slice(), log.left_out), (&[10, 11][..], 2));
        assert_eq!(log.map(|at| at * 2).events, [20, 22]);
    }
}
