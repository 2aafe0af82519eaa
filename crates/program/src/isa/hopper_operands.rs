//! Operands of warp-group matrix products and of copies by the tensor memory accelerator (Hopper).

use super::super::listing::TextInst;
use super::super::operand::{Kind, Operand, PT, RZ};
use super::decode::{Binder, DecodeError};
use super::inst::{Inst, PredicateSource};
use super::kinds::{Bulk, GroupProduct};
use super::op::Op;

impl Binder<'_> {
    /// Binds the operands of a product: the sums, the first matrix if it is in registers, the descriptors, the addends, and the predicate
    /// that enables the addition.
    pub(super) fn product(&self, text: &TextInst, inst: &mut Inst, mut product: GroupProduct) -> Result<(), DecodeError> {
        const SHAPE_ERROR: DecodeError = DecodeError::Operands("D, S, gdesc[..], S, Q");
        let mut operands = text.operands.iter().peekable();
        let first = operands.next().ok_or(SHAPE_ERROR)?;
        inst.dst = self.destination(first);
        let a = operands.next_if(|operand| matches!(operand.kind, Kind::Register(_)));
        let Some(Operand { kind: Kind::Descriptor(number, transposed, negated), .. }) = operands.next() else { return Err(SHAPE_ERROR) };
        (product.transposed, product.negated) = (*transposed, *negated);
        if let Some(Operand { kind: Kind::Register(number), negate, .. }) = a {
            product.registers = true;
            product.negated[0] |= negate;
            inst.src[0].row = self.row(*number);
        }
        inst.src[1].row = self.uniform_row(*number);
        let Some(Operand { kind: Kind::Register(addend), .. }) = operands.next() else { return Err(SHAPE_ERROR) };
        inst.src[2].row = self.row(*addend);
        // Missing addends are zero.
        if *addend == RZ {
            inst.conditions[0] = PredicateSource { index: PT, invert: true };
        }
        if let Some(operand) = operands.next_if(|operand| matches!(operand.kind, Kind::UniformPredicate(_) | Kind::Predicate(_))) {
            let index = match operand.kind {
                Kind::UniformPredicate(number) => number + 8,
                Kind::Predicate(number) => number,
                _ => return Err(SHAPE_ERROR),
            };
            if *addend != RZ {
                inst.conditions[0] = PredicateSource { index, invert: operand.invert };
            }
        }
        if operands.any(|operand| operand.kind != Kind::Special("gsb0".into())) {
            return Err(SHAPE_ERROR);
        }
        inst.op = Op::GroupProduct(product);
        Ok(())
    }

    /// Binds the uniform registers of a copy: the two addresses, and the size or the CTA mask.
    pub(super) fn bulk(&self, text: &TextInst, inst: &mut Inst) -> Result<(), DecodeError> {
        const SHAPE_ERROR: DecodeError = DecodeError::Operands("[UR], [UR], UR, desc[UR]");
        let mut place = 0;
        for operand in &text.operands {
            let number = match operand.kind {
                Kind::Memory { register: None, uniform: Some(number), offset: 0, .. } | Kind::Uniform(number) => number,
                Kind::Special(_) => continue,
                _ => return Err(SHAPE_ERROR),
            };
            inst.src.get_mut(place).ok_or(SHAPE_ERROR)?.row = self.uniform_row(number);
            place += 1;
        }
        let enough = match inst.op {
            Op::Bulk(Bulk::Prefetch) => 1,
            Op::Bulk(Bulk::LoadTensor { multicast: false, .. } | Bulk::StoreTensor { .. } | Bulk::ReduceTensor { .. }) => 2,
            _ => 3,
        };
        // The warp executes one copy, independent of the active lanes.
        inst.uniform = true;
        if place >= enough { Ok(()) } else { Err(SHAPE_ERROR) }
    }
}
