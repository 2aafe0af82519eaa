//! The table of tensor instructions: shapes and element types of a warp's matrix products.

use super::kinds::{Element, SummationRule, Tensor};
use super::op::Op;
use super::parts::MnemonicParts;

/// Returns the operation of HMMA, IMMA or DMMA and the shape of its operands; the error is the unknown modifier.
///
/// The number after the opcode is m, n and k of the product written together: 16816 is 16 x 8 with k = 16. Volta's 884 is a step of a
/// product in each of four groups of lanes.
pub(super) fn lookup(parts: MnemonicParts<'_>) -> Result<(Op, &'static str), Option<&str>> {
    let mut modifiers = parts.modifiers();
    let size = modifiers.next().ok_or(None)?;
    let rest: Vec<&str> = modifiers.collect();
    let unknown = |known: &[&str]| rest.iter().find(|part| !known.contains(part)).map_or(Ok(()), |part| Err(Some(*part)));
    if (parts.name(), size) == ("HMMA", "884") {
        unknown(&["F16", "F32", "STEP0", "STEP1", "STEP2", "STEP3"])?;
        let step = rest.iter().find_map(|part| part.strip_prefix("STEP")?.parse().ok()).unwrap_or(0);
        let half = match rest[..] {
            ["F32", "F32", ..] => false,
            ["F16", "F16", ..] => true,
            _ => return Err(rest.first().copied()),
        };
        return Ok((Op::Quad { step, half, a_column: false, b_column: false }, "DSSS"));
    }
    let float = |element| (element, element);
    let ((m, k), (a, b)) = match parts.name() {
        "HMMA" => {
            unknown(&["F16", "F32", "BF16", "TF32"])?;
            let kind = match () {
                () if rest.contains(&"BF16") => Element::Bfloat,
                () if rest.contains(&"TF32") => Element::Tf32,
                () => Element::Half,
            };
            let shape = match size {
                "1688" => (16, 8),
                "16816" => (16, 16),
                "1684" => (16, 4),
                _ => return Err(Some(size)),
            };
            (shape, float(kind))
        }
        "DMMA" => {
            unknown(&[])?;
            let shape = match size {
                "884" | "8x8x4" => (8, 4),
                "16x8x4" => (16, 4),
                "16x8x8" => (16, 8),
                "16x8x16" => (16, 16),
                _ => return Err(Some(size)),
            };
            (shape, float(Element::Double))
        }
        _ => {
            unknown(&["U8", "S8", "U4", "S4", "SAT"])?;
            let shape = match size {
                "8816" => (8, 16),
                "8832" => (8, 32),
                "16816" => (16, 16),
                "16832" => (16, 32),
                "16864" => (16, 64),
                _ => return Err(Some(size)),
            };
            let mut kinds = rest.iter().filter_map(|part| {
                let bits = part.get(1..)?.parse().ok()?;
                Some(Element::Integer(bits, part.starts_with('S')))
            });
            (shape, kinds.next().zip(kinds.next()).ok_or(None)?)
        }
    };
    let half = parts.name() == "HMMA" && !rest.contains(&"F32");
    Ok((Op::Tensor(Tensor { m, k, a, b, half, saturate: rest.contains(&"SAT"), rule: SummationRule::VOLTA }), "DSSS"))
}
