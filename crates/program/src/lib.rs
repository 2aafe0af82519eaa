//! Programs: machine code of GPUs, executed functionally on the host without a GPU.
//!
//! A launch file names listings (what `warpshard compile` makes of CUDA C), buffers, launches and what to look at afterwards. [`Program::load`]
//! reads it, [`Program::execute`] executes it, and [`Program::workload`] hands the warps' instructions to a run as a recorded trace would.
//! A [`Device`] does the same without a launch file: its caller allocates, launches and looks at memory in between.
//! CTAs execute one after the other in ascending order, launches in the order of the file, so that results depend on neither the machine nor
//! the number of threads. Nothing here knows of timing.
//!
//! The way of an instruction: `listing` and `operand` read its text, `isa` finds its operation and binds its operands, `exec` executes it,
//! `statics` says what the timing model sees of it. `run` executes launches in order, `stage` hands their CTAs to SMs, and `workload` makes the
//! workload of a run from both. `values` finds out whether a run can skip matrix products.
#![forbid(unsafe_code)]

mod consistency;
mod contents;
mod cuda;
mod device;
mod error;
mod exec;
mod expression;
mod isa;
mod listing;
mod load;
mod memory;
mod operand;
mod record;
mod report;
mod run;
mod schema;
mod stage;
mod statics;
mod summary;
mod tensor_map;
mod triton;
mod values;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_base::{GpuId, KernelIndex, StreamId};
use warpshard_workload::{Beside, Code, MemKind, OpClass, PeerCopy, StaticInst, Units, Workload};

use contents::Element;
use schema::{Contents, Tolerance};

pub use cuda::{Kernel as SourceKernel, Launching, Parameter, Sources, launch_file};
pub use device::{Argument, Device, LaunchShape};
pub use error::ProgramError;
pub use load::{ListingReport, ProgramReport};
pub use summary::{Difference, Execution, KernelSummary, OutputSummary};
pub use tensor_map::TensorShape;
pub use triton::{is_triton_launch_file, triton_architecture, triton_launch_file};

/// The script that compiles CUDA C, for the Python interpreter that `warpshard compile` starts.
pub const COMPILER: &str = include_str!("compile.py");

/// A launch file, ready to execute.
#[derive(Debug)]
pub struct Program {
    /// The name of the program.
    pub name: String,
    /// The architecture of its listing: 70 for sm_70.
    pub arch: u32,
    file: PathBuf,
    folder: PathBuf,
    parameters: Vec<(String, i64)>,
    buffers: Vec<Buffer>,
    globals: Vec<(String, Vec<u8>)>,
    /// Where the buffers lie, then the globals.
    addresses: Vec<u64>,
    /// What prepares the buffers and belongs to no run.
    setup: Vec<Launch>,
    launches: Vec<Launch>,
    /// What the host does to device memory, each with the number of the launch that it comes before; a launch file has none.
    host: Vec<(usize, device::HostStep)>,
    outputs: Vec<Output>,
}

#[derive(Debug)]
struct Buffer {
    name: String,
    element: Element,
    count: usize,
    address: Option<u64>,
    contents: Contents,
    /// The GPU whose memory it lies in, where the file names one.
    gpu: Option<GpuId>,
}

/// A kernel launch with everything bound.
#[derive(Clone, Debug)]
struct Launch {
    kernel: Arc<exec::Kernel>,
    stream: StreamId,
    /// Launches that it waits for besides those of its stream.
    after: Vec<KernelIndex>,
    /// The launch before it in its stream, where it depends on that one programmatically.
    programmatic: Option<KernelIndex>,
    /// Places of stores after which a CTA may be executed anew, where that was found out.
    repeatable: Arc<[u32]>,
    /// The GPU that it runs on, where the file names one.
    gpu: Option<GpuId>,
    /// What it copies instead of running.
    copy: Option<PeerCopy>,
}

#[derive(Debug)]
struct Output {
    buffer: usize,
    crc32: Option<u32>,
    expected: Option<Contents>,
    tolerance: Tolerance,
    show: usize,
}

/// How a program executes during a run. The simulated cycles do not depend on these options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// Execute CTAs ahead of their requests on a thread of their own. Useful if the host has a core to spare.
    pub ahead: bool,
    /// Skip matrix products. The contents of memory after the run are then not the program's results. It is an error if an address, a branch or a barrier
    /// depends on a product.
    pub skip_products: bool,
}

impl Program {
    /// What the machine code of all launches needs.
    pub fn code(&self) -> Code {
        self.code_of(&self.launches)
    }

    /// What the machine code of these launches needs.
    fn code_of(&self, launches: &[Launch]) -> Code {
        let mut instructions = launches.iter().flat_map(|launch| launch.kernel.statics.iter().flat_map(|statics| statics.iter()));
        let of = |is: fn(Beside) -> bool| {
            let all = launches.iter().filter_map(|launch| launch.kernel.statics.as_deref()).flatten();
            all.filter(|inst| is(inst.control.beside)).count() as u64
        };
        let beside = Units {
            products: of(|beside| matches!(beside, Beside::Product { .. })),
            barriers: of(|beside| beside == Beside::Barrier),
            bulk: of(|beside| beside == Beside::Bulk),
        };
        let mut mnemonics = launches.iter().flat_map(|launch| launch.kernel.mnemonics.iter());
        Code {
            arch: self.arch,
            tensor: instructions.any(|inst| inst.class == OpClass::Tensor),
            copies: mnemonics.any(|name| name.starts_with("LDGSTS")),
            beside,
        }
    }

