//! The header of a kernel's trace: lines `-key = value` until the first line that starts with `#`.

use warpshard_base::{Addr, AppId, KernelIndex, StreamId};
use warpshard_isa::Generation;
use warpshard_workload::{Dim3, KernelInfo};

use super::error::{ProblemKind, TextFault};
use super::text::{next_line, quote};

/// Maximum registers per thread, RZ excluded.
pub(super) const MAX_REGISTERS: u64 = 255;
/// Maximum threads of a CTA in CUDA.
pub(super) const MAX_THREADS: u64 = 1024;

/// The parsed header of a kernel. [`parse`] returns missing or impossible values as faults.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) info: KernelInfo,
    pub(super) binary_version: u32,
    /// Generation of the opcode table; `None` if the binary version is unknown and leniency allows a guess.
    pub(super) generation: Option<Generation>,
    /// Major version of the tracer: 1 for "1.2", 0 if missing.
    pub(super) tracer_version: u32,
    pub(super) lineinfo: bool,
    /// True if texture and surface instructions have addresses; only traces generated from programs have them.
    pub(super) images: bool,
    /// True if the register count is impossible and `lenient` allows a guess.
    pub(super) guess_registers: bool,
    /// Descriptions of unusual but accepted input.
    pub(super) notes: Vec<String>,
}

/// Parses the header at the start of `text`, which must contain all of it. Reports all faults together.
pub(super) fn parse(text: &[u8], lenient: bool) -> Result<Header, Vec<TextFault>> {
    let mut reader = HeaderReader { lenient, faults: Vec::new(), fields: HeaderFields::default(), notes: Vec::new() };
    let mut at = 0;
    while at < text.len() && text[at] != b'#' {
        let end = next_line(text, at);
        let line = text[at..end].trim_ascii();
        if !line.is_empty() && !reader.line(at, line) {
            return Err(vec![TextFault {
                at,
                kind: ProblemKind::Header,
                what: "this is not the header of a kernel trace".into(),
                found: quote(line),
                expected: "lines `-key = value`, the first of them `-kernel name = ...`".into(),
                help: "give a .traceg file of the Accel-Sim tracer, or a kernelslist.g that names some".into(),
            }]);
        }
        at = end;
    }
    reader.finish(at)
}

/// Header fields, each with the offset of its line if messages need it.
#[derive(Default)]
struct HeaderFields {
    name: String,
    id: u64,
    grid: Option<(usize, Dim3)>,
    block: Option<(usize, Dim3)>,
    shared_bytes: Option<(usize, u64)>,
    registers: Option<(usize, u64)>,
    binary_version: Option<(usize, u64)>,
    stream: u64,
    shared_base: u64,
    local_base: u64,
    tracer_version: u64,
    lineinfo: u64,
    images: u64,
    after: Vec<KernelIndex>,
}

struct HeaderReader {
    lenient: bool,
    faults: Vec<TextFault>,
    fields: HeaderFields,
    notes: Vec<String>,
}

impl HeaderReader {
    /// Parses one line; returns false if it is not a header line.
    fn line(&mut self, at: usize, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let Some((key, value)) = text.strip_prefix('-').and_then(|rest| rest.split_once('=')) else { return false };
        let (key, value) = (key.trim(), value.trim());
        let fields = &mut self.fields;
        let whole = |value: &str| value.split('.').next().and_then(|v| v.parse::<u64>().ok());
        let address = |value: &str| u64::from_str_radix(value.trim_start_matches("0x").trim_start_matches("0X"), 16).ok();
        let understood = match key {
            "kernel name" => {
                fields.name = value.to_string();
                true
            }
            "grid dim" => dim(value).map(|v| fields.grid = Some((at, v))).is_some(),
            "block dim" => dim(value).map(|v| fields.block = Some((at, v))).is_some(),
            "shmem" => value.parse().map(|v| fields.shared_bytes = Some((at, v))).is_ok(),
            "nregs" => value.parse().map(|v| fields.registers = Some((at, v))).is_ok(),
            "binary version" => value.parse().map(|v| fields.binary_version = Some((at, v))).is_ok(),
            "kernel id" => value.parse().map(|v| fields.id = v).is_ok(),
            "cuda stream id" => value.parse().map(|v| fields.stream = v).is_ok(),
            "shmem base_addr" => address(value).map(|v| fields.shared_base = v).is_some(),
            "local mem base_addr" => address(value).map(|v| fields.local_base = v).is_some(),
            "accelsim tracer version" => whole(value).map(|v| fields.tracer_version = v).is_some(),
            "enable lineinfo" => value.parse().map(|v| fields.lineinfo = v).is_ok(),
            "after kernels" => launch_numbers(value).map(|v| fields.after = v).is_some(),
            "texture addresses" => value.parse().map(|v| fields.images = v).is_ok(),
            "nvbit version" => true,
            _ => {
                self.notes.push(format!("the header line `-{}` is unknown and was ignored", key.escape_debug()));
                true
            }
        };
        if !understood {
            let expected = match key {
                "grid dim" | "block dim" => "three numbers, as in (8,1,1)",
                "after kernels" => "launch numbers, which start at 1, as in 1,3",
                "shmem base_addr" | "local mem base_addr" => "a hexadecimal address, as in 0x00007f73cb000000",
                _ => "a whole number",
            };
            self.fault(at, format!("the value of `-{key}` cannot be read"), quote(value.as_bytes()), expected.into(), RETRACE_HELP.into());
        }
        true
    }

