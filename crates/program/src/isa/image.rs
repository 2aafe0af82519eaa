//! Operands of texture and surface instructions.
//!
//! An example is `TEX.SCR.LL R6, R4, R4, R8, 0x0, 0x58, 2D, 0x3`. Its operands are: registers for the upper and the lower two components of
//! a texel; coordinates in two groups of registers; the word of constant bank 0 that contains the object, or since Hopper a uniform
//! register; the dimensions; the mask of requested components, by default all. With `.B` the second group begins with the object.

use super::super::listing::TextInst;
use super::super::operand::{Kind, Operand, RZ};
use super::decode::{Binder, Constant, DecodeError};
use super::inst::{Inst, Source};
use super::kinds::{Image, ImageAccess};
use super::op::Op;
use super::texture::{SURFACE_OPERANDS, TEXTURE_OPERANDS};

/// Query of TXQ for the sizes of an image.
const SIZES_QUERY: &str = "TEX_HEADER_DIMENSION";

impl Binder<'_> {
    /// Binds the operands of a texture or surface instruction.
    pub(super) fn image(&mut self, text: &TextInst, inst: &mut Inst, mut image: Image) -> Result<Option<usize>, DecodeError> {
        let wrong = DecodeError::Operands;
        let mut operands = text.operands.as_slice();
        let mut take = |shape| {
            let (first, rest) = operands.split_first().ok_or(wrong(shape))?;
            operands = rest;
            Ok::<&Operand, DecodeError>(first)
        };
        let register = |operand: &Operand| if let Kind::Register(number) = operand.kind { Some(number) } else { None };
        let destination = match image.access {
            ImageAccess::Load { .. } => {
                inst.dst = self.destination(take(SURFACE_OPERANDS)?);
                inst.src[0].row = self.coordinates(take(SURFACE_OPERANDS)?)?;
                Some(0)
            }
            ImageAccess::Store { .. } => {
                inst.src[0].row = self.coordinates(take(SURFACE_OPERANDS)?)?;
                inst.src[1].row = self.row(register(take(SURFACE_OPERANDS)?).ok_or(wrong(SURFACE_OPERANDS))?);
                None
            }
            _ => {
                let (upper, lower, first) = (take(TEXTURE_OPERANDS)?, take(TEXTURE_OPERANDS)?, take(TEXTURE_OPERANDS)?);
                // The register of the upper components uses the field of an access address.
                inst.address.row = self.destination(upper);
                inst.dst = self.destination(lower);
                inst.src[0].row = self.row(register(first).ok_or(wrong(TEXTURE_OPERANDS))?);
                if register(lower) == Some(RZ) { Some(0) } else { Some(1) }
            }
        };
        if let ImageAccess::Gather(channel) = &mut image.access {
            let named = |operand: &Operand| matches!(operand.kind, Kind::Integer(_) | Kind::Uniform(_));
            image.bound = operands.iter().any(named);
            let marks = text.mnemonic.split('.').filter(|part| *part == "B").count();
            if marks > usize::from(!image.bound) {
                *channel = 2;
            }
        }
        let is_surface = matches!(image.access, ImageAccess::Load { .. } | ImageAccess::Store { .. });
        let mut second = false;
        let mut object = None;
        if let Some(number) = operands.first().and_then(register) {
            let row = self.row(number);
            operands = &operands[1..];
            if is_surface {
                object = Some(row);
            } else {
                (second, inst.src[1]) = (true, Source { row, ..Source::default() });
            }
        }
        // The query type precedes the object.
        if let ([Operand { kind: Kind::Special(name), .. }, rest @ ..], ImageAccess::Query) = (operands, image.access) {
            if name != SIZES_QUERY {
                return Err(DecodeError::Modifier(name.clone()));
            }
            operands = rest;
        }
        match operands {
            [Operand { kind: Kind::Integer(_), .. }, Operand { kind: Kind::Integer(word), .. }, rest @ ..] => {
                object = Some(self.constant(Constant::Word(0, 4 * word))?);
                operands = rest;
            }
            [Operand { kind: Kind::Uniform(number), .. }, Operand { kind: Kind::Integer(_), .. }, rest @ ..] => {
                object = Some(self.uniform_row(*number));
                operands = rest;
            }
            _ => {}
        }
        if !is_surface {
            if image.access != ImageAccess::Query {
                let [Operand { kind: Kind::Special(name), .. }, rest @ ..] = operands else { return Err(wrong(TEXTURE_OPERANDS)) };
                (image.dimensions, image.layered) = match name.as_str() {
                    "1D" => (1, false),
                    "2D" => (2, false),
                    "3D" => (3, false),
                    "ARRAY_1D" => (1, true),
                    "ARRAY_2D" => (2, true),
                    _ => return Err(DecodeError::Modifier(name.clone())),
                };
                operands = rest;
            }
            image.mask = match operands {
                [] => 15,
                [Operand { kind: Kind::Integer(mask @ 1..=15), .. }] => *mask as u8,
                _ => return Err(wrong(TEXTURE_OPERANDS)),
            };
            // With `.SCR` two groups share coordinates, level of detail and object evenly; otherwise the first group contains the
            // coordinates.
            let coordinates = image.dimensions + u8::from(image.layered);
            let all = coordinates + u8::from(image.level) + u8::from(!image.bound);
            image.first = if second && text.mnemonic.contains(".SCR") { all.div_ceil(2) } else { coordinates };
            if !image.bound {
                object = Some(inst.src[1].row);
                inst.src[1].row += 1;
            }
        }
        inst.address.uniform = object.ok_or(wrong(if is_surface { SURFACE_OPERANDS } else { TEXTURE_OPERANDS }))?;
        inst.op = Op::Image(image);
        Ok(destination)
    }

    /// Returns the first register of coordinates in brackets.
    fn coordinates(&self, operand: &Operand) -> Result<u16, DecodeError> {
        match operand.kind {
            Kind::Memory { register, uniform: None, offset: 0, .. } => Ok(self.row(register.unwrap_or(RZ))),
            _ => Err(DecodeError::Operands(SURFACE_OPERANDS)),
        }
    }
}
