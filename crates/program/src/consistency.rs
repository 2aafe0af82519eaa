//! Whether a listing agrees with itself: names, registers, places, barriers, immediates, and the text with the encoded words.
//!
//! A listing is text that users may edit. What contradicts itself is refused with its line when it is read, so that it is not executed as
//! something else than it says. Words whose opcode is zero, which no instruction has, are those of a listing written by hand: they are not compared.
//!
//! Where fields of the words lie follows Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), section 2.1; all
//! listings of this project agree with it.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::ProgramError;
use super::exec::OUTSIDE_FUNCTIONS;
use super::isa::{BARRIERS, access_registers, codes_of, writes_first};
use super::listing::{KernelText, Module, TextInst};
use super::operand::{Kind, Operand, PT, RZ};

/// The first architecture whose words are known: sm_70.
const FIRST_ARCH: u32 = 70;
/// Bytes of an instruction.
const INSTRUCTION_BYTES: u32 = 16;
/// Most threads of a CTA, and so of a barrier.
const MOST_THREADS: i64 = 1024;
/// Threads of a warp.
const WARP: i64 = 32;

/// Reads a listing that agrees with itself.
///
/// # Errors
/// When it cannot be read, or the first contradiction, with its line.
pub(super) fn load(file: &Path) -> Result<Module, ProgramError> {
    let module = Module::load(file)?;
    check(&module)?;
    Ok(module)
}

/// Checks all of a listing.
fn check(module: &Module) -> Result<(), ProgramError> {
    let mut names = BTreeSet::new();
    for kernel in &module.kernels {
        if !names.insert(kernel.name.as_str()) {
            return Err(ProgramError::new(&module.file, kernel.line, "the listing has two kernels of one name")
                .found(format!("kernel {}", kernel.name))
                .help("give one of them another name, or leave it out"));
        }
    }
    for (_, _, name, line) in &module.addresses {
        let known = module.globals.iter().any(|global| global.name == *name)
            || module.symbols.iter().any(|(symbol, ..)| symbol == name)
            || OUTSIDE_FUNCTIONS.contains(&name.as_str());
        if !known {
            return Err(ProgramError::new(&module.file, *line, "the address of a variable that the listing lacks")
                .found(name.clone())
                .expected("the name of a line `global`"));
        }
    }
    module.kernels.iter().try_for_each(|kernel| of_kernel(module, kernel))
}

fn of_kernel(module: &Module, kernel: &KernelText) -> Result<(), ProgramError> {
    // Warps may ask for more registers than they began with.
    let asks = kernel.code.iter().any(|inst| inst.mnemonic.starts_with("USETMAXREG"));
    let declared = if kernel.registers == 0 || asks { u32::from(RZ) } else { kernel.registers };
    // Generations before have other encodings.
    let encoded = module.arch >= FIRST_ARCH;
    let end = INSTRUCTION_BYTES * kernel.code.len() as u32;
    for inst in &kernel.code {
        let problem = registers(inst, declared)
            .or_else(|| operands(inst, end))
            .or_else(|| barrier(inst))
            .or_else(|| encoded.then(|| words(inst)).flatten());
        if let Some((what, expected)) = problem {
            let found = format!("`{}` at pc {:#06x} of kernel {}", inst.mnemonic, inst.pc, kernel.name);
            return Err(ProgramError::new(&module.file, inst.line, what).found(found).expected(expected));
        }
    }
    Ok(())
}

/// What is wrong, and what was expected.
type Contradiction = Option<(String, String)>;

/// Registers beyond those that the kernel declares, and those of wide accesses that do not begin at a multiple of their number.
fn registers(inst: &TextInst, declared: u32) -> Contradiction {
    let wide = access_registers(&inst.mnemonic);
    for operand in &inst.operands {
        let (number, count) = match operand.kind {
            Kind::Register(number) => (number, wide),
            Kind::Memory { register: Some(number), .. } | Kind::Constant { register: Some(number), .. } => (number, 1),
            _ => continue,
        };
        if number == RZ {
            continue;
        }
        let (first, last) = (u32::from(number), u32::from(number) + count - 1);
        if !first.is_multiple_of(count) {
            return Some((format!("R{first} cannot begin an access of {count} registers"), format!("a multiple of {count}")));
        }
        if last >= declared {
            let what = format!("R{last} is beyond the registers of the kernel");
            return Some((what, format!("R0 to R{}, as the line `registers` says", declared.saturating_sub(1))));
        }
    }
    None
}

/// Places outside of the kernel or between two instructions, and numbers that 32 bits do not hold.
fn operands(inst: &TextInst, end: u32) -> Contradiction {
    inst.operands.iter().find_map(|operand| match operand.kind {
        Kind::Label(place) if !place.is_multiple_of(INSTRUCTION_BYTES) || place >= end => {
            Some((format!("there is no instruction at {place:#x}"), format!("a multiple of 0x10 below {end:#x}")))
        }
        Kind::Integer(value) if !(i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value) => {
            Some((format!("the immediate {value} does not fit 32 bits"), "-0x80000000 to 0xffffffff".into()))
        }
        _ => None,
    })
}

/// Barriers of the CTA that do not exist.
fn barrier(inst: &TextInst) -> Contradiction {
    if inst.mnemonic.split('.').next() != Some("BAR") {
        return None;
    }
    let number = |place: usize| match inst.operands.get(place).map(|operand| &operand.kind) {
        Some(Kind::Integer(value)) => Some(*value),
        _ => None,
    };
    if let Some(barrier) = number(0).filter(|barrier| !(0..i64::from(BARRIERS)).contains(barrier)) {
        return Some((format!("a CTA has no barrier {barrier}"), format!("0 to {}", BARRIERS - 1)));
    }
    let threads = number(1).filter(|threads| *threads < 0 || threads % WARP != 0 || *threads > MOST_THREADS)?;
    Some((format!("a barrier cannot wait for {threads} threads"), format!("whole warps: a multiple of {WARP} up to {MOST_THREADS}")))
}

/// Whether the text is what the words encode: the opcode, the guard, and the register that is written.
fn words(inst: &TextInst) -> Contradiction {
    let word = inst.words[0];
    let field = |at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as u16;
    let code = field(0, 9);
    if code == 0 {
        return None;
    }
    let name = inst.mnemonic.split('.').next().unwrap_or_default();
    if codes_of(name).is_some_and(|known| !known.contains(&code)) {
        return Some(("the opcode of the words is not that of the text".into(), format!("the words of {name}, not opcode {code:#05x}")));
    }
    let guard = match inst.guard {
        Operand { kind: Kind::Predicate(number), invert, .. } => Some((number, invert)),
        _ => None,
    };
    if let Some((number, invert)) = guard.filter(|(number, invert)| u16::from(*number) | u16::from(*invert) << 3 != field(12, 4)) {
        let name = if number == PT { "PT".to_owned() } else { format!("P{number}") };
        let what = "the guard of the words is not that of the text";
        return Some((what.into(), format!("the guard {}{name}", if invert { "!" } else { "" })));
    }
    match inst.operands.first().map(|operand| &operand.kind) {
        Some(Kind::Register(number)) if writes_first(name) && u16::from(*number) != field(16, 8) => {
            let what = "the destination of the words is not that of the text";
            Some((what.into(), format!("register {number}, as the text says")))
        }
        _ => None,
    }
}
