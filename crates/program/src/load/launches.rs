//! Binding of launches: kernels with their arguments, constants and textures.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use toml::Spanned;

use warpshard_base::{Addr, GpuId, KernelIndex, MAX_KERNELS, StreamId};
use warpshard_isa::Generation;
use warpshard_workload::{Dim3, PeerCopy, StaticInst};

use super::super::error::ProgramError;
use super::super::exec::{
    CONSTANT_WINDOW, COOPERATIVE_COUNTER, Kernel, KernelCode, LOCAL_WINDOW, MAX_CTAS_TOGETHER, RUNTIME_BASE, RUNTIME_FUNCTIONS,
    SHARED_WINDOW, STACK_TOP, Texture,
};
use super::super::isa::{Banks, Mbarrier, Op, decode};
use super::super::listing::{KernelText, Module};
use super::super::schema::{CopyRow, LaunchRow, Value};
use super::super::statics::statics;
use super::super::tensor_map::{self, TensorMap};
use super::super::{BoundLaunch, Program};
use super::Loader;

/// Maximum launches of a program.
pub(in super::super) const MAX_LAUNCHES: usize = MAX_KERNELS;
/// Maximum grid and CTA sizes per dimension.
pub(in super::super) const MAX_GRID: [i64; 3] = [0x7fff_ffff, 0xffff, 0xffff];
pub(in super::super) const MAX_BLOCK: [i64; 3] = [1024, 1024, 64];
/// Bytes of stack per thread in addition to the local memory of a kernel that calls functions; the listing does not include their frames.
const STACK_BYTES: usize = 1024;
/// Maximum bytes of shared memory per CTA.
const MAX_SHARED_BYTES: i64 = 228 << 10;

/// The module and objects that launches are bound to.
pub(super) struct BindContext<'a> {
    pub(super) module: &'a Module,
    /// Names of the texture objects, and the objects themselves.
    pub(super) textures: (&'a [&'a str], Arc<[Texture]>),
    /// Tensor maps with their names.
    pub(super) tensors: Vec<(&'a str, TensorMap)>,
    /// Maximum instructions of a warp.
    pub(super) limit: u64,
}

