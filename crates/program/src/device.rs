//! A device without a launch file: its caller allocates, copies, launches and reads results like a CUDA host program.
//!
//! Inputs are listings, bytes and launches. Outputs are the memory after each launch, which executes immediately, and a [`Workload`] of all
//! launches so far. The device records the operations of the host, and a workload executes them again: no instruction is kept in memory,
//! and a run sees exactly the same operations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_base::{KernelIndex, StreamId};
use warpshard_workload::Workload;

use super::consistency;
use super::error::ProgramError;
use super::exec::{Executor, Tally};
use super::listing::Module;
use super::load::{
    DEFAULT_INSTRUCTION_LIMIT, LaunchParameters, LaunchedKernels, MAX_BLOCK, MAX_BUFFER_BYTES, MAX_GRID, MAX_LAUNCHES, bind, extents,
};
use super::memory::{AccessFault, Memory};
use super::report::describe;
use super::tensor_map::{MAP_BYTES, TensorMap, TensorShape};
use super::workload::workload;
use super::{BoundLaunch, Program, WorkloadOptions};

/// Maximum CTAs of a cluster in each dimension.
const MAX_CLUSTER: [i64; 3] = [16; 3];
/// CTAs between two calls of `keep_going`.
const CTAS_PER_CALLBACK: u32 = 64;

/// An operation of the host on device memory.
#[derive(Clone, Debug)]
pub(super) enum HostStep {
    /// An allocation with contents; `copied` is true if the host copied them to the device.
    Allocate { name: String, start: u64, bytes: Arc<[u8]>, written: bool, copied: bool },
    /// A write; `copied` is true if the host copied the bytes to the device.
    Write { start: u64, bytes: Arc<[u8]>, copied: bool },
}

impl HostStep {
    /// Repeats the operation.
    pub(super) fn apply(&self, memory: &mut Memory) {
        match self {
            Self::Allocate { name, start, bytes, written, .. } => {
                memory.allocate_at(name, *start, bytes.to_vec(), *written);
            }
            // The write succeeded the first time, and memory is never freed here.
            Self::Write { start, bytes, .. } => drop(memory.fill(*start, bytes)),
        }
    }

    /// Returns the first byte and the length of the copy to the device, if the operation is a copy.
    pub(super) fn copies(&self) -> impl Iterator<Item = (u64, u64)> {
        let (Self::Allocate { start, bytes, copied, .. } | Self::Write { start, bytes, copied }) = self;
        copied.then_some((*start, bytes.len() as u64)).into_iter()
    }

    fn bytes(&self) -> u64 {
        let (Self::Allocate { bytes, .. } | Self::Write { bytes, .. }) = self;
        bytes.len() as u64
    }
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A device address.
    Pointer(u64),
    /// A number for a parameter of 1 to 8 bytes.
    Integer(i128),
    /// A number for a parameter of 4 or 8 bytes.
    Float(f64),
    /// The bytes of the parameter.
    Bytes(Vec<u8>),
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape<'a> {
    /// CTAs of the grid in one to three dimensions.
    pub grid: &'a [i64],
    /// Threads of a CTA in one to three dimensions.
    pub block: &'a [i64],
    /// Dynamic shared memory in bytes.
    pub shared: i64,
    /// Cluster size in CTAs, in one to three dimensions; empty for the size that the kernel was compiled for.
    pub cluster: &'a [i64],
    /// True if CTAs may wait for each other (cooperative launch).
    pub cooperative: bool,
    /// True for a programmatic dependent launch: in a run it may start when every CTA of the previous launch has triggered it
    /// (`griddepcontrol.launch_dependents`) or has ended.
    pub programmatic: bool,
}

/// A loaded listing.
#[derive(Debug)]
struct LoadedModule {
    module: Module,
    /// Addresses of the listing's variables in device memory.
    globals: Vec<u64>,
    /// LaunchedKernels kernels of the listing.
    launched: LaunchedKernels,
}

/// A device that a host program controls.
#[derive(Debug)]
pub struct Device {
    name: String,
    /// Name of the launch's location in messages.
    launch_location: PathBuf,
    modules: Vec<LoadedModule>,
    memory: Memory,
    executor: Executor,
    launches: Vec<BoundLaunch>,
    host: Vec<(usize, HostStep)>,
    /// Bytes of the operations in `host`.
    recorded_bytes: u64,
}

