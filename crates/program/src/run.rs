//! Executes a program's launches in order, as far as somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{Addr, AppId, KernelIndex};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_workload::{Command, Kernel, KernelInfo, WarpStream, Workload};

use super::error::ProgramError;
use super::exec::{Executor, LOCAL_WINDOW, SHARED_WINDOW, Shadow, Streams, Tally};
use super::isa::Inst;
use super::memory::Memory;
use super::report::{describe, source};
use super::schema::Contents;
use super::stage::{Source, Stage};
use super::{Launch, Program, WorkloadOptions, values};

/// A CTA that was executed: the number of its launch, its index, and a stream per warp.
pub(super) type Step = (usize, u32, Box<[WarpStream]>);

/// A program that executes: device memory, and how far it is.
pub(super) struct Runner {
    program: Arc<Program>,
    pub(super) memory: Memory,
    executor: Executor,
    /// The launch and CTA that come next.
    launch: usize,
    cta: u32,
    /// The streams of CTAs that were executed together with one before them, the last one first.
    together: Streams,
    /// Steps of the host that are done.
    stepped: usize,
    pub(super) tallies: Vec<Tally>,
    measure: bool,
    /// Reads of shared (or else local) memory before anything was written, by launch and first place.
    unwritten: BTreeMap<(usize, bool, usize), u64>,
}

impl Runner {
    /// A program before its first launch; `measure` asks for sectors and bank conflicts.
    pub(super) fn new(program: &Arc<Program>, measure: bool) -> Result<Self, ProgramError> {
        let tallies = vec![Tally::default(); program.launches.len()];
        let (mut memory, mut executor) = (program.memory()?, Executor::default());
        for Launch { kernel, .. } in &program.setup {
            for first in (0..kernel.grid.count() as u32).step_by(kernel.together() as usize) {
                let uncounted = (&mut Tally::default(), false);
                executor.ctas(kernel, &mut memory, first, false, uncounted).map_err(|(cta, trouble)| describe(kernel, cta, trouble))?;
            }
        }
        Ok(Self {
            program: Arc::clone(program),
            memory,
            executor,
            launch: 0,
            cta: 0,
            together: Streams::new(),
            stepped: 0,
            tallies,
            measure,
            unwritten: BTreeMap::new(),
        })
    }

    /// Asks for products of matrices to be left out.
    pub(super) fn skip_products(&mut self) {
        self.executor.skips_products = true;
    }

    /// Asks for checks of shared and local memory.
    pub(super) fn check(&mut self) {
        self.executor.shadow = Some(Box::default());
    }

    /// Asks which stores overwrite what their CTA has read.
    pub(super) fn find_overwrites(&mut self) {
        self.executor.shadow = Some(Box::new(Shadow::of_overwrites()));
    }

    /// The places of stores of the last CTA that did.
    pub(super) fn overwrites(&self) -> impl Iterator<Item = u32> {
        self.executor.shadow.iter().flat_map(|shadow| shadow.overwrites()).copied()
    }

    /// The reads of shared and local memory before anything was written there, each with how often it occurred.
    pub(super) fn unwritten(&self) -> Vec<(String, u64)> {
        let one = |((kernel, shared, place), count): (&(usize, bool, usize), &u64)| {
            let memory = if *shared { "shared" } else { "local" };
            let kernel = &self.program.launches[*kernel].kernel;
            let line = kernel.lines.get(*place).map_or(0, |line| line.0);
            let what = format!(
                "{memory} memory is read where nothing was written, at pc {:#06x}{} of kernel {}, line {line}",
                16 * place,
                source(kernel, *place),
                kernel.name
            );
            (what, *count)
        };
        self.unwritten.iter().map(one).collect()
    }

    /// What kernels have printed so far, and how many calls of printf are missing from it.
    pub(super) fn printed(&mut self) -> (String, u64) {
        let printed = std::mem::take(&mut self.executor.printed);
        (printed.text, printed.left_out)
    }

    /// The launch and CTA that come next; a launch behind the last one when all are done.
    pub(super) fn position(&self) -> (usize, u32) {
        (self.launch, self.cta)
    }