impl Loader<'_> {
    /// Adds launches in order, with sequences repeated.
    pub(super) fn launches(
        &mut self,
        program: &mut Program,
        rows: &[Spanned<LaunchRow>],
        bound: &BindContext<'_>,
    ) -> Result<(), ProgramError> {
        for spanned in rows {
            let row = self.row(spanned);
            let kinds = [row.kernel.is_some(), !row.sequence.is_empty(), row.copy.is_some()];
            if kinds.into_iter().filter(|given| *given).count() != 1 {
                let what = if row.copy.is_some() || kinds == [false; 3] {
                    "a launch has none or several of `kernel`, `copy` and `sequence`"
                } else {
                    "a launch has neither or both of `kernel` and `sequence`"
                };
                return Err(self.row_problem(what).expected("one of them"));
            }
            if !row.sequence.is_empty() && row.has_events() {
                return Err(self.row_problem("a sequence records or awaits an event").expected("`record` and `wait` in its launches"));
            }
            if !row.sequence.is_empty() && row.programmatic {
                let what = "a sequence is a programmatic dependent launch";
                return Err(self.key_problem("programmatic", what).expected("`programmatic` in its launches"));
            }
            let repeat = row.repeat.as_ref().map_or(Ok(1), |value| self.number(value, "repeat"))?;
            if repeat < 0 {
                return Err(self
                    .key_problem("repeat", "a launch is repeated a negative number of times")
                    .found(repeat.to_string())
                    .expected("0 or more"));
            }
            if repeat > MAX_LAUNCHES as i64 {
                return Err(self.too_many().found(format!("repeat = {repeat}")));
            }
            if let Some(index) = row.index.as_ref().filter(|index| self.parameters.iter().any(|(name, _)| name == *index)) {
                let help = "choose a name that neither a parameter nor the index of a sequence around it has";
                return Err(self.key_problem("index", "the index of a launch hides a parameter").found(index.clone()).help(help));
            }
            for i in 0..repeat {
                self.row(spanned);
                self.rounds += 1;
                if self.rounds > MAX_LAUNCHES || program.launches.len() == MAX_LAUNCHES {
                    return Err(self.too_many());
                }
                if row.repeat.is_some() {
                    self.parameters.push((row.index.clone().unwrap_or_else(|| "i".into()), i));
                }
                if row.sequence.is_empty() {
                    let mut launch = match &row.copy {
                        Some(copy) => self.copy(row, copy, program, bound)?,
                        None => self.launch(row, program, bound)?,
                    };
                    launch.gpu = self.gpu(row.gpu.as_ref())?;
                    self.events(row, program.launches.len(), &mut launch)?;
                    self.programmatic(row, &program.launches, &mut launch)?;
                    if launch.copy.is_none() {
                        self.launched.record_launch(&launch.kernel);
                    }
                    if row.setup { program.setup.push(launch) } else { program.launches.push(launch) }
                } else {
                    self.launches(program, &row.sequence, bound)?;
                }
                if row.repeat.is_some() {
                    self.parameters.pop();
                }
            }
        }
        Ok(())
    }

    fn too_many(&self) -> ProgramError {
        let help = "divide the launches among several programs";
        self.row_problem("the program launches too many kernels").expected(format!("at most {MAX_LAUNCHES}")).help(help)
    }

    /// Binds the events that a launch waits for and the event that it records; `number` is the launch's index in the program.
    ///
    /// A stream waits for the last launch earlier in the file that recorded an event, so that launches never wait for each other in a
    /// cycle.
    fn events(&mut self, row: &LaunchRow, number: usize, launch: &mut BoundLaunch) -> Result<(), ProgramError> {
        if row.setup && row.has_events() {
            return Err(self.row_problem("a launch of the setup records or awaits an event").expected("events among the other launches"));
        }
        for event in &row.wait {
            let known = self.events.iter().find(|(name, _)| name == event);
            let Some((_, recorded)) = known else {
                let what = format!("the launch waits for event `{event}`, which no earlier launch records");
                return Err(self.unknown("wait", what, event, self.events.iter().map(|(name, _)| name.as_str())));
            };
            launch.after.push(*recorded);
        }
        if let Some(event) = &row.record {
            self.events.retain(|(name, _)| name != event);
            self.events.push((event.clone(), KernelIndex(number as u32)));
        }
        Ok(())
    }

    /// Records the programmatic dependency of a launch on the previous launch in its stream, which must exist and be a kernel.
    fn programmatic(&self, row: &LaunchRow, before: &[BoundLaunch], launch: &mut BoundLaunch) -> Result<(), ProgramError> {
        if !row.programmatic {
            return Ok(());
        }
        let bad = |what: &str, help: &str| Err(self.key_problem("programmatic", what).found("programmatic = true").help(help));
        if row.setup {
            return bad("a launch of the setup is a programmatic dependent launch", "remove `programmatic`: the setup belongs to no run");
        }
        if launch.copy.is_some() {
            return bad("a copy is a programmatic dependent launch", "remove `programmatic`: only kernels can be programmatic dependents");
        }
        let stream = (launch.gpu.unwrap_or_default(), launch.stream);
        let same = |other: &BoundLaunch| (other.gpu.unwrap_or_default(), other.stream) == stream;
        match before.iter().rposition(same).map(|place| (place, &before[place])) {
            None => {
                let what = format!("a programmatic dependent launch is the first launch of stream {} on {}", stream.1.0, stream.0);
                bad(&what, "mark only launches that follow another one; write the first of a repeated launch separately")
            }
            Some((_, copy)) if copy.copy.is_some() => bad(
                "a programmatic dependent launch follows a copy, which triggers nothing",
                "remove `programmatic`, or put a kernel between",
            ),
            Some((place, _)) => {
                launch.programmatic = Some(KernelIndex(place as u32));
                Ok(())
            }
        }
    }

    /// Returns a problem of a launch with the line of its key.
    fn of_key(&self, key: &str, problem: ProgramError) -> ProgramError {
        if problem.file != self.path || problem.line > 0 {
            return problem;
        }
        ProgramError { line: self.key_problem(key, "").line, ..problem }
    }

    fn dimensions(&self, values: &[Value], what: &str, most: [i64; 3]) -> Result<Dim3, ProgramError> {
        let sizes: Vec<i64> = values.iter().map(|value| self.number(value, what)).collect::<Result<_, _>>()?;
        extents(self.path, &sizes, what, most).map_err(|problem| self.of_key(what, problem))
    }

    fn launch(&self, row: &LaunchRow, program: &Program, bound: &BindContext<'_>) -> Result<BoundLaunch, ProgramError> {
        let name = row.kernel.as_deref().unwrap_or_default();
        let text = bound.module.find_kernel(self.path, name).map_err(|problem| self.of_key("kernel", problem))?;
        let grid = self.dimensions(&row.grid, "grid", MAX_GRID)?;
        let block = self.dimensions(&row.block, "block", MAX_BLOCK)?;
        let dynamic = row.shared.as_ref().map_or(Ok(0), |value| self.number(value, "shared"))?;
        let stream = row.stream.as_ref().map_or(Ok(0), |value| self.number(value, "stream"))?;
        let stream =
            u64::try_from(stream).map_err(|_| self.key_problem("stream", "a stream is a number from 0 on").found(stream.to_string()))?;
        let argument = |number: usize, size: usize| {
            let what = format!("argument {number} of kernel {}", text.name);
            self.argument(&row.arguments[number], size, (program, bound), &what)
        };
        let globals = &program.addresses[program.buffers.len()..];
        let textures = Arc::clone(&bound.textures.1);
        let cluster = if row.cluster.is_empty() { None } else { Some(self.dimensions(&row.cluster, "cluster", [16; 3])?) };
        let cooperative = row.cooperative;
        let shape = LaunchParameters {
            grid,
            block,
            dynamic,
            limit: bound.limit,
            globals,
            stream: StreamId(stream),
            textures,
            cluster,
            cooperative,
        };
        let launch = bind(
            self.path,
            (bound.module, text),
            &shape,
            row.arguments.len(),
            &argument,
            (&program.launches, self.launched.of(&text.name)),
        );
        launch.map_err(|problem| {
            let keys = ["shared", "cluster", "cooperative"];
            let key = keys.into_iter().find(|key| problem.what.starts_with(key)).unwrap_or("arguments");
            self.of_key(key, problem)
        })
    }

    /// Returns the GPU that a launch or buffer names.
    pub(super) fn gpu(&self, value: Option<&Value>) -> Result<Option<GpuId>, ProgramError> {
        let Some(value) = value else { return Ok(None) };
        let number = self.number(value, "gpu")?;
        let gpu = u8::try_from(number).map_err(|_| self.key_problem("gpu", "a GPU is a number from 0 to 255").found(number.to_string()))?;
        Ok(Some(GpuId(gpu)))
    }

    /// Returns a copy between memories, as a launch.
    fn copy(&self, row: &LaunchRow, copy: &CopyRow, program: &Program, bound: &BindContext<'_>) -> Result<BoundLaunch, ProgramError> {
        if row.setup || !(row.grid.is_empty() && row.block.is_empty() && row.arguments.is_empty() && row.shared.is_none()) {
            let expected = "`copy` with `gpu`, `stream`, `record`, `wait` and `repeat` alone";
            return Err(self
                .row_problem("a copy belongs to the setup, or has a grid, a block, shared memory or arguments")
                .expected(expected));
        }
        let address = |value: &Value, what: &str| -> Result<u64, ProgramError> {
            let bytes = self.argument(value, 8, (program, bound), &format!("`{what}` of a copy"))?;
            Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
        };
        let (from, to) = (address(&copy.from, "from")?, address(&copy.to, "to")?);
        let bytes = self.number(&copy.bytes, "bytes")?;
        let whole = |start: u64| {
            let starts = program.buffers.iter().zip(&program.addresses);
            let end = bytes.checked_add_unsigned(start).map(i64::cast_unsigned);
            starts.into_iter().any(|(buffer, at)| {
                let after = at + (buffer.count * buffer.element.bytes()) as u64;
                (*at..after).contains(&start) && end.is_some_and(|end| end <= after)
            })
        };
        if bytes < 1 || !whole(from) || !whole(to) {
            let expected = "at least one byte, all of them in one buffer at either end";
            return Err(self
                .key_problem("copy", "a copy leaves its buffers, or copies nothing")
                .found(bytes.to_string())
                .expected(expected));
        }
        let stream = row.stream.as_ref().map_or(Ok(0), |value| self.number(value, "stream"))?;
        let stream =
            u64::try_from(stream).map_err(|_| self.key_problem("stream", "a stream is a number from 0 on").found(stream.to_string()))?;
        let one = Dim3 { x: 1, y: 1, z: 1 };
        Ok(BoundLaunch {
            repeatable: Arc::default(),
            stream: StreamId(stream),
            after: Vec::new(),
            programmatic: None,
            gpu: None,
            copy: Some(PeerCopy { from: Addr(from), to: Addr(to), bytes: bytes.cast_unsigned() }),
            kernel: Arc::new(Kernel {
                code: Arc::new(KernelCode {
                    file: bound.module.file.clone(),
                    name: "copy".to_owned(),
                    registers: 1,
                    statics: Some(Arc::default()),
                    ..KernelCode::default()
                }),
                banks: Banks::default(),
                grid: one,
                block: one,
                shared_bytes: 0,
                local_bytes: 0,
                limit: bound.limit,
                textures: Arc::default(),
                cluster: one,
                cooperative: false,
                polls: false,
            }),
        })
    }

    /// Returns the bytes of a struct of `size` bytes.
    fn structure(
        &self,
        values: &[Value],
        size: usize,
        (program, bound): (&Program, &BindContext<'_>),
        what: &str,
    ) -> Result<Vec<u8>, ProgramError> {
        let mut bytes = Vec::with_capacity(size);
        for value in values {
            let wide = match value {
                Value::Text(text) if text.starts_with('&') => 8,
                Value::List(_) => return Err(self.key_problem("arguments", format!("{what} is a list of lists"))),
                _ => 4,
            };
            bytes.resize(bytes.len().next_multiple_of(wide), 0);
            bytes.extend(self.argument(value, wide, (program, bound), what)?);
        }
        if bytes.len() > size {
            let found = format!("{} bytes", bytes.len());
            return Err(self.key_problem("arguments", format!("{what} is too long")).found(found).expected(format!("{size} bytes")));
        }
        bytes.resize(size, 0);
        Ok(bytes)
    }

    /// Returns the bytes of an argument of `size` bytes.
    fn argument(
        &self,
        value: &Value,
        size: usize,
        (program, bound): (&Program, &BindContext<'_>),
        what: &str,
    ) -> Result<Vec<u8>, ProgramError> {
        if let Value::Text(text) = value
            && let Some(name) = text.strip_prefix('&')
            && let Some((_, map)) = bound.tensors.iter().find(|(known, _)| *known == name.trim())
        {
            if size != tensor_map::MAP_BYTES {
                let expected = format!("a parameter of {} bytes, the size of a tensor map", tensor_map::MAP_BYTES);
                return Err(self.key_problem("arguments", format!("{what} has {size} bytes")).found(text.clone()).expected(expected));
            }
            return Ok(map.encode().to_vec());
        }
        if let Value::List(values) = value {
            return self.structure(values, size, (program, bound), what);
        }
        let wide = match value {
            Value::Float(number) if size == 4 => u64::from((*number as f32).to_bits()),
            Value::Float(number) if size == 8 => number.to_bits(),
            Value::Text(text) if text.starts_with('&') => {
                let end = text.find(['+', '-']).unwrap_or(text.len());
                let (name, offset) = (text[1..end].trim(), &text[end..]);
                let offset = if offset.is_empty() { 0 } else { self.number(&Value::Text(format!("0 {offset}")), what)? };
                if size != 8 {
                    let expected = "8 bytes, the size of an address or a texture";
                    return Err(self.key_problem("arguments", format!("{what} has {size} bytes")).found(text.clone()).expected(expected));
                }
                let buffers = program.buffers.iter().map(|buffer| buffer.name.as_str());
                let textures = bound.textures.0.iter().copied();
                match (buffers.clone().position(|known| known == name), textures.clone().position(|known| known == name)) {
                    (Some(place), _) => program.addresses[place].wrapping_add_signed(offset),
                    (None, Some(place)) if offset == 0 => place as u64 + 1,
                    _ => {
                        let what = format!("{what}: there is no buffer or texture `{name}`");
                        return Err(self.unknown("arguments", what, name, buffers.chain(textures)));
                    }
                }
            }
            _ => {
                let number = self.number(value, what)?;
                let fits = size >= 8 || (-(1_i64 << (8 * size - 1))..1_i64 << (8 * size)).contains(&number);
                if !fits || size == 0 {
                    return Err(self.key_problem("arguments", format!("{what} does not fit its {size} bytes")).found(number.to_string()));
                }
                number as u64
            }
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            let expected = "a list of the values of the struct";
            return Err(self
                .key_problem("arguments", format!("{what} has {size} bytes, which a single number cannot have"))
                .expected(expected));
        }
        Ok(wide.to_le_bytes()[..size].to_vec())
    }
}

/// Checks and returns the extents of a grid or a CTA in 1 to 3 dimensions.
pub(in super::super) fn extents(asked: &Path, values: &[i64], what: &str, most: [i64; 3]) -> Result<Dim3, ProgramError> {
    let mut sizes = [1; 3];
    if values.is_empty() || values.len() > 3 {
        return Err(ProgramError::new(asked, 0, format!("{what} has {} dimensions", values.len())).expected("1 to 3"));
    }
    for (dimension, &size) in values.iter().enumerate() {
        if !(1..=most[dimension]).contains(&size) {
            let expected = format!("1 to {}", most[dimension]);
            return Err(ProgramError::new(asked, 0, format!("{what} is out of range")).found(size.to_string()).expected(expected));
        }
        sizes[dimension] = size as u32;
    }
    Ok(Dim3 { x: sizes[0], y: sizes[1], z: sizes[2] })
}

/// The parameters of a launch besides its arguments.
pub(in super::super) struct LaunchParameters<'a> {
    pub(in super::super) grid: Dim3,
    pub(in super::super) block: Dim3,
    /// Bytes of dynamic shared memory.
    pub(in super::super) dynamic: i64,
    /// Maximum instructions of a warp.
    pub(in super::super) limit: u64,
    /// Addresses of the module's variables in device memory.
    pub(in super::super) globals: &'a [u64],
    pub(in super::super) stream: StreamId,
    /// Texture objects; the first one has number 1.
    pub(in super::super) textures: Arc<[Texture]>,
    /// CTAs of a cluster, if the launch determines them.
    pub(in super::super) cluster: Option<Dim3>,
    pub(in super::super) cooperative: bool,
}

