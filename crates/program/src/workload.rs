//! Conversion of a program to the workload of a run: its copies and launches, and notes about effects that the timing model lacks.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{Addr, AppId, KernelIndex};
use warpshard_workload::{Command, Kernel, KernelInfo, Workload};

use super::error::ProgramError;
use super::exec::{self, LOCAL_WINDOW, SHARED_WINDOW};
use super::isa::Inst;
use super::memory::{Allocation, Memory};
use super::run::Runner;
use super::schema::Contents;
use super::stage::{ExecutionStage, LaunchSource};
use super::{BoundLaunch, DeviceBuffer, Program, WorkloadOptions, values};

/// Returns the parameters of a launch in the form of recorded traces.
fn info(launch: &BoundLaunch, number: usize) -> KernelInfo {
    let kernel = &launch.kernel;
    KernelInfo {
        name: kernel.name.clone(),
        id: number as u64 + 1,
        grid: kernel.grid,
        cluster: kernel.cluster,
        block: kernel.block,
        shared_bytes: kernel.shared_bytes as u32,
        registers: kernel.registers,
        app: AppId(0),
        stream: launch.stream,
        after: launch.after.clone(),
        programmatic: launch.programmatic,
        shared_base: Addr(SHARED_WINDOW),
        local_base: Addr(LOCAL_WINDOW),
        gpu: launch.gpu,
        copy: launch.copy,
    }
}

/// Returns the copies and launches of a program.
fn commands(program: &Program, memory: &Memory) -> Vec<Command> {
    let buffers = || program.buffers.iter().zip(memory.allocations());
    let copied = buffers().filter(|(buffer, _)| !matches!(buffer.contents, Contents::None));
    // Data that the setup wrote is also in the LLC: unwritten memory contains only zeros.
    let written = |(buffer, at): &(&DeviceBuffer, &Allocation)| {
        !program.setup.is_empty() && matches!(buffer.contents, Contents::None) && at.bytes.iter().any(|byte| *byte != 0)
    };
    let set_up = buffers().filter(written);
    let copy = |(_, at): (_, &Allocation)| Command::CopyToDevice { addr: Addr(at.start), bytes: at.bytes.len() as u64 };
    let mut commands: Vec<_> = copied.chain(set_up).map(copy).collect();
    let mut steps = program.host.iter().peekable();
    for number in 0..program.launches.len() {
        while let Some((_, step)) = steps.next_if(|(before, _)| *before <= number) {
            commands.extend(step.copies().map(|(start, bytes)| Command::CopyToDevice { addr: Addr(start), bytes }));
        }
        commands.push(Command::Launch(KernelIndex(number as u32)));
    }
    commands
}

/// Creates the workload of a program.
pub(super) fn workload(program: &Arc<Program>, options: WorkloadOptions) -> Result<Workload, ProgramError> {
    if program.launches.iter().any(|launch| launch.kernel.statics.is_none()) {
        let what = format!("the timing model has no opcode table for sm_{}", program.arch);
        let help = "compile the program for sm_70, sm_75, sm_80, sm_86 or sm_90, or execute it without timing with `warpshard exec`";
        return Err(ProgramError::new(&program.file, 0, what).help(help));
    }
    let runner = Runner::new(program)?;
    let commands = commands(program, &runner.memory);
    let placed = program.buffers.iter().zip(runner.memory.allocations());
    let homes = placed.filter_map(|(buffer, at)| Some((at.start..at.start + at.bytes.len() as u64, buffer.gpu?))).collect();
    let mut notes = notes(program);
    if options.skip_products {
        let what = "matrix products are not computed (--matrix-values skip): memory does not contain the program's results";
        notes.push((what.to_owned(), values::check_products_unused(program)?));
    }
    let stage = Arc::new(ExecutionStage::new(program, runner, options));
    let kernel = |(number, launch): (usize, &BoundLaunch)| Kernel {
        info: info(launch, number),
        source: Arc::new(LaunchSource::new(&stage, number)),
    };
    let kernels = program.launches.iter().enumerate().map(kernel).collect();
    Ok(Workload { name: program.name.clone(), commands, kernels, applications: Vec::new(), notes, homes })
}