    /// Appends how far it is to a checkpoint.
    pub(super) fn save(&self, to: &mut Writer) {
        let Self { program: _, memory, executor, launch, cta, together, stepped, tallies, measure: _, unwritten } = self;
        (*launch, *cta, *stepped).save(to);
        memory.save(to);
        executor.save(to);
        together.save(to);
        tallies.save(to);
        unwritten.save(to);
    }

    /// Goes on where the one was that saved this.
    pub(super) fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let Self { program: _, memory, executor, launch, cta, together, stepped, tallies, measure: _, unwritten } = self;
        (*launch, *cta, *stepped) = State::read(from)?;
        memory.load(from)?;
        executor.load(from)?;
        together.load(from)?;
        tallies.load(from)?;
        unwritten.load(from)
    }

    /// Executes the next CTA; `None` when all launches are done.
    pub(super) fn next(&mut self, record: bool) -> Result<Option<Step>, ProgramError> {
        let Some(launch) = self.program.launches.get(self.launch) else { return Ok(None) };
        while let Some((_, step)) = self.program.host.get(self.stepped).filter(|(before, _)| *before <= self.launch) {
            step.apply(&mut self.memory);
            self.stepped += 1;
        }
        if let Some(copy) = launch.copy {
            let bytes = self.memory.window(copy.from.0, copy.bytes as usize).map(|bytes| bytes.to_vec());
            let moved = bytes.map(|bytes| self.memory.fill(copy.to.0, &bytes));
            if !matches!(moved, Some(Ok(()))) {
                let what = format!("a copy of {} bytes from {} to {} leaves the program's memory", copy.bytes, copy.from, copy.to);
                return Err(ProgramError::new(&self.program.file, 0, what));
            }
            self.launch += 1;
            return Ok(Some((self.launch - 1, 0, Box::default())));
        }
        let kernel = &launch.kernel;
        let (number, cta) = (self.launch, self.cta);
        if self.together.is_empty() {
            let measured = (&mut self.tallies[number], self.measure);
            // Which of several will be asked for is known only later.
            let record = record || kernel.together() > 1;
            let done = self.executor.ctas(kernel, &mut self.memory, cta, record, measured);
            self.together = done.map_err(|(cta, trouble)| describe(kernel, cta, trouble))?;
            self.together.reverse();
        }
        let streams = self.together.pop().unwrap_or_default();
        if let Some(shadow) = &mut self.executor.shadow {
            for (shared, (count, place)) in [true, false].into_iter().zip(std::mem::take(&mut shadow.unwritten)) {
                if count > 0 {
                    *self.unwritten.entry((number, shared, place)).or_default() += count;
                }
            }
        }
        self.cta += 1;
        if u64::from(self.cta) == kernel.grid.count() {
            (self.launch, self.cta) = (self.launch + 1, 0);
        }
        Ok(Some((number, cta, streams)))
    }
}

/// What a launch needs, as kernels of traces say it.
pub(super) fn info(launch: &Launch, number: usize) -> KernelInfo {
    let kernel = &launch.kernel;
    KernelInfo {
        name: kernel.name.clone(),
        id: number as u64 + 1,
        grid: kernel.grid,
        cluster: kernel.cluster,
        block: kernel.block,
        shared_bytes: kernel.shared_bytes as u32,
        registers: launch.registers,
        app: AppId(0),
        stream: launch.stream,
        after: launch.after.clone(),
        shared_base: Addr(SHARED_WINDOW),
        local_base: Addr(LOCAL_WINDOW),
        gpu: launch.gpu,
        copy: launch.copy,
    }
}

