//! Nsight Compute's stall reasons beside the states of our warps and schedulers (`docs/counters.md`).

/// Reasons that mean the same.
#[derive(Clone, Copy, Debug)]
pub struct Stalls {
    /// The metric, as comparisons name it.
    pub metric: &'static str,
    /// Nsight's reasons, as in `smsp__average_warps_issue_stalled_REASON_per_issue_active`.
    pub nsight: &'static [&'static str],
    /// Our counters of scheduler cycles.
    pub ours: &'static [&'static str],
}

/// All of them. Nsight counts every waiting warp, and we give each scheduler cycle one reason, so that only shares can be compared.
pub const STALLS: &[Stalls] = &[
    Stalls { metric: "stall shares: selected", nsight: &["selected"], ours: &["issued"] },
    Stalls { metric: "stall shares: long_scoreboard", nsight: &["long_scoreboard"], ours: &["stall_scoreboard_memory"] },
    Stalls { metric: "stall shares: wait + short_scoreboard", nsight: &["wait", "short_scoreboard"], ours: &["stall_scoreboard_alu"] },
    Stalls {
        metric: "stall shares: lg_throttle + mio_throttle",
        nsight: &["lg_throttle", "mio_throttle"],
        ours: &["stall_memory_pipeline"],
    },
    Stalls {
        metric: "stall shares: math_pipe_throttle + dispatch_stall",
        nsight: &["math_pipe_throttle", "dispatch_stall"],
        ours: &["stall_pipeline", "stall_memory_collectors"],
    },
    Stalls { metric: "stall shares: barrier", nsight: &["barrier"], ours: &["stall_barrier"] },
    Stalls { metric: "stall shares: membar", nsight: &["membar"], ours: &["stall_fence"] },
    Stalls {
        metric: "stall shares: no_instruction + branch_resolving",
        nsight: &["no_instruction", "branch_resolving"],
        ours: &["stall_fetch"],
    },
];

/// A state of warps.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The metric, as comparisons name it.
    pub metric: &'static str,
    /// Nsight's name, as in `smsp__average_warps_issue_stalled_STATE_per_issue_active`.
    pub nsight: &'static str,
    /// The counter of warp cycles in it, where SMs count them (`gpu.sm.warp_states`, with control words).
    pub ours: &'static str,
}

/// What the counters of warp cycles by state begin with.
pub const OF_WARP: &str = "warp_";

macro_rules! states {
    ($($state:literal),* $(,)?) => {
        &[$(State { metric: concat!("warp states: ", $state), nsight: $state, ours: concat!("warp_", $state) }),*]
    };
}

/// All of Nsight's states of warps. Ours do not sleep.
pub const STATES: &[State] = states![
    "selected",
    "not_selected",
    "wait",
    "long_scoreboard",
    "short_scoreboard",
    "gmma",
    "math_pipe_throttle",
    "dispatch_stall",
    "lg_throttle",
    "tex_throttle",
    "mio_throttle",
    "barrier",
    "membar",
    "branch_resolving",
    "no_instruction",
    "imc_miss",
    "sleeping",
    "drain",
    "misc",
];

/// States that Nsight does not list: a warp waits for the end of the launch before its own.
pub const OWN_STATES: &[State] = states!["grid_dependency"];
