//! The opcode table: the operation of each mnemonic, and the shape of its operands.
//!
//! A shape is a word with a letter for each operand in order. `D` is a destination register, `P` a destination predicate, `S` a source, `Q`
//! a source predicate, `M` an address, `C` a constant with an address, `B` a convergence barrier, `I` an immediate number or code address,
//! `R` a special register, and `*` any operand, which is ignored. The lower-case letters `d`, `p`, `s`, `q` and `i` are the optional forms.

use super::kinds::{
    AtomicOp, AtomicType, Barrier, Logic, Mbarrier, MinMaxOperands, MufuOp, Number, Pick, Round, ShuffleMode, Space, VoteMode,
};
use super::op::Op;
use super::parts::MnemonicParts;
use super::{hopper, tensor, texture};

const ROUND_MODIFIERS: &[&str] = &["RN", "RZ", "RM", "RP", "TRUNC", "FLOOR", "CEIL"];
const COMPARE_MODIFIERS: &[&str] =
    &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T", "AND", "OR", "XOR"];
const INTEGER_TYPES: &[&str] = &["U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"];
const FLOAT_TYPES: &[&str] = &["F16", "F32", "F64", "BF16"];
/// Modifiers of integer minima and maxima.
const MIN_MAX_MODIFIERS: &[&str] = &["U32", "S32", "U16x2", "S16x2", "RELU"];
const HALF_MODIFIERS: &[&str] = &["BF16_V2", "SAT", "RELU"];
/// Scopes, orders and hints of accesses; they have no effect on sequential execution of a launch.
const ACCESS_HINTS: &[&str] = &[
    "E",
    "U",
    "SYS",
    "CONSTANT",
    "STRONG",
    "WEAK",
    "GPU",
    "CTA",
    "SM",
    "EF",
    "EL",
    "LU",
    "EU",
    "NA",
    "CI",
    "CV",
    "MMIO",
    "PRIVATE",
    "LTC64B",
    "LTC128B",
    "LTC256B",
    "RELAXED",
    "CONSISTENCY",
];
const ACCESS_WIDTHS: &[&str] = &["U8", "S8", "U16", "S16", "32", "64", "128"];

