//! Execution of a program's launches in order, on demand.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_workload::WarpStream;

use super::error::ProgramError;
use super::exec::{Executor, Shadow, Streams, Tally};
use super::memory::Memory;
use super::report::{describe, source};
use super::{BoundLaunch, Program};

/// An executed CTA: the index of its launch, its index in the grid, and a stream per warp.
pub(super) type ExecutedCta = (usize, u32, Box<[WarpStream]>);

/// An executing program: device memory and the position of execution.
pub(super) struct Runner {
    program: Arc<Program>,
    pub(super) memory: Memory,
    executor: Executor,
    /// Indices of the next launch and CTA.
    launch: usize,
    cta: u32,
    /// Streams of CTAs that were executed together with an earlier CTA, in reverse order.
    executed_early: Streams,
    /// Number of host operations already applied.
    applied_steps: usize,
    /// Instruction counts per launch, if they are counted ([`Runner::counting`]).
    pub(super) tallies: Vec<Tally>,
    measure: bool,
    /// Scratch counts for launches that are not counted.
    uncounted_tally: Tally,
    /// Number of reads of unwritten shared memory (`true`) or local memory (`false`), by launch and first instruction index.
    unwritten: BTreeMap<(usize, bool, usize), u64>,
}

impl Runner {
    /// Returns a runner before the first launch that counts instructions; `measure` also counts sectors and bank conflicts.
    pub(super) fn counting(program: &Arc<Program>, measure: bool) -> Result<Self, ProgramError> {
        Ok(Self { tallies: vec![Tally::default(); program.launches.len()], measure, ..Self::new(program)? })
    }

    /// Returns a runner before the first launch.
    pub(super) fn new(program: &Arc<Program>) -> Result<Self, ProgramError> {
        let (mut memory, mut executor) = (program.memory()?, Executor::default());
        for BoundLaunch { kernel, .. } in &program.setup {
            for first in (0..kernel.grid.count() as u32).step_by(kernel.concurrent_ctas() as usize) {
                let uncounted = (&mut Tally::default(), false);
                executor.ctas(kernel, &mut memory, first, false, uncounted).map_err(|(cta, fault)| describe(kernel, cta, fault))?;
            }
        }
        Ok(Self {
            program: Arc::clone(program),
            memory,
            executor,
            launch: 0,
            cta: 0,
            executed_early: Streams::new(),
            applied_steps: 0,
            tallies: Vec::new(),
            measure: false,
            uncounted_tally: Tally::default(),
            unwritten: BTreeMap::new(),
        })
    }

    /// Skips matrix products from this point on.
    pub(super) fn skip_products(&mut self) {
        self.executor.skips_products = true;
    }

    /// Enables checks of shared and local memory.
    pub(super) fn check(&mut self) {
        self.executor.shadow = Some(Box::default());
    }

    /// Enables the search for stores that overwrite bytes which their CTA has read.
    pub(super) fn find_overwrites(&mut self) {
        self.executor.shadow = Some(Box::new(Shadow::of_overwrites()));
    }

    /// Returns the instruction indices of the last CTA's stores that overwrite bytes which it has read.
    pub(super) fn overwrites(&self) -> impl Iterator<Item = u32> {
        self.executor.shadow.iter().flat_map(|shadow| shadow.overwrites()).copied()
    }

    /// Returns a description of each read of unwritten shared or local memory, with its number of occurrences.
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

    /// Returns the text that kernels have printed so far, and the number of printf calls that are missing from it.
    pub(super) fn printed(&mut self) -> (String, u64) {
        let printed = std::mem::take(&mut self.executor.printed);
        (printed.text, printed.left_out)
    }

    /// Returns the indices of the next launch and CTA; after the last CTA, the number of launches.
    pub(super) fn position(&self) -> (usize, u32) {
        (self.launch, self.cta)
    }

    /// Appends the state of execution to a checkpoint.
    pub(super) fn save(&self, to: &mut Writer) {
        let Self {
            program: _,
            memory,
            executor,
            launch,
            cta,
            executed_early,
            applied_steps,
            tallies: _,
            measure: _,
            uncounted_tally: _,
            unwritten,
        } = self;
        (*launch, *cta, *applied_steps).save(to);
        memory.save(to);
        executor.save(to);
        executed_early.save(to);
        unwritten.save(to);
    }

    /// Restores a saved state of execution.
    pub(super) fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let Self {
            program: _,
            memory,
            executor,
            launch,
            cta,
            executed_early,
            applied_steps,
            tallies: _,
            measure: _,
            uncounted_tally: _,
            unwritten,
        } = self;
        (*launch, *cta, *applied_steps) = State::read(from)?;
        memory.load(from)?;
        executor.load(from)?;
        executed_early.load(from)?;
        unwritten.load(from)
    }

    /// Executes the next CTA; returns `None` when all launches have finished.
    pub(super) fn next(&mut self, record: bool) -> Result<Option<ExecutedCta>, ProgramError> {
        let Some(launch) = self.program.launches.get(self.launch) else { return Ok(None) };
        while let Some((_, step)) = self.program.host.get(self.applied_steps).filter(|(before, _)| *before <= self.launch) {
            step.apply(&mut self.memory);
            self.applied_steps += 1;
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
        if self.executed_early.is_empty() {
            let measured = (self.tallies.get_mut(number).unwrap_or(&mut self.uncounted_tally), self.measure);
            // All of several CTAs are recorded because the requested one is unknown at this time.
            let record = record || kernel.concurrent_ctas() > 1;
            let done = self.executor.ctas(kernel, &mut self.memory, cta, record, measured);
            self.executed_early = done.map_err(|(cta, fault)| describe(kernel, cta, fault))?;
            self.executed_early.reverse();
        }
        let streams = self.executed_early.pop().unwrap_or_default();
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
