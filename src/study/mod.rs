//! Reproducible experiments over many runs, compared with references. The only module that reads reference results.
//!
//! A study is a file with a function, a row of [`STUDIES`], and a table of published values in `configs/published/`. What studies
//! have in common is in `lab`.

pub mod accel_sim;
pub mod bench;
mod cd_search;
pub mod cpu;
pub mod dispatch;
pub mod dram;
mod dual_kernel;
pub mod hetero;
mod interleave;
mod kernel_mgmt;
mod lab;
mod multi_gpu;
pub mod noc;
mod oracle;
pub mod power;
mod reference;
pub mod relaxed;
mod sampling;
#[cfg(test)]
mod stored;
#[cfg(test)]
mod tests;
mod traces;
mod v100;
pub mod wa_sched;

use lab::request::StudyOption::{
    Configuration, Cycles, Length, Longest, Machine, Only, Order, Pairs, Policy, Scale, Set, Windows, Workload,
};
use lab::statistics as compare;

pub use bench::BenchOptions;
pub use lab::ProgressFn;
pub use lab::output::{StudyError, StudyOutput};
pub use lab::request::{LoadFn, Request, Study, StudyOption};
pub use reference::{AccelSimResults, Measured, ReferenceRow, References};
pub use traces::{TraceRun, Traces};

/// Why studies of the thesis take no machine.
const THESIS: &str = "its machines are those of the published tables; --set changes values of them";
/// Why studies that test one model alone take no machine, policy or order.
const ALONE: &str = "it tests one model alone, with the configurations of the reference";

