//! Consistency checks of a listing: names, registers, addresses, barriers, immediates, and the agreement of its text with the encoded
//! words.
//!
//! A listing is text that users may edit. A contradiction is rejected with its line when the listing is read, so that no instruction
//! executes differently from its text. Words with opcode zero, which no instruction has, belong to a hand-written listing and are not
//! compared.
//!
//! The fields of the words follow Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), section 2.1; all
//! listings of this project agree with it.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::ProgramError;
use super::exec::RUNTIME_FUNCTIONS;
use super::isa::{BARRIERS, access_registers, codes_of, writes_first};
use super::listing::{KernelText, Module, TextInst};
use super::operand::{Kind, Operand, PT, RZ};

/// First architecture with known instruction encoding: sm_70.
const FIRST_ARCH: u32 = 70;
/// Bytes per instruction.
const INSTRUCTION_BYTES: u32 = 16;
/// Maximum threads of a CTA, and therefore of a barrier.
const MAX_THREADS: i64 = 1024;
/// Threads per warp.
const WARP_THREADS: i64 = 32;

/// Reads a listing and checks its consistency.
///
/// # Errors
/// The listing cannot be read, or contains a contradiction; the first one is reported with its line.
pub(super) fn load(file: &Path) -> Result<Module, ProgramError> {
    let module = Module::load(file)?;
    check(&module)?;
    Ok(module)
}

/// Checks a whole listing.
fn check(module: &Module) -> Result<(), ProgramError> {
    let mut names = BTreeSet::new();
    for kernel in &module.kernels {
        if !names.insert(kernel.name.as_str()) {
            return Err(ProgramError::new(&module.file, kernel.line, "the listing has two kernels with the same name")
                .found(format!("kernel {}", kernel.name))
                .help("rename or remove one of them"));
        }
    }
    for (_, _, name, line) in &module.addresses {
        let known = module.globals.iter().any(|global| global.name == *name)
            || module.symbols.iter().any(|(symbol, ..)| symbol == name)
            || RUNTIME_FUNCTIONS.contains(&name.as_str());
        if !known {
            return Err(ProgramError::new(&module.file, *line, "the address of a variable that is not in the listing")
                .found(name.clone())
                .expected("the name of a line `global`"));
        }
    }
    module.kernels.iter().try_for_each(|kernel| check_kernel(module, kernel))
}

fn check_kernel(module: &Module, kernel: &KernelText) -> Result<(), ProgramError> {
    // Warps may request more registers than they start with.
    let asks = kernel.code.iter().any(|inst| inst.mnemonic.starts_with("USETMAXREG"));
    let declared = if kernel.registers == 0 || asks { u32::from(RZ) } else { kernel.registers };
    // Earlier generations have other encodings.
    let encoded = module.arch >= FIRST_ARCH;
    let end = INSTRUCTION_BYTES * kernel.code.len() as u32;
    for inst in &kernel.code {
        let problem = check_registers(inst, declared)
            .or_else(|| check_operands(inst, end))
            .or_else(|| check_barrier(inst))
            .or_else(|| encoded.then(|| check_encoding(inst)).flatten());
        if let Some((what, expected)) = problem {
            let found = format!("`{}` at pc {:#06x} of kernel {}", inst.mnemonic, inst.pc, kernel.name);
            return Err(ProgramError::new(&module.file, inst.line, what).found(found).expected(expected));
        }
    }
    Ok(())
}

/// The found and the expected state of a contradiction, or `None`.
type Contradiction = Option<(String, String)>;

/// Checks for registers beyond the declared number, and for wide accesses whose first register is not a multiple of their number of
/// registers.
fn check_registers(inst: &TextInst, declared: u32) -> Contradiction {
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

/// Checks for code addresses outside of the kernel or inside an instruction, and for numbers that exceed 32 bits.
fn check_operands(inst: &TextInst, end: u32) -> Contradiction {
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

/// Checks for barriers of the CTA that do not exist.
fn check_barrier(inst: &TextInst) -> Contradiction {
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
    let threads = number(1).filter(|threads| *threads < 0 || threads % WARP_THREADS != 0 || *threads > MAX_THREADS)?;
    Some((format!("a barrier cannot wait for {threads} threads"), format!("whole warps: a multiple of {WARP_THREADS} up to {MAX_THREADS}")))
}

/// Compares the text with the encoded words: the opcode, the guard, and the destination register.
fn check_encoding(inst: &TextInst) -> Contradiction {
    let word = inst.words[0];
    let field = |at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as u16;
    let code = field(0, 9);
    if code == 0 {
        return None;
    }
    let name = inst.mnemonic.split('.').next().unwrap_or_default();
    if codes_of(name).is_some_and(|known| !known.contains(&code)) {
        return Some((
            "the opcodes of the encoded words and of the text differ".into(),
            format!("the words of {name}, not opcode {code:#05x}"),
        ));
    }
    let guard = match inst.guard {
        Operand { kind: Kind::Predicate(number), invert, .. } => Some((number, invert)),
        _ => None,
    };
    if let Some((number, invert)) = guard.filter(|(number, invert)| u16::from(*number) | u16::from(*invert) << 3 != field(12, 4)) {
        let name = if number == PT { "PT".to_owned() } else { format!("P{number}") };
        let what = "the guards of the encoded words and of the text differ";
        return Some((what.into(), format!("the guard {}{name}", if invert { "!" } else { "" })));
    }
    match inst.operands.first().map(|operand| &operand.kind) {
        Some(Kind::Register(number)) if writes_first(name) && u16::from(*number) != field(16, 8) => {
            let what = "the destinations of the encoded words and of the text differ";
            Some((what.into(), format!("register {number}, as in the text")))
        }
        _ => None,
    }
}
