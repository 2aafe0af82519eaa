//! Static instructions that streams refer to, in the form of a recorded trace of the same code.
//!
//! Sources are the ordinary registers in the order of the text, RZ included, as NVBit's tracer lists them; uniform registers and predicates
//! are not listed. The destination is the register that the opcode writes.

use warpshard_isa::{Generation, image};
use warpshard_workload::{AsyncOp, Control, NO_REGISTER, OpClass, RegisterSets, StaticInst, constant_address};

use super::isa::{DecodedKernel, Op};
use super::listing::{KernelText, TextInst};
use super::operand::Kind;

/// Returns the static instructions of a kernel.
pub(super) fn statics(text: &KernelText, decoded: &DecodedKernel, generation: Generation) -> Vec<StaticInst> {
    let one = |((inst, destination), op): ((&TextInst, &Option<usize>), Op)| {
        let name = inst.mnemonic.split('.').next().unwrap_or_default();
        let known = image(name).or_else(|| generation.opcode(name));
        let mut dst = NO_REGISTER;
        let mut sources = Vec::new();
        for (place, operand) in inst.operands.iter().enumerate() {
            let register = match operand.kind {
                Kind::Register(number) => Some(number),
                Kind::Memory { register, .. } | Kind::Constant { register, .. } => register,
                _ => None,
            };
            let Some(number) = register.map(u16::from) else { continue };
            if *destination == Some(place) { dst = number } else { sources.push(number) }
        }
        let mut src = [NO_REGISTER; 4];
        src.iter_mut().zip(sources).for_each(|(slot, number)| *slot = number);
        StaticInst {
            pc: inst.pc,
            class: known.map_or(OpClass::Alu, |known| known.class),
            packed_half: known.is_some_and(|known| known.packed_half),
            flops: warpshard_isa::flops(&inst.mnemonic),
            dst,
            src,
            mem: known.and_then(|known| known.mem).map(|row| row.access(&inst.mnemonic)),
            immediate: 0,
            control: control_of((inst, op), known.map_or(OpClass::Alu, |known| known.class), generation),
            registers: RegisterSets::new(dst, src),
        }
    };
    text.code.iter().zip(decoded.destinations.iter()).zip(decoded.code.iter().map(|inst| inst.op)).map(one).collect()
}

/// Returns the control bits of an instruction. Before Volta they are in separate words, which listings do not contain.
fn control_of((inst, op): (&TextInst, Op), class: OpClass, generation: Generation) -> Control {
    let bits = match generation {
        Generation::Kepler | Generation::Pascal => Control::NONE,
        _ => Control::of_words(inst.words),
    };
    let mut control = warpshard_isa::control(bits, &inst.mnemonic, class);
    if control.is_known() && inst.mnemonic.starts_with("DEPBAR.LE") {
        let field = |at: u32, mask: u64| (inst.words[0] >> at & mask) as u16;
        control.at_most = Some(field(44, 7) | field(38, 0x3f) << 3);
    }
    control.constant = inst.operands.iter().find_map(|operand| match operand.kind {
        Kind::Constant { bank, register: None, uniform: None, offset } if !matches!(op, Op::LoadConstant { .. }) => {
            Some(constant_address(bank, offset as u32))
        }
        _ => None,
    });
    match op {
        Op::GroupProduct(product) => {
            let closes = inst.operands.iter().any(|operand| operand.kind == Kind::Special("gsb0".into()));
            control.async_op = AsyncOp::Product { columns: product.n, registers: product.registers, closes };
        }
        // The immediate of `WARPGROUP.DEPBAR.LE gsb0, 0x0`.
        Op::WaitProducts => {
            let most = inst.operands.iter().find_map(|operand| if let Kind::Integer(most) = operand.kind { Some(most) } else { None });
            control.async_op = AsyncOp::Products { most: most.unwrap_or(0) as u8 };
        }
        _ => {}
    }
    control
}
