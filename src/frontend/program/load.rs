//! From a launch file to a program: modules are read, formulas evaluated, buffers placed and launches bound to them.

use std::path::Path;
use std::sync::Arc;

use crate::frontend::Dim3;
use crate::frontend::isa::Generation;

use super::contents::{self, Element};
use super::error::ProgramError;
use super::exec::{Kernel, LOCAL_WINDOW, SHARED_WINDOW, STACK_TOP};
use super::expression::evaluate;
use super::isa::{Banks, decode};
use super::listing::{KernelText, Module};
use super::memory::Memory;
use super::schema::{BufferRow, LaunchRow, LaunchText, Value};
use super::statics::statics;
use super::{Buffer, Launch, Output, Program};

/// Most bytes that all buffers have together.
pub(super) const MOST_BYTES: u64 = 1 << 34;
/// Most launches of a program, which traces number in 16 bits.
pub(super) const MOST_LAUNCHES: usize = 1 << 16;
/// Most instructions of a warp where nothing says otherwise.
pub(super) const LIMIT: u64 = 1 << 24;
/// Stack of a thread beyond what its kernel asks for, for functions that are called.
const STACK: usize = 1024;
/// Most shared memory of a CTA, in bytes.
const MOST_SHARED: i64 = 228 << 10;
/// Largest grid and CTA, by dimension.
pub(super) const MOST_GRID: [i64; 3] = [0x7fff_ffff, 0xffff, 0xffff];
pub(super) const MOST_BLOCK: [i64; 3] = [1024, 1024, 64];
/// Longest launch file that is read, in bytes.
const MOST_TEXT: u64 = 1 << 26;

/// Reads a launch file; `arch` picks the listing (70 for sm_70), else the first one is taken. `settings` replace parameters.
pub(super) fn load(path: &Path, arch: Option<u32>, settings: &[(String, String)]) -> Result<Program, ProgramError> {
    let unreadable = |found: String| ProgramError::new(path, 0, "the launch file cannot be read").found(found);
    let facts = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !facts.is_file() || facts.len() > MOST_TEXT {
        return Err(unreadable("no regular file of at most 64 MiB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let file: LaunchText = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1) as u32);
        ProgramError::new(path, line, "the launch file has a mistake")
            .found(error.message().to_owned())
            .help("docs/programs.md describes launch files; programs/ holds examples")
    })?;
    Loader { path, folder: path.parent().unwrap_or(Path::new(".")), parameters: Vec::new(), rounds: 0 }.program(file, arch, settings)
}

struct Loader<'a> {
    path: &'a Path,
    folder: &'a Path,
    /// Parameters, then the numbers of the launches around the present one.
    parameters: Vec<(String, i64)>,
    /// Launches and rounds of sequences so far.
    rounds: usize,
}

/// What launches are bound to.
struct Bound<'a> {
    module: &'a Module,
    /// Where the buffers lie.
    addresses: &'a [u64],
    /// Where the module's variables in device memory lie.
    globals: &'a [u64],
    /// Most instructions of a warp.
    limit: u64,
}

