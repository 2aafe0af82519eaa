//! The table of texture and surface instructions.

use super::kinds::{Image, ImageAccess, Number, SurfaceOverrun};
use super::op::Op;
use super::parts::MnemonicParts;

/// Description of a texture instruction's operands for messages.
pub(super) const TEXTURE_OPERANDS: &str = "texture: destinations, coordinates, object, dimensions";
/// Description of a surface instruction's operands for messages.
pub(super) const SURFACE_OPERANDS: &str = "surface: data, [coordinates], object";

/// Returns the operation of a texture or surface instruction; the error is the unknown modifier, or `None` for an unknown opcode.
pub(super) fn lookup(parts: MnemonicParts<'_>) -> Result<(Op, &'static str), Option<&str>> {
    let check = |known: &[&str]| parts.unknown(&[known]).map_or(Ok(()), |part| Err(Some(part)));
    let bound = !parts.has("B");
    let image = |access| Image { access, dimensions: 0, layered: false, mask: 15, bound, level: parts.has("LL"), first: 0 };
    match parts.name() {
        "TEX" => {
            // An image has one level of detail, whichever level the instruction requests.
            check(&["SCR", "B", "LL", "LZ", "NDV", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Sample)), TEXTURE_OPERANDS))
        }
        "TLD" => {
            check(&["SCR", "B", "LL", "LZ", "NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Fetch)), TEXTURE_OPERANDS))
        }
        // The second group contains the gradients that select a level of detail.
        "TXD" => {
            check(&["NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Sample)), TEXTURE_OPERANDS))
        }
        "TXQ" => {
            check(&["NODEP"])?;
            Ok((Op::Image(image(ImageAccess::Query)), TEXTURE_OPERANDS))
        }
        "TLD4" => {
            check(&["SCR", "B", "R", "G", "A", "NODEP"])?;
            // The operands determine if `.B` selects the third component or an object in a register.
            let channel = if parts.has("A") { 3 } else { u8::from(parts.has("G")) };
            Ok((Op::Image(image(ImageAccess::Gather(channel))), TEXTURE_OPERANDS))
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
                () if parts.has("TRAP") => SurfaceOverrun::Trap,
                () if parts.has("IGN") => SurfaceOverrun::Zero,
                () => SurfaceOverrun::Clamp,
            };
            let (number, words) = parts.access();
            let bytes = if let Number::Integer(bytes, _) = number { bytes * words } else { 4 };
            let signed = matches!(number, Number::Integer(_, true));
            let access = if name == "SULD" { ImageAccess::Load { bytes, signed, beyond } } else { ImageAccess::Store { bytes, beyond } };
            let place = dimensions.iter().position(|name| parts.has(name)).ok_or(None)?;
            let image = Image { dimensions: [1, 2, 3, 1, 2][place], layered: place > 2, ..image(access) };
            Ok((Op::Image(image), SURFACE_OPERANDS))
        }
    }
}
