//! Instructions that Hopper adds: matrix products of warp groups, barriers in shared memory, and copies by the tensor memory accelerator.
//!
//! Operands have the form that the disassembler prints for PTX instructions; the PTX ISA defines their semantics.

use super::super::listing::TextInst;
use super::super::operand::Kind;
use super::kinds::{Amount, AtomicOp, AtomicType, Bulk, BulkType, Element, GroupProduct, Mbarrier};
use super::op::Op;
use super::parts::MnemonicParts;

/// The operation of a mnemonic and the shape of its operands; the error is the unknown modifier.
type LookupResult<'a> = Result<(Op, &'static str), Option<&'a str>>;

/// Looks up HGMMA, QGMMA, IGMMA or BGMMA. `Binder::product` binds their operands.
pub(super) fn product(parts: MnemonicParts<'_>) -> LookupResult<'_> {
    let mut modifiers = parts.modifiers();
    let size = modifiers.next().ok_or(None)?;
    let kinds: Vec<&str> = modifiers.collect();
    let sizes: Vec<u16> = size.split('x').filter_map(|number| number.parse().ok()).collect();
    let [64, n @ 8..=256, k] = sizes[..] else { return Err(Some(size)) };
    let bytes: u16 = if n % 8 == 0 { 32 } else { return Err(Some(size)) };
    let element = |part: &&str| {
        Some(match *part {
            "BF16" => Element::Bfloat,
            "TF32" => Element::Tf32,
            "E4M3" => Element::E4m3,
            "E5M2" => Element::E5m2,
            "U8" => Element::Integer(8, false),
            "S8" => Element::Integer(8, true),
            _ => return None,
        })
    };
    let known: &[&str] = match parts.name() {
        "HGMMA" => &["F32", "F16", "BF16", "TF32"],
        "QGMMA" => &["F32", "F16", "E4M3", "E5M2"],
        "IGMMA" => &["U8", "S8", "SAT"],
        _ => &["AND", "POPC"],
    };
    if let Some(part) = kinds.iter().find(|part| !known.contains(part)) {
        return Err(Some(part));
    }
    let mut elements = kinds.iter().filter_map(element);
    let (a, b) = match parts.name() {
        "HGMMA" => elements.next().map_or((Element::Half, Element::Half), |element| (element, element)),
        "BGMMA" => (Element::Integer(1, false), Element::Integer(1, false)),
        _ => elements.next().zip(elements.next()).ok_or(None)?,
    };
    let expected = match a {
        Element::Integer(1, _) => bytes * 8,
        Element::Tf32 => bytes / 4,
        Element::Half | Element::Bfloat => bytes / 2,
        _ => bytes,
    };
    if k != expected {
        return Err(Some(size));
    }
    let half = matches!(parts.name(), "HGMMA" | "QGMMA") && !kinds.contains(&"F32");
    let saturate = kinds.contains(&"SAT");
    let (registers, transposed, negated) = (false, [false; 2], [false; 2]);
    Ok((Op::GroupProduct(GroupProduct { n, k, a, b, half, saturate, registers, transposed, negated }), "DsGS*"))
}

/// Returns the highest register that a warp-group product uses.
pub(super) fn last_register(text: &TextInst) -> Option<u16> {
    let parts = MnemonicParts::new(&text.mnemonic);
    if !parts.name().ends_with("GMMA") {
        return None;
    }
    let Ok((Op::GroupProduct(product), _)) = product(parts) else { return None };
    let Kind::Register(first) = text.operands.first()?.kind else { return None };
    Some((u16::from(first) + sum_registers(product)).min(255) - 1)
}

/// Returns the number of registers of a product's sums.
fn sum_registers(product: GroupProduct) -> u16 {
    product.n / if product.half { 4 } else { 2 }
}

/// Looks up SYNCS or ARRIVES.
pub(super) fn mbarrier(parts: MnemonicParts<'_>) -> LookupResult<'_> {
    let check = |known: &[&str]| parts.unknown(&[known]).map_or(Ok(()), |part| Err(Some(part)));
    let op = |op| Op::Mbarrier(op);
    if parts.name() == "ARRIVES" {
        check(&["LDGSTSBAR", "64", "ARVCNT", "TRANSCNT"])?;
        return Ok((
            op(match (parts.has("TRANSCNT"), parts.has("ARVCNT")) {
                (true, _) => Mbarrier::Copies { bytes: true },
                (_, true) => Mbarrier::Copies { bytes: false },
                _ => Mbarrier::Arrive80 { copies: true },
            }),
            "M",
        ));
    }
    if parts.has("EXCH") {
        check(&["EXCH", "64"])?;
        return Ok((op(Mbarrier::Write), "DMS"));
    }
    if parts.has("PHASECHK") {
        check(&["PHASECHK", "TRANS64", "TRYWAIT"])?;
        return Ok((op(Mbarrier::Check { waits: parts.has("TRYWAIT") }), "PMS"));
    }
    if parts.has("CCTL") {
        check(&["CCTL", "IV", "IVALL"])?;
        return Ok((op(Mbarrier::Invalidate), "m"));
    }
    const ARRIVAL_AMOUNTS: [(&str, Amount, Amount, bool); 6] = [
        ("A1T0", Amount::One, Amount::None, false),
        ("ART0", Amount::Register, Amount::None, false),
        ("A0TR", Amount::None, Amount::Register, false),
        ("A0TX", Amount::None, Amount::Register, true),
        ("A0T1", Amount::None, Amount::One, false),
        ("", Amount::One, Amount::Register, false),
    ];
    check(&["ARRIVE", "TRANS64", "RED", "TMASK", "OPTOUT", "A1T0", "ART0", "A0TR", "A0TX", "A0T1"])?;
    if !parts.has("ARRIVE") {
        return Err(None);
    }
    let found = ARRIVAL_AMOUNTS.iter().find(|(name, ..)| name.is_empty() || parts.has(name)).ok_or(None)?;
    let &(_, arrivals, bytes, complete) = found;
    Ok((op(Mbarrier::Arrive { arrivals, bytes, complete, drops: parts.has("OPTOUT") }), "DMS"))
}

/// Looks up a copy by the tensor memory accelerator. `Binder::bulk` binds its operands.
pub(super) fn bulk(parts: MnemonicParts<'_>) -> LookupResult<'_> {
    const OPS: &[&str] = &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"];
    const TYPES: &[&str] = &["U32", "S32", "U64", "S64", "F16", "BF16", "F32", "F64", "RN", "FTZ"];
    const RANKS: &[&str] = &["1D", "2D", "3D", "4D", "5D"];
    let check = |known: &[&[&str]]| parts.unknown(known).map_or(Ok(()), |part| Err(Some(part)));
    let rank = RANKS.iter().position(|name| parts.has(name)).map(|place| place as u8 + 1);
    let op = || parts.find(AtomicOp::named);
    let multicast = parts.has("MULTICAST");
    let found = match parts.name() {
        "UTMALDG" => {
            check(&[RANKS, &["MULTICAST"]])?;
            Bulk::LoadTensor { rank: rank.ok_or(None)?, multicast }
        }
        "UTMASTG" => {
            check(&[RANKS])?;
            Bulk::StoreTensor { rank: rank.ok_or(None)? }
        }
        "UTMAREDG" => {
            check(&[RANKS, OPS])?;
            Bulk::ReduceTensor { rank: rank.ok_or(None)?, op: op().ok_or(None)? }
        }
        "UTMAPF" | "UBLKPF" => Bulk::Prefetch,
        "UBLKCP" => {
            check(&[&["S", "G", "MULTICAST"]])?;
            let ends: Vec<&str> = parts.modifiers().filter(|part| matches!(*part, "S" | "G")).collect();
            match ends[..] {
                ["S", "G"] => Bulk::Load { multicast },
                ["G", "S"] => Bulk::Store,
                ["S", "S"] => Bulk::Move,
                _ => return Err(None),
            }
        }
        _ => {
            check(&[&["G", "S"], OPS, TYPES])?;
            let kind = parts.find(|part| {
                Some(match part {
                    "F16" => BulkType::Half,
                    "BF16" => BulkType::Bfloat,
                    "U64" => BulkType::Atomic(AtomicType::U64),
                    "S64" => BulkType::Atomic(AtomicType::S64),
                    "S32" => BulkType::Atomic(AtomicType::S32),
                    "F32" => BulkType::Atomic(AtomicType::F32),
                    "F64" => BulkType::Atomic(AtomicType::F64),
                    _ => return None,
                })
            });
            Bulk::Reduce { op: op().ok_or(None)?, kind: kind.unwrap_or(BulkType::Atomic(AtomicType::U32)) }
        }
    };
    Ok((Op::Bulk(found), "*"))
}
