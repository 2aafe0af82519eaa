//! `study multi-gpu`: copies between GPUs, loads from another GPU's memory, all-reduce, and kernels on several GPUs.
//!
//! The copy engine executes the copies (`programs/collectives/copy.toml`). The loads follow a ring of pointers
//! (`programs/micro/peer_lat.toml`). The all-reduce uses a ring and a tree of a DGX-1 with eight V100s. A kernel is spread over one to
//! eight V100s with six links each to a switch; its pages are interleaved or placed by first touch. Published values exist only for the
//! copies.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Machine, Override};
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::request::Request;
use warpshard_program::Program;
use warpshard_stats::Outcome;
use warpshard_workload::Workload;

const PROGRAMS_FOLDER: &str = "programs";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedCopies {
    copies: Vec<PublishedCopy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedCopy {
    links: u32,
    gigabytes: f64,
    source: String,
}

fn published() -> PublishedCopies {
    toml::from_str(include_str!("../published/multi-gpu.toml")).expect("a built-in table")
}

/// Request of the study, with the helpers that build its runs.
struct MultiGpuStudy<'a> {
    request: &'a Request,
}

impl MultiGpuStudy<'_> {
    fn machine(&self, name: &str, more: &[(&str, &str)]) -> Result<Machine, StudyError> {
        let given = self.request.set.iter().map(|(key, value)| Override::new(key, value));
        let all: Vec<Override> = more.iter().map(|(key, value)| Override::new(*key, *value)).chain(given).collect();
        Machine::load(name, &all).map(|loaded| loaded.machine).map_err(StudyError::input)
    }

    fn load_program(file: &str, set: &[(&str, u64)]) -> Result<Arc<Workload>, StudyError> {
        let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        let program = Program::load(&Path::new(PROGRAMS_FOLDER).join(file), Some(70), &set);
        let workload = program.and_then(|program| program.workload());
        workload.map(Arc::new).map_err(StudyError::input)
    }

    fn run(machine: &Machine, workload: &Arc<Workload>) -> Result<Outcome, StudyError> {
        let result = simulate(machine, workload, RunOptions::default());
        result.map(|result| result.outcome).map_err(|error| StudyError::Input(format!("{}: {error}", workload.name)))
    }
}

/// Converts core cycles to seconds.
fn cycles_to_seconds(machine: &Machine, cycles: u64) -> f64 {
    cycles as f64 / (machine.clocks.core.0 as f64 * 1e3)
}

/// Runs all parts of the study.
///
/// # Errors
/// Fails if the programs are missing, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let setup = MultiGpuStudy { request };
    let mut output =
        StudyOutput::new("multi-gpu", "systems of V100: copies, remote loads, all-reduce and kernels on several GPUs".to_owned());
    output.columns(&["what", "size", "us", "GB/s", "published GB/s", "error %"]);
    study_copies(&setup, &mut output)?;
    study_loads(&setup, &mut output)?;
    study_all_reduce(&setup, &mut output)?;
    study_scaling(&setup, &mut output)?;
    Ok(output)
}

fn study_copies(setup: &MultiGpuStudy<'_>, output: &mut StudyOutput) -> Result<(), StudyError> {
    let machine = setup.machine("dgx1-v100", &[])?;
    let published = published();
    for (name, to, links) in [("copy over one NVLink", 1, 1), ("copy over two NVLinks", 3, 2), ("copy over PCIe, between processors", 5, 0)]
    {
        for bytes in [4 << 10, 64 << 10, 1 << 20, 16 << 20] {
            let outcome =
                MultiGpuStudy::run(&machine, &MultiGpuStudy::load_program("collectives/copy.toml", &[("bytes", bytes), ("to", to)])?)?;
            let kernel = &outcome.kernels[0];
            let cycles = kernel.ended.zip(kernel.started).map_or(0, |(ended, started)| ended - started);
            let time = cycles_to_seconds(&machine, cycles);
            let rate = bytes as f64 / time / 1e9;
            let known = published.copies.iter().find(|row| row.links == links && bytes == 16 << 20);
            let error = known.map(|row| 100.0 * (rate / row.gigabytes - 1.0));
            output.row(vec![
                name.to_owned(),
                bytes.to_string(),
                format!("{:.2}", time * 1e6),
                format!("{rate:.2}"),
                known.map_or_else(|| "-".into(), |row| format!("{:.1}", row.gigabytes)),
                error.map_or_else(|| "-".into(), |error| format!("{error:+.1}")),
            ]);
            if let (Some(row), Some(error)) = (known, error) {
                output.figure(&format!("{name}, error against {}, %", row.source), error);
            }
        }
    }
    Ok(())
}

