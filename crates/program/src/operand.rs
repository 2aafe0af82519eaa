//! Parser for the operands of an instruction in the disassembler's text.

/// Number of RZ, the register that reads as zero.
pub(super) const RZ: u8 = 255;
/// Number of URZ among the uniform registers.
pub(super) const URZ: u8 = 63;
/// Number of PT, the predicate that is always true.
pub(super) const PT: u8 = 7;

/// The kind of an operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// An ordinary register, R0 to R254 or RZ.
    Register(u8),
    /// A uniform register, UR0 to UR62 or URZ.
    Uniform(u8),
    /// A predicate, P0 to P6 or PT.
    Predicate(u8),
    /// A uniform predicate, UP0 to UP6 or UPT.
    UniformPredicate(u8),
    /// A convergence barrier, B0 to B15.
    Barrier(u8),
    /// A scoreboard of the warp, SB0 to SB5.
    Scoreboard(u8),
    /// An integer as written; negative ones in two's complement.
    Integer(i64),
    /// A floating-point number, whose bits are in the instruction word.
    Float,
    /// A constant, `c[bank][register + offset]`.
    Constant { bank: u8, register: Option<u8>, uniform: Option<u8>, offset: i64 },
    /// An address, `[register.64 * scale + uniform + offset]`; `wide` is true with `.64`, `narrow` with `.U32` or a scale.
    Memory { register: Option<u8>, wide: bool, narrow: bool, scale: u8, uniform: Option<u8>, offset: i64 },
    /// A special register, as its name without `SR_`.
    Special(String),
    /// All predicates as a word, PR or UPR.
    AllPredicates,
    /// The address of an instruction.
    Label(u32),
    /// Descriptors of two matrices in shared memory, `gdesc[UR8].tnspA.tnspB.negA.negB`, with flags for transposed and for negated
    /// matrices.
    Descriptor(u8, [bool; 2], [bool; 2]),
}

/// The half of a register that a half-precision operand reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Half {
    /// The low half for the low result and the high half for the high result.
    #[default]
    Both,
    /// The low half for both results.
    Low,
    /// The high half for both results.
    High,
    /// The whole register as one single-precision number.
    Single,
}

/// An operand with its modifiers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operand {
    pub(super) kind: Kind,
    /// True with the modifier `-`.
    pub(super) negate: bool,
    /// True with the modifier `|...|`.
    pub(super) absolute: bool,
    /// True with the modifier `!` or `~`.
    pub(super) invert: bool,
    pub(super) half: Half,
    /// Byte of the register, selected by `.B0` to `.B3`; by default 0.
    pub(super) byte: u8,
    /// True with the modifier `.COL`, a matrix by columns.
    pub(super) column: bool,
}

/// Parses an operand; returns `None` for an unknown form.
pub(super) fn parse(text: &str) -> Option<Operand> {
    let (mut negate, mut absolute, mut invert) = (false, false, false);
    let mut rest = text.trim();
    loop {
        if let Some(after) = rest.strip_prefix(['!', '~']) {
            (invert, rest) = (true, after);
        } else if let Some(after) =
            rest.strip_prefix('-').filter(|after| !after.starts_with(|c: char| c.is_ascii_digit() || c == '>') && !is_float_literal(rest))
        {
            (negate, rest) = (true, after);
        } else if let Some(inner) = rest.strip_prefix('|') {
            let (inside, after) = inner.split_once('|')?;
            absolute = true;
            let (kind, half, byte) = unmodified_operand(&format!("{inside}{after}"))?;
            return Some(Operand { kind, negate, absolute, invert, half, byte, column: false });
        } else {
            break;
        }
    }
    let (kind, half, byte) = unmodified_operand(rest)?;
    Some(Operand { kind, negate, absolute, invert, half, byte, column: rest.ends_with(".COL") })
}

/// Returns true if the text is the name of a floating-point number such as an infinity or NaN.
fn is_float_literal(text: &str) -> bool {
    let bare = text.trim_start_matches(['+', '-']);
    ["INF", "QNAN", "SNAN"].iter().any(|name| bare.starts_with(name))
}

