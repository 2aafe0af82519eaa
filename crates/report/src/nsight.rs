//! The correspondence between Nsight Compute's stall reasons and warpshard's states of warps and schedulers (`docs/counters.md`).

/// Stall reasons of Nsight Compute and the equivalent counters.
#[derive(Clone, Copy, Debug)]
pub struct StallMetric {
    /// The name of the metric in comparisons.
    pub metric: &'static str,
    /// Nsight Compute's reasons, as in `smsp__average_warps_issue_stalled_REASON_per_issue_active`.
    pub nsight: &'static [&'static str],
    /// Counters of scheduler cycles.
    pub ours: &'static [&'static str],
}

/// All stall reasons. Nsight Compute counts every waiting warp, and warpshard assigns one reason to each scheduler cycle, so that only
/// shares can be compared.
pub const STALL_METRICS: &[StallMetric] = &[
    StallMetric { metric: "stall shares: selected", nsight: &["selected"], ours: &["issued"] },
    StallMetric { metric: "stall shares: long_scoreboard", nsight: &["long_scoreboard"], ours: &["stall_scoreboard_memory"] },
    StallMetric { metric: "stall shares: wait + short_scoreboard", nsight: &["wait", "short_scoreboard"], ours: &["stall_scoreboard_alu"] },
    StallMetric {
        metric: "stall shares: lg_throttle + mio_throttle",
        nsight: &["lg_throttle", "mio_throttle"],
        ours: &["stall_memory_pipeline"],
    },
    StallMetric {
        metric: "stall shares: math_pipe_throttle + dispatch_stall",
        nsight: &["math_pipe_throttle", "dispatch_stall"],
        ours: &["stall_pipeline", "stall_memory_collectors"],
    },
    StallMetric { metric: "stall shares: barrier", nsight: &["barrier"], ours: &["stall_barrier"] },
    StallMetric { metric: "stall shares: membar", nsight: &["membar"], ours: &["stall_fence"] },
    StallMetric {
        metric: "stall shares: no_instruction + branch_resolving",
        nsight: &["no_instruction", "branch_resolving"],
        ours: &["stall_fetch"],
    },
];

/// A state of warps.
#[derive(Clone, Copy, Debug)]
pub struct WarpStateMetric {
    /// The name of the metric in comparisons.
    pub metric: &'static str,
    /// Nsight Compute's name, as in `smsp__average_warps_issue_stalled_STATE_per_issue_active`.
    pub nsight: &'static str,
    /// The counter of warp cycles in this state, if SMs count them (`gpu.sm.warp_states`, with control words).
    pub ours: &'static str,
}

/// Prefix of the counters of warp cycles by state.
pub const WARP_COUNTER_PREFIX: &str = "warp_";

macro_rules! states {
    ($($state:literal),* $(,)?) => {
        &[$(WarpStateMetric { metric: concat!("warp states: ", $state), nsight: $state, ours: concat!("warp_", $state) }),*]
    };
}

/// All of Nsight Compute's warp states. No simulated warp sleeps.
pub const WARP_STATE_METRICS: &[WarpStateMetric] = states![
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

/// States that Nsight Compute does not list: `grid_dependency` means that a warp waits for the end of the previous launch.
pub const ADDITIONAL_WARP_STATE_METRICS: &[WarpStateMetric] = states!["grid_dependency"];
