//! Loader of a launch file: it reads modules, evaluates formulas, allocates buffers and binds launches to them.

mod buffer_layout;
mod check;
mod launches;
mod tensors;
mod text;
mod textures;

use std::cell::Cell;
use std::path::Path;

use toml::Spanned;

use warpshard_base::KernelIndex;

use super::consistency;
use super::contents::{self, Element};
use super::error::{ProgramError, listed};
use super::exec::WINDOWS;
use super::expression::evaluate;
use super::listing::Module;
use super::schema::{BufferRow, LaunchText, OutputRow, Value};
use super::{DeviceBuffer, Output, Program};
use launches::BindContext;

pub use check::{ListingReport, ProgramReport};
pub(super) use check::{listing, program};
pub(super) use launches::{LaunchParameters, LaunchedKernels, MAX_BLOCK, MAX_GRID, MAX_LAUNCHES, bind, extents};

use warpshard_model::suggest;

/// Maximum bytes of all buffers together.
pub(super) const MAX_BUFFER_BYTES: u64 = 1 << 34;
/// Default limit of instructions per warp.
pub(super) const DEFAULT_INSTRUCTION_LIMIT: u64 = 1 << 24;

/// Reads a launch file; `arch` selects the listing (70 for sm_70), by default the first one. `settings` override parameters.
pub(super) fn load(path: &Path, arch: Option<u32>, settings: &[(String, String)]) -> Result<Program, ProgramError> {
    let text = text::read(path)?;
    let file = text::parse(path, &text)?;
    Loader::new(path, &text).program(file, arch, settings)
}

/// Returns the architectures for which a launch file names listings.
pub(super) fn architectures(path: &Path) -> Result<Vec<u32>, ProgramError> {
    let text = text::read(path)?;
    let file = text::parse(path, &text)?;
    Ok(file.modules.keys().filter_map(|name| name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok()).collect())
}

struct Loader<'a> {
    path: &'a Path,
    folder: &'a Path,
    text: &'a str,
    /// Offset in the text of the row that is being read; 0 for none.
    at: Cell<usize>,
    /// Parameters, then the index variables of the enclosing repeated launches.
    parameters: Vec<(String, i64)>,
    /// Launches and iterations of sequences so far.
    rounds: usize,
    /// Events, each with the last launch that recorded it.
    events: Vec<(String, KernelIndex)>,
    /// Kernels launched so far.
    launched: LaunchedKernels,
}

impl<'a> Loader<'a> {
    fn new(path: &'a Path, text: &'a str) -> Self {
        let folder = path.parent().unwrap_or(Path::new("."));
        Self {
            path,
            folder,
            text,
            at: Cell::new(0),
            parameters: Vec::new(),
            rounds: 0,
            events: Vec::new(),
            launched: LaunchedKernels::default(),
        }
    }

    /// Returns a problem with the row that is being read.
    fn row_problem(&self, what: impl Into<String>) -> ProgramError {
        let line = if self.at.get() == 0 { 0 } else { text::line_of(self.text, self.at.get()) };
        ProgramError::new(self.path, line, what)
    }

    /// Returns a problem with a key of the row that is being read.
    fn key_problem(&self, key: &str, what: impl Into<String>) -> ProgramError {
        ProgramError { line: text::line_of_key(self.text, self.at.get(), key), ..self.row_problem(what) }
    }