/// Number of previous launches that are compared with a new one.
const MAX_COMPARED_LAUNCHES: usize = 16;

/// The launched kernels of a module by name, each in the form of its last launch.
#[derive(Debug, Default)]
pub(in super::super) struct LaunchedKernels(FxHashMap<String, Arc<Kernel>>);

impl LaunchedKernels {
    /// Returns the kernel's last launch.
    pub(in super::super) fn of(&self, name: &str) -> Option<&Kernel> {
        self.0.get(name).map(|kernel| &**kernel)
    }

    /// Records a launch.
    pub(in super::super) fn record_launch(&mut self, kernel: &Arc<Kernel>) {
        match self.0.get_mut(&kernel.name) {
            Some(last) => *last = Arc::clone(kernel),
            None => _ = self.0.insert(kernel.name.clone(), Arc::clone(kernel)),
        }
    }
}

/// Binds a kernel to a launch; `asked` is the file that names it, for messages, and `argument` returns the bytes of an argument from its
/// number and size. A launch that equals one of the last of `before` shares all its data; other launches share the common parts with
/// `known`, another launch of the kernel.
pub(in super::super) fn bind(
    asked: &Path,
    (module, text): (&Module, &KernelText),
    shape: &LaunchParameters<'_>,
    arguments: usize,
    argument: &dyn Fn(usize, usize) -> Result<Vec<u8>, ProgramError>,
    (before, known): (&[BoundLaunch], Option<&Kernel>),
) -> Result<BoundLaunch, ProgramError> {
    let &LaunchParameters { grid, block, dynamic, limit, globals, stream, ref textures, cooperative, .. } = shape;
    let bad = |what: String| ProgramError::new(asked, 0, what);
    if block.count() > 1024 || grid.count() > u64::from(u32::MAX) {
        let found = format!("grid {grid}, block {block}");
        return Err(bad("the launch is too large".into()).found(found).expected("at most 1024 threads per CTA and 2^32 - 1 CTAs"));
    }
    if !(0..=MAX_SHARED_BYTES - i64::from(text.shared)).contains(&dynamic) {
        let expected = format!("0 to {} bytes", MAX_SHARED_BYTES - i64::from(text.shared));
        return Err(bad("shared is out of range".into()).found(dynamic.to_string()).expected(expected));
    }
    let local = (text.local as usize).next_multiple_of(16) + if calls_with_stack(text) { STACK_BYTES } else { 0 };
    let mut banks = banks(module, text, globals);
    let bank = &mut banks[0];
    for (at, value) in [block.x, block.y, block.z, grid.x, grid.y, grid.z].into_iter().enumerate() {
        bank[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bank[0x18..0x20].copy_from_slice(&SHARED_WINDOW.to_le_bytes());
    bank[0x20..0x28].copy_from_slice(&LOCAL_WINDOW.to_le_bytes());
    bank[STACK_TOP..STACK_TOP + 8].copy_from_slice(&(local as u64).to_le_bytes());
    let cluster = cluster(asked, text, shape)?;
    if module.arch >= 90 {
        // Locations of the parameters, the cluster sizes, and the grid size in clusters that compiled code reads.
        let parameters = CONSTANT_WINDOW + text.parameter_base as u64;
        bank[0x198..0x1a0].copy_from_slice(&parameters.to_le_bytes());
        let (sizes, whole) = ([cluster.x, cluster.y, cluster.z], [grid.x, grid.y, grid.z]);
        for dimension in 0..3 {
            let inverse = 1.0 / sizes[dimension] as f32;
            let values = [(0x144, sizes[dimension]), (0x150, inverse.to_bits()), (0x15c, whole[dimension] / sizes[dimension])];
            for (at, value) in values {
                bank[at + 4 * dimension..at + 4 * dimension + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        // A flag for CTAs in clusters: without it compiled code uses the CTA barrier instead of the cluster barrier.
        bank[0x140..0x144].copy_from_slice(&u32::from(cluster.count() > 1).to_le_bytes());
        bank[0x188..0x18c].copy_from_slice(&(cluster.count() as u32).to_le_bytes());
    }
    if cooperative {
        if grid.count() > u64::from(MAX_CTAS_TOGETHER) {
            let found = format!("{} CTAs", grid.count());
            return Err(bad("a cooperative launch has too many CTAs, which must all be resident at the same time".into())
                .found(found)
                .expected(format!("at most {MAX_CTAS_TOGETHER}")));
        }
        // The high word precedes the low one.
        let at = if module.arch >= 90 { 0x44 } else { 0x8c };
        bank[at..at + 4].copy_from_slice(&((COOPERATIVE_COUNTER.0 >> 32) as u32).to_le_bytes());
        bank[at + 4..at + 8].copy_from_slice(&(COOPERATIVE_COUNTER.0 as u32).to_le_bytes());
    }
    if arguments != text.parameters.len() {
        let found = format!("{arguments} arguments");
        return Err(bad(format!("kernel {} takes {} arguments", text.name, text.parameters.len())).found(found));
    }
    for (number, &(offset, size)) in text.parameters.iter().enumerate() {
        let bytes = argument(number, size)?;
        let at = text.parameter_base + offset;
        bank[at..at + size].copy_from_slice(&bytes);
    }
    let shared_bytes = text.shared as usize + dynamic as usize;
    let mut banks = Banks::new(banks, text.parameter_base);
    let alike = |other: &&BoundLaunch| {
        let one = &*other.kernel;
        (&one.file, &one.name, one.grid, one.block, one.cluster) == (&module.file, &text.name, grid, block, cluster)
            && (one.shared_bytes, one.local_bytes, one.limit, one.cooperative) == (shared_bytes, local, limit, cooperative)
            && Arc::ptr_eq(&one.textures, textures)
            && one.banks == banks
    };
    if let Some(other) = before.iter().rev().take(MAX_COMPARED_LAUNCHES).filter(|other| other.copy.is_none()).find(alike) {
        return Ok(BoundLaunch {
            repeatable: Arc::default(),
            stream,
            after: Vec::new(),
            programmatic: None,
            gpu: None,
            copy: None,
            ..other.clone()
        });
    }
    if let Some(other) = known {
        banks.share(&other.banks);
    }
    let code = known.map_or_else(|| code(module, text, &banks).map(Arc::new), |other| Ok(Arc::clone(&other.code)))?;
    let polls = cooperative || code.decoded.code.iter().any(|inst| matches!(inst.op, Op::Mbarrier(Mbarrier::Arrive80 { .. })));
    let kernel = Arc::new(Kernel {
        code,
        banks,
        grid,
        block,
        shared_bytes,
        local_bytes: local,
        limit,
        textures: Arc::clone(textures),
        cluster,
        cooperative,
        polls,
    });
    Ok(BoundLaunch { repeatable: Arc::default(), stream, after: Vec::new(), programmatic: None, gpu: None, copy: None, kernel })
}

/// Returns the data that all launches of a kernel share; `banks` are the banks of any launch.
fn code(module: &Module, text: &KernelText, banks: &Banks) -> Result<KernelCode, ProgramError> {
    let decoded = decode(&module.file, text, banks, module.arch)?;
    let statics = Generation::of(module.arch).map(|generation| Arc::from(statics(text, &decoded, generation)));
    let all = statics.iter().flat_map(|statics: &Arc<[StaticInst]>| statics.iter());
    Ok(KernelCode {
        file: module.file.clone(),
        name: text.name.clone(),
        registers: text.registers.max(1),
        lines: text.code.iter().map(|inst| (inst.line, inst.mnemonic.clone())).collect(),
        sources: text.code.iter().map(|inst| inst.source).collect(),
        access: all.map(|inst| inst.mem).chain(std::iter::repeat(None)).take(text.code.len()).collect(),
        mnemonics: text.code.iter().map(|inst| inst.mnemonic.clone()).collect(),
        decoded,
        statics,
    })
}

/// Returns the CTAs of a cluster, as determined by the launch or the kernel.
fn cluster(asked: &Path, text: &KernelText, shape: &LaunchParameters<'_>) -> Result<Dim3, ProgramError> {
    let bad = |what: String| ProgramError::new(asked, 0, what);
    let own = text.cluster.map(|[x, y, z]| Dim3 { x, y, z });
    let cluster = match (shape.cluster, own) {
        (Some(asked), Some(own)) if asked != own => {
            let what = format!("cluster {asked} differs from the cluster for which kernel {} was compiled", text.name);
            return Err(bad(what).expected(own.to_string()));
        }
        (asked, own) => asked.or(own).unwrap_or(Dim3 { x: 1, y: 1, z: 1 }),
    };
    let grid = shape.grid;
    let whole = grid.x.is_multiple_of(cluster.x) && grid.y.is_multiple_of(cluster.y) && grid.z.is_multiple_of(cluster.z);
    if cluster.count() > 16 || !whole {
        let what = format!("cluster {cluster} does not divide the grid {grid}");
        return Err(bad(what).expected("at most 16 CTAs, and a grid of whole clusters in each dimension"));
    }
    Ok(cluster)
}

/// Returns true if a kernel calls functions and uses local memory.
fn calls_with_stack(text: &KernelText) -> bool {
    let has = |name: &str| text.code.iter().any(|inst| inst.mnemonic.starts_with(name));
    has("CALL") && (text.local > 0 || has("STL") || has("LDL"))
}

/// Returns the constant banks of a kernel before its launch's values.
fn banks(module: &Module, text: &KernelText, globals: &[u64]) -> [Vec<u8>; 18] {
    let mut banks: [Vec<u8>; 18] = Default::default();
    for (bank, bytes) in module.constants.iter().chain(&text.constants) {
        banks[usize::from(*bank)].clone_from(bytes);
    }
    for (bank, offset, name, _) in &module.addresses {
        let place = module.globals.iter().position(|global| global.name == *name).map(|place| globals[place]);
        // Runtime functions have addresses outside of all memory.
        let outside = || RUNTIME_FUNCTIONS.iter().position(|known| known == name).map(|number| RUNTIME_BASE + 16 * number as u64);
        if let (Some(place), Some(slot)) = (place.or_else(outside), banks[usize::from(*bank) % 18].get_mut(*offset..offset + 8)) {
            slot.copy_from_slice(&place.to_le_bytes());
        }
    }
    // The values of a launch precede the parameters, even if a kernel has none.
    let least = if module.arch >= 90 { 0x210 } else { 0x160 };
    banks[0] = vec![0; (text.parameter_base + text.parameter_bytes).max(least)];
    // Whole words are read, even for a last constant of two bytes.
    banks.iter_mut().for_each(|bank| bank.resize(bank.len().next_multiple_of(4), 0));
    banks
}