/// Returns notes about effects that the timing model lacks, each with the number of instructions concerned.
fn notes(program: &Program) -> Vec<(String, u64)> {
    const UNMODELLED_OPCODES: [(&[&str], &str); 2] = [
        (&["ATOMS.ARRIVE", "ARRIVES.LDGSTSBAR.64"], "waits at barriers in shared memory take no time in code before Hopper"),
        (&["UTMAPF", "UBLKPF", "UTMACCTL"], "prefetches into the LLC, and of tensor maps, take no time and load no data"),
    ];
    let mut notes = Vec::new();
    for (names, what) in UNMODELLED_OPCODES {
        let all = program.launches.iter().flat_map(|launch| launch.kernel.mnemonics.iter());
        let count = all.filter(|mnemonic| names.iter().any(|name| mnemonic.starts_with(name))).count();
        if count > 0 {
            notes.push((what.to_owned(), count as u64));
        }
    }
    let unmarked = unmarked_dependents(program);
    if unmarked > 0 {
        let what = "griddepcontrol (ACQBULK, or PREEXIT of the launch before) has no effect on a launch that is not marked `programmatic`: it begins \
                    when the launch before it in its stream has ended";
        notes.push((what.to_owned(), unmarked));
    }
    if program.launches.iter().any(|launch| launch.kernel.cooperative) {
        let count = program.launches.iter().filter(|launch| launch.kernel.cooperative).count();
        notes.push(("CTAs of cooperative launches do not wait for each other in the timing model".to_owned(), count as u64));
    }
    notes.extend(clock_notes(program));
    notes
}

/// Counts launches that are not marked `programmatic` although their code waits for the previous launch in their stream, or although the
/// previous launch triggers its dependents.
fn unmarked_dependents(program: &Program) -> u64 {
    let has = |launch: &BoundLaunch, name: &str| launch.kernel.mnemonics.iter().any(|mnemonic| mnemonic.starts_with(name));
    let mut last: BTreeMap<_, &BoundLaunch> = BTreeMap::new();
    let mut count = 0;
    for launch in &program.launches {
        let before = last.insert((launch.gpu.unwrap_or_default(), launch.stream), launch);
        let left_out = before.is_some_and(|before| has(before, "PREEXIT") || has(launch, "ACQBULK"));
        count += u64::from(left_out && launch.programmatic.is_none());
    }
    count
}

/// Returns notes about kernels that read a clock, each with its number of launches. A run executes instructions functionally ahead of their
/// simulated time, so a clock returns the number of instructions that its warp has executed. A note states if the executed instructions
/// depend on the clock.
fn clock_notes(program: &Program) -> Vec<(String, u64)> {
    let mut notes: Vec<(String, u64)> = Vec::new();
    let file = |kernel: &exec::Kernel| kernel.file.file_name().unwrap_or_default().display().to_string();
    let reads = |launch: &BoundLaunch| launch.copy.is_none() && launch.kernel.decoded.code.iter().any(Inst::reads_clock);
    if !program.launches.iter().any(reads) {
        return notes;
    }
    for (launch, steered) in program.launches.iter().zip(values::steered_by_clocks(program)) {
        let kernel = &launch.kernel;
        let read = reads(launch).then(|| kernel.decoded.code.iter().position(Inst::reads_clock)).flatten();
        let what = match (read, steered) {
            (None, None) => continue,
            (Some(first), _) => {
                let (line, text) = &kernel.lines[first];
                format!(
                    "kernel {} reads a clock ({text} in line {line} of {}), which counts the instructions of its warp",
                    kernel.name,
                    file(kernel)
                )
            }
            (None, Some(_)) => {
                format!("kernel {} uses the clock of a kernel before it, which counts the instructions of a warp", kernel.name)
            }
        };
        let effect = match steered {
            None => "no address, branch or barrier depends on the clock, so the simulated cycles are independent of it: only results computed from the clock are not cycles"
                .to_owned(),
            Some(values::TimingDependence { place, why }) => {
                let (line, text) = &kernel.lines[place];
                format!("{text} in line {line} {why} that depends on it, so a GPU may execute other instructions than this run")
            }
        };
        let note = format!("{what}: {effect}. Take the kernel's cycles from kernels.csv");
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, times)) => *times += 1,
            None => notes.push((note, 1)),
        }
    }
    notes
}