/// Runs a study of the traces that a configuration of the reference has results of: the machine's own, unless the request names one.
fn on_configuration(
    request: &Request,
    run: impl Fn(&References, &str, &Traces<'_>) -> Result<StudyOutput, StudyError>,
) -> Result<StudyOutput, StudyError> {
    let traces = request.traces("v100");
    let configuration = request.configuration.as_deref().unwrap_or_else(|| accel_sim::configuration_of(traces.machine));
    run(&request.references, configuration, &traces)
}

/// All studies.
pub const STUDIES: &[Study] = &[
    Study {
        name: "accel-sim",
        summary: "net cycles of recorded and generated traces, compared with Accel-Sim's",
        machine: "v100",
        takes: &[Machine, Set, Configuration],
        otherwise: "it runs all traces of the reference as the reference ran them",
        sweeps: &[],
        run: |request| on_configuration(request, accel_sim::run),
    },
    Study {
        name: "cd-search",
        summary: "applications that share the SMs, evenly and by CD-search, compared with the paper",
        machine: "fermi24",
        takes: &[Set, Length, Pairs, Configuration],
        otherwise: "its applications and machine are those of the paper",
        sweeps: &[],
        run: cd_search::study,
    },
    Study {
        name: "characterise",
        summary: "kernels of the thesis on workload-aware scheduling, compared with its tables",
        machine: "m2090",
        takes: &[Set, Policy, Order, Length, Only],
        otherwise: THESIS,
        sweeps: &["gpu.sm.max_ctas", "gpu.sms"],
        run: wa_sched::characterise::study,
    },
    Study {
        name: "cpu",
        summary: "IPC of a CPU core on recorded traces, compared with Ramulator 1's",
        machine: "",
        takes: &[],
        otherwise: ALONE,
        sweeps: &[],
        run: |request| cpu::run(&request.references),
    },
    Study {
        name: "dispatch",
        summary: "error of binding CTAs to SMs ahead of time, compared with dispatch within a cycle",
        machine: "v100",
        takes: &[Machine, Set, Configuration],
        otherwise: "it runs all traces of the reference as the reference ran them",
        sweeps: &[],
        run: |request| on_configuration(request, dispatch::run),
    },
    Study {
        name: "relaxed",
        summary: "error and speed of epochs longer than the lookahead",
        machine: "v100",
        takes: &[Machine, Set],
        otherwise: "it runs the standard set of traces",
        sweeps: &[],
        run: |request| relaxed::run(&request.references, &request.traces("v100")),
    },
    Study {
        name: "dual-kernel",
        summary: "CTAs preempted one by one by a task that arrives, and Chimera, compared with the thesis",
        machine: "fermi15-preempt",
        takes: &[Set, Length, Pairs, Configuration],
        otherwise: "its benchmarks, schemes and machine are those of the thesis",
        sweeps: &["gpu.dispatch.sharing", "gpu.dispatch.share_sm", "gpu.dispatch.switch"],
        run: dual_kernel::study,
    },
    Study {
        name: "hetero",
        summary: "CM-CPU, CM-BAL, DYNCTA, CCWS and static warp limits with CPU applications, compared with the paper",
        machine: "hetero",
        takes: &[Set, Length, Longest, Scale, Pairs],
        otherwise: "its chips and schemes are those of the paper; --set changes values of all chips",
        sweeps: &["noc.mesh.cpu_vcs", "noc.mesh.cpu_channel_bytes", "mem.map.cpu_partitions", "gpu.sm.ccws.enabled"],
        run: hetero::concurrency::study,
    },
    Study {
        name: "hetero-directions",
        summary: "interference, warp limits and partitions of the CPU+GPU chip, compared with the paper",
        machine: "hetero",
        takes: &[Machine, Set, Windows, Longest],
        otherwise: "it sweeps static warp limits and partitions, which are what the paper states figures of",
        sweeps: &["noc.mesh.cpu_vcs", "noc.mesh.cpu_channel_bytes", "mem.map.cpu_partitions"],
        run: hetero::study,
    },
    Study {
        name: "kernel-mgmt",
        summary: "kernels that share every SM, with numbers of CTAs and cache bypassing under control, compared with the paper",
        machine: "fermi15",
        takes: &[Set, Length, Pairs, Configuration],
        otherwise: "its kernels and machine are those of the paper",
        sweeps: &["gpu.dispatch.sharing"],
        run: kernel_mgmt::study,
    },
    Study {
        name: "multi-gpu",
        summary: "systems of V100: copies, remote loads, all-reduce and kernels on several GPUs, compared with measurements where published",
        machine: "dgx1-v100",
        takes: &[Set],
        otherwise: "its systems are those of its figures; --set changes values of all of them",
        sweeps: &[],
        run: multi_gpu::study,
    },
    Study {
        name: "noc",
        summary: "latency and throughput of networks, compared with BookSim 2's",
        machine: "",
        takes: &[],
        otherwise: ALONE,
        sweeps: &[],
        run: |request| noc::run(&request.references),
    },
    Study {
        name: "onac",
        summary: "ONAC and Seq-Det, how many SMs kernels need, compared with Section 4.4 of the thesis",
        machine: "fermi32",
        takes: &[Set, Policy, Order, Length, Only],
        otherwise: THESIS,
        sweeps: &["gpu.sms"],
        run: wa_sched::onac::study,
    },
    Study {
        name: "oracle",
        summary: "any workload with every static limit of CTAs per SM, and the best",
        machine: "v100",
        takes: &[Machine, Set, Policy, Order, Workload, Cycles],
        otherwise: "it runs one workload of your choice",
        sweeps: &["gpu.sm.max_ctas"],
        run: oracle::study,
    },
    Study {
        name: "perf-sat",
        summary: "Perf-Sat on the kernels of the thesis, compared with its Section 4.3",
        machine: "m2090-v31",
        takes: &[Set, Policy, Order, Length, Only],
        otherwise: THESIS,
        sweeps: &["gpu.sm.max_ctas"],
        run: wa_sched::perf_sat::study,
    },
    Study {
        name: "phase-aware",
        summary: "warp schedulers on the kernels of the thesis, compared with its Section 3.5",
        machine: "m2090",
        takes: &[Set, Policy, Order, Length, Only],
        otherwise: THESIS,
        sweeps: &["gpu.sm.order"],
        run: wa_sched::phase_aware::study,
    },
    Study {
        name: "power",
        summary: "power of event energies, compared with board power measured on a V100",
        machine: "",
        takes: &[],
        otherwise: "it evaluates measured counters and simulates no machine",
        sweeps: &[],
        run: |request| power::run(&request.references),
    },
    Study {
        name: "dram",
        summary: "a DRAM channel, compared with Ramulator 2 and DRAMsim3, point by point",
        machine: "",
        takes: &[],
        otherwise: ALONE,
        sweeps: &[],
        run: |request| dram::run(&request.references),
    },
    Study {
        name: "interleave",
        summary: "two kernels on the same SMs, compared with Chapter 5 of the thesis on workload-aware scheduling",
        machine: "m2090",
        takes: &[Set],
        otherwise: "it runs the pairs of the published table on its machine",
        sweeps: &[],
        run: interleave::study,
    },
    Study {
        name: "sampling",
        summary: "sampled runs of long workloads, compared with whole ones: error, intervals and speed",
        machine: "v100",
        takes: &[Set, Length, Only],
        otherwise: "its workloads and machine are its own",
        sweeps: &["gpu.sms", "mem.map.partitions"],
        run: sampling::study,
    },
    Study {
        name: "v100",
        summary: "cycles of programs, compared with those of a real V100 and with Accel-Sim's",
        machine: "v100-hw",
        takes: &[Machine, Set, Only],
        otherwise: "it runs the programs whose inputs are those of the measurements",
        sweeps: &[],
        run: v100::study,
    },
];

/// The study of a name.
pub fn find_study(name: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.name == name)
}