/// The copies and launches of a program.
pub(super) fn commands(program: &Program, memory: &Memory) -> Vec<Command> {
    let mut commands = Vec::new();
    for (buffer, allocation) in program.buffers.iter().zip(memory.allocations()) {
        if !matches!(buffer.contents, Contents::None) {
            commands.push(Command::CopyToDevice { addr: Addr(allocation.start), bytes: allocation.bytes.len() as u64 });
        }
    }
    let mut steps = program.host.iter().peekable();
    for number in 0..program.launches.len() {
        while let Some((_, step)) = steps.next_if(|(before, _)| *before <= number) {
            commands.extend(step.copies().map(|(start, bytes)| Command::CopyToDevice { addr: Addr(start), bytes }));
        }
        commands.push(Command::Launch(KernelIndex(number as u16)));
    }
    commands
}

/// A program as what a run executes.
pub(super) fn workload(program: &Arc<Program>, options: WorkloadOptions) -> Result<Workload, ProgramError> {
    if program.launches.iter().any(|launch| launch.statics.is_none()) {
        let what = format!("the timing model has no opcode table for sm_{}", program.arch);
        let help = "compile the program for sm_70, sm_75, sm_80, sm_86 or sm_90, or execute it without timing with `warpshard exec`";
        return Err(ProgramError::new(&program.file, 0, what).help(help));
    }
    let runner = Runner::new(program, false)?;
    let commands = commands(program, &runner.memory);
    let placed = program.buffers.iter().zip(runner.memory.allocations());
    let homes = placed.filter_map(|(buffer, at)| Some((at.start..at.start + at.bytes.len() as u64, buffer.gpu?))).collect();
    let mut notes = notes(program);
    if options.skip_products {
        let what = "products of matrices are not computed (--matrix-values skip): what the program leaves in memory is not its result";
        notes.push((what.to_owned(), values::not_needed(program)?));
    }
    let stage = Arc::new(Stage::new(program, runner, options));
    let kernel = |(number, launch): (usize, &Launch)| Kernel { info: info(launch, number), source: Arc::new(Source::new(&stage, number)) };
    let kernels = program.launches.iter().enumerate().map(kernel).collect();
    Ok(Workload { name: program.name.clone(), commands, kernels, applications: Vec::new(), notes, homes })
}

/// What a run of the program leaves out: each with the number of instructions in the code.
fn notes(program: &Program) -> Vec<(String, u64)> {
    const LEFT_OUT: [(&[&str], &str); 2] = [
        (&["ATOMS.ARRIVE", "ARRIVES.LDGSTSBAR.64"], "barriers in shared memory of code before Hopper take no time to wait at"),
        (&["UTMAPF", "UBLKPF", "UTMACCTL"], "prefetches into the LLC, and of tensor maps, take no time and bring nothing"),
    ];
    let mut notes = Vec::new();
    for (names, what) in LEFT_OUT {
        let all = program.launches.iter().flat_map(|launch| launch.mnemonics.iter());
        let count = all.filter(|mnemonic| names.iter().any(|name| mnemonic.starts_with(name))).count();
        if count > 0 {
            notes.push((what.to_owned(), count as u64));
        }
    }
    if program.launches.iter().any(|launch| launch.kernel.cooperative) {
        let count = program.launches.iter().filter(|launch| launch.kernel.cooperative).count();
        notes.push(("CTAs of cooperative launches do not wait for each other in the timing model".to_owned(), count as u64));
    }
    notes.extend(clock_notes(program));
    notes
}

/// A note for each kernel that reads a clock, with the number of its launches: a run executes instructions ahead of their time, so a clock shows the
/// instructions that its warp has executed.
fn clock_notes(program: &Program) -> Vec<(String, u64)> {
    let mut notes: Vec<(String, u64)> = Vec::new();
    for launch in program.launches.iter().filter(|launch| launch.copy.is_none()) {
        let kernel = &launch.kernel;
        let Some(first) = kernel.decoded.code.iter().position(Inst::reads_clock) else { continue };
        let (line, text) = &kernel.lines[first];
        let note = format!(
            "kernel {} reads a clock ({text} in line {line} of {}), which counts the instructions of its warp: results that depend on it are no cycles. \
             Take the kernel's cycles from kernels.csv",
            kernel.name,
            kernel.file.file_name().unwrap_or_default().display()
        );
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, times)) => *times += 1,
            None => notes.push((note, 1)),
        }
    }
    notes
}
