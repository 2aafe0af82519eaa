//! Reproducible experiments over many runs, compared with references. The only room that reads reference results.

pub mod accel_sim;
pub mod bench;
mod compare;
pub mod cpu;
pub mod dispatch;
pub mod dram;
pub mod hetero;
mod kept;
pub mod noc;
pub mod oracle;
mod output;
pub mod power;
mod reference;
pub mod relaxed;
mod traces;
pub mod wa_sched;

pub use bench::BenchOptions;
pub use hetero::HeteroOptions;
pub use output::{StudyError, StudyOutput};
pub use reference::{ReferenceRow, read as read_reference, trace_folder};
pub use traces::{TraceRun, Traces};

/// A study as the command line lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
}

/// All studies.
pub const STUDIES: &[StudyInfo] = &[
    StudyInfo { name: "accel-sim", summary: "net cycles of recorded and generated traces beside Accel-Sim's" },
    StudyInfo { name: "characterise", summary: "kernels of the thesis on workload-aware scheduling beside its tables" },
    StudyInfo { name: "cpu", summary: "IPC of a CPU core on recorded traces beside Ramulator 1's" },
    StudyInfo { name: "dispatch", summary: "what binding CTAs ahead costs, against dispatch within a cycle" },
    StudyInfo { name: "relaxed", summary: "what epochs beyond the lookahead cost in truth and bring in speed" },
    StudyInfo {
        name: "hetero",
        summary: "CM-CPU, CM-BAL, DYNCTA, CCWS and fixed limits of warps beside CPU applications, against the paper",
    },
    StudyInfo { name: "hetero-directions", summary: "the CPU+GPU chip beside what its paper states of interference, warps and partitions" },
    StudyInfo { name: "noc", summary: "latency and throughput of networks beside BookSim 2's" },
    StudyInfo { name: "onac", summary: "ONAC and Seq-Det, how many cores kernels need, beside the thesis's Section 4.4" },
    StudyInfo { name: "oracle", summary: "any workload with every static limit of CTAs per SM, and the best" },
    StudyInfo { name: "perf-sat", summary: "Perf-Sat on the thesis's kernels beside its Section 4.3" },
    StudyInfo { name: "phase-aware", summary: "warp schedulers on the thesis's kernels beside its Section 3.5" },
    StudyInfo { name: "power", summary: "the power of event energies beside board power measured on a V100" },
    StudyInfo { name: "dram", summary: "a DRAM channel beside Ramulator 2 and DRAMsim3, point by point" },
];