impl Loader<'_> {
    fn bad(&self, what: impl Into<String>) -> ProgramError {
        ProgramError::new(self.path, 0, what)
    }

    fn program(mut self, file: LaunchText, arch: Option<u32>, settings: &[(String, String)]) -> Result<Program, ProgramError> {
        for (name, value) in &file.parameters {
            let number =
                value.as_integer().ok_or_else(|| self.bad(format!("parameter `{name}` is no integer")).found(value.to_string()))?;
            self.parameters.push((name.clone(), number));
        }
        for (name, value) in settings {
            let number = value.parse().map_err(|_| self.bad(format!("parameter `{name}` is no integer")).found(value.clone()))?;
            let names: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
            let unknown = || self.bad(format!("the program has no parameter `{name}`")).expected(names.join(", "));
            let place = self.parameters.iter().position(|(known, _)| known == name).ok_or_else(unknown)?;
            self.parameters[place].1 = number;
        }
        let mut module = self.module(&file, arch)?;
        let mut buffers = Vec::new();
        let mut total = 0_u64;
        for (name, row) in &file.buffers {
            let buffer = self.buffer(name, row.clone(), None)?;
            total = total.saturating_add(buffer.count as u64 * buffer.element.bytes() as u64);
            if total > MOST_BYTES {
                return Err(self.bad("the buffers are too large").found(format!("{total} bytes")).expected("at most 16 GiB in all"));
            }
            buffers.push(buffer);
        }
        let mut program = Program {
            name: file.name.clone().unwrap_or_else(|| self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
            file: self.path.to_path_buf(),
            folder: self.folder.to_path_buf(),
            arch: module.arch,
            parameters: self.parameters.clone(),
            buffers,
            globals: module.globals.iter().map(|global| (global.name.clone(), global.bytes.clone())).collect(),
            setup: Vec::new(),
            launches: Vec::new(),
            host: Vec::new(),
            outputs: Vec::new(),
        };
        let memory = program.memory()?;
        let mut addresses: Vec<u64> = memory.allocations().iter().map(|allocation| allocation.start).collect();
        let globals = addresses.split_off(program.buffers.len());
        for (name, row) in &file.symbols {
            self.symbol(&mut module, &program, name, row.clone())?;
        }
        let bound = Bound { module: &module, addresses: &addresses, globals: &globals, limit: file.limit.unwrap_or(LIMIT) };
        self.launches(&mut program, &file.launches, &bound)?;
        for row in file.outputs {
            let place = program.buffers.iter().position(|buffer| buffer.name == row.buffer);
            let buffer = place.ok_or_else(|| self.bad(format!("output `{}` is no buffer", row.buffer)))?;
            let crc32 = row.crc32.as_deref().map(|text| u32::from_str_radix(text, 16)).transpose();
            let crc32 = crc32.map_err(|_| self.bad(format!("crc32 of output `{}` is no hexadecimal number of 32 bits", row.buffer)))?;
            program.outputs.push(Output { buffer, crc32, show: row.show });
        }
        Ok(program)
    }

    /// Adds launches, in the order in which sequences repeat them.
    fn launches(&mut self, program: &mut Program, rows: &[LaunchRow], bound: &Bound<'_>) -> Result<(), ProgramError> {
        for row in rows {
            if row.kernel.is_some() != row.sequence.is_empty() {
                return Err(self.bad("a launch has neither or both of `kernel` and `sequence`").expected("one of them"));
            }
            let repeat = row.repeat.as_ref().map_or(Ok(1), |value| self.number(value, "repeat"))?;
            for i in 0..repeat {
                self.rounds += 1;
                if self.rounds > MOST_LAUNCHES || program.launches.len() == MOST_LAUNCHES {
                    return Err(self.bad("the program launches too many kernels").expected(format!("at most {MOST_LAUNCHES}")));
                }
                if row.repeat.is_some() {
                    self.parameters.push((row.index.clone().unwrap_or_else(|| "i".into()), i));
                }
                if row.sequence.is_empty() {
                    let launch = self.launch(row, &program.buffers, bound)?;
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

    /// Gives a variable in constant memory its contents.
    fn symbol(&self, module: &mut Module, program: &Program, name: &str, row: toml::Value) -> Result<(), ProgramError> {
        let known = module.symbols.iter().find(|(known, ..)| known == name).cloned();
        let names = || module.symbols.iter().map(|(known, ..)| known.as_str()).collect::<Vec<_>>().join(", ");
        let (_, bank, offset, size) =
            known.ok_or_else(|| self.bad(format!("the listing has no variable `{name}` in constant memory")).expected(names()))?;
        let buffer = self.buffer(name, row, Some(size))?;
        let wanted = buffer.count.saturating_mul(buffer.element.bytes());
        if wanted > size {
            let expected = format!("at most {size} bytes");
            return Err(self.bad(format!("symbol `{name}` is too large")).found(format!("{wanted} bytes")).expected(expected));
        }
        let bytes = program.contents(&buffer)?;
        let place = module.constants.iter_mut().find(|(known, _)| *known == bank);
        let place = place.and_then(|(_, bank)| bank.get_mut(offset..offset + bytes.len()));
        place.ok_or_else(|| self.bad(format!("symbol `{name}` lies outside of its bank in the listing")))?.copy_from_slice(&bytes);
        Ok(())
    }

    fn module(&self, file: &LaunchText, arch: Option<u32>) -> Result<Module, ProgramError> {
        let names: Vec<&str> = file.modules.keys().map(String::as_str).collect();
        let wanted = arch.map(|arch| format!("sm_{arch}"));
        let name = match &wanted {
            Some(name) => file
                .modules
                .get(name)
                .ok_or_else(|| self.bad(format!("the program has no listing for {name}")).expected(names.join(", ")))?,
            None => file
                .modules
                .values()
                .next()
                .ok_or_else(|| self.bad("the program names no module").expected("[modules] with sm_70 = \"listing\""))?,
        };
        Module::load(&self.folder.join(name))
    }

    /// The value of a number or formula.
    fn number(&self, value: &Value, what: &str) -> Result<i64, ProgramError> {
        match value {
            Value::Integer(number) => Ok(*number),
            Value::Float(number) => Err(self.bad(format!("{what} is no integer")).found(number.to_string())),
            Value::Text(text) => {
                let of = |name: &str| self.parameters.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
                evaluate(text, &of).map_err(|problem| self.bad(format!("{what}: {problem}")).found(text.clone()))
            }
        }
    }

    /// A buffer, or a variable of `size` bytes.
    fn buffer(&self, name: &str, row: toml::Value, size: Option<usize>) -> Result<Buffer, ProgramError> {
        let row: BufferRow = row.try_into().map_err(|error: toml::de::Error| {
            self.bad(format!("buffer `{name}` has a mistake"))
                .found(error.message().to_owned())
                .expected("type, count, and perhaps contents and address")
        })?;
        let expected = "u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64";
        let element = Element::of(&row.kind)
            .ok_or_else(|| self.bad(format!("buffer `{name}` has an unknown type")).found(row.kind.clone()).expected(expected))?;
        let count = match (&row.count, size) {
            (Some(count), _) => self.number(count, &format!("count of buffer `{name}`"))?,
            (None, Some(size)) => (size / element.bytes()) as i64,
            (None, None) => return Err(self.bad(format!("buffer `{name}` has no count"))),
        };
        if !(0..=(MOST_BYTES / 8) as i64).contains(&count) {
            return Err(self.bad(format!("buffer `{name}` has an impossible count")).found(count.to_string()));
        }
        Ok(Buffer { name: name.to_owned(), element, count: count as usize, address: row.address, contents: row.contents })
    }

    fn dimensions(&self, values: &[Value], what: &str, most: [i64; 3]) -> Result<Dim3, ProgramError> {
        let sizes: Vec<i64> = values.iter().map(|value| self.number(value, what)).collect::<Result<_, _>>()?;
        extents(self.path, &sizes, what, most)
    }

    fn launch(&self, row: &LaunchRow, buffers: &[Buffer], bound: &Bound<'_>) -> Result<Launch, ProgramError> {
        let &Bound { module, addresses, globals, limit } = bound;
        let text = module.named(self.path, row.kernel.as_deref().unwrap_or_default())?;
        let grid = self.dimensions(&row.grid, "grid", MOST_GRID)?;
        let block = self.dimensions(&row.block, "block", MOST_BLOCK)?;
        let dynamic = row.shared.as_ref().map_or(Ok(0), |value| self.number(value, "shared"))?;
        let argument = |number: usize, size: usize| {
            let what = format!("argument {number} of kernel {}", text.name);
            self.argument(&row.arguments[number], size, (buffers, addresses), &what)
        };
        let shape = Shape { grid, block, dynamic, limit, globals };
        bind(self.path, (module, text), &shape, row.arguments.len(), &argument)
    }

    /// The bytes of an argument of `size` bytes.
    fn argument(&self, value: &Value, size: usize, (buffers, addresses): (&[Buffer], &[u64]), what: &str) -> Result<Vec<u8>, ProgramError> {
        let wide = match value {
            Value::Float(number) if size == 4 => u64::from((*number as f32).to_bits()),
            Value::Float(number) if size == 8 => number.to_bits(),
            Value::Text(text) if text.starts_with('&') => {
                let end = text.find(['+', '-']).unwrap_or(text.len());
                let (name, offset) = (text[1..end].trim(), &text[end..]);
                let names = || buffers.iter().map(|buffer| buffer.name.as_str()).collect::<Vec<_>>().join(", ");
                let place = buffers.iter().position(|buffer| buffer.name == name);
                let place = place.ok_or_else(|| self.bad(format!("{what}: there is no buffer `{name}`")).expected(names()))?;
                let offset = if offset.is_empty() { 0 } else { self.number(&Value::Text(format!("0 {offset}")), what)? };
                if size != 8 {
                    return Err(self.bad(format!("{what} is no pointer")).found(format!("{size} bytes")));
                }
                addresses[place].wrapping_add_signed(offset)
            }
            _ => {
                let number = self.number(value, what)?;
                let fits = size >= 8 || (-(1_i64 << (8 * size - 1))..1_i64 << (8 * size)).contains(&number);
                if !fits || size == 0 {
                    return Err(self.bad(format!("{what} does not fit its {size} bytes")).found(number.to_string()));
                }
                number as u64
            }
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            let expected = "a parameter of 1, 2, 4 or 8 bytes";
            return Err(self.bad(format!("{what} has {size} bytes, which a launch file cannot give")).expected(expected));
        }
        Ok(wide.to_le_bytes()[..size].to_vec())
    }
}

/// The extents of a grid or a CTA, 1 to 3 of them.
pub(super) fn extents(asked: &Path, values: &[i64], what: &str, most: [i64; 3]) -> Result<Dim3, ProgramError> {
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

/// What a launch sets besides its arguments.
pub(super) struct Shape<'a> {
    pub(super) grid: Dim3,
    pub(super) block: Dim3,
    /// Dynamic shared memory in bytes.
    pub(super) dynamic: i64,
    /// Most instructions of a warp.
    pub(super) limit: u64,
    /// Where the module's variables in device memory lie.
    pub(super) globals: &'a [u64],
}

/// Binds a kernel to a launch that `asked` names; `argument` gives the bytes of an argument by its number and size.
pub(super) fn bind(
    asked: &Path,
    (module, text): (&Module, &KernelText),
    shape: &Shape<'_>,
    arguments: usize,
    argument: &dyn Fn(usize, usize) -> Result<Vec<u8>, ProgramError>,
) -> Result<Launch, ProgramError> {
    let &Shape { grid, block, dynamic, limit, globals } = shape;
    let bad = |what: String| ProgramError::new(asked, 0, what);
    if block.count() > 1024 || grid.count() > u64::from(u32::MAX) {
        let found = format!("grid {grid}, block {block}");
        return Err(bad("the launch is too large".into()).found(found).expected("at most 1024 threads per CTA and 2^32 - 1 CTAs"));
    }
    if !(0..=MOST_SHARED - i64::from(text.shared)).contains(&dynamic) {
        let expected = format!("0 to {} bytes", MOST_SHARED - i64::from(text.shared));
        return Err(bad("shared is out of range".into()).found(dynamic.to_string()).expected(expected));
    }
    let local = (text.local as usize).next_multiple_of(16) + if uses_stack(text) { STACK } else { 0 };
    let mut banks = banks(module, text, globals);
    let bank = &mut banks.0[0];
    for (at, value) in [block.x, block.y, block.z, grid.x, grid.y, grid.z].into_iter().enumerate() {
        bank[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bank[0x18..0x20].copy_from_slice(&SHARED_WINDOW.to_le_bytes());
    bank[0x20..0x28].copy_from_slice(&LOCAL_WINDOW.to_le_bytes());
    bank[STACK_TOP..STACK_TOP + 8].copy_from_slice(&(local as u64).to_le_bytes());
    if arguments != text.parameters.len() {
        let found = format!("{arguments} arguments");
        return Err(bad(format!("kernel {} takes {} arguments", text.name, text.parameters.len())).found(found));
    }
    for (number, &(offset, size)) in text.parameters.iter().enumerate() {
        let bytes = argument(number, size)?;
        let at = text.parameter_base + offset;
        bank[at..at + size].copy_from_slice(&bytes);
    }
    let decoded = decode(&module.file, text, &banks)?;
    let statics = Generation::of(module.arch).map(|generation| statics(text, &decoded, generation));
    let access = statics.iter().flatten().map(|inst| inst.mem).chain(std::iter::repeat(None)).take(text.code.len()).collect();
    Ok(Launch {
        registers: text.registers.max(1),
        statics: statics.map(Into::into),
        mnemonics: text.code.iter().map(|inst| inst.mnemonic.clone()).collect(),
        kernel: Arc::new(Kernel {
            file: module.file.clone(),
            name: text.name.clone(),
            lines: text.code.iter().map(|inst| (inst.line, inst.mnemonic.clone())).collect(),
            decoded,
            access,
            banks,
            grid,
            block,
            shared_bytes: text.shared as usize + dynamic as usize,
            local_bytes: local,
            limit,
        }),
    })
}

/// Whether a kernel uses local memory at all.
fn uses_stack(text: &KernelText) -> bool {
    text.local > 0 || text.code.iter().any(|inst| inst.mnemonic.starts_with("STL") || inst.mnemonic.starts_with("LDL"))
}

/// The constant banks of a kernel before its launch's values.
fn banks(module: &Module, text: &KernelText, globals: &[u64]) -> Banks {
    let mut banks = Banks(vec![Vec::new(); 18]);
    for (bank, bytes) in module.constants.iter().chain(&text.constants) {
        banks.0[usize::from(*bank)].clone_from(bytes);
    }
    for (bank, offset, name) in &module.addresses {
        let place = module.globals.iter().position(|global| global.name == *name);
        if let (Some(place), Some(slot)) = (place, banks.0[usize::from(*bank) % 18].get_mut(*offset..offset + 8)) {
            slot.copy_from_slice(&globals[place].to_le_bytes());
        }
    }
    banks.0[0] = vec![0; (text.parameter_base + text.parameter_bytes).max(0x160)];
    banks
}

impl Program {
    fn cannot(&self, buffer: &Buffer, found: String) -> ProgramError {
        ProgramError::new(&self.file, 0, format!("buffer `{}` cannot be made", buffer.name)).found(found)
    }

    /// The bytes of a buffer before the first launch.
    pub(super) fn contents(&self, buffer: &Buffer) -> Result<Vec<u8>, ProgramError> {
        let origin = (self.folder.as_path(), self.parameters.as_slice());
        contents::bytes(&buffer.contents, buffer.element, buffer.count, origin).map_err(|found| self.cannot(buffer, found))
    }

    /// Device memory as it is before the first launch.
    pub(super) fn memory(&self) -> Result<Memory, ProgramError> {
        let mut memory = Memory::default();
        for buffer in &self.buffers {
            let bytes = self.contents(buffer)?;
            let written = !matches!(buffer.contents, super::schema::Contents::None);
            match buffer.address {
                None => {
                    memory.allocate(&buffer.name, bytes, written);
                }
                Some(address) => {
                    let taken = || self.cannot(buffer, format!("address {address:#x}")).expected("a place where no other buffer lies");
                    memory.allocate_at(&buffer.name, address, bytes, written).ok_or_else(taken)?;
                }
            }
        }
        for (name, bytes) in &self.globals {
            memory.allocate(name, bytes.clone(), true);
        }
        Ok(memory)
    }
}