impl Device {
    /// Returns an empty device. `check` also checks every access of shared and local memory, like [`Program::check`].
    pub fn new(name: &str, check: bool) -> Self {
        let mut executor = Executor::default();
        executor.shadow = check.then(Box::default);
        let (modules, launches, host) = Default::default();
        let (memory, asked) = (Memory::default(), PathBuf::from(name));
        Self { name: name.to_owned(), launch_location: asked, modules, memory, executor, launches, host, recorded_bytes: 0 }
    }

    fn problem(&self, what: impl Into<String>) -> ProgramError {
        ProgramError::new(&self.launch_location, 0, what)
    }

    /// Loads a listing and allocates its variables in device memory; returns the module's index.
    ///
    /// # Errors
    /// The listing is faulty, or its architecture differs from an earlier listing.
    pub fn load(&mut self, listing: &Path) -> Result<usize, ProgramError> {
        let module = consistency::load(listing)?;
        if let Some(first) = self.modules.first().filter(|first| first.module.arch != module.arch) {
            let expected = format!("sm_{}, as the first module has", first.module.arch);
            return Err(ProgramError::new(listing, 0, "the module is for another architecture")
                .found(format!("sm_{}", module.arch))
                .expected(expected));
        }
        let mut globals = Vec::new();
        for global in &module.globals {
            globals.push(self.allocate(&global.name, global.bytes.clone(), true, false)?);
        }
        self.modules.push(LoadedModule { module, globals, launched: LaunchedKernels::default() });
        Ok(self.modules.len() - 1)
    }

    /// Returns name, static shared bytes, registers, and the size of each parameter for each kernel of a module.
    pub fn kernels(&self, module: usize) -> Vec<(String, u32, u32, Vec<usize>)> {
        let sizes = |parameters: &[(usize, usize)]| parameters.iter().map(|&(_, size)| size).collect();
        let kernels = self.modules[module].module.kernels.iter();
        kernels.map(|kernel| (kernel.name.clone(), kernel.shared, kernel.registers, sizes(&kernel.parameters))).collect()
    }

    /// Returns the full name of a kernel from its full name or from its identifier in the source.
    ///
    /// # Errors
    /// The kernel does not exist; the message lists the existing names.
    pub fn kernel_name(&self, module: usize, name: &str) -> Result<String, ProgramError> {
        let module = &self.modules[module].module;
        module.find_kernel(&module.file, name).map(|kernel| kernel.name.clone())
    }

    /// Returns the address and size of a module's variable in device memory.
    pub fn variable(&self, module: usize, name: &str) -> Option<(u64, u64)> {
        let LoadedModule { module, globals, .. } = &self.modules[module];
        let place = module.globals.iter().position(|global| global.name == name)?;
        Some((globals[place], module.globals[place].bytes.len() as u64))
    }

    /// Sets the contents of a variable in constant memory for future launches.
    ///
    /// # Errors
    /// The variable does not exist, or is smaller than `bytes`.
    pub fn set_constant(&mut self, module: usize, name: &str, bytes: &[u8]) -> Result<(), ProgramError> {
        let asked = self.launch_location.clone();
        let module = &mut self.modules[module].module;
        let names = module.symbols.iter().map(|(known, ..)| known.as_str()).collect::<Vec<_>>().join(", ");
        let known = module.symbols.iter().find(|(known, ..)| known == name).map(|(_, bank, offset, size)| (*bank, *offset, *size));
        let unknown = || ProgramError::new(&asked, 0, format!("the listing has no variable `{name}` in constant memory")).expected(names);
        let (bank, offset, size) = known.ok_or_else(unknown)?;
        let bank = module.constants.iter_mut().find(|(known, _)| *known == bank).map(|(_, bytes)| bytes);
        match bank.and_then(|bank| bank.get_mut(offset..offset + bytes.len())).filter(|_| bytes.len() <= size) {
            Some(place) => place.copy_from_slice(bytes),
            None => {
                let expected = format!("at most {size} bytes");
                let what = format!("`{name}` in constant memory is too small");
                return Err(ProgramError::new(&asked, 0, what).found(format!("{} bytes", bytes.len())).expected(expected));
            }
        }
        Ok(())
    }

