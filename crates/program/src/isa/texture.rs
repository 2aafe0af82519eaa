//! The table of texture and surface instructions.

use super::kinds::{Beyond, Image, ImageAccess, Number};
use super::op::Op;
use super::parts::Parts;

/// Description of a texture instruction's operands for messages.
pub(super) const SHAPE: &str = "texture: destinations, coordinates, object, dimensions";
/// Description of a surface instruction's operands for messages.
pub(super) const SURFACE: &str = "surface: data, [coordinates], object";

/// Returns the operation of a texture or surface instruction; the error is the unknown modifier, or `None` for an unknown opcode.
pub(super) fn lookup(parts: Parts<'_>) -> Result<(Op, &'static str), Option<&str>> {
    let check = |known: &[&str]| parts.unknown(&[known]).map_or(Ok(()), |part| Err(Some(part)));
    let bound = !parts.has("B");
    let image = |access| Image { access, dimensions: 0, layered: false, mask: 15, bound, level: parts.has("LL"), first: 0 };
    match parts.name() {
        "TEX" => {
            // An image has one level of detail, whichever level the instruction requests.
            check(&["SCR", "B", "LL", "LZ", "NDV", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Sample)), SHAPE))
        }
        "TLD" => {
            check(&["SCR", "B", "LL", "LZ", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Fetch)), SHAPE))
        }
        // The second group contains the gradients that select a level of detail.
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
            // The operands determine if `.B` selects the third component or an object in a register.
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