    /// Returns the problem of an unknown name, with the known names.
    fn unknown<'n>(&self, key: &str, what: String, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> ProgramError {
        self.key_problem(key, what).expected(listed(known.clone())).help(suggest(name, known, ""))
    }

    /// Returns a row of a table and makes it the current row for messages.
    fn row<'r, T>(&self, row: &'r Spanned<T>) -> &'r T {
        self.at.set(row.span().start);
        row.get_ref()
    }

    fn program(mut self, file: LaunchText, arch: Option<u32>, settings: &[(String, String)]) -> Result<Program, ProgramError> {
        self.parameters.extend(file.parameters.iter().map(|(name, value)| (name.clone(), *value)));
        for (name, value) in settings {
            let number =
                value.parse().map_err(|_| self.row_problem(format!("parameter `{name}` is not an integer")).found(value.clone()))?;
            let names = self.parameters.iter().map(|(name, _)| name.as_str());
            let place = self.parameters.iter().position(|(known, _)| known == name);
            let place = place.ok_or_else(|| self.unknown("parameters", format!("the program has no parameter `{name}`"), name, names))?;
            self.parameters[place].1 = number;
        }
        let mut module = self.module(&file, arch)?;
        let mut buffers = Vec::new();
        let mut total = 0_u64;
        for (name, row) in &file.buffers {
            let buffer = self.buffer(name, self.row(row), None)?;
            total = total.saturating_add(buffer.count as u64 * buffer.element.bytes() as u64);
            if total > MAX_BUFFER_BYTES {
                return Err(self
                    .row_problem("the buffers are too large")
                    .found(format!("{total} bytes"))
                    .expected("at most 16 GiB in all"));
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
            addresses: Vec::new(),
            setup: Vec::new(),
            launches: Vec::new(),
            host: Vec::new(),
            outputs: Vec::new(),
        };
        program.addresses = program.layout()?;
        for (name, row) in &file.symbols {
            self.symbol(&mut module, &program, name, self.row(row))?;
        }
        let textures = self.textures(&program, &file.textures)?;
        let names: Vec<&str> = file.textures.keys().map(String::as_str).collect();
        let tensors = self.tensors(&program, &file.tensors)?;
        let bound = BindContext {
            module: &module,
            textures: (&names, textures.into()),
            tensors,
            limit: file.limit.unwrap_or(DEFAULT_INSTRUCTION_LIMIT),
        };
        self.launches(&mut program, &file.launches, &bound)?;
        for row in &file.outputs {
            let output = self.output(&program, self.row(row))?;
            program.outputs.push(output);
        }
        Ok(program)
    }

    fn output(&self, program: &Program, row: &OutputRow) -> Result<Output, ProgramError> {
        let names = program.buffers.iter().map(|buffer| buffer.name.as_str());
        let place = names.clone().position(|name| name == row.buffer);
        let buffer = place.ok_or_else(|| self.unknown("buffer", format!("there is no buffer `{}`", row.buffer), &row.buffer, names))?;
        let text = row.crc32.as_ref().and_then(|crc| crc.of(program.arch));
        let crc32 = text.map(|text| u32::from_str_radix(text, 16)).transpose();
        let crc32 = crc32.map_err(|_| {
            let what = format!("crc32 of output `{}` is not a hexadecimal number of 32 bits", row.buffer);
            self.key_problem("crc32", what).found(text.unwrap_or_default())
        })?;
        let tolerance = row.tolerance.unwrap_or_default();
        let check_random = |number: f64| number.is_finite() && number >= 0.0;
        if !check_random(tolerance.absolute) || !check_random(tolerance.relative) {
            return Err(self.key_problem("tolerance", "a tolerance is not a number of at least 0"));
        }
        if row.tolerance.is_some() && row.expected.is_none() {
            let what = format!("output `{}` has a tolerance but no expected contents", row.buffer);
            return Err(self.key_problem("tolerance", what).expected("`expected` with contents, such as { file = \"name\" }"));
        }
        Ok(Output { buffer, crc32, expected: row.expected.clone(), tolerance, show: row.show })
    }

    /// Sets the contents of a variable in constant memory.
    fn symbol(&self, module: &mut Module, program: &Program, name: &str, row: &BufferRow) -> Result<(), ProgramError> {
        let known = module.symbols.iter().find(|(known, ..)| known == name).cloned();
        let names = module.symbols.iter().map(|(known, ..)| known.as_str());
        let what = || format!("the listing has no variable `{name}` in constant memory");
        let (_, bank, offset, size) = known.ok_or_else(|| self.unknown(name, what(), name, names))?;
        let buffer = self.buffer(name, row, Some(size))?;
        let wanted = buffer.count.saturating_mul(buffer.element.bytes());
        if wanted > size {
            let expected = format!("at most {size} bytes");
            return Err(self.row_problem(format!("symbol `{name}` is too large")).found(format!("{wanted} bytes")).expected(expected));
        }
        let bytes = program.contents(&buffer)?;
        let place = module.constants.iter_mut().find(|(known, _)| *known == bank);
        let place = place.and_then(|(_, bank)| bank.get_mut(offset..offset + bytes.len()));
        place.ok_or_else(|| self.row_problem(format!("symbol `{name}` lies outside of its bank in the listing")))?.copy_from_slice(&bytes);
        Ok(())
    }

    fn module(&self, file: &LaunchText, arch: Option<u32>) -> Result<Module, ProgramError> {
        let names = file.modules.keys().map(String::as_str);
        let name = match arch {
            Some(arch) => {
                let wanted = format!("sm_{arch}");
                let what = || format!("the program has no listing for {wanted}");
                let help = "compile it with `warpshard compile` and name the listing under `modules`";
                let found = file.modules.get(&wanted).or_else(|| file.modules.get(&format!("{wanted}a")));
                found.ok_or_else(|| self.key_problem("modules", what()).expected(listed(names)).help(help))?
            }
            None => {
                let first = file.modules.values().next();
                let none = || self.key_problem("modules", "the program names no module").expected("modules = { sm_70 = \"listing\" }");
                first.ok_or_else(none)?
            }
        };
        let module = consistency::load(&self.folder.join(name))?;
        let key = file.modules.iter().find(|(_, value)| *value == name).map_or("", |(key, _)| key);
        let arch = format!("sm_{}", module.arch);
        if key.trim_end_matches('a') != arch {
            let what = format!("the listing {name} has another architecture than its key in `modules`");
            return Err(self.key_problem("modules", what).found(arch).expected(key));
        }
        Ok(module)
    }

    /// Evaluates a number or formula.
    fn number(&self, value: &Value, what: &str) -> Result<i64, ProgramError> {
        let key = if what.starts_with("argument ") { "arguments" } else { what.split(' ').next().unwrap_or_default() };
        match value {
            Value::Integer(number) => Ok(*number),
            Value::Float(number) => Err(self.key_problem(key, format!("{what} is not an integer")).found(number.to_string())),
            Value::List(_) => Err(self.key_problem(key, format!("{what} is not an integer")).found("a list")),
            Value::Text(text) => {
                let of = |name: &str| self.parameters.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
                evaluate(text, &of).map_err(|problem| {
                    let error = self.key_problem(key, format!("{what}: {problem}")).found(text.clone());
                    let names = || self.parameters.iter().map(|(known, _)| known.as_str());
                    match problem.strip_prefix("no parameter is called `").and_then(|rest| rest.strip_suffix('`')) {
                        Some(name) => error.expected(listed(names())).help(suggest(name, names(), "")),
                        None => error,
                    }
                })
            }
        }
    }

    /// Returns a buffer, or a variable of `size` bytes.
    fn buffer(&self, name: &str, row: &BufferRow, size: Option<usize>) -> Result<DeviceBuffer, ProgramError> {
        let element = Element::of(row.kind);
        let count = match (&row.count, size) {
            (Some(count), _) => self.number(count, &format!("count of buffer `{name}`"))?,
            (None, Some(size)) => (size / element.bytes()) as i64,
            (None, None) => return Err(self.row_problem(format!("buffer `{name}` has no count"))),
        };
        if !(0..=(MAX_BUFFER_BYTES / 8) as i64).contains(&count) {
            let expected = format!("0 to {}", MAX_BUFFER_BYTES / 8);
            return Err(self.row_problem(format!("buffer `{name}` has an impossible count")).found(count.to_string()).expected(expected));
        }
        contents::check_random(&row.contents, element)
            .map_err(|found| self.key_problem("contents", format!("buffer `{name}` cannot be made")).found(found))?;
        if let Some(address) = row.address {
            let end = address.saturating_add(count as u64 * element.bytes() as u64);
            if address < WINDOWS.end && end > WINDOWS.start {
                let what = format!("buffer `{name}` overlaps the windows of generic accesses to shared, local and constant memory");
                let expected = format!("an address below {:#x}, where the buffer also ends, or from {:#x} on", WINDOWS.start, WINDOWS.end);
                return Err(self.key_problem("address", what).found(format!("address {address:#x}")).expected(expected));
            }
        }
        Ok(DeviceBuffer {
            name: name.to_owned(),
            element,
            count: count as usize,
            address: row.address,
            contents: row.contents.clone(),
            gpu: self.gpu(row.gpu.as_ref())?,
        })
    }
}