    /// Allocates memory with contents and returns its address. Contents that are not `written` only determine the size; `copied` contents
    /// come from the host by a copy that the timing model simulates.
    ///
    /// # Errors
    /// The size exceeds the memory of a device.
    pub fn allocate(&mut self, name: &str, bytes: Vec<u8>, written: bool, copied: bool) -> Result<u64, ProgramError> {
        self.check_host_bytes(bytes.len() as u64)?;
        let kept: Arc<[u8]> = bytes.as_slice().into();
        let index = self.memory.allocate(name, bytes, written);
        let start = self.memory.allocations()[index].start;
        self.record_step(HostStep::Allocate { name: name.to_owned(), start, bytes: kept, written, copied });
        Ok(start)
    }

    /// Frees the allocation at an address; later accesses to it are errors.
    pub fn free(&mut self, start: u64) {
        if let Some(index) = self.memory.allocations().iter().position(|known| known.start == start) {
            self.memory.release(index);
        }
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// The bytes are not inside one allocation.
    pub fn write(&mut self, start: u64, bytes: &[u8]) -> Result<(), ProgramError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.check_host_bytes(bytes.len() as u64)?;
        self.memory.fill(start, bytes).map_err(|fault| self.outside_allocation(fault, bytes.len()))?;
        self.record_step(HostStep::Write { start, bytes: bytes.into(), copied: true });
        Ok(())
    }

    /// Returns the bytes at an address.
    ///
    /// # Errors
    /// The bytes are not inside one allocation.
    pub fn read(&mut self, start: u64, bytes: usize) -> Result<&[u8], ProgramError> {
        if bytes == 0 {
            return Ok(&[]);
        }
        let (index, span) = self.memory.span(start, bytes).map_err(|fault| self.outside_allocation(fault, bytes))?;
        Ok(&self.memory.allocations()[index].bytes[span])
    }

    /// Returns the tensor map of a tensor at an address as the bytes of a kernel parameter. The tensor memory accelerator uses it to locate
    /// boxes of the tensor.
    ///
    /// # Errors
    /// The address is in no allocation, or the shape is invalid or does not fit.
    pub fn tensor_map(&mut self, address: u64, shape: &TensorShape) -> Result<[u8; MAP_BYTES], ProgramError> {
        let (index, span) = self.memory.span(address, 1).map_err(|fault| self.outside_allocation(fault, 1))?;
        let room = self.memory.allocations()[index].bytes.len() - span.start;
        let map = TensorMap::of(shape, address, room as i64);
        let map =
            map.map_err(|(key, what, found, expected)| self.problem(format!("tensor map, {key}: {what}")).found(found).expected(expected))?;
        Ok(map.encode())
    }

    fn outside_allocation(&self, fault: AccessFault, bytes: usize) -> ProgramError {
        let near = fault.nearest.map_or_else(String::new, |(name, offset, size)| {
            format!("; the closest is `{name}` of {size} bytes, in which it would begin at byte {offset}")
        });
        self.problem(format!("a copy of {bytes} bytes outside of every array, at address {:#x}{near}", fault.address))
    }

    fn check_host_bytes(&self, bytes: u64) -> Result<(), ProgramError> {
        if self.recorded_bytes.saturating_add(bytes) <= MAX_BUFFER_BYTES {
            return Ok(());
        }
        let what = format!("the host has copied {} bytes to the device, and {bytes} more exceed the limit", self.recorded_bytes);
        Err(self
            .problem(what)
            .expected("at most 16 GiB between two calls of clear()")
            .help("clear() discards the recorded launches and keeps the arrays"))
    }

    fn record_step(&mut self, step: HostStep) {
        self.recorded_bytes += step.bytes();
        self.host.push((self.launches.len(), step));
    }

