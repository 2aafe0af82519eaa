//! The table of texture and surface instructions.

use super::kinds::{Beyond, Image, ImageAccess, Number};
use super::op::Op;
use super::parts::Parts;

/// What the operands of a texture instruction are.
pub(super) const SHAPE: &str = "texture: destinations, coordinates, object, dimensions";
/// What those of a surface instruction are.
pub(super) const SURFACE: &str = "surface: data, [coordinates], object";

/// The operation of a texture or surface instruction; `Err` names the modifier that is not known, or nothing.
pub(super) fn lookup(parts: Parts<'_>) -> Result<(Op, &'static str), Option<&str>> {
    let check = |known: &[&str]| parts.unknown(&[known]).map_or(Ok(()), |part| Err(Some(part)));
    let bound = !parts.has("B");
    let image = |access| Image { access, dimensions: 0, layered: false, mask: 15, bound, level: parts.has("LL"), first: 0 };
    match parts.name() {
        "TEX" => {
            // An image has one level of detail, however it is asked for.
            check(&["SCR", "B", "LL", "LZ", "NDV", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Sample)), SHAPE))
        }
        "TLD" => {
            check(&["SCR", "B", "LL", "LZ", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Fetch)), SHAPE))
        }
        // The second group holds the gradients that pick a level of detail.
        "TXD" => {
            check(&["NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Sample)), SHAPE))
        }
        "TXQ" => {
            check(&["NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Query)), SHAPE))
        }
        "TLD4" => {
            check(&["SCR", "B", "R", "G", "A", "NODEP"])?;
            // Whether `.B` stands for the third number or for an object in a register is told by the operands.
            let channel = if parts.has("A") { 3 } else { u8::from(parts.has("G")) };
            Ok((Op::Image(image(ImageAccess::Gather(channel))), SHAPE))
        }
        name => {
            let dimensions = ["1D", "2D", "3D", "1D_ARRAY", "2D_ARRAY"];
            let known = [
                "D", "BA", "STRONG", "WEAK", "CTA", "SM", "GPU", "SYS", "TRAP", "IGN", "U8", "S8", "U16", "S16", "32", "64", "128", "NEAR",
            ];
            if let Some(part) = parts.unknown(&[&known, &dimensions]) {
                return Err(Some(part));
            }
            if !parts.has("BA") {
                return Err(None);
            }
            let beyond = match () {
                () if parts.has("TRAP") => Beyond::Trap,
                () if parts.has("IGN") => Beyond::Zero,
                () => Beyond::Clamp,
            };
            let (number, words) = parts.access();
            let bytes = if let Number::Integer(bytes, _) = number { bytes * words } else { 4 };
            let signed = matches!(number, Number::Integer(_, true));
            let access = if name == "SULD" { ImageAccess::Load { bytes, signed, beyond } } else { ImageAccess::Store { bytes, beyond } };
            let place = dimensions.iter().position(|name| parts.has(name)).ok_or(None)?;
            let image = Image { dimensions: [1, 2, 3, 1, 2][place], layered: place > 2, ..image(access) };
            Ok((Op::Image(image), SURFACE))
        }
    }
}