/// Returns the operation of a mnemonic and the shape of its operands. The error is the unknown modifier, or `None` if the opcode itself is
/// unknown.
pub(super) fn lookup<'a>(parts: MnemonicParts<'a>) -> Result<(Op, &'static str), Option<&'a str>> {
    let name = parts.name();
    // Opcodes of the uniform datapath have the semantics of the per-lane opcodes.
    let plain = match name {
        "UIADD3" | "UIMAD" | "UISETP" | "ULOP3" | "UPLOP3" | "USHF" | "ULEA" | "UFLO" | "UPOPC" | "UBREV" | "UBMSK" | "USGXT" | "UPRMT"
        | "USEL" | "UMOV" | "VOTEU" => name.strip_prefix('U').unwrap_or("VOTE"),
        _ => name,
    };
    let signed = !parts.has("U32");
    let check = |known: &[&[&str]]| parts.unknown(known).map_or(Ok(()), |part| Err(Some(part)));
    let row = |known: &[&[&str]], op: Op, shape: &'static str| check(known).map(|()| (op, shape));
    let compared = || parts.compare().zip(parts.logic()).ok_or(None);
    match plain {
        "NOP" | "MEMBAR" | "CCTL" | "CCTLL" | "CCTLT" | "ERRBAR" | "CGAERRBAR" | "ENDCOLLECTIVE" | "PMTRIG" => Ok((Op::Nop, "*")),
        // The no-operations are waits between launches, which execute sequentially here (the timing model simulates them), and hints. A
        // warp group requests registers repeatedly until the predicate reports success.
        "USETMAXREG" if parts.has("TRY_ALLOC") => row(&[&["TRY_ALLOC", "CTAPOOL"]], Op::RequestRegisters, "P*"),
        "ACQBULK" | "PREEXIT" | "USETMAXREG" | "FENCE" | "UTMACCTL" | "UTMACMDFLUSH" => Ok((Op::Nop, "*")),
        "ELECT" => row(&[], Op::Elect, "PdQ"),
        "UCGABAR_ARV" => Ok((Op::ClusterArrive, "*")),
        "UCGABAR_WAIT" => Ok((Op::ClusterWait, "*")),
        "WARPGROUP" if parts.has("DEPBAR") => Ok((Op::WaitProducts, "*")),
        "WARPGROUP" => row(&[&["ARRIVE"]], Op::Nop, "*"),
        "HGMMA" | "QGMMA" | "IGMMA" | "BGMMA" => hopper::product(parts),
        "SYNCS" | "ARRIVES" => hopper::mbarrier(parts),
        "ATOMS" if parts.has("ARRIVE") => row(&[&["ARRIVE", "64"]], Op::Mbarrier(Mbarrier::Arrive80 { copies: false }), "DM"),
        "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UBLKCP" | "UBLKRED" | "UBLKPF" => hopper::bulk(parts),
        "STSM" => {
            let count = if parts.has("4") { 4 } else { 1 + u8::from(parts.has("2")) };
            row(&[&["16", "M88", "MT88", "2", "4"]], Op::StoreMatrix { count, transposed: parts.has("MT88") }, "MS")
        }
        "MOV" | "MOV32I" => row(&[], Op::Mov, "DSi"),
        // The predicate is true if lanes have different values.
        "R2UR" => row(&[], Op::ReadFirst, "pDS"),
        "ULDC" => match parts.access() {
            (number @ Number::Integer(1 | 2, _), _) => row(&[ACCESS_WIDTHS], Op::Extract(number), "DS"),
            (Number::Integer(4, _), 2) => row(&[&["64"]], Op::MovPair, "DS"),
            _ => row(&[], Op::Mov, "DS"),
        },
        "IADD3" if parts.has("64") => row(&[&["64"]], Op::AddPairs, "DSSS"),
        "IADD3" => row(&[&["X"]], Op::Add3 { extended: parts.has("X") }, "DppSSSqq"),
        "VIADD" if parts.has("16x2") => row(&[&["16x2"]], Op::AddHalves, "DSS"),
        "VIADD" => row(&[], Op::Add3 { extended: false }, "DSS"),
        "IMAD" => imad(parts, signed, check),
        "ISETP" => {
            let (compare, logic) = compared()?;
            let extended = parts.has("EX");
            row(&[COMPARE_MODIFIERS, &["EX", "U32"]], Op::CompareInt { compare, signed, logic, extended }, "PPSSQq")
        }
        "LOP3" => {
            let logic = if parts.has("PAND") { Logic::And } else { Logic::Or };
            row(&[&["LUT", "PAND"]], Op::Logic3 { logic }, "pDSSSIq")
        }
        "PLOP3" => row(&[&["LUT"]], Op::PredicateLogic, "PPQQQII"),
        "SHF" => {
            let wide = parts.has("U64") || parts.has("S64");
            let signed = parts.has("S32") || parts.has("S64");
            let op = Op::Shift { left: parts.has("L"), high: parts.has("HI"), wrap: parts.has("W"), wide, signed };
            row(&[&["L", "R", "W", "HI"], INTEGER_TYPES], op, "DSSS")
        }
        "LEA" => {
            let (high, extended, sign) = (parts.has("HI"), parts.has("X"), parts.has("SX32"));
            let shape = if high && !sign { "DpSSSIq" } else { "DpSSIq" };
            row(&[&["HI", "X", "SX32"]], Op::ShiftAdd { high, extended, sign }, shape)
        }
        "VIMNMX" if parts.has("U16x2") || parts.has("S16x2") || parts.has("RELU") => {
            row(&[MIN_MAX_MODIFIERS], pick(parts, MinMaxOperands::Two), "DppSSQ")
        }
        "IMNMX" | "VIMNMX" => row(&[&["U32", "S32"]], Op::MinMax { signed }, "DSSQ"),
        "VIMNMX3" => row(&[MIN_MAX_MODIFIERS], pick(parts, MinMaxOperands::Three), "DSSSQ"),
        "VIADDMNMX" => row(&[MIN_MAX_MODIFIERS], pick(parts, MinMaxOperands::Sum), "DSSSQ"),
        "IABS" => row(&[], Op::Abs, "DS"),
        "POPC" => row(&[], Op::PopCount, "DS"),
        "FLO" => row(&[&["U32", "SH"]], Op::FindLeading { signed, shift: parts.has("SH") }, "DS"),
        "BREV" => row(&[], Op::Reverse, "DS"),
        "BMSK" => row(&[&["W", "C"]], Op::BitMask { wrap: parts.has("W") }, "DSS"),
        "SGXT" => row(&[&["W", "U32"]], Op::SignExtend { signed, wrap: parts.has("W") }, "DSS"),
        "PRMT" => row(&[], Op::Permute, "DSSS"),
        "SEL" => row(&[], Op::Select, "DSSQ"),
        "IDP" if parts.has("4A") => {
            let mut kinds = parts.modifiers().filter(|part| matches!(*part, "S8" | "U8")).map(|part| part == "S8");
            let (a, b) = (kinds.next().unwrap_or(false), kinds.next().unwrap_or(false));
            row(&[&["4A", "S8", "U8"]], Op::DotBytes { a, b }, "DSSS")
        }
        "IDP" if parts.has("2A") => {
            let op = Op::DotHalves { a: parts.has("S16"), b: parts.has("S8"), high: parts.has("HI") };
            row(&[&["2A", "LO", "HI", "S16", "U16", "S8", "U8"]], op, "DSSS")
        }
        "VABSDIFF4" => {
            let op = Op::AbsDifferenceBytes { signed: !parts.has("U8"), sum: parts.has("ACC") };
            row(&[&["U8", "S8", "ACC"]], op, "DSSS")
        }
        "I2I" => {
            let to = parts.integer().unwrap_or(Number::Integer(4, true));
            row(&[INTEGER_TYPES, &["SAT"]], Op::IntToInt(to), "DS")
        }
        "I2IP" => {
            let to = parts.integer().unwrap_or(Number::Integer(4, true));
            row(&[INTEGER_TYPES, &["SAT"]], Op::PackIntegers(to), "DSSS")
        }
        "VABSDIFF" => row(&[&["U32"]], Op::AbsDifference { signed }, "DSSS"),
        "P2R" | "UP2UR" => {
            let byte = (0..4).find(|byte| parts.has(["B0", "B1", "B2", "B3"][*byte])).unwrap_or(0) as u8;
            row(&[&["B0", "B1", "B2", "B3"]], Op::PredicatesToRegister { byte }, "D*SS")
        }
        "R2P" | "UR2UP" => row(&[], Op::RegisterToPredicates, "*SS"),
        "FADD" => row(&[ROUND_MODIFIERS, &["FTZ", "SAT"]], Op::FAdd(parts.float()), "DSS"),
        "FMUL" => {
            const SCALES: &[&str] = &["D2", "D4", "D8", "M2", "M4", "M8"];
            let exponent = [-1, -2, -3, 1, 2, 3].into_iter().zip(SCALES).find(|(_, name)| parts.has(name)).map(|(exponent, _)| exponent);
            let op = exponent.map_or(Op::FMul(parts.float()), |exponent| Op::FMulScaled(parts.float(), exponent));
            row(&[ROUND_MODIFIERS, &["FTZ", "SAT"], SCALES], op, "DSS")
        }
        "FFMA" => row(&[ROUND_MODIFIERS, &["FTZ", "SAT"]], Op::FFma(parts.float()), "DSSS"),
        "FMNMX" => row(&[&["FTZ", "NAN"]], Op::FMinMax { flush: parts.has("FTZ"), number: !parts.has("NAN") }, "DSSQ"),
        "FSETP" => {
            let (compare, logic) = compared()?;
            row(&[COMPARE_MODIFIERS, &["FTZ"]], Op::CompareFloat { compare, logic, flush: parts.has("FTZ") }, "PPSSQ")
        }
        "FSET" => {
            let (compare, logic) = compared()?;
            let op = Op::SetFloat { compare, logic, flush: parts.has("FTZ"), float: parts.has("BF") };
            row(&[COMPARE_MODIFIERS, &["FTZ", "BF"]], op, "DSSQ")
        }
        "FSEL" => row(&[&["FTZ"]], Op::FSelect, "DSSQ"),
        "FCHK" => row(&[&["DIVIDE"]], Op::CheckDivision, "PSS"),
        "MUFU" => {
            let read = |part: &str| {
                Some(match part {
                    "RCP" => MufuOp::Rcp,
                    "RSQ" => MufuOp::Rsq,
                    "SQRT" => MufuOp::Sqrt,
                    "EX2" => MufuOp::Ex2,
                    "LG2" => MufuOp::Lg2,
                    "SIN" => MufuOp::Sin,
                    "COS" => MufuOp::Cos,
                    "TANH" => MufuOp::Tanh,
                    "RCP64H" => MufuOp::Rcp64,
                    "RSQ64H" => MufuOp::Rsq64,
                    _ => return None,
                })
            };
            let op = parts.find(read).ok_or(None)?;
            let known: &[&str] = &["RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"];
            let bfloat = parts.has("BF16");
            row(&[known, &["F16", "BF16"]], if bfloat || parts.has("F16") { Op::MufuHalf { op, bfloat } } else { Op::Mufu(op) }, "DS")
        }
        "DADD" => row(&[ROUND_MODIFIERS], Op::DAdd(parts.round()), "DSS"),
        "DMUL" => row(&[ROUND_MODIFIERS], Op::DMul(parts.round()), "DSS"),
        "DFMA" => row(&[ROUND_MODIFIERS], Op::DFma(parts.round()), "DSSS"),
        "DSETP" if parts.has("MIN") || parts.has("MAX") => {
            row(&[&["MIN", "MAX", "AND"]], Op::PickDouble { max: parts.has("MAX") }, "PPSSQ")
        }
        "DSETP" => {
            let (compare, logic) = compared()?;
            row(&[COMPARE_MODIFIERS], Op::CompareDouble { compare, logic }, "PPSSQ")
        }
        "HADD2" if parts.has("F32") => row(&[&["F32"]], Op::HAddSingle, "DSS"),
        "HADD2" => row(&[HALF_MODIFIERS], Op::HAdd(parts.halves()), "DSS"),
        "HMUL2" => row(&[HALF_MODIFIERS], Op::HMul(parts.halves()), "DSS"),
        "HFMA2" => row(&[HALF_MODIFIERS, &["MMA"]], Op::HFma(parts.halves()), "DSSS"),
        "HMNMX2" => row(&[&["BF16_V2", "NAN"]], Op::HMinMax { bfloat: parts.has("BF16_V2"), number: !parts.has("NAN") }, "DSSQ"),
        "HSETP2" => {
            let (compare, logic) = compared()?;
            row(&[COMPARE_MODIFIERS, &["BF16_V2"]], Op::CompareHalf { compare, logic, bfloat: parts.has("BF16_V2") }, "PPSSQ")
        }
        "HSET2" => {
            let (compare, logic) = compared()?;
            let op = Op::SetHalf { compare, logic, bfloat: parts.has("BF16_V2"), float: parts.has("BF") };
            row(&[COMPARE_MODIFIERS, &["BF16_V2", "BF"]], op, "DSSQ")
        }
        "HMMA" | "IMMA" | "DMMA" => tensor::lookup(parts),
        "TEX" | "TLD" | "TLD4" | "TXD" | "TXQ" | "SULD" | "SUST" => texture::lookup(parts),
        "MOVM" => row(&[&["16", "MT88"]], Op::TransposeMatrix, "DS"),
        "F2F" => {
            let mut kinds = parts.floats();
            let (to, from) = (kinds.next().unwrap_or(Number::Float(4)), kinds.next().unwrap_or(Number::Float(4)));
            let op = Op::FloatToFloat { to, from, round: parts.round(), flush: parts.has("FTZ"), integral: None };
            row(&[ROUND_MODIFIERS, FLOAT_TYPES, &["FTZ"]], op, "DS")
        }
        "FRND" => {
            let kind = parts.floats().next().unwrap_or(Number::Float(4));
            let integral = Some(parts.round());
            let op = Op::FloatToFloat { to: kind, from: kind, round: Round::Near, flush: parts.has("FTZ"), integral };
            row(&[ROUND_MODIFIERS, FLOAT_TYPES, &["FTZ"]], op, "DS")
        }
        "F2I" => {
            let from = parts.floats().next().unwrap_or(Number::Float(4));
            let to = parts.integer().unwrap_or(Number::Integer(4, true));
            let op = Op::FloatToInt { to, from, round: parts.round(), flush: parts.has("FTZ") };
            row(&[ROUND_MODIFIERS, FLOAT_TYPES, INTEGER_TYPES, &["FTZ", "NTZ"]], op, "DS")
        }
        "I2F" | "I2FP" => {
            let to = parts.floats().next().unwrap_or(Number::Float(4));
            let from = parts.integer().unwrap_or(Number::Integer(4, true));
            row(&[ROUND_MODIFIERS, FLOAT_TYPES, INTEGER_TYPES], Op::IntToFloat { to, from, round: parts.round() }, "DS")
        }
        "F2FP" => {
            let op = Op::PackHalves { bfloat: parts.has("BF16"), round: parts.round(), rectify: parts.has("RELU") };
            row(&[ROUND_MODIFIERS, &["PACK_AB", "F16", "F32", "BF16", "RELU"]], op, "DSS")
        }
        "VOTE" => {
            let read = |part: &str| match part {
                "ALL" => Some(VoteMode::All),
                "ANY" => Some(VoteMode::Any),
                "EQ" => Some(VoteMode::Equal),
                _ => None,
            };
            let mode = parts.find(read).ok_or(None)?;
            row(&[&["ALL", "ANY", "EQ"]], Op::Vote(mode), "dpQ")
        }
        "MATCH" => row(&[&["ANY", "ALL", "U64"]], Op::Match { all: parts.has("ALL"), wide: parts.has("U64") }, "pDS"),
        "SHFL" => {
            let read = |part: &str| match part {
                "IDX" => Some(ShuffleMode::Index),
                "UP" => Some(ShuffleMode::Up),
                "DOWN" => Some(ShuffleMode::Down),
                "BFLY" => Some(ShuffleMode::Butterfly),
                _ => None,
            };
            let mode = parts.find(read).ok_or(None)?;
            row(&[&["IDX", "UP", "DOWN", "BFLY"]], Op::Shuffle(mode), "PDSSS")
        }
        "REDUX" => {
            let op = parts.find(AtomicOp::named).unwrap_or(AtomicOp::And);
            row(&[&["SUM", "MIN", "MAX", "AND", "OR", "XOR", "S32"]], Op::Reduce { op, signed: parts.has("S32") }, "DS")
        }
        "S2R" | "S2UR" => row(&[], Op::Special(super::Special::Zero, false), "DR"),
        "CS2R" => row(&[&["32"]], Op::Special(super::Special::Zero, !parts.has("32")), "DR"),
        "LDC" => {
            let (number, words) = parts.access();
            row(&[ACCESS_WIDTHS], Op::LoadConstant { number, words }, "DC")
        }
        "LD" | "LDG" | "LDS" | "LDL" => {
            let (number, words) = parts.access();
            row(&[ACCESS_HINTS, ACCESS_WIDTHS], Op::Load { space: space(plain), number, words }, "DM")
        }
        "ST" | "STG" | "STS" | "STL" => {
            let (number, words) = parts.access();
            let bytes = if let Number::Integer(bytes, _) = number { bytes * words } else { 4 };
            row(&[ACCESS_HINTS, ACCESS_WIDTHS], Op::Store { space: space(plain), bytes }, "MS")
        }
        "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG" => atomic(parts, plain, check),
        "LDSM" => {
            let count = if parts.has("4") { 4 } else { 1 + u8::from(parts.has("2")) };
            row(&[&["16", "M88", "MT88", "2", "4"]], Op::LoadMatrix { count, transposed: parts.has("MT88") }, "DM")
        }
        "LDGSTS" => {
            let (_, words) = parts.access();
            row(&[ACCESS_HINTS, &["64", "128", "BYPASS", "ACCESS", "ZFILL"]], Op::CopyAsync { bytes: 4 * words }, "NMq")
        }
        "LDGDEPBAR" => row(&[], Op::GroupCopies, ""),
        "DEPBAR" => row(&[&["LE"]], Op::WaitCopies, "bi*"),
        "QSPC" if parts.has("S") => row(&[&["E", "S"]], Op::QuerySpace(Space::Shared), "PdM"),
        "QSPC" if parts.has("L") => row(&[&["E", "L"]], Op::QuerySpace(Space::Local), "PdM"),
        "BRA" if parts.has("DIV") || parts.has("CONV") => {
            row(&[&["DIV", "CONV"]], Op::BranchDiverged { together: parts.has("CONV") }, "sI")
        }
        "BRA" if parts.has("ANY") => row(&[&["U", "ANY"]], Op::BranchAny, "qI"),
        "BRA" | "JMP" => row(&[&["U"]], Op::Branch, "qI"),
        "BRX" => row(&[], Op::BranchIndirect, "SI"),
        "BSSY" => row(&[&["RECONVERGENT", "RELIABLE"]], Op::SetSync, "BI"),
        "BSYNC" => row(&[&["RECONVERGENT", "RELIABLE"]], Op::Sync, "qB"),
        "BREAK" => row(&[&["RELIABLE"]], Op::Break, "qB"),
        "BMOV" => bmov(parts),
        "WARPSYNC" if parts.has("ALL") && parts.has("COLLECTIVE") => row(&[&["COLLECTIVE"], &["ALL"]], Op::WarpSyncAll, "i"),
        "WARPSYNC" if parts.has("ALL") => row(&[&["ALL"]], Op::WarpSyncAll, ""),
        "WARPSYNC" => {
            let exclusive = parts.has("EXCLUSIVE") || parts.has("COLLECTIVE");
            row(&[&["EXCLUSIVE", "COLLECTIVE"]], Op::WarpSync { exclusive }, "Si")
        }
        "LEPC" => row(&[], Op::LoadPlace, "Di"),
        "CALL" if parts.has("ABS") => row(&[&["ABS", "NOINC"]], Op::CallRuntime, "S"),
        "CALL" if parts.has("REL") => row(&[&["REL", "NOINC"]], Op::Call, "I"),
        "RET" if parts.has("REL") => row(&[&["REL", "NODEC"]], Op::JumpTo, "SI"),
        "EXIT" => row(&[], Op::Exit, "q"),
        "BAR" => {
            let read = |part: &str| {
                Some(match part {
                    "SYNC" => Barrier::Sync,
                    "ARV" => Barrier::Arrive,
                    "POPC" => Barrier::Count,
                    "AND" => Barrier::And,
                    "OR" => Barrier::Or,
                    _ => return None,
                })
            };
            let kind = parts.find(read).ok_or(None)?;
            row(&[&["SYNC", "ARV", "RED", "POPC", "AND", "OR", "DEFER_BLOCKING"]], Op::Barrier(kind), "Ssq")
        }
        "B2R" if parts.has("RESULT") => row(&[&["RESULT"]], Op::BarrierResult, "Dp"),
        "YIELD" | "NANOSLEEP" => Ok((Op::Yield, "*")),
        "BPT" => Ok((Op::Trap, "*")),
        _ => Err(None),
    }
}

fn imad<'a>(
    parts: MnemonicParts<'a>,
    signed: bool,
    check: impl Fn(&[&[&str]]) -> Result<(), Option<&'a str>>,
) -> Result<(Op, &'static str), Option<&'a str>> {
    check(&[&["MOV", "IADD", "SHL", "U32", "X", "WIDE", "HI"]])?;
    let extended = parts.has("X");
    Ok(if parts.has("WIDE") {
        (Op::MulAddWide { signed, extended }, "DpSSSq")
    } else if parts.has("HI") {
        (Op::MulAddHigh { signed, extended }, "DpSSSq")
    } else {
        (Op::MulAdd { extended }, "DSSSq")
    })
}

fn pick(parts: MnemonicParts<'_>, of: MinMaxOperands) -> Op {
    let unsigned = parts.has("U32") || parts.has("U16x2");
    let halves = parts.has("U16x2") || parts.has("S16x2");
    Op::Pick(Pick { of, signed: !unsigned, halves, rectify: parts.has("RELU") })
}

fn bmov(parts: MnemonicParts<'_>) -> Result<(Op, &'static str), Option<&str>> {
    if let Some(part) = parts.unknown(&[&["32", "CLEAR"]]) {
        return Err(Some(part));
    }
    // The operands determine the direction: `BMOV.32 B6, R16` or `BMOV.32.CLEAR R16, B6`.
    Ok(if parts.has("CLEAR") { (Op::BarrierToRegister { clear: true }, "DB") } else { (Op::RegisterToBarrier, "BS") })
}

fn space(name: &str) -> Space {
    match name {
        "LDG" | "STG" | "ATOMG" | "RED" | "REDG" => Space::Global,
        "LDS" | "STS" | "ATOMS" => Space::Shared,
        "LDL" | "STL" => Space::Local,
        _ => Space::Generic,
    }
}

fn atomic<'a>(
    parts: MnemonicParts<'a>,
    name: &str,
    check: impl Fn(&[&[&str]]) -> Result<(), Option<&'a str>>,
) -> Result<(Op, &'static str), Option<&'a str>> {
    const OPS: &[&str] = &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS", "CAST", "POPC", "SPIN"];
    const TYPES: &[&str] = &["32", "64", "S32", "S64", "U64", "U32", "F32", "F64", "F16x2", "FTZ", "RN"];
    check(&[OPS, TYPES, ACCESS_HINTS])?;
    let op = if parts.has("POPC") { AtomicOp::Count } else { parts.find(AtomicOp::named).ok_or(None)? };
    let read = |part: &str| {
        Some(match part {
            "64" | "U64" => AtomicType::U64,
            "S32" => AtomicType::S32,
            "S64" => AtomicType::S64,
            "F32" => AtomicType::F32,
            "F64" => AtomicType::F64,
            "F16x2" => AtomicType::F16x2,
            _ => return None,
        })
    };
    // `MAX.S64` is written as `MAX.S64` or as `MAX.64.S64`: the more specific modifier applies.
    let kind = parts.modifiers().filter_map(read).last().unwrap_or(AtomicType::U32);
    let returns = !name.starts_with("RED");
    let shape = match name {
        "RED" | "REDG" => "MS",
        "ATOMS" if op == AtomicOp::Count => "DM",
        "ATOMS" => "DMSs",
        _ => "PDMSs",
    };
    Ok((Op::Atomic { space: space(name), op, kind, returns }, shape))
}