    /// Executes a kernel and waits for its end; returns its warp instructions and its thread instructions. `keep_going` is called every few
    /// CTAs and returns false to stop.
    ///
    /// # Errors
    /// The launch is invalid or the kernel fails. A failed launch is not part of a workload, and memory keeps the state at the failure.
    pub fn launch(
        &mut self,
        (number, kernel): (usize, &str),
        shape: &LaunchShape<'_>,
        arguments: &[Argument],
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(u64, u64), ProgramError> {
        if self.launches.len() == MAX_LAUNCHES {
            let problem = self.problem("the device has launched too many kernels").expected(format!("at most {MAX_LAUNCHES}"));
            return Err(problem.help("clear() discards the recorded launches and keeps the arrays"));
        }
        let LoadedModule { module, globals, launched } = &self.modules[number];
        let text = module.find_kernel(&self.launch_location, kernel)?;
        let &LaunchShape { grid, block, shared: dynamic, cluster, cooperative, programmatic } = shape;
        if programmatic {
            self.check_programmatic()?;
        }
        let grid = extents(&self.launch_location, grid, "grid", MAX_GRID)?;
        let block = extents(&self.launch_location, block, "block", MAX_BLOCK)?;
        let cluster = if cluster.is_empty() { None } else { Some(extents(&self.launch_location, cluster, "cluster", MAX_CLUSTER)?) };
        let argument = |number: usize, size: usize| {
            let what = format!("argument {number} of kernel {}", text.name);
            bytes_of(&arguments[number], size).map_err(|(found, expected)| self.problem(what).found(found).expected(expected))
        };
        let (stream, textures) = (StreamId(0), Arc::default());
        let shape =
            LaunchParameters { grid, block, dynamic, limit: DEFAULT_INSTRUCTION_LIMIT, globals, stream, textures, cluster, cooperative };
        let launch = bind(&self.launch_location, (module, text), &shape, arguments.len(), &argument, (&[], launched.of(&text.name)))?;
        let launch = BoundLaunch { programmatic: programmatic.then(|| KernelIndex(self.launches.len() as u32 - 1)), ..launch };
        let mut tally = Tally::default();
        let done = self.execute(&launch, &mut tally, keep_going);
        if let Err(problem) = done {
            self.rebase();
            return Err(problem);
        }
        self.modules[number].launched.record_launch(&launch.kernel);
        self.launches.push(launch);
        let sums = tally.0.iter().map(|count| (count.warps, count.lanes));
        Ok(sums.fold((0, 0), |(warps, lanes), (more, active)| (warps + more, lanes + active)))
    }

    /// Rejects a programmatic dependent launch if there is no previous launch, or if the host has copied to the device since then.
    fn check_programmatic(&self) -> Result<(), ProgramError> {
        if self.launches.is_empty() {
            let problem = self.problem("a programmatic dependent launch is the first launch of the device");
            return Err(problem.help("mark only launches that follow another one"));
        }
        let mut since = self.host.iter().rev().take_while(|(before, _)| *before == self.launches.len());
        if since.any(|(_, step)| step.copies().next().is_some()) {
            let problem = self.problem("a programmatic dependent launch follows a copy from the host, not a kernel");
            return Err(problem.help("copy before the launch on which it depends, or launch it without `programmatic`"));
        }
        Ok(())
    }

    fn execute(&mut self, launch: &BoundLaunch, tally: &mut Tally, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProgramError> {
        let kernel = &launch.kernel;
        let step = kernel.concurrent_ctas();
        for cta in (0..kernel.grid.count() as u32).step_by(step as usize) {
            if (cta / step).is_multiple_of(CTAS_PER_CALLBACK) && !keep_going() {
                return Err(self.problem(format!("kernel {} was interrupted at CTA {cta}", kernel.name)));
            }
            let done = self.executor.ctas(kernel, &mut self.memory, cta, false, (tally, false));
            done.map_err(|(cta, fault)| describe(kernel, cta, fault))?;
        }
        Ok(())
    }

    /// Records the current memory contents, so that launches after a failed launch start from its state.
    fn rebase(&mut self) {
        for index in 0..self.memory.allocations().len() {
            let allocation = &self.memory.allocations()[index];
            if !allocation.bytes.is_empty() {
                let step = HostStep::Write { start: allocation.start, bytes: allocation.bytes.as_slice().into(), copied: false };
                self.record_step(step);
            }
        }
    }

    /// Discards all recorded launches and copies; memory is unchanged.
    pub fn clear(&mut self) {
        (self.launches, self.host, self.recorded_bytes) = (Vec::new(), Vec::new(), 0);
        for index in 0..self.memory.allocations().len() {
            let allocation = &self.memory.allocations()[index];
            let step = HostStep::Allocate {
                name: allocation.name.clone(),
                start: allocation.start,
                bytes: allocation.bytes.as_slice().into(),
                written: allocation.is_written(),
                copied: false,
            };
            self.record_step(step);
        }
    }

    /// Returns the text that kernels have printed since the last call, and the number of printf calls that are missing from it.
    pub fn printed(&mut self) -> (String, u64) {
        let printed = std::mem::take(&mut self.executor.printed);
        (printed.text, printed.left_out)
    }

    /// Returns the number of kernels in a workload.
    pub fn launched(&self) -> usize {
        self.launches.len()
    }

    /// Returns the number of reads of unwritten bytes per array.
    pub fn unwritten(&self) -> Vec<(String, u64)> {
        let counted = self.memory.allocations().iter().zip(&self.memory.unwritten).filter(|(_, count)| **count > 0);
        counted.map(|(allocation, count)| (allocation.name.clone(), *count)).collect()
    }

    /// Returns all launches and copies so far as the workload of a run. The device can be used further.
    ///
    /// # Errors
    /// No kernel was launched, or the timing model does not support the architecture.
    pub fn workload(&self) -> Result<Workload, ProgramError> {
        if self.launches.is_empty() {
            return Err(self.problem("nothing was launched on the device").help("launch a kernel first"));
        }
        let program = Program {
            name: self.name.clone(),
            arch: self.modules.first().map_or(0, |first| first.module.arch),
            file: self.launch_location.clone(),
            folder: PathBuf::new(),
            parameters: Vec::new(),
            buffers: Vec::new(),
            globals: Vec::new(),
            addresses: Vec::new(),
            setup: Vec::new(),
            launches: self.launches.clone(),
            host: self.host.clone(),
            outputs: Vec::new(),
        };
        workload(&Arc::new(program), WorkloadOptions::default())
    }
}

/// Returns the bytes of an argument for a parameter of `size` bytes; the error is the found and the expected value.
fn bytes_of(argument: &Argument, size: usize) -> Result<Vec<u8>, (String, String)> {
    let wide = match argument {
        Argument::Pointer(address) if size == 8 => return Ok(address.to_le_bytes().to_vec()),
        Argument::Pointer(_) => return Err(("an array".into(), format!("a number of {size} bytes"))),
        Argument::Bytes(bytes) if bytes.len() == size => return Ok(bytes.clone()),
        Argument::Bytes(bytes) => return Err((format!("{} bytes", bytes.len()), format!("{size} bytes"))),
        Argument::Float(number) if size == 4 => return Ok((*number as f32).to_le_bytes().to_vec()),
        Argument::Float(number) if size == 8 => return Ok(number.to_le_bytes().to_vec()),
        Argument::Float(number) => return Err((number.to_string(), format!("a value of exactly {size} bytes"))),
        Argument::Integer(number) => *number,
    };
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err((wide.to_string(), format!("a value of exactly {size} bytes")));
    }
    let bits = 8 * size as u32;
    if !(-(1_i128 << (bits - 1))..1 << bits).contains(&wide) {
        return Err((wide.to_string(), format!("an integer of {size} bytes")));
    }
    Ok(wide.to_le_bytes()[..size].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::CtaIndex;
    use warpshard_workload::Command;

    fn listing_path(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("programs").join(name)
    }

    fn float_bytes(values: impl Iterator<Item = f32>) -> Vec<u8> {
        values.flat_map(f32::to_le_bytes).collect()
    }

    fn shape<'a>(grid: &'a [i64], block: &'a [i64]) -> LaunchShape<'a> {
        LaunchShape { grid, block, ..LaunchShape::default() }
    }

    /// Returns a device that has executed saxpy with 1000 elements, and the address of `y`.
    fn saxpy() -> (Device, u64) {
        let mut device = Device::new("test", false);
        let module = device.load(&listing_path("saxpy.sm_70.sass")).unwrap();
        let x = device.allocate("x", float_bytes((0..1000).map(|i| i as f32)), true, true).unwrap();
        let y = device.allocate("y", float_bytes((0..1000).map(|_| 1.0)), true, true).unwrap();
        let arguments = [Argument::Integer(1000), Argument::Float(2.0), Argument::Pointer(x), Argument::Pointer(y)];
        let (warps, lanes) = device.launch((module, "saxpy"), &shape(&[4], &[256]), &arguments, &mut || true).unwrap();
        assert!(warps >= 32 && lanes > 31 * warps / 2, "{warps}, {lanes}");
        (device, y)
    }

    fn instruction_streams(workload: &Workload) -> Vec<String> {
        let ctas = workload.kernels.iter().flat_map(|kernel| (0..kernel.info.ctas()).map(|cta| kernel.source.cta(CtaIndex(cta))));
        let instructions = |program: &warpshard_workload::CtaProgram| {
            let mut text = String::new();
            for stream in &program.warps {
                for inst in stream.read() {
                    text += &format!("{inst:?}\n");
                }
            }
            text
        };
        ctas.map(|program| instructions(&program)).collect()
    }

    #[test]
    fn a_launch_executes_at_once_and_its_results_can_be_read() {
        let (mut device, y) = saxpy();
        let got = device.read(y, 4000).unwrap().to_vec();
        assert_eq!(got, float_bytes((0..1000).map(|i| 2.0 * i as f32 + 1.0)));
    }

    #[test]
    fn the_workload_is_what_was_launched_with_the_copies_before_it() {
        let (mut device, y) = saxpy();
        device.write(y, &float_bytes((0..500).map(|_| 0.0))).unwrap();
        let arguments = |x| [Argument::Integer(500), Argument::Float(1.0), Argument::Pointer(x), Argument::Pointer(y)];
        assert!(device.launch((0, "saxpy"), &shape(&[2], &[256]), &arguments(16), &mut || true).is_err());
        device.launch((0, "saxpy"), &shape(&[2], &[256]), &arguments(y), &mut || true).unwrap();
        let workload = device.workload().unwrap();
        let order: Vec<bool> = workload.commands.iter().map(|command| matches!(command, Command::Launch(_))).collect();
        assert_eq!(order, [false, false, true, false, true]);
        let first = instruction_streams(&workload);
        assert_eq!(first, instruction_streams(&workload));
        assert_eq!((first.len(), workload.kernels[1].info.id), (6, 2));
    }

    #[test]
    fn a_programmatic_dependent_launch_follows_a_kernel() {
        let marked = LaunchShape { programmatic: true, ..shape(&[2], &[256]) };
        let again = |device: &mut Device, y| {
            let arguments = [Argument::Integer(500), Argument::Float(1.0), Argument::Pointer(y), Argument::Pointer(y)];
            device.launch((0, "saxpy"), &marked, &arguments, &mut || true).map_err(|error| error.to_string())
        };
        let (mut device, y) = saxpy();
        again(&mut device, y).unwrap();
        // An array that is allocated in between copies no data.
        device.allocate("z", vec![0; 64], false, false).unwrap();
        again(&mut device, y).unwrap();
        let before: Vec<_> = device.workload().unwrap().kernels.iter().map(|kernel| kernel.info.programmatic).collect();
        assert_eq!(before, [None, Some(KernelIndex(0)), Some(KernelIndex(1))]);
        device.write(y, &[0; 4]).unwrap();
        assert!(again(&mut device, y).unwrap_err().contains("follows a copy from the host"));
        device.clear();
        assert!(again(&mut device, y).unwrap_err().contains("is the first launch of the device"));
    }

    #[test]
    fn the_same_kernel_as_in_a_launch_file_gives_the_same_streams() {
        let file = Program::load(&listing_path("saxpy.toml"), Some(70), &[("n".into(), "1000".into())]).unwrap();
        let mut device = Device::new("saxpy", false);
        let module = device.load(&listing_path("saxpy.sm_70.sass")).unwrap();
        let allocate = |device: &mut Device, name: &str| device.allocate(name, file.input(name).unwrap(), true, true).unwrap();
        let (x, y) = (allocate(&mut device, "x"), allocate(&mut device, "y"));
        let arguments = [Argument::Integer(1000), Argument::Float(2.5), Argument::Pointer(x), Argument::Pointer(y)];
        device.launch((module, "saxpy"), &shape(&[40], &[256]), &arguments, &mut || true).unwrap();
        assert_eq!(instruction_streams(&device.workload().unwrap()), instruction_streams(&file.workload().unwrap()));
    }

    #[test]
    fn an_access_beyond_an_array_names_the_array_and_freed_ones_are_gone() {
        let (mut device, y) = saxpy();
        let arguments = |y| [Argument::Integer(1100), Argument::Float(1.0), Argument::Pointer(y), Argument::Pointer(y)];
        let launch =
            |device: &mut Device| device.launch((0, "saxpy"), &shape(&[8], &[256]), &arguments(y), &mut || true).unwrap_err().to_string();
        let error = launch(&mut device);
        assert!(error.contains("the closest is `y` of 4000 bytes, in which it would be byte 4000"), "{error}");
        device.free(y);
        let error = launch(&mut device);
        assert!(error.contains("`y (freed)` of 0 bytes"), "{error}");
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused_with_their_number() {
        let (mut device, y) = saxpy();
        let mut error =
            |arguments: &[Argument]| device.launch((0, "saxpy"), &shape(&[1], &[32]), arguments, &mut || true).unwrap_err().to_string();
        let pointer = Argument::Pointer(y);
        let all = |n, a| [n, a, pointer.clone(), pointer.clone()];
        assert!(error(&[]).contains("takes 4 arguments"));
        assert!(error(&all(pointer.clone(), Argument::Float(1.0))).contains("argument 0 of kernel"));
        assert!(error(&all(Argument::Integer(1 << 33), Argument::Float(1.0))).contains("an integer of 4 bytes"));
        assert!(error(&all(Argument::Integer(1), Argument::Bytes(vec![0; 3]))).contains("3 bytes"));
    }

    #[test]
    fn clearing_keeps_memory_and_discards_launches() {
        let (mut device, y) = saxpy();
        device.clear();
        assert_eq!(device.launched(), 0);
        assert!(device.workload().unwrap_err().to_string().contains("nothing was launched"));
        let arguments = [Argument::Integer(1000), Argument::Float(1.0), Argument::Pointer(y), Argument::Pointer(y)];
        device.launch((0, "saxpy"), &shape(&[4], &[256]), &arguments, &mut || true).unwrap();
        let workload = device.workload().unwrap();
        assert_eq!((workload.commands.len(), instruction_streams(&workload).len()), (1, 4));
        assert_eq!(device.read(y + 4, 4).unwrap(), 6.0_f32.to_le_bytes());
    }

    #[test]
    fn interrupted_kernels_report_the_interruption() {
        let (mut device, y) = saxpy();
        let arguments = [Argument::Integer(1000), Argument::Float(1.0), Argument::Pointer(y), Argument::Pointer(y)];
        let error = device.launch((0, "saxpy"), &shape(&[4], &[256]), &arguments, &mut || false).unwrap_err().to_string();
        assert!(error.contains("interrupted at CTA 0"), "{error}");
        assert_eq!(device.launched(), 1);
    }

    #[test]
    fn clusters_and_tensor_maps_are_those_of_a_launch() {
        let mut device = Device::new("test", false);
        let module = device.load(&listing_path("triton/matmultma-2048-w8s3.sm_90.sass")).unwrap();
        // Each element of the product of two matrices of ones equals the depth.
        let (rows, depth) = (128, 64);
        let bfloats = |count: usize| [0x80, 0x3f].repeat(count);
        let (a, b) = (device.allocate("a", bfloats(rows * depth), true, true), device.allocate("b", bfloats(depth * rows), true, true));
        let c = device.allocate("c", vec![0; 2 * rows * rows], true, false).unwrap();
        let mut map = |address, [columns, rows]: [usize; 2], extents: [i64; 2]| {
            let sizes = vec![columns as i64, rows as i64];
            let shape = TensorShape { kind: "bf16".into(), sizes, extents: extents.into(), swizzle: Some(128), ..TensorShape::default() };
            device.tensor_map(address, &shape).map(|map| (Argument::Bytes(map.to_vec()), [rows as i128, columns as i128]))
        };
        let maps = [
            map(a.unwrap(), [depth, rows], [64, 128]).unwrap(),
            map(b.unwrap(), [rows, depth], [64, 64]).unwrap(),
            map(c, [rows, rows], [64, 128]).unwrap(),
        ];
        assert!(map(c, [rows + 1, rows], [64, 128]).unwrap_err().to_string().contains("rows do not begin at multiples of 16 bytes"));
        assert!(map(c, [2 * rows, rows], [64, 128]).unwrap_err().to_string().contains("it does not lie in its buffer"));
        let mut arguments = Vec::new();
        for (map, [rows, columns]) in maps {
            arguments.push(map);
            arguments.extend([rows, columns, columns, 1].map(Argument::Integer));
        }
        arguments.extend([rows, rows, depth, 0, 0].map(|number| Argument::Integer(number as i128)));
        let launch = LaunchShape { grid: &[1], block: &[256], shared: 98328, ..LaunchShape::default() };
        device.launch((module, "matmul_tma"), &launch, &arguments, &mut || true).unwrap();
        assert_eq!(device.read(c, 2 * rows * rows).unwrap(), [0x80, 0x42].repeat(rows * rows));
        let clusters = LaunchShape { cluster: &[2], ..launch };
        let error = device.launch((module, "matmul_tma"), &clusters, &arguments, &mut || true).unwrap_err().to_string();
        assert!(error.contains("cluster 2x1x1 does not divide the grid 1x1x1") || error.contains("does not divide the grid"), "{error}");
    }
}
