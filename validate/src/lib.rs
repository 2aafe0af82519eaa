//! Comparisons with simulators and hardware, and the benchmark.
//!
//! A comparison is a file with a function and a row of [`STUDIES`]; its reference values are in `published/` and `reference/`. The code
//! that all studies share is in the package `warpshard-lab`.
#![forbid(unsafe_code)]

pub mod accel_sim;
pub mod bench;
pub mod cpu;
pub mod dispatch;
pub mod dram;
pub mod micro;
mod multi_gpu;
pub mod noc;
pub mod power;
mod reference;
pub mod relaxed;
mod sampling;
mod silicon;
mod traces;
mod v100;

use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::request::{Request, Study, StudyOption};

pub use bench::BenchOptions;
pub use reference::{AccelSimResults, MeasuredTable, ReferenceRow, accel_sim_results, trace_folder};
pub use silicon::measurements;
pub use traces::{TraceRun, Traces};

/// Reason why studies of a single model refuse machines, policies and orders; the end of an error message.
const SINGLE_MODEL_REASON: &str = "it tests one model alone, with the configurations of the reference";

/// Runs a study on the traces for which the reference has results on a configuration. By default, the machine determines the configuration.
fn run_on_configuration(
    request: &Request,
    run: impl Fn(&References, &str, &Traces<'_>) -> Result<StudyOutput, StudyError>,
) -> Result<StudyOutput, StudyError> {
    let traces = Traces::from_request(request, "v100");
    let configuration = request.configuration.as_deref().unwrap_or_else(|| accel_sim::configuration_of(traces.machine));
    run(&request.references, configuration, &traces)
}

/// All studies.
pub const STUDIES: &[Study] = &[
    Study {
        name: "accel-sim",
        summary: "net cycles of recorded and generated traces, compared with Accel-Sim's",
        machine: "v100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Configuration],
        rejection_reason: "it runs all traces of the reference in the reference's setup",
        swept_keys: &[],
        run: |request| run_on_configuration(request, accel_sim::run),
    },
    Study {
        name: "cpu",
        summary: "IPC of a CPU core on recorded traces, compared with Ramulator 1's",
        machine: "",
        accepted_options: &[],
        rejection_reason: SINGLE_MODEL_REASON,
        swept_keys: &[],
        run: |request| cpu::run(&request.references),
    },
    Study {
        name: "dispatch",
        summary: "error of binding CTAs to SMs ahead of time, compared with dispatch within a cycle",
        machine: "v100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Configuration],
        rejection_reason: "it runs all traces of the reference in the reference's setup",
        swept_keys: &[],
        run: |request| run_on_configuration(request, dispatch::run),
    },
    Study {
        name: "relaxed",
        summary: "error and speed of epochs longer than the lookahead",
        machine: "v100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set],
        rejection_reason: "it runs the standard set of traces",
        swept_keys: &[],
        run: |request| relaxed::run(&request.references, &Traces::from_request(request, "v100")),
    },
    Study {
        name: "micro",
        summary: "microbenchmarks, compared with those of an H100 or with a file of your own GPU",
        machine: micro::DEFAULT_MACHINE,
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Only, StudyOption::Length],
        rejection_reason: "it runs the microbenchmarks of the suite",
        swept_keys: &[],
        run: micro::study,
    },
    Study {
        name: "multi-gpu",
        summary: "systems of V100: copies, remote loads, all-reduce and kernels on several GPUs, compared with measurements where published",
        machine: "dgx1-v100",
        accepted_options: &[StudyOption::Set],
        rejection_reason: "its systems are fixed; --set changes keys of all of them",
        swept_keys: &[],
        run: multi_gpu::study,
    },
    Study {
        name: "noc",
        summary: "latency and throughput of networks, compared with BookSim 2's",
        machine: "",
        accepted_options: &[],
        rejection_reason: SINGLE_MODEL_REASON,
        swept_keys: &[],
        run: |request| noc::run(&request.references),
    },
    Study {
        name: "power",
        summary: "power of event energies, compared with board power measured on a V100",
        machine: "",
        accepted_options: &[],
        rejection_reason: "it evaluates measured counters and simulates no machine",
        swept_keys: &[],
        run: |request| power::run(&request.references),
    },
    Study {
        name: "dram",
        summary: "a DRAM channel, compared with Ramulator 2 and DRAMsim3, point by point",
        machine: "",
        accepted_options: &[],
        rejection_reason: SINGLE_MODEL_REASON,
        swept_keys: &[],
        run: |request| dram::run(&request.references),
    },
    Study {
        name: "sampling",
        summary: "sampled runs of long workloads, compared with whole ones: error, intervals and speed",
        machine: "v100",
        accepted_options: &[StudyOption::Set, StudyOption::Length, StudyOption::Only],
        rejection_reason: "its workloads and machine are fixed",
        swept_keys: &["gpu.sms", "mem.map.partitions"],
        run: sampling::study,
    },
    Study {
        name: "silicon",
        summary: "cycles, sectors and stalls of the suite's launches, compared with a real H100's",
        machine: "h100",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Length, StudyOption::Only],
        rejection_reason: "it runs the programs that were measured, with their inputs",
        swept_keys: &["clocks.core", "clocks.noc"],
        run: silicon::study,
    },
    Study {
        name: "v100",
        summary: "cycles of programs, compared with those of a real V100 and with Accel-Sim's",
        machine: "v100-hw",
        accepted_options: &[StudyOption::Machine, StudyOption::Set, StudyOption::Only],
        rejection_reason: "it runs the programs with the inputs of the measurements",
        swept_keys: &[],
        run: v100::study,
    },
];

#[cfg(test)]
mod tests {
    #[test]
    fn stored_results_are_reproduced() {
        let results = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/results"));
        warpshard_lab::stored::check_stored(
            results,
            &[("sampling", |_| super::sampling::recompute_first_run().unwrap()), ("silicon", super::silicon::recompute_row)],
        );
    }
}