fn study_loads(setup: &MultiGpuStudy<'_>, output: &mut StudyOutput) -> Result<(), StudyError> {
    let machine = setup.machine("v100x2", &[])?;
    for (name, home) in [("load from the own LLC", 0), ("load from the LLC of the other GPU", 1)] {
        let cycles = |steps: u64| -> Result<u64, StudyError> {
            let outcome =
                MultiGpuStudy::run(&machine, &MultiGpuStudy::load_program("micro/peer_lat.toml", &[("steps", steps), ("home", home)])?)?;
            Ok(outcome.cycles)
        };
        // The time of the rest of the kernel cancels out in the difference.
        let each = (cycles(1031)? - cycles(519)?) as f64 / 512.0;
        let time = each / (machine.clocks.core.0 as f64 * 1e3);
        output.row(vec![name.to_owned(), "32".into(), format!("{:.3}", time * 1e6), "-".into(), "-".into(), "-".into()]);
        output.figure(&format!("{name}, cycles"), each);
    }
    Ok(())
}

fn study_all_reduce(setup: &MultiGpuStudy<'_>, output: &mut StudyOutput) -> Result<(), StudyError> {
    const SYSTEM_GPUS: f64 = 8.0;
    let machine = setup.machine("dgx1-v100", &[])?;
    for (name, file) in [("all-reduce, ring of 8", "collectives/ring8.toml"), ("all-reduce, tree of 8", "collectives/tree8.toml")] {
        for floats in [8 << 10, 64 << 10, 512 << 10] {
            let outcome = MultiGpuStudy::run(&machine, &MultiGpuStudy::load_program(file, &[("n", floats)])?)?;
            let time = cycles_to_seconds(&machine, outcome.cycles);
            // Bus bandwidth as nccl-tests defines it: the bandwidth that a link needs under a perfectly efficient algorithm.
            let bus = 4.0 * floats as f64 * 2.0 * (SYSTEM_GPUS - 1.0) / SYSTEM_GPUS / time / 1e9;
            let cells = [(4 * floats).to_string(), format!("{:.1}", time * 1e6), format!("{bus:.2}"), "-".into(), "-".into()];
            output.row(std::iter::once(name.to_owned()).chain(cells).collect());
        }
    }
    Ok(())
}

fn study_scaling(setup: &MultiGpuStudy<'_>, output: &mut StudyOutput) -> Result<(), StudyError> {
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let load = |name: &str, parameters: &[(&str, &str)]| {
        let parameters: Vec<_> = parameters.iter().copied().map(owned).collect();
        warpshard_model::builtin(name, 1, &parameters).map(Arc::new).map_err(StudyError::input)
    };
    for (name, workload) in [("gemm_tiled", load("gemm_tiled", &[("n", "1024"), ("k", "128")])?), ("stream", load("stream", &[])?)] {
        let net = |outcome: &Outcome| {
            let started = outcome.kernels.iter().filter_map(|kernel| kernel.started).min().unwrap_or_default();
            outcome.cycles - started
        };
        let one = net(&MultiGpuStudy::run(&setup.machine("v100", &[])?, &workload)?);
        for memory in ["interleaved", "first-touch"] {
            for gpus in ["2", "4", "8"] {
                let machine = setup.machine(
                    "v100x2",
                    &[
                        ("system.gpus", gpus),
                        ("system.launch", "spread"),
                        ("system.memory", memory),
                        ("system.page_bytes", "64 KiB"),
                        ("system.peer.topology", "switch"),
                        ("system.peer.links", "[]"),
                        ("system.peer.count", "6"),
                    ],
                )?;
                let cycles = net(&MultiGpuStudy::run(&machine, &workload)?);
                let time = format!("{:.2}", cycles_to_seconds(&machine, cycles) * 1e6);
                let what = format!("{name}, {memory}, {gpus} GPUs");
                output.row(vec![what.clone(), "-".into(), time, "-".into(), "-".into(), "-".into()]);
                output.figure(&format!("{what}: times as fast as one GPU"), one as f64 / cycles.max(1) as f64);
            }
        }
    }
    Ok(())
}
