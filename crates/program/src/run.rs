//! Executes a program's launches in order, as far as somebody asks.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpshard_base::{Addr, AppId, CtaIndex, KernelIndex, LINE_BYTES};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_workload::{Code, Command, CtaProgram, CtaSource, Kernel, KernelInfo, LaunchCounts, MemSpace, OpClass, WarpStream, Workload};

use super::error::ProgramError;
use super::exec::{Executor, LOCAL_WINDOW, SHARED_WINDOW, Shadow, Streams, Tally};
use super::isa::Inst;
use super::memory::Memory;
use super::report::{describe, source};
use super::schema::Contents;
use super::{Launch, Program};

/// A CTA that was executed: the number of its launch, its index, and a stream per warp.
type Step = (usize, u32, Box<[WarpStream]>);

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

/// What all launches of a workload share.
struct Stage {
    runner: Runner,
    /// CTAs that were executed before they were asked for.
    ready: BTreeMap<(usize, u32), Arc<CtaProgram>>,
    /// The launches that were asked for a CTA since execution began.
    wanted: Vec<bool>,
    /// The CTAs of a launch that will be requested, where they are not all.
    chosen: BTreeMap<usize, Vec<Range<u32>>>,
    /// What each launch comes to, once somebody asked.
    counts: Option<Vec<LaunchCounts>>,
    failure: Option<String>,
}

/// The CTAs of one launch.
struct Source {
    stage: Arc<Mutex<Stage>>,
    program: Arc<Program>,
    launch: usize,
}

impl Stage {
    fn take(&mut self, program: &Arc<Program>, launch: usize, cta: u32) -> Result<Arc<CtaProgram>, ProgramError> {
        if let Some(ready) = self.ready.remove(&(launch, cta)) {
            return Ok(ready);
        }
        if (self.runner.launch, self.runner.cta) > (launch, cta) {
            // Somebody executes the workload once more, or a launch that nobody had asked for.
            self.runner = Runner::new(program, false)?;
            self.ready.clear();
            let wanted = std::mem::replace(&mut self.wanted, vec![false; program.launches.len()]);
            if cta != 0 {
                self.wanted = wanted;
            }
        }
        self.wanted[launch] = true;
        loop {
            let number = self.runner.launch;
            // Execution is in order of launches; what belongs to one that nobody runs is not kept.
            let chosen = self.chosen.get(&number).is_none_or(|ctas| ctas.iter().any(|part| part.contains(&self.runner.cta)));
            let record = chosen && self.wanted.get(number).copied().unwrap_or(false);
            let Some((number, index, warps)) = self.runner.next(record)? else {
                return Ok(Arc::new(empty(&program.launches[launch])));
            };
            let done = (number, index) == (launch, cta);
            if record {
                let launch = &program.launches[number];
                let made = Arc::new(CtaProgram { warps, ..empty(launch) });
                if done {
                    return Ok(made);
                }
                self.ready.insert((number, index), made);
            }
        }
    }
}

fn empty(launch: &Launch) -> CtaProgram {
    let warps = launch.kernel.block.count().div_ceil(32) as usize;
    CtaProgram {
        code: launch.statics.clone().unwrap_or_default(),
        warps: vec![WarpStream::default(); warps].into(),
        repeatable: Arc::clone(&launch.repeatable),
    }
}

impl Source {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CtaSource for Source {
    fn save(&self, to: &mut Writer) {
        if !to.first_visit(&*self.stage) {
            return;
        }
        let stage = self.lock();
        let Stage { runner, ready, wanted, chosen: _, counts: _, failure } = &*stage;
        let Runner { program: _, memory, executor, launch, cta, together, stepped, tallies, measure: _, unwritten } = runner;
        (*launch, *cta, *stepped).save(to);
        memory.save(to);
        executor.save(to);
        together.save(to);
        tallies.save(to);
        unwritten.save(to);
        ready.save(to);
        wanted.save(to);
        failure.save(to);
    }

    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        if !from.first_visit(&*self.stage) {
            return Ok(());
        }
        let mut stage = self.lock();
        let Stage { runner, ready, wanted, chosen: _, counts: _, failure } = &mut *stage;
        let Runner { program: _, memory, executor, launch, cta, together, stepped, tallies, measure: _, unwritten } = runner;
        (*launch, *cta, *stepped) = State::read(from)?;
        memory.load(from)?;
        executor.load(from)?;
        together.load(from)?;
        tallies.load(from)?;
        unwritten.load(from)?;
        ready.load(from)?;
        wanted.load(from)?;
        failure.load(from)
    }

