//! Functional execution of GPU machine code on the host, without a GPU.
//!
//! A launch file names listings (the output of `warpshard compile` for CUDA C), buffers, launches and outputs. [`Program::load`] reads it,
//! [`Program::execute`] executes it, and [`Program::workload`] provides the warps' instructions to a run in the same way as a recorded
//! trace. A [`Device`] does the same without a launch file: its caller allocates, launches and reads memory in between. CTAs execute
//! sequentially in ascending order and launches in the order of the file, so results depend neither on the machine nor on the number of
//! threads. This crate contains no timing.
//!
//! Modules in the order of an instruction's processing: `listing` and `operand` parse its text, `isa` finds its operation and binds its
//! operands, `exec` executes it, and `statics` describes it to the timing model. `run` executes launches in order, `stage` delivers their
//! CTAs to SMs, and `workload` combines both into the workload of a run. `values` determines whether a run can skip matrix products.
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
use warpshard_workload::{AsyncOp, AsyncOpCounts, CodeRequirements, MemKind, OpClass, PeerCopy, StaticInst, Workload};

use contents::Element;
use schema::{Contents, Tolerance};

pub use cuda::{Kernel as SourceKernel, LaunchOptions, Parameter, Sources, launch_file};
pub use device::{Argument, Device, LaunchShape};
pub use error::ProgramError;
pub use load::{ListingReport, ProgramReport};
pub use summary::{Difference, Execution, KernelSummary, OutputSummary};
pub use tensor_map::TensorShape;
pub use triton::{is_triton_launch_file, triton_architecture, triton_launch_file};

/// Script that compiles CUDA C, for the Python interpreter that `warpshard compile` starts.
pub const COMPILER_SCRIPT: &str = include_str!("compile.py");

/// A launch file, ready to execute.
#[derive(Debug)]
pub struct Program {
    /// Name of the program.
    pub name: String,
    /// Architecture of the listing: 70 for sm_70.
    pub arch: u32,
    file: PathBuf,
    folder: PathBuf,
    parameters: Vec<(String, i64)>,
    buffers: Vec<DeviceBuffer>,
    globals: Vec<(String, Vec<u8>)>,
    /// Addresses of the buffers, then of the globals.
    addresses: Vec<u64>,
    /// Launches that prepare the buffers and belong to no run.
    setup: Vec<BoundLaunch>,
    launches: Vec<BoundLaunch>,
    /// Host operations on device memory, each with the index of the next launch; empty for a launch file.
    host: Vec<(usize, device::HostStep)>,
    outputs: Vec<Output>,
}

#[derive(Debug)]
struct DeviceBuffer {
    name: String,
    element: Element,
    count: usize,
    address: Option<u64>,
    contents: Contents,
    /// GPU whose memory contains the buffer, if the file names one.
    gpu: Option<GpuId>,
}

/// A kernel launch with all values bound.
#[derive(Clone, Debug)]
struct BoundLaunch {
    kernel: Arc<exec::Kernel>,
    stream: StreamId,
    /// Launches that this launch waits for besides the launches of its stream.
    after: Vec<KernelIndex>,
    /// The previous launch in the stream if this launch depends on it programmatically.
    programmatic: Option<KernelIndex>,
    /// Instruction indices of stores after which a CTA may be re-executed, if they were determined.
    repeatable: Arc<[u32]>,
    /// GPU that executes the launch, if the file names one.
    gpu: Option<GpuId>,
    /// The copy between GPUs, if the launch is a copy instead of a kernel.
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

/// Options for the execution of a program during a run. They do not affect the simulated cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// True to execute CTAs ahead of their requests on a separate thread. This is useful if the host has an idle core.
    pub ahead: bool,
    /// True to skip matrix products. Memory then does not contain the program's results after the run. It is an error if an address, a
    /// branch or a barrier depends on a product.
    pub skip_products: bool,
}

impl Program {
    /// Returns the properties of the machine code of all launches that the timing model needs.
    pub fn code(&self) -> CodeRequirements {
        self.code_of(&self.launches)
    }

    /// Returns the properties of the machine code of `launches` that the timing model needs.
    fn code_of(&self, launches: &[BoundLaunch]) -> CodeRequirements {
        let mut instructions = launches.iter().flat_map(|launch| launch.kernel.statics.iter().flat_map(|statics| statics.iter()));
        let of = |is: fn(AsyncOp) -> bool| {
            let all = launches.iter().filter_map(|launch| launch.kernel.statics.as_deref()).flatten();
            all.filter(|inst| is(inst.control.async_op)).count() as u64
        };
        let async_counts = AsyncOpCounts {
            products: of(|op| matches!(op, AsyncOp::Product { .. })),
            barriers: of(|op| op == AsyncOp::Barrier),
            bulk: of(|op| op == AsyncOp::Bulk),
        };
        let mut mnemonics = launches.iter().flat_map(|launch| launch.kernel.mnemonics.iter());
        CodeRequirements {
            arch: self.arch,
            tensor: instructions.any(|inst| inst.class == OpClass::Tensor),
            copies: mnemonics.any(|name| name.starts_with("LDGSTS")),
            async_counts,
        }
    }

    /// Returns the architectures for which a launch file names listings, in its order: 70 for sm_70. Unknown architecture names are
    /// omitted.
    ///
    /// # Errors
    /// The file cannot be read, or is not a launch file.
    pub fn architectures(path: &Path) -> Result<Vec<u32>, ProgramError> {
        load::architectures(path)
    }