fn unmodified_operand(text: &str) -> Option<(Kind, Half, u8)> {
    if let Some(inner) = text.strip_prefix("c[") {
        return Some((constant(inner)?, half_of(text), 0));
    }
    if let Some(rest) = text.strip_prefix("gdesc[") {
        let (inside, marks) = rest.split_once(']')?;
        let Kind::Uniform(number) = named_operand(inside)? else { return None };
        if !marks.split('.').skip(1).all(|mark| matches!(mark, "tnspA" | "tnspB" | "negA" | "negB")) {
            return None;
        }
        let has = |mark: &str| marks.split('.').any(|other| other == mark);
        let kind = Kind::Descriptor(number, [has("tnspA"), has("tnspB")], [has("negA"), has("negB")]);
        return Some((kind, Half::Both, 0));
    }
    // An LLC hint that is a separate operand.
    if text.starts_with("desc[") && text.ends_with(']') && text.matches('[').count() == 1 {
        return Some((Kind::Special("desc".into()), Half::Both, 0));
    }
    // Since Hopper a descriptor precedes the address.
    if let Some(rest) = text.strip_prefix("desc[") {
        return unmodified_operand(rest.split_once(']')?.1).filter(|(kind, ..)| matches!(kind, Kind::Memory { .. }));
    }
    if let Some(inner) = text.strip_prefix('[') {
        return Some((memory(inner.strip_suffix(']')?)?, Half::Both, 0));
    }
    if let Some(place) = text.strip_prefix("->0x") {
        return Some((Kind::Label(u32::from_str_radix(place, 16).ok()?), Half::Both, 0));
    }
    if is_float_literal(text) {
        return Some((Kind::Float, Half::Both, 0));
    }
    if let Some(number) = integer(text) {
        return Some((Kind::Integer(number), Half::Both, 0));
    }
    if text.parse::<f64>().is_ok() {
        return Some((Kind::Float, Half::Both, 0));
    }
    if let Some(special) = text.strip_prefix("SR_") {
        return Some((Kind::Special(special.to_owned()), Half::Both, 0));
    }
    let name = text.split('.').next().unwrap_or_default();
    let known = |part: &str| {
        matches!(part, "reuse" | "64" | "ROW" | "COL" | "F32" | "H0" | "H1" | "H0_H0" | "H1_H1" | "H1_H0" | "B0" | "B1" | "B2" | "B3")
    };
    if matches!(named_operand(name), Some(Kind::Register(_) | Kind::Uniform(_))) && !text.split('.').skip(1).all(|part| known(part.trim()))
    {
        return None;
    }
    let byte = text.split('.').find_map(|part| part.strip_prefix('B').filter(|_| part != name)?.parse().ok()).unwrap_or(0);
    Some((named_operand(name)?, half_of(text), byte))
}

fn half_of(text: &str) -> Half {
    if text.contains(".H0_H0") || text.ends_with(".H0") {
        Half::Low
    } else if text.contains(".H1_H1") || text.ends_with(".H1") {
        Half::High
    } else if text.contains(".F32") {
        Half::Single
    } else {
        Half::Both
    }
}

fn named_operand(name: &str) -> Option<Kind> {
    let number = |prefix: &str, most: u8| name.strip_prefix(prefix)?.parse::<u8>().ok().filter(|&number| number <= most);
    Some(match name {
        "RZ" => Kind::Register(RZ),
        "URZ" => Kind::Uniform(URZ),
        "PT" => Kind::Predicate(PT),
        "UPT" => Kind::UniformPredicate(PT),
        "PR" | "UPR" => Kind::AllPredicates,
        // The scoreboard of matrix-product groups (since Hopper).
        "gsb0" => Kind::Special(name.into()),
        // The dimensions of a texture are a name.
        "SRZ" | "1D" | "2D" | "3D" | "CUBE" | "ARRAY_1D" | "ARRAY_2D" | "ARRAY_3D" | "ARRAY_CUBE" | "TEX_HEADER_DIMENSION" => {
            Kind::Special(name.into())
        }
        _ => {
            if let Some(number) = number("UR", 62) {
                Kind::Uniform(number)
            } else if let Some(number) = number("UP", 6) {
                Kind::UniformPredicate(number)
            } else if let Some(number) = number("R", 254) {
                Kind::Register(number)
            } else if let Some(number) = number("P", 6) {
                Kind::Predicate(number)
            } else if let Some(number) = number("SB", 5) {
                Kind::Scoreboard(number)
            } else {
                Kind::Barrier(number("B", 15)?)
            }
        }
    })
}