    /// The architectures for which a launch file names listings, in its order: 70 for sm_70. What is no architecture is left out.
    ///
    /// # Errors
    /// When the file cannot be read, or is no launch file.
    pub fn architectures(path: &Path) -> Result<Vec<u32>, ProgramError> {
        load::architectures(path)
    }

    /// Reads a launch file and its listing; `arch` picks the listing (70 for sm_70), else the first one is taken. `settings` replace
    /// parameters of the file.
    ///
    /// # Errors
    /// The first thing that is wrong with either file.
    pub fn load(path: &Path, arch: Option<u32>, settings: &[(String, String)]) -> Result<Arc<Self>, ProgramError> {
        load::load(path, arch, settings).map(Arc::new)
    }

    /// Checks a launch file with all of its listings without executing it.
    ///
    /// # Errors
    /// The first thing that is wrong with it or a listing.
    pub fn check_file(path: &Path) -> Result<ProgramReport, ProgramError> {
        load::program(path)
    }

    /// Checks a listing: what is in it, and what of it cannot be executed.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn check_listing(path: &Path) -> Result<ListingReport, ProgramError> {
        load::listing(path)
    }

    /// Executes all launches without timing; `measure` counts sectors and bank conflicts, too.
    ///
    /// # Errors
    /// What stops the program: an access outside of its buffers, an endless loop, a barrier that not all threads reach.
    pub fn execute(self: &Arc<Self>, measure: bool) -> Result<Execution, ProgramError> {
        summary::execute(self, measure, false)
    }

    /// The same, and each access of shared and local memory is checked: races of warps are errors, reads of what nobody wrote are warnings.
    ///
    /// # Errors
    /// Those of [`Program::execute`], and two warps of a CTA that access the same byte of shared memory without a barrier between, one of them
    /// to write it.
    pub fn check(self: &Arc<Self>, measure: bool) -> Result<Execution, ProgramError> {
        summary::execute(self, measure, true)
    }

    /// The bytes of a buffer before the first launch.
    ///
    /// # Errors
    /// When there is no such buffer, or its contents cannot be made.
    pub fn input(self: &Arc<Self>, buffer: &str) -> Result<Vec<u8>, ProgramError> {
        let unknown = || ProgramError::new(&self.file, 0, format!("there is no buffer `{buffer}`"));
        let place = self.buffers.iter().position(|known| known.name == buffer).ok_or_else(unknown)?;
        Ok(run::Runner::new(self)?.memory.allocations()[place].bytes.clone())
    }

    /// The program as the workload of a run.
    ///
    /// # Errors
    /// When the timing model does not know the architecture, or memory cannot be made.
    pub fn workload(self: &Arc<Self>) -> Result<Workload, ProgramError> {
        self.workload_with(WorkloadOptions::default())
    }

    /// The program as the workload of a run, with options.
    ///
    /// # Errors
    /// Those of [`Program::workload`]; with `skip_products`, also if an address, a branch or a barrier depends on a matrix product.
    pub fn workload_with(self: &Arc<Self>, options: WorkloadOptions) -> Result<Workload, ProgramError> {
        workload::workload(self, options)
    }

    /// The places in the code of each kernel, by its name, of atomics, and of stores that overwrite what their CTA has read and not written itself. The program is
    /// executed for that. Where CTAs may read each other's data while they run (cooperative launches, clusters), and where tensor copies read, nothing is looked
    /// for and all stores and atomics count.
    ///
    /// # Errors
    /// Those of [`Program::execute`].
    pub fn overwrites(self: &Arc<Self>) -> Result<BTreeMap<String, BTreeSet<u32>>, ProgramError> {
        let mut runner = run::Runner::new(self)?;
        runner.find_overwrites();
        let mut all: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        while let Some((launch, ..)) = runner.next(false)? {
            all.entry(self.launches[launch].kernel.name.clone()).or_default().extend(runner.overwrites());
        }
        let writes = |inst: &StaticInst| inst.mem.is_some_and(|mem| mem.kind != MemKind::Load);
        for launch in self.launches.iter().filter(|launch| !launch.kernel.stands_alone()) {
            let code = launch.kernel.statics.iter().flat_map(|code| code.iter());
            let places = (0..).zip(code).filter(|(_, inst)| writes(inst)).map(|(place, _)| place);
            all.entry(launch.kernel.name.clone()).or_default().extend(places);
        }
        Ok(all)
    }

    /// Lets CTAs be executed anew after their stores, except those at the places that [`Program::overwrites`] found. Else nothing is known, and no CTA may be after its
    /// first store.
    pub fn set_overwrites(&mut self, overwrites: &BTreeMap<String, BTreeSet<u32>>) {
        for launch in &mut self.launches {
            let (Some(places), Some(code)) = (overwrites.get(&launch.kernel.name), &launch.kernel.statics) else { continue };
            let is_store = |inst: &StaticInst| inst.mem.is_some_and(|mem| mem.kind == MemKind::Store);
            let stores = (0..).zip(code.iter()).filter(|(place, inst)| is_store(inst) && !places.contains(place));
            launch.repeatable = stores.map(|(place, _)| place).collect();
        }
    }

    /// Writes what the program executes as an Accel-Sim trace into a folder; returns the path of its list.
    ///
    /// # Errors
    /// Those of the file system, and what stops the program.
    pub fn record(self: &Arc<Self>, out: &Path) -> io::Result<PathBuf> {
        record::record(self, out)
    }
}

#[cfg(test)]
mod groups_tests;
#[cfg(test)]
mod hopper_tests;
#[cfg(test)]
mod inductor_tests;
#[cfg(test)]
mod lanes_tests;
#[cfg(test)]
mod tensor_tests;
#[cfg(test)]
mod tests;