    /// Reads a launch file and its listing; `arch` selects the listing (70 for sm_70), by default the first one. `settings` override
    /// parameters of the file.
    ///
    /// # Errors
    /// The first problem of either file.
    pub fn load(path: &Path, arch: Option<u32>, settings: &[(String, String)]) -> Result<Arc<Self>, ProgramError> {
        load::load(path, arch, settings).map(Arc::new)
    }

    /// Checks a launch file with all of its listings without executing it.
    ///
    /// # Errors
    /// The first problem of the file or of a listing.
    pub fn check_file(path: &Path) -> Result<ProgramReport, ProgramError> {
        load::program(path)
    }

    /// Checks a listing and reports its contents and the instructions that cannot be executed.
    ///
    /// # Errors
    /// The listing cannot be parsed.
    pub fn check_listing(path: &Path) -> Result<ListingReport, ProgramError> {
        load::listing(path)
    }

    /// Executes all launches without timing; `measure` also counts sectors and bank conflicts.
    ///
    /// # Errors
    /// A fault of the program: an access outside of its buffers, an endless loop, or a barrier that not all threads reach.
    pub fn execute(self: &Arc<Self>, measure: bool) -> Result<Execution, ProgramError> {
        summary::execute(self, measure, false)
    }

    /// Executes all launches like [`Program::execute`] and checks each access of shared and local memory: races between warps are errors,
    /// reads of unwritten memory are warnings.
    ///
    /// # Errors
    /// The errors of [`Program::execute`], and accesses by two warps of a CTA to the same byte of shared memory without a barrier in
    /// between if one of them writes it.
    pub fn check(self: &Arc<Self>, measure: bool) -> Result<Execution, ProgramError> {
        summary::execute(self, measure, true)
    }

    /// Returns the bytes of a buffer before the first launch.
    ///
    /// # Errors
    /// The buffer does not exist, or its contents cannot be generated.
    pub fn input(self: &Arc<Self>, buffer: &str) -> Result<Vec<u8>, ProgramError> {
        let unknown = || ProgramError::new(&self.file, 0, format!("there is no buffer `{buffer}`"));
        let place = self.buffers.iter().position(|known| known.name == buffer).ok_or_else(unknown)?;
        Ok(run::Runner::new(self)?.memory.allocations()[place].bytes.clone())
    }

    /// Returns the program as the workload of a run.
    ///
    /// # Errors
    /// The timing model does not support the architecture, or memory cannot be allocated.
    pub fn workload(self: &Arc<Self>) -> Result<Workload, ProgramError> {
        self.workload_with(WorkloadOptions::default())
    }

    /// Returns the program as the workload of a run, with options.
    ///
    /// # Errors
    /// The errors of [`Program::workload`]; with `skip_products`, also an address, a branch or a barrier that depends on a matrix product.
    pub fn workload_with(self: &Arc<Self>, options: WorkloadOptions) -> Result<Workload, ProgramError> {
        workload::workload(self, options)
    }

    /// Executes the program and returns, per kernel name, the instruction indices of atomics and of stores that overwrite bytes which their
    /// CTA has read before writing them itself. If CTAs may read data of other running CTAs (cooperative launches, clusters), or tensor
    /// copies read memory, nothing is analysed and all stores and atomics are returned.
    ///
    /// # Errors
    /// The errors of [`Program::execute`].
    pub fn overwrites(self: &Arc<Self>) -> Result<BTreeMap<String, BTreeSet<u32>>, ProgramError> {
        let mut runner = run::Runner::new(self)?;
        runner.find_overwrites();
        let mut all: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        while let Some((launch, ..)) = runner.next(false)? {
            all.entry(self.launches[launch].kernel.name.clone()).or_default().extend(runner.overwrites());
        }
        let writes = |inst: &StaticInst| inst.mem.is_some_and(|mem| mem.kind != MemKind::Load);
        for launch in self.launches.iter().filter(|launch| !launch.kernel.is_independent()) {
            let code = launch.kernel.statics.iter().flat_map(|code| code.iter());
            let places = (0..).zip(code).filter(|(_, inst)| writes(inst)).map(|(place, _)| place);
            all.entry(launch.kernel.name.clone()).or_default().extend(places);
        }
        Ok(all)
    }

    /// Allows re-execution of CTAs after their stores, except after the stores that [`Program::overwrites`] returned. Without this call no
    /// CTA may be re-executed after its first store.
    pub fn set_overwrites(&mut self, overwrites: &BTreeMap<String, BTreeSet<u32>>) {
        for launch in &mut self.launches {
            let (Some(places), Some(code)) = (overwrites.get(&launch.kernel.name), &launch.kernel.statics) else { continue };
            let is_store = |inst: &StaticInst| inst.mem.is_some_and(|mem| mem.kind == MemKind::Store);
            let stores = (0..).zip(code.iter()).filter(|(place, inst)| is_store(inst) && !places.contains(place));
            launch.repeatable = stores.map(|(place, _)| place).collect();
        }
    }

    /// Executes the program and writes an Accel-Sim trace into a folder; returns the path of its kernel list.
    ///
    /// # Errors
    /// Errors of the file system, and faults of the program.
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
