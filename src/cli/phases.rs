//! `warpshard phases`: shows the phases of a workload's kernels, as phase-aware warp schedulers use them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use warpshard_base::CtaIndex;
use warpshard_report::text::{Align, Table, count_with_noun, printable};
use warpshard_run::Exit;
use warpshard_run::inputs::{Settings, trace as load_trace};
use warpshard_run::select;
use warpshard_trace::DecodeClock;
use warpshard_workload::phases::{Latencies, LongOps, Phases};
use warpshard_workload::{Kernel, NO_REGISTER, StaticInst};

use super::args::PhasesArgs;
use super::failure::Failure;
use super::inputs;
use super::output;

/// A kernel with its phases, and its mnemonics if they are known.
struct KernelPhases {
    kernel: Kernel,
    code: Arc<[StaticInst]>,
    phases: Phases,
    mnemonics: Option<Arc<[String]>>,
}

/// Prints the phases of each kernel.
///
/// # Errors
/// Fails if the workload or the machine is invalid, or standard output cannot be written.
pub(super) fn phases(args: &PhasesArgs) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.set);
    let latencies = match &args.machine {
        Some(name) => Latencies::of_machine(&inputs::machine(name, &settings.machine)?.machine.gpu.sm.timing),
        None => Latencies::COMPILER_PASS,
    };
    let long = if args.device_memory { LongOps::DeviceMemory } else { LongOps::All };
    let (workload, mnemonics) = if inputs::is_trace(&args.workload) {
        let (workload, _) = load_trace(Path::new(&args.workload), 1, args.lenient, &Arc::new(DecodeClock::default()))?;
        (workload, Vec::new())
    } else {
        let model = inputs::model(&args.workload, args.seed, &settings.model)?;
        (model.workload(), model.kernels.iter().map(|kernel| Arc::clone(&kernel.mnemonics)).collect())
    };
    // Selected kernels keep their numbers.
    let numbers: Vec<u64> = workload.kernels.iter().map(|kernel| kernel.info.id).collect();
    let workload = match &args.kernels {
        Some(wanted) => select(workload, wanted)?,
        None => workload,
    };
    let mut found = Vec::new();
    for kernel in workload.kernels {
        let code = Arc::clone(&kernel.source.cta(CtaIndex(0)).code);
        if let Some(failure) = kernel.source.failure() {
            return Err(Failure::new(Exit::Workload, failure));
        }
        let phases = Phases::of_kernel(&kernel, &latencies, long);
        let place = numbers.iter().position(|&id| id == kernel.info.id);
        found.push(KernelPhases { mnemonics: place.and_then(|place| mnemonics.get(place).cloned()), kernel, code, phases });
    }
    if args.json {
        return output::print_json(&json(&found)).map(|()| Exit::Ok);
    }
    output::print_styled(&text(&found, args.summary)).map(|()| Exit::Ok)
}

fn text(found: &[KernelPhases], summary: bool) -> String {
    let columns = ["instructions", "phases", "shortest", "longest"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("id", Align::Right), ("kernel", Align::Left)][..], &columns].concat());
    for one in found {
        table.row(vec![
            one.kernel.info.id.to_string(),
            one.kernel.info.name.clone(),
            one.phases.order().len().to_string(),
            one.phases.list().len().to_string(),
            one.phases.shortest().to_string(),
            one.phases.longest().to_string(),
        ]);
    }
    let mut text = table.render(output::stdout_style());
    let listed = if summary { &[][..] } else { found };
    for (i, one) in listed.iter().enumerate() {
        let _ = write!(text, "\nKernel {} ({})", one.kernel.info.id, printable(&one.kernel.info.name));
        match found[..i].iter().find(|other| other.phases == one.phases && other.code == one.code) {
            Some(other) => {
                let _ = writeln!(text, ": same phases as kernel {}", other.kernel.info.id);
            }
            None => {
                let _ = writeln!(text, ": {}", count_with_noun(one.phases.list().len() as u64, "phase"));
                text.push_str(&listing(one).render(output::stdout_style()));
            }
        }
    }
    text
}

/// Returns a table with a row per instruction; the first row of a phase has its number, its length and the reason for its start.
fn listing(found: &KernelPhases) -> Table {
    let right = |head| (head, Align::Right);
    let left = |head| (head, Align::Left);
    let mut table = Table::new(&[
        right("phase"),
        right("length"),
        left("starts with"),
        right("pc"),
        right("distance"),
        left("instruction"),
        left("writes"),
        left("reads"),
    ]);
    for (number, phase) in found.phases.list().iter().enumerate() {
        let members = &found.phases.order()[phase.first as usize..][..phase.instructions as usize];
        for (place, &index) in members.iter().enumerate() {
            let inst = &found.code[index as usize];
            let head = match (place, phase.block) {
                (0, true) => [(number + 1).to_string(), phase.length.to_string(), "block".into()],
                (0, false) => [(number + 1).to_string(), phase.length.to_string(), "dependence".into()],
                _ => [String::new(), String::new(), String::new()],
            };
            let reads: Vec<String> = inst.src.iter().filter(|&&source| source != NO_REGISTER).map(|&source| register(source)).collect();
            let rest = [
                format!("{:#06x}", inst.pc),
                found.phases.distance(index).to_string(),
                name(found, index),
                if inst.dst == NO_REGISTER { String::new() } else { register(inst.dst) },
                reads.join(" "),
            ];
            table.row(head.into_iter().chain(rest).collect());
        }
    }
    table
}

fn register(number: u16) -> String {
    if number == 255 { "RZ".into() } else { format!("R{number}") }
}

/// Returns the mnemonic of an instruction, or for traces, which do not keep mnemonics, its class or kind of access.
fn name(found: &KernelPhases, index: u32) -> String {
    if let Some(mnemonics) = &found.mnemonics {
        return mnemonics[index as usize].clone();
    }
    let inst = &found.code[index as usize];
    match inst.mem {
        Some(mem) => format!("{:?} {:?}", mem.kind, mem.space).to_lowercase(),
        None => format!("{:?}", inst.class).to_lowercase(),
    }
}

fn json(found: &[KernelPhases]) -> serde_json::Value {
    let kernels: Vec<_> = found
        .iter()
        .map(|one| {
            let phases = &one.phases;
            let instructions: Vec<_> = phases
                .order()
                .iter()
                .map(|&index| {
                    serde_json::json!({
                        "pc": one.code[index as usize].pc,
                        "instruction": name(one, index),
                        "distance": phases.distance(index),
                        "length": phases.length(index),
                        "starts": phases.starts(index),
                    })
                })
                .collect();
            let list: Vec<_> = phases
                .list()
                .iter()
                .map(|phase| {
                    serde_json::json!({"first": phase.first, "instructions": phase.instructions, "length": phase.length, "block": phase.block})
                })
                .collect();
            serde_json::json!({
                "id": one.kernel.info.id,
                "kernel": one.kernel.info.name,
                "shortest": phases.shortest(),
                "longest": phases.longest(),
                "phases": list,
                "instructions": instructions,
            })
        })
        .collect();
    kernels.into()
}