    fn fault(&mut self, at: usize, what: String, found: String, expected: String, help: String) {
        self.faults.push(TextFault { at, kind: ProblemKind::Header, what, found, expected, help });
    }

    fn require<T: Copy>(&mut self, key: &str, field: Option<(usize, T)>, body: usize) -> Option<(usize, T)> {
        let unread = format!("the value of `-{key}` cannot be read");
        if field.is_none() && !self.faults.iter().any(|fault| fault.what == unread) {
            let what = format!("the header has no line `-{key} = ...`");
            self.fault(body, what, "the end of the header".into(), format!("a line `-{key} = ...`"), RETRACE_HELP.into());
        }
        field
    }

    fn finish(mut self, body: usize) -> Result<Header, Vec<TextFault>> {
        let grid = self.require("grid dim", self.fields.grid, body);
        let block = self.require("block dim", self.fields.block, body);
        let shared = self.require("shmem", self.fields.shared_bytes, body);
        let registers = self.require("nregs", self.fields.registers, body);
        let version = self.require("binary version", self.fields.binary_version, body);
        if let Some((at, grid)) = grid
            && (grid.count() == 0 || grid.count() > u64::from(u32::MAX))
        {
            let help = "correct the line, or trace the kernel again";
            self.fault(at, "the grid has an impossible size".into(), grid.to_string(), "1 to 4294967295 CTAs".into(), help.into());
        }
        if let Some((at, block)) = block
            && (block.count() == 0 || block.count() > MAX_THREADS)
        {
            let (threads, warps) = (block.count(), block.count().div_ceil(32));
            let found = format!("{block}, which is {threads} threads or {warps} warps");
            let help = "correct the line: its product is 32 times the warps that each CTA lists".into();
            self.fault(at, "no SM holds a CTA of this size".into(), found, format!("1 to {MAX_THREADS} threads"), help);
        }
        let guess_registers = self.check_registers(registers);
        let generation = self.check_version(version);
        if let Some((at, bytes)) = shared.filter(|&(_, bytes)| bytes > u64::from(u32::MAX)) {
            let expected = "at most 4294967295 bytes".into();
            self.fault(at, "the shared memory of a CTA is impossibly large".into(), bytes.to_string(), expected, RETRACE_HELP.into());
        }
        let (Some((_, grid)), Some((_, block)), true) = (grid, block, self.faults.is_empty()) else {
            self.faults.sort_by_key(|fault| fault.at);
            return Err(self.faults);
        };
        let fields = self.fields;
        let narrow = |field: Option<(usize, u64)>| field.map_or(0, |(_, value)| value as u32);
        Ok(Header {
            info: KernelInfo {
                name: fields.name,
                id: fields.id,
                grid,
                cluster: Dim3::SINGLE_ELEMENT,
                block,
                shared_bytes: narrow(shared),
                registers: narrow(registers),
                app: AppId(0),
                stream: StreamId(fields.stream),
                after: fields.after,
                programmatic: None,
                shared_base: Addr(fields.shared_base),
                local_base: Addr(fields.local_base),
                gpu: None,
                copy: None,
            },
            binary_version: narrow(version),
            generation,
            tracer_version: fields.tracer_version.min(u64::from(u32::MAX)) as u32,
            lineinfo: fields.lineinfo != 0,
            images: fields.images != 0,
            guess_registers,
            notes: self.notes,
        })
    }

    /// Returns true if the register count must be guessed; records a fault if the count is impossible and guessing is not allowed.
    fn check_registers(&mut self, registers: Option<(usize, u64)>) -> bool {
        let Some((at, count)) = registers.filter(|&(_, count)| count > MAX_REGISTERS) else { return false };
        if !self.lenient {
            self.fault(
                at,
                "the registers per thread exceed the limit of every machine".into(),
                format!("`-nregs = {count}`"),
                format!("at most {MAX_REGISTERS}"),
                "write the number the compiler reports, or pass --lenient to take the highest register used".into(),
            );
        }
        self.lenient
    }

    /// Returns the generation of the binary version, or `None` if it is unknown; records a fault if guessing is not allowed.
    fn check_version(&mut self, version: Option<(usize, u64)>) -> Option<Generation> {
        let (at, number) = version?;
        let generation = u32::try_from(number).ok().and_then(Generation::of);
        if generation.is_none() && !self.lenient {
            self.fault(
                at,
                "no opcode table has this binary version".into(),
                format!("`-binary version = {number}`"),
                format!("one of {}", Generation::known_versions()),
                "write the version of the traced GPU, or pass --lenient to guess it from the opcodes".into(),
            );
        }
        generation
    }
}

const RETRACE_HELP: &str = "trace the kernel again, or write the line by hand";

/// Parses launch numbers of the list, which start at 1, into kernel indices.
fn launch_numbers(value: &str) -> Option<Vec<KernelIndex>> {
    value.split(',').map(|number| number.trim().parse::<u32>().ok()?.checked_sub(1).map(KernelIndex)).collect()
}

fn dim(value: &str) -> Option<Dim3> {
    let mut parts = value.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|part| part.trim().parse::<u32>().ok());
    let dim = Dim3 { x: parts.next()??, y: parts.next()??, z: parts.next()?? };
    // The product of three 32-bit sizes may exceed 64 bits; such a grid is rejected.
    u64::from(dim.x).checked_mul(u64::from(dim.y))?.checked_mul(u64::from(dim.z))?;
    parts.next().is_none().then_some(dim)
}
