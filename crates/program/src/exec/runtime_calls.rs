//! CUDA runtime functions that kernels call: printf, assertions, and the heap.
//!
//! Arguments are in registers from R4 on, as the compiler passes them; the result is written to R4.

use super::super::isa::{Inst, Space};
use super::access::{LaneFault, Memories};
use super::cta::ExecFault;
use super::lanes::{Lanes, RegisterRow};

/// Address of the first runtime function; each function has 16 bytes.
pub(in super::super) const RUNTIME_BASE: u64 = 0x7e00_0000_0000;
/// Names of the runtime functions.
pub(in super::super) const RUNTIME_FUNCTIONS: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// First register of the arguments.
const FIRST_ARGUMENT_REGISTER: u16 = 4;
/// Maximum bytes of a string that a kernel passes.
const MAX_STRING_BYTES: usize = 4096;
/// Maximum bytes of a program's output, equal to the size of the hardware's buffer.
const MAX_PRINTED_BYTES: usize = 1 << 20;
/// Maximum field width and precision of a printed number.
const MAX_FIELD_WIDTH: i64 = 512;

/// Text that kernels have printed.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(in super::super) struct PrintedText {
    pub(in super::super) text: String,
    /// printf calls whose text did not fit.
    pub(in super::super) left_out: u64,
}

/// Calls, for each lane, the function whose address is in a register.
pub(super) fn call(
    inst: &Inst,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    memories: &mut Memories<'_>,
    thread: usize,
) -> Result<(), LaneFault> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let pair = |row: u16| u64::from(lanes.row(pool, row)[lane]) | u64::from(lanes.row(pool, row + 1)[lane]) << 32;
        let function = pair(inst.src[0].row).wrapping_sub(RUNTIME_BASE);
        let name = usize::try_from(function / 16).ok().filter(|_| function % 16 == 0).and_then(|number| RUNTIME_FUNCTIONS.get(number));
        let (first, second) = (pair(FIRST_ARGUMENT_REGISTER), pair(FIRST_ARGUMENT_REGISTER + 2));
        let line = lanes.row(pool, FIRST_ARGUMENT_REGISTER + 4)[lane];
        let at = |fault| (lane, fault);
        let result = match name {
            Some(&"vprintf") => u64::from(print_formatted(first, second, memories, thread + lane).map_err(at)?),
            Some(&"__assertfail") => {
                let text = read_string(first, memories, thread + lane).map_err(at)?;
                let file = read_string(second, memories, thread + lane).map_err(at)?;
                return Err(at(ExecFault::Assertion(format!("{file}:{line}: {text}"))));
            }
            Some(&"malloc") => memories.heap.allocate(memories.global, first),
            Some(_) => {
                memories.heap.free(memories.global, first).map_err(|fault| at(ExecFault::Outside(fault)))?;
                continue;
            }
            None => return Err(at(ExecFault::MissingFunction)),
        };
        lanes.set_lane(FIRST_ARGUMENT_REGISTER, lane, result as u32);
        if name == Some(&"malloc") {
            lanes.set_lane(FIRST_ARGUMENT_REGISTER + 1, lane, (result >> 32) as u32);
        }
    }
    Ok(())
}

/// Reads a zero-terminated string.
fn read_string(start: u64, memories: &mut Memories<'_>, thread: usize) -> Result<String, ExecFault> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_STRING_BYTES {
        match memories.read(Space::Generic, start + bytes.len() as u64, 1, thread)? {
            0 => break,
            byte => bytes.push(byte as u8),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Prints with a format string; its arguments follow each other at `next`, each aligned to its size. Returns the number of arguments.
fn print_formatted(format: u64, mut next: u64, memories: &mut Memories<'_>, thread: usize) -> Result<u32, ExecFault> {
    let format = read_string(format, memories, thread)?;
    let mut out = String::new();
    let mut count = 0;
    let mut rest = format.as_str();
    while let Some(start) = rest.find('%') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'j' | 'z' | 't' | 'L') || c == '%') else {
            out.push('%');
            break;
        };
        let (flags, kind) = (&rest[..end], rest.as_bytes()[end]);
        rest = &rest[end + 1..];
        if kind == b'%' {
            out.push('%');
            continue;
        }
        let mut take = |size: u64| {
            next = next.next_multiple_of(size);
            let value = memories.read(Space::Generic, next, size as usize, thread)?;
            next += size;
            count += 1;
            Ok::<u64, ExecFault>(value)
        };
        let mut wide = flags.contains(['l', 'j', 'z', 't', 'L']);
        let mut spec = String::from("%");
        for c in flags.chars().filter(|c| !c.is_ascii_alphabetic()) {
            if c == '*' { spec.push_str(&(take(4)? as i32).to_string()) } else { spec.push(c) }
        }
        let widest = spec.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<i64>().ok()).max();
        let kind = char::from(kind);
        wide |= matches!(kind, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' | 's' | 'p');
        let value = take(if wide { 8 } else { 4 })?;
        let signed = if wide { value as i64 } else { i64::from(value as u32 as i32) };
        let made = match kind {
            _ if widest.is_some_and(|widest| widest > MAX_FIELD_WIDTH) => None,
            'd' | 'i' if flags.contains("hh") => sprintf::vsprintf(&format!("{spec}d"), &[&i64::from(signed as i8)]).ok(),
            'd' | 'i' if flags.contains('h') => sprintf::vsprintf(&format!("{spec}d"), &[&i64::from(signed as i16)]).ok(),
            'd' | 'i' => sprintf::vsprintf(&format!("{spec}d"), &[&signed]).ok(),
            'u' | 'o' | 'x' | 'X' if flags.contains("hh") => sprintf::vsprintf(&format!("{spec}{kind}"), &[&u64::from(value as u8)]).ok(),
            'u' | 'o' | 'x' | 'X' if flags.contains('h') => sprintf::vsprintf(&format!("{spec}{kind}"), &[&u64::from(value as u16)]).ok(),
            'u' | 'o' | 'x' | 'X' => sprintf::vsprintf(&format!("{spec}{kind}"), &[&value]).ok(),
            'c' => sprintf::vsprintf(&format!("{spec}c"), &[&char::from(value as u8)]).ok(),
            'p' => sprintf::vsprintf(&format!("{spec}s"), &[&format!("{value:#x}").as_str()]).ok(),
            's' => sprintf::vsprintf(&format!("{spec}s"), &[&read_string(value, memories, thread)?.as_str()]).ok(),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => sprintf::vsprintf(&format!("{spec}{kind}"), &[&f64::from_bits(value)]).ok(),
            _ => None,
        };
        // An argument that cannot be formatted is printed as its format specifier.
        out.push_str(&made.unwrap_or_else(|| format!("%{flags}{kind}")));
    }
    out.push_str(rest);
    let printed = &mut memories.printed;
    if printed.text.len() + out.len() <= MAX_PRINTED_BYTES {
        printed.text.push_str(&out);
    } else {
        printed.left_out += 1;
    }
    Ok(count)
}
