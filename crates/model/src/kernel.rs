//! Evaluated resources of a launch: grid, block, shared memory, and addresses of buffers.

use warpshard_base::{Addr, AppId, StreamId};
use warpshard_workload::{Dim3, KernelInfo, MemSpace};

use super::error::{Problem, suggest};
use super::schema::{BufferText, KernelText};
use super::text::Formula;
use super::value::{NameMeaning, Value, bind};

/// First address of buffers without a given address, which is also the CUDA driver's choice.
const GLOBAL_BASE: u64 = 0x7f00_0000_0000;
/// Alignment of buffers without a given address, in bytes: a page of device memory.
const GLOBAL_ALIGN_BYTES: u64 = 2 << 20;
/// Alignment of shared arrays in bytes: the widest access.
const SHARED_ALIGN_BYTES: u64 = 16;
/// Upper limit of addresses: 47 bits.
const ADDRESS_END: u64 = 1 << 47;
/// Address windows of shared and local memory for generic accesses.
const SHARED_BASE: u64 = 0x7fe0_0000_0000;
const LOCAL_BASE: u64 = 0x7fe0_0200_0000;
/// Maximum bytes of local memory per thread.
const MAX_LOCAL_BYTES: u64 = 1 << 14;

/// Names with known values; no later name hides an earlier one.
pub(super) type Constants = Vec<(String, i64)>;

/// A region of memory with its address.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// Name of the buffer.
    pub(super) name: String,
    /// Global, shared or local memory.
    pub(super) space: MemSpace,
    /// First byte: a device address, or an offset into the CTA's shared memory or the thread's local memory.
    pub(super) base: u64,
    /// Number of elements.
    pub(super) elements: i64,
    /// Bytes of an element.
    pub(super) element_bytes: i64,
    /// True if the host copies the buffer to the device before the first launch.
    pub(super) copy: bool,
}

impl Buffer {
    /// Returns the length of the buffer in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.elements * self.element_bytes) as u64
    }
}

/// Evaluates a formula over constants.
pub(super) fn constant(formula: &Formula, constants: &Constants) -> Result<i64, Problem> {
    let resolve = |name: &str| match constants.iter().find(|(known, _)| known == name) {
        Some(&(_, value)) => Ok(NameMeaning::Const(value)),
        None => Err(unknown(name, constants.iter().map(|(known, _)| known.as_str()))),
    };
    match bind(&formula.expr, &resolve) {
        Ok(Value::Const(value)) => Ok(value),
        Ok(_) => Err(formula.problem("draws are not possible here").help("this value is fixed before the run starts")),
        Err(problem) => Err(formula.place(problem)),
    }
}

/// Returns the problem of an undefined name; the caller adds the location.
pub(super) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let help = suggest(name, known.iter().copied(), "use one of the names above, or declare it under [parameters]");
    Problem::new(0, "", format!("`{name}` has no value here")).allowed(known).help(help)
}

/// Evaluates a formula and checks that its value is in `low..=high`.
pub(super) fn bounded_value(formula: &Formula, constants: &Constants, low: i64, high: i64) -> Result<i64, Problem> {
    let value = constant(formula, constants)?;
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let given = if formula.text == value.to_string() { formula.text.clone() } else { format!("{} = {value}", formula.text) };
    let problem = Problem::new(formula.line, &formula.key, "out of range").given(given).allowed([format!("{low} to {high}")]);
    Err(problem.help("change the value, or the parameters that determine it"))
}

fn extent(sizes: &[Formula; 3], constants: &Constants, most: i64) -> Result<Dim3, Problem> {
    let [x, y, z] = [&sizes[0], &sizes[1], &sizes[2]].map(|size| bounded_value(size, constants, 1, i64::from(i32::MAX)));
    let dim = Dim3 { x: x? as u32, y: y? as u32, z: z? as u32 };
    if u128::from(dim.x) * u128::from(dim.y) * u128::from(dim.z) > most as u128 {
        let problem = Problem::new(sizes[0].line, &sizes[0].key, "too many in all").given(dim.to_string());
        return Err(problem.allowed([format!("at most {most} in all")]).help("make a dimension smaller"));
    }
    Ok(dim)
}

/// Assigns addresses to device buffers.
pub(super) fn assign_addresses(buffers: &[BufferText], constants: &Constants) -> Result<Vec<Buffer>, Vec<Problem>> {
    place_buffers(buffers, constants, MemSpace::Global)
}

fn place_buffers(texts: &[BufferText], constants: &Constants, space: MemSpace) -> Result<Vec<Buffer>, Vec<Problem>> {
    let (mut next, align, end) = match space {
        MemSpace::Shared => (0, SHARED_ALIGN_BYTES, 1 << 20),
        MemSpace::Local => (0, SHARED_ALIGN_BYTES, MAX_LOCAL_BYTES),
        _ => (GLOBAL_BASE, GLOBAL_ALIGN_BYTES, ADDRESS_END),
    };
    let mut placed = Vec::new();
    let mut problems = Vec::new();
    for text in texts {
        let mut one = || -> Result<Buffer, Problem> {
            let elements = bounded_value(&text.elements, constants, 1, 1 << 40)?;
            let element_bytes = bounded_value(&text.element_bytes, constants, 1, 1 << 16)?;
            let base = match &text.address {
                Some(address) => bounded_value(address, constants, 0, ADDRESS_END as i64 - 1)? as u64,
                None => next,
            };
            let buffer = Buffer { name: text.name.clone(), space, base, elements, element_bytes, copy: text.copy };
            let last = base + buffer.bytes();
            if last > end {
                let problem = Problem::new(text.line, &text.name, "the buffer does not fit into its address space");
                return Err(problem.given(format!("{} bytes", buffer.bytes())).help("make it smaller"));
            }
            if text.address.is_none() {
                next = last.next_multiple_of(align);
            }
            Ok(buffer)
        };
        match one() {
            Ok(buffer) => placed.push(buffer),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(placed) } else { Err(problems) }
}

/// Returns the resources of a launch, and its shared and local arrays. `registers` is 0 if the body determines the number.
pub(super) fn launch_resources(text: &KernelText, id: u64, constants: &Constants) -> Result<(KernelInfo, Vec<Buffer>), Vec<Problem>> {
    let shared = place_buffers(&text.shared, constants, MemSpace::Shared)?;
    let used = shared.last().map_or(0, |array| array.base + array.bytes());
    let info = || -> Result<KernelInfo, Problem> {
        let shared_bytes = match &text.shared_bytes {
            Some(formula) => bounded_value(formula, constants, used as i64, 1 << 20)?,
            None => used as i64,
        };
        let registers = match &text.registers {
            Some(formula) => bounded_value(formula, constants, 1, i64::from(super::registers::REGISTER_LIMIT))?,
            None => 0,
        };
        Ok(KernelInfo {
            name: text.name.clone(),
            id,
            grid: extent(&text.grid, constants, i64::from(i32::MAX))?,
            cluster: Dim3::SINGLE_ELEMENT,
            block: extent(&text.block, constants, 1024)?,
            shared_bytes: shared_bytes as u32,
            registers: registers as u32,
            app: AppId(0),
            stream: StreamId(bounded_value(&text.stream, constants, 0, i64::MAX)? as u64),
            after: Vec::new(),
            programmatic: None,
            shared_base: Addr(SHARED_BASE),
            local_base: Addr(LOCAL_BASE),
            gpu: None,
            copy: None,
        })
    };
    let local = place_buffers(&text.local, constants, MemSpace::Local)?;
    let info = info().map_err(|problem| vec![problem])?;
    Ok((info, shared.into_iter().chain(local).collect()))
}