/// Parses a signed decimal or hexadecimal number.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse::<i64>().ok()?,
        None => return None,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

/// The register of an address: its number, a flag that is true for a pair, and its scale.
type AddressBase = (u8, bool, u8);

/// Flag in the scale of a 32-bit register.
const NARROW_REGISTER_FLAG: u8 = 0x80;

/// Splits an address such as `R4.64+UR6+-0x10` into its parts.
fn parts(text: &str) -> Option<(Option<AddressBase>, Option<u8>, i64)> {
    let (mut register, mut uniform, mut offset) = (None, None, 0_i64);
    for part in text.split('+') {
        if part.is_empty() {
            continue;
        }
        if let Some(number) = integer(part) {
            offset = offset.wrapping_add(number);
            continue;
        }
        let mut pieces = part.split('.');
        match named_operand(pieces.next()?)? {
            Kind::Register(number) => {
                let (mut wide, mut scale) = (false, 1);
                for piece in pieces {
                    match piece {
                        "64" => wide = true,
                        "X4" => scale = 4,
                        "X8" => scale = 8,
                        "X16" => scale = 16,
                        // A 32-bit index is marked, so that it is not treated as a pair.
                        "U32" => scale = scale.max(1) | NARROW_REGISTER_FLAG,
                        "reuse" => {}
                        _ => return None,
                    }
                }
                register = Some((number, wide, scale));
            }
            Kind::Uniform(number) => uniform = Some(number),
            _ => return None,
        }
    }
    Some((register, uniform, offset))
}

fn memory(text: &str) -> Option<Kind> {
    let (register, uniform, offset) = parts(text)?;
    let (number, wide, scale) = register.map_or((None, false, 1), |(number, wide, scale)| (Some(number), wide, scale));
    let narrow = scale != 1;
    Some(Kind::Memory { register: number, wide, narrow, scale: scale & !NARROW_REGISTER_FLAG, uniform, offset })
}

fn constant(text: &str) -> Option<Kind> {
    let (bank, rest) = text.split_once("][")?;
    let bank = u8::try_from(integer(bank)?).ok().filter(|&bank| bank < 18)?;
    let (register, uniform, offset) = parts(rest.split_once(']')?.0)?;
    Some(Kind::Constant { bank, register: register.map(|(number, ..)| number), uniform, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_operand_is_read() {
        let kind = |text: &str| parse(text).map(|operand| operand.kind);
        assert_eq!(kind("R12.reuse"), Some(Kind::Register(12)));
        assert_eq!(kind("-0x80"), Some(Kind::Integer(-128)));
        assert_eq!(kind("0.041666727513074874878"), Some(Kind::Float));
        assert_eq!(kind("-INF"), Some(Kind::Float));
        assert_eq!(kind("+INF "), Some(Kind::Float));
        assert_eq!(kind("SR_CTAID.X"), Some(Kind::Special("CTAID.X".into())));
        let constant = Kind::Constant { bank: 2, register: Some(0), uniform: None, offset: 12 };
        assert_eq!(kind("c[0x2][R0+0xc]"), Some(constant));
        let memory = Kind::Memory { register: Some(10), wide: true, narrow: false, scale: 1, uniform: Some(4), offset: -16 };
        assert_eq!(kind("[R10.64+UR4+-0x10]"), Some(memory));
        let negated = parse("-|R3|.H1_H1").unwrap();
        assert!(negated.negate && negated.absolute && negated.half == Half::High);
        assert_eq!(kind("R255"), None);
        assert_eq!(kind("Q3"), None);
        // An unknown part of a register is rejected instead of being read as the whole register.
        assert_eq!(["R3.H0_NH1", "R3.B4", "R3.X16", "UR3.H2"].map(kind), [None, None, None, None]);
        assert_eq!(["R3.reuse", "R3.H1", "R3.H1_H0", "UR4.64"].map(|text| kind(text).is_some()), [true; 4]);
    }
}