    fn code(&self) -> Option<Code> {
        Some(self.program.code_of(std::slice::from_ref(&self.program.launches[self.launch])))
    }

    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let mut stage = self.lock();
        if stage.failure.is_none() {
            match stage.take(&self.program, self.launch, index.0) {
                Ok(program) => return program,
                Err(error) => stage.failure = Some(error.to_string()),
            }
        }
        Arc::new(empty(&self.program.launches[self.launch]))
    }

    fn choose(&self, ctas: Option<&[Range<u32>]>) {
        let mut stage = self.lock();
        match ctas {
            Some(ctas) => stage.chosen.insert(self.launch, ctas.to_vec()),
            None => stage.chosen.remove(&self.launch),
        };
    }

    fn put_back(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.lock().ready.insert((self.launch, index.0), Arc::clone(program));
    }

    fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    fn counts(&self) -> Option<LaunchCounts> {
        let mut stage = self.lock();
        if stage.counts.is_none() && stage.failure.is_none() {
            match counts(&self.program) {
                Ok(counts) => stage.counts = Some(counts),
                Err(error) => stage.failure = Some(error.to_string()),
            }
        }
        stage.counts.as_ref().and_then(|counts| counts.get(self.launch).copied())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("launch", &self.launch).finish_non_exhaustive()
    }
}

/// Executes a program without writing down what warps do; returns what each launch came to.
fn counts(program: &Arc<Program>) -> Result<Vec<LaunchCounts>, ProgramError> {
    let mut runner = Runner::new(program, true)?;
    while runner.next(false)?.is_some() {}
    // All memory counts as used by the first launch.
    let bytes: u64 = runner.memory.allocations().iter().map(|allocation| allocation.bytes.len() as u64).sum();
    let one = |(number, (launch, tally)): (usize, (&Launch, &Tally))| {
        let accesses = |place: usize| launch.kernel.access[place].is_some_and(|access| access.space != MemSpace::Shared);
        let sectors = tally.0.iter().enumerate().filter(|(place, _)| accesses(*place)).map(|(_, count)| count.parts).sum();
        let code = launch.statics.as_deref().unwrap_or_default();
        let mut classes = [0; OpClass::COUNT];
        code.iter().zip(&tally.0).for_each(|(inst, count)| classes[inst.class as usize] += count.warps);
        let warp_instructions = tally.0.iter().map(|count| count.warps).sum();
        let new_lines = Some(if number == 0 { bytes.div_ceil(LINE_BYTES) } else { 0 });
        LaunchCounts { warp_instructions, sectors: Some(sectors), classes: Some(classes), lines: None, new_lines }
    };
    Ok(program.launches.iter().zip(&runner.tallies).enumerate().map(one).collect())
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
pub(super) fn workload(program: &Arc<Program>) -> Result<Workload, ProgramError> {
    if program.launches.iter().any(|launch| launch.statics.is_none()) {
        let what = format!("the timing model has no opcode table for sm_{}", program.arch);
        let help = "compile the program for sm_70, sm_75, sm_80, sm_86 or sm_90, or execute it without timing with `warpshard exec`";
        return Err(ProgramError::new(&program.file, 0, what).help(help));
    }
    let runner = Runner::new(program, false)?;
    let commands = commands(program, &runner.memory);
    let placed = program.buffers.iter().zip(runner.memory.allocations());
    let homes = placed.filter_map(|(buffer, at)| Some((at.start..at.start + at.bytes.len() as u64, buffer.gpu?))).collect();
    let wanted = vec![false; program.launches.len()];
    let stage =
        Arc::new(Mutex::new(Stage { runner, ready: BTreeMap::new(), wanted, chosen: BTreeMap::new(), counts: None, failure: None }));
    let kernel = |(number, launch): (usize, &Launch)| {
        let source = Source { stage: Arc::clone(&stage), program: Arc::clone(program), launch: number };
        Kernel { info: info(launch, number), source: Arc::new(source) }
    };
    let kernels = program.launches.iter().enumerate().map(kernel).collect();
    Ok(Workload { name: program.name.clone(), commands, kernels, applications: Vec::new(), notes: notes(program), homes })
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
