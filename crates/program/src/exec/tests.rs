//! Tests of single instructions over edge values, each against a computation on the host.

use std::path::Path;
use std::sync::Arc;

use warpshard_workload::Dim3;

use super::super::isa::{Banks, decode};
use super::super::listing::Module;
use super::super::memory::Memory;
use super::{Executor, Kernel, KernelCode, Tally};

/// Edge values of integers.
pub(super) const EDGE_INTEGERS: [u32; 16] =
    [0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0xffff_fffe, 0x1234_5678, 0xdead_beef];

/// Edge values of single-precision numbers.
pub(super) const EDGE_FLOATS: [u32; 18] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3fc0_0000,
    0x4049_0fdb,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x3380_0000,
    0x4f00_0000,
    0xcf80_0000,
];

/// Executes `code` with a, b and c of each lane in R4, R5 and R6 (64-bit values in the pairs R4, R6 and R8); returns R10 and R11 of each
/// lane. The first word of every instruction's encoding contains `imm` in its upper half.
pub(super) fn lanes(code: &[&str], inputs: &[[u64; 3]], wide: bool) -> Vec<u64> {
    let mut results = Vec::new();
    for chunk in inputs.chunks(32) {
        let mut text = "warpshard listing 1\narch sm_80\nkernel k\nregisters 32\nparameters 0x160 8 0:8\ncode\n".to_owned();
        let load = if wide {
            ["LDG.E.64.SYS R4, [R2]", "LDG.E.64.SYS R6, [R2+0x8]", "LDG.E.64.SYS R8, [R2+0x10]"]
        } else {
            ["LDG.E.SYS R4, [R2]", "LDG.E.SYS R5, [R2+0x8]", "LDG.E.SYS R6, [R2+0x10]"]
        };
        let head = ["S2R R0, SR_TID.X", "MOV R1, 0x20", "IMAD.WIDE.U32 R2, R0, R1, c[0x0][0x160]"];
        let lines: Vec<&str> =
            head.iter().chain(&load).copied().chain(code.iter().copied()).chain(["STG.E.64.SYS [R2+0x18], R10", "EXIT"]).collect();
        for (number, line) in lines.iter().enumerate() {
            text += &format!("{:04x}: {line} ; 0 0\n", 16 * number);
        }
        let module = Module::parse(Path::new("test"), &(text + "end\n")).unwrap();
        let mut memory = Memory::default();
        let mut data = Vec::new();
        for lane in 0..32 {
            let input = chunk.get(lane).unwrap_or(&[0; 3]);
            input.iter().chain(&[0]).for_each(|value| data.extend(value.to_le_bytes()));
        }
        let buffer = memory.allocate("data", data, true);
        let start = memory.allocations()[buffer].start;
        let mut bank = vec![0; 0x168];
        bank[0x160..].copy_from_slice(&start.to_le_bytes());
        let mut all: [Vec<u8>; 18] = Default::default();
        all[0] = bank;
        let banks = Banks::new(all, 0x160);
        let decoded = decode(Path::new("test"), &module.kernels[0], &banks, module.arch).unwrap_or_else(|error| panic!("{error}"));
        let one = Dim3 { x: 1, y: 1, z: 1 };
        let kernel = Kernel {
            code: Arc::new(KernelCode { access: vec![None; decoded.code.len()].into(), decoded, ..KernelCode::default() }),
            banks,
            grid: one,
            block: Dim3 { x: 32, ..one },
            shared_bytes: 0,
            local_bytes: 0,
            limit: 1000,
            textures: Arc::default(),
            cluster: one,
            cooperative: false,
            polls: false,
        };
        Executor::default()
            .ctas(&kernel, &mut memory, 0, false, (&mut Tally::default(), false))
            .unwrap_or_else(|fault| panic!("{fault:?}"));
        let bytes = &memory.allocations()[buffer].bytes;
        results.extend((0..chunk.len()).map(|lane| u64::from_le_bytes(bytes[32 * lane + 24..32 * lane + 32].try_into().unwrap())));
    }
    results
}

/// Checks `code` for all triples of words (the third from a smaller set) against `expected`; the result is in R10.
pub(super) fn check(code: &[&str], values: &[u32], expected: impl Fn(u32, u32, u32) -> u32) {
    let thirds = [values[0], values[values.len() / 2], values[values.len() - 1]];
    let inputs: Vec<[u64; 3]> =
        values.iter().flat_map(|&a| values.iter().flat_map(move |&b| thirds.map(|c| [a, b, c].map(u64::from)))).collect();
    for (got, input) in lanes(code, &inputs, false).into_iter().zip(&inputs) {
        let [a, b, c] = input.map(|value| value as u32);
        assert_eq!(
            got as u32,
            expected(a, b, c),
            "{code:?} of {a:#x}, {b:#x}, {c:#x}: {:#x} instead of {:#x}",
            got as u32,
            expected(a, b, c)
        );
    }
}

#[test]
fn integer_arithmetic() {
    check(&["IADD3 R10, R4, R5, -R6"], &EDGE_INTEGERS, |a, b, c| a.wrapping_add(b).wrapping_sub(c));
    check(&["IMAD R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check(&["IMAD.IADD R10, R4, 0x1, -R6"], &EDGE_INTEGERS, |a, _, c| a.wrapping_sub(c));
    check(&["IMAD.HI.U32 R10, R4, R5, RZ"], &EDGE_INTEGERS, |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check(&["IMAD.HI R10, R4, R5, RZ"], &EDGE_INTEGERS, |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check(&["IABS R10, R4"], &EDGE_INTEGERS, |a, _, _| (a as i32).unsigned_abs());
    check(&["IMNMX R10, R4, R5, PT"], &EDGE_INTEGERS, |a, b, _| (a as i32).min(b as i32) as u32);
    check(&["IMNMX.U32 R10, R4, R5, !PT"], &EDGE_INTEGERS, |a, b, _| a.max(b));
    check(&["VABSDIFF R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c));
    check(&["IDP.4A.S8.S8 R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        let product = |i: usize| i32::from(a.to_le_bytes()[i] as i8) * i32::from(b.to_le_bytes()[i] as i8);
        (0..4).fold(c, |sum, i| sum.wrapping_add(product(i) as u32))
    });
    check(&["LEA R10, R4, R5, 0x4"], &EDGE_INTEGERS, |a, b, _| (a << 4).wrapping_add(b));
    check(&["LEA.HI R10, R4, R5, RZ, 0x5"], &EDGE_INTEGERS, |a, b, _| (a >> 27).wrapping_add(b));
    check(&["LEA.HI.X.SX32 R10, R4, R5, 0x5, !PT"], &EDGE_INTEGERS, |a, b, _| ((i64::from(a as i32) << 5 >> 32) as u32).wrapping_add(b));
}

#[test]
fn wide_arithmetic_carries() {
    let pairs: Vec<[u64; 3]> = EDGE_INTEGERS
        .iter()
        .flat_map(|&a| {
            EDGE_INTEGERS.map(|b| [u64::from(a) << 32 | u64::from(b), u64::from(b) << 32 | u64::from(a.rotate_left(7)), u64::from(a ^ b)])
        })
        .collect();
    let expect = |code: &[&str], expected: &dyn Fn(u64, u64, u64) -> u64| {
        for (got, [a, b, c]) in lanes(code, &pairs, true).into_iter().zip(&pairs) {
            assert_eq!(got, expected(*a, *b, *c), "{code:?} of {a:#x}, {b:#x}, {c:#x}");
        }
    };
    expect(&["IADD3 R10, P0, R4, R6, RZ", "IADD3.X R11, R5, R7, RZ, P0, !PT"], &|a, b, _| a.wrapping_add(b));
    expect(&["IADD3 R10, P0, R4, -R6, RZ", "IADD3.X R11, R5, ~R7, RZ, P0, !PT"], &|a, b, _| a.wrapping_sub(b));
    expect(&["IADD3 R10, P0, P1, R4, R6, R8", "IADD3.X R11, R5, R7, R9, P0, P1"], &|a, b, c| a.wrapping_add(b).wrapping_add(c));
    expect(&["IADD3 R10, P0, R4, R6, RZ", "IMAD.X R11, R5, 0x1, R7, P0"], &|a, b, _| a.wrapping_add(b));
    expect(&["IMAD.WIDE.U32 R10, R4, R6, R8"], &|a, b, c| u64::from(a as u32).wrapping_mul(u64::from(b as u32)).wrapping_add(c));
    expect(&["IMAD.WIDE R10, R4, R6, R8"], &|a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64);
    expect(&["LEA R10, P0, R4, R6, 0x3", "LEA.HI.X R11, R4, R7, R5, 0x3, P0"], &|a, b, _| (a << 3).wrapping_add(b));
    let compare = |relation: &str, unsigned: &str| {
        [
            format!("ISETP.{relation}.U32.AND P0, PT, R4, R6, PT"),
            format!("ISETP.{relation}{unsigned}.AND.EX P0, PT, R5, R7, PT, P0"),
            "SEL R10, RZ, 0x1, !P0".to_owned(),
            "MOV R11, RZ".to_owned(),
        ]
    };
    for (relation, holds) in [
        ("LT", (|a, b| a < b) as fn(i128, i128) -> bool),
        ("LE", |a, b| a <= b),
        ("GT", |a, b| a > b),
        ("GE", |a, b| a >= b),
        ("EQ", |a, b| a == b),
        ("NE", |a, b| a != b),
    ] {
        let code = compare(relation, ".U32");
        expect(&code.each_ref().map(String::as_str), &|a, b, _| u64::from(holds(i128::from(a), i128::from(b))));
        let code = compare(relation, "");
        expect(&code.each_ref().map(String::as_str), &|a, b, _| u64::from(holds(i128::from(a as i64), i128::from(b as i64))));
    }
}

#[test]
fn bits_and_shifts() {
    check(&["LOP3.LUT R10, R4, R5, R6, 0xe8, !PT"], &EDGE_INTEGERS, |a, b, c| a & b | a & c | b & c);
    check(&["LOP3.LUT P0, RZ, R4, R5, RZ, 0xc0, !PT", "SEL R10, R4, R5, P0"], &EDGE_INTEGERS, |a, b, _| if a & b != 0 { a } else { b });
    check(&["SHF.L.U32 R10, R4, R5, RZ"], &EDGE_INTEGERS, |a, b, _| a.checked_shl(b).unwrap_or(0));
    check(&["SHF.R.U32.HI R10, RZ, R5, R4"], &EDGE_INTEGERS, |a, b, _| a.checked_shr(b).unwrap_or(0));
    check(&["SHF.R.S32.HI R10, RZ, R5, R4"], &EDGE_INTEGERS, |a, b, _| (a as i32 >> b.min(31)) as u32);
    check(&["SHF.L.W.U32.HI R10, R6, R5, R4"], &EDGE_INTEGERS, |a, b, c| ((u64::from(a) << 32 | u64::from(c)) << (b % 32) >> 32) as u32);
    check(&["SHF.L.U64.HI R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        ((u64::from(c) << 32 | u64::from(a)).checked_shl(b.min(64)).unwrap_or(0) >> 32) as u32
    });
    check(&["SHF.R.S64 R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| ((u64::from(c) << 32 | u64::from(a)) as i64 >> b.min(63)) as u32);
    check(&["POPC R10, R4"], &EDGE_INTEGERS, |a, _, _| a.count_ones());
    check(&["BREV R10, R4"], &EDGE_INTEGERS, |a, _, _| a.reverse_bits());
    check(&["FLO.U32 R10, R4"], &EDGE_INTEGERS, |a, _, _| if a == 0 { u32::MAX } else { a.ilog2() });
    check(&["FLO.U32.SH R10, R4"], &EDGE_INTEGERS, |a, _, _| if a == 0 { u32::MAX } else { a.leading_zeros() });
    check(&["BMSK R10, R4, R5"], &EDGE_INTEGERS, |a, b, _| {
        (0..32).filter(|&bit| bit >= a && u64::from(bit) < u64::from(a) + u64::from(b)).fold(0, |mask, bit| mask | 1 << bit)
    });
    check(&["SGXT R10, R4, 0x8"], &EDGE_INTEGERS, |a, _, _| i32::from(a as i8) as u32);
    check(&["PRMT R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        let bytes = [a.to_le_bytes(), c.to_le_bytes()].concat();
        u32::from_le_bytes(std::array::from_fn(|i| {
            let nibble = b >> (4 * i) & 15;
            let byte = bytes[nibble as usize & 7];
            if nibble & 8 == 0 {
                byte
            } else if byte & 0x80 != 0 {
                0xff
            } else {
                0
            }
        }))
    });
    check(
        &["ISETP.LT.AND P0, P1, R4, R5, PT", "PLOP3.LUT P2, PT, P0, P1, PT, 0x28, 0x0", "SEL R10, R4, R5, P2"],
        &EDGE_INTEGERS,
        |a, b, _| {
            // Truth table 0x28 with a true third input is true if exactly one of the two others is true.
            if ((a as i32) < (b as i32)) != ((a as i32) >= (b as i32)) { a } else { b }
        },
    );
    check(&["ISETP.EQ.AND P1, PT, R4, R5, PT", "P2R R10, PR, RZ, 0x7f"], &EDGE_INTEGERS, |a, b, _| u32::from(a == b) << 1);
    check(&["R2P PR, R4, 0x7f", "SEL R10, R5, R6, P5"], &EDGE_INTEGERS, |a, b, c| if a >> 5 & 1 != 0 { b } else { c });
    check(&["UISETP.NE.AND UP2, UPT, URZ, 0x5, UPT", "UP2UR UR5, UPR, URZ, 0x7f", "IADD3 R10, RZ, UR5, RZ"], &EDGE_INTEGERS, |_, _, _| 4);
}

/// Returns the bits of a number, or the hardware's bit pattern for NaN.
pub(super) fn canonical_bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

#[test]
fn single_precision() {
    let f = f32::from_bits;
    check(&["FADD R10, R4, -R5"], &EDGE_FLOATS, |a, b, _| canonical_bits(f(a) - f(b)));
    check(&["FMUL R10, R4, |R5|"], &EDGE_FLOATS, |a, b, _| canonical_bits(f(a) * f(b).abs()));
    check(&["FFMA R10, R4, R5, -R6"], &EDGE_FLOATS, |a, b, c| canonical_bits(f(a).mul_add(f(b), -f(c))));
    check(&["FADD.FTZ R10, R4, R5"], &EDGE_FLOATS, |a, b, _| {
        let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
        canonical_bits(flush(flush(f(a)) + flush(f(b))))
    });
    check(&["FADD.SAT R10, R4, R5"], &EDGE_FLOATS, |a, b, _| {
        let sum = f(a) + f(b);
        if sum > 0.0 { sum.min(1.0).to_bits() } else { 0 }
    });
    check(&["FMNMX R10, R4, R5, PT"], &EDGE_FLOATS, |a, b, _| match (f(a).is_nan(), f(b).is_nan()) {
        (true, true) => 0x7fff_ffff,
        (true, false) => b,
        (false, true) => a,
        _ if f(a) == f(b) => a | b,
        _ => f(a).min(f(b)).to_bits(),
    });
    for (name, holds) in [
        ("LT", (|a: f32, b: f32| a < b) as fn(f32, f32) -> bool),
        ("GEU", |a, b| a >= b || a.is_nan() || b.is_nan()),
        ("NEU", |a, b| a != b),
        ("EQ", |a, b| a == b),
        ("GTU", |a, b| a > b || a.is_nan() || b.is_nan()),
        ("NAN", |a, b| a.is_nan() || b.is_nan()),
    ] {
        check(&[&format!("FSETP.{name}.AND P0, PT, R4, R5, PT"), "SEL R10, R4, R5, P0"], &EDGE_FLOATS, |a, b, _| {
            if holds(f(a), f(b)) { a } else { b }
        });
        check(&[&format!("FSET.BF.{name}.AND R10, R4, R5, PT")], &EDGE_FLOATS, |a, b, _| if holds(f(a), f(b)) { 0x3f80_0000 } else { 0 });
    }
    check(&["FSEL R10, R4, -R5, PT"], &EDGE_FLOATS, |a, _, _| a);
}

#[test]
fn directed_rounding_brackets_the_exact_result() {
    let f = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let inputs: Vec<[u64; 3]> = EDGE_FLOATS.iter().flat_map(|&a| EDGE_FLOATS.map(|b| [a, b, 0x3f80_0001].map(u64::from))).collect();
    let run = |code: &str| lanes(&[code], &inputs, false);
    let (down, up, near, zero) =
        (run("FMUL.RM R10, R4, R5"), run("FMUL.RP R10, R4, R5"), run("FMUL R10, R4, R5"), run("FMUL.RZ R10, R4, R5"));
    for (i, [a, b, _]) in inputs.iter().enumerate() {
        let exact = f(*a) * f(*b);
        if exact.is_nan() {
            continue;
        }
        assert!(f(down[i]) <= exact && exact <= f(up[i]), "{a:#x} * {b:#x}");
        assert!(near[i] == down[i] || near[i] == up[i] || exact == 0.0);
        assert!(f(zero[i]).abs() <= exact.abs() && (zero[i] == down[i] || zero[i] == up[i]));
        // Both results are neighbours unless the product is exact.
        let (low, high) = (f32::from_bits(down[i] as u32), f32::from_bits(up[i] as u32));
        assert!(low == high || low.next_up() == high, "{low:e} {high:e}");
    }
}

#[test]
fn double_precision() {
    let numbers: Vec<f64> = vec![0.0, -0.0, 1.0, -1.5, 1e300, -1e-300, 5e-324, f64::INFINITY, f64::NEG_INFINITY, 0.1, 3.0, 1e16];
    let inputs: Vec<[u64; 3]> =
        numbers.iter().flat_map(|a| numbers.iter().map(move |b| [a.to_bits(), b.to_bits(), 0.3_f64.to_bits()])).collect();
    let f = f64::from_bits;
    for (code, expected) in [
        ("DADD R10, R4, -R6", (|a: f64, b: f64, _: f64| a - b) as fn(f64, f64, f64) -> f64),
        ("DMUL R10, R4, R6", |a, b, _| a * b),
        ("DFMA R10, -R4, R6, R8", |a, b, c| (-a).mul_add(b, c)),
    ] {
        for (got, [a, b, c]) in lanes(&[code], &inputs, true).into_iter().zip(&inputs) {
            let wanted = expected(f(*a), f(*b), f(*c));
            assert!(got == wanted.to_bits() || f(got).is_nan() && wanted.is_nan(), "{code}: {a:#x} {b:#x}");
        }
    }
    for (low, high) in [("DADD.RM", "DADD.RP"), ("DMUL.RM", "DMUL.RP"), ("DFMA.RM", "DFMA.RP")] {
        let third = if low.starts_with("DFMA") { ", R8" } else { "" };
        let run = |name: &str| lanes(&[&format!("{name} R10, R4, R6{third}")], &inputs, true);
        let near = lanes(&[&format!("{} R10, R4, R6{third}", &low[..4])], &inputs, true);
        for ((low, high), near) in run(low).into_iter().zip(run(high)).zip(near) {
            assert!(
                f(near).is_nan()
                    || f(low) <= f(near)
                        && f(near) <= f(high)
                        && (f(low) == f(high) || f(low).next_up() == f(high) || f(low).is_infinite() || f(high).is_infinite()),
                "{} {} {}",
                f(low),
                f(near),
                f(high)
            );
        }
    }
}

#[test]
fn conversions() {
    let f = f32::from_bits;
    check(&["F2I.TRUNC.NTZ R10, R4"], &EDGE_FLOATS, |a, _, _| f(a) as i32 as u32);
    check(&["F2I.U32.TRUNC.NTZ R10, R4"], &EDGE_FLOATS, |a, _, _| f(a) as u32);
    check(&["F2I.FTZ.U32.TRUNC.NTZ R10, R4"], &EDGE_FLOATS, |a, _, _| f(a) as u32);
    check(&["I2F R10, R4"], &EDGE_INTEGERS, |a, _, _| (a as i32 as f32).to_bits());
    check(&["I2F.U32 R10, R4"], &EDGE_INTEGERS, |a, _, _| (a as f32).to_bits());
    check(&["I2F.U32.RZ R10, R4"], &EDGE_INTEGERS, |a, _, _| {
        let near = a as f32;
        (if f64::from(near) > f64::from(a) { near.next_down() } else { near }).to_bits()
    });
    check(&["FRND.FLOOR R10, R4"], &EDGE_FLOATS, |a, _, _| canonical_bits(f(a).floor()));
    check(&["FRND R10, R4"], &EDGE_FLOATS, |a, _, _| canonical_bits(f(a).round_ties_even()));
    check(&["F2F.F64.F32 R8, R4", "F2F.F32.F64 R10, R8"], &EDGE_FLOATS, |a, _, _| canonical_bits(f(a)));
    check(
        &["F2F.F16.F32 R8, R4", "HADD2.F32 R10, R8.H0_H0, -RZ.H0_H0"],
        &[0x3f80_0000, 0xc000_0000, 0x477f_e000, 0x3380_0000],
        |a, _, _| a,
    );
    check(
        &["F2FP.PACK_AB R8, R5, R4", "HADD2 R8, R8, R8", "HADD2.F32 R10, R8.H1_H1, -RZ.H0_H0"],
        &[0x3f80_0000, 0xc000_0000, 0x3380_0000],
        |_, b, _| (2.0 * f(b)).to_bits(),
    );
}

#[test]
fn lanes_exchange_and_vote() {
    let inputs: Vec<[u64; 3]> = (0..32).map(|lane| [lane * 10, lane % 3, 0]).collect();
    let low = |code: &[&str]| lanes(code, &inputs, false).into_iter().map(|value| value as u32).collect::<Vec<_>>();
    let shuffled = |from: &dyn Fn(u32) -> u32| (0..32).map(|lane| from(lane) * 10).collect::<Vec<_>>();
    assert_eq!(low(&["SHFL.BFLY PT, R10, R4, 0x5, 0x1f"]), shuffled(&|lane| lane ^ 5));
    assert_eq!(low(&["SHFL.DOWN PT, R10, R4, 0x3, 0x1f"]), shuffled(&|lane| if lane + 3 < 32 { lane + 3 } else { lane }));
    assert_eq!(low(&["SHFL.UP PT, R10, R4, 0x3, RZ"]), shuffled(&|lane| if lane >= 3 { lane - 3 } else { lane }));
    assert_eq!(low(&["SHFL.IDX PT, R10, R4, 0x2, 0x181f"]), shuffled(&|lane| lane / 8 * 8 + 2));
    assert_eq!(
        low(&["SHFL.DOWN P0, R10, R4, 0x10, 0x1f", "SEL R10, RZ, 0x1, P0"]),
        (0..32).map(|lane| u32::from(lane >= 16)).collect::<Vec<_>>()
    );
    let third = (0..32).filter(|lane| lane % 3 == 0).fold(0, |bits, lane| bits | 1 << lane);
    assert_eq!(low(&["ISETP.EQ.AND P0, PT, R5, RZ, PT", "VOTE.ANY R10, PT, P0"]), [third; 32]);
    assert_eq!(low(&["ISETP.EQ.AND P0, PT, R5, RZ, PT", "VOTE.ALL P1, P0", "SEL R10, RZ, 0x1, P1"]), [1; 32]);
    let same = |lane: u32| (0..32).filter(|other| other % 3 == lane % 3).fold(0, |bits, other| bits | 1_u32 << other);
    assert_eq!(low(&["MATCH.ANY R10, R5"]), (0..32).map(same).collect::<Vec<_>>());
    assert_eq!(low(&["REDUX.SUM UR4, R4", "MOV R10, UR4"]), [4960; 32]);
    assert_eq!(low(&["S2R R10, SR_LANEID"]), (0..32).collect::<Vec<_>>());
}

#[test]
fn branches_ask_whether_the_warp_is_together() {
    let inputs: Vec<[u64; 3]> = (0..32).map(|lane| [lane, 0, 0]).collect();
    let first = |code: &[&str]| lanes(code, &inputs, false).into_iter().map(|value| value as u32).collect::<Vec<_>>();
    assert_eq!(first(&["MOV R10, 0x1", "BRA.CONV ->0x90", "MOV R10, 0x2"]), [1; 32]);
    assert_eq!(first(&["MOV R10, 0x1", "BRA.DIV ~URZ, ->0x90", "MOV R10, 0x2"]), [2; 32]);
    let parted = [
        "BSSY B0, ->0xd0",
        "ISETP.LT.U32.AND P0, PT, R4, 0x10, PT",
        "MOV R10, 0x1",
        "@P0 BRA ->0xd0",
        "BRA.CONV ->0xc0",
        "MOV R10, 0x2",
        "NOP",
        "BSYNC B0",
    ];
    assert_eq!(first(&parted), (0..32).map(|lane| if lane < 16 { 1 } else { 2 }).collect::<Vec<_>>());
}

#[test]
fn paths_diverge_and_reconverge() {
    let inputs: Vec<[u64; 3]> = (0..32).map(|lane| [lane, 0, 0]).collect();
    // The code begins at 0x60: a loop with as many iterations as the lane's number, then a vote of all lanes that have left it.
    let code = [
        "MOV R10, RZ",
        "BSSY B0, ->0xb0",
        "ISETP.GE.U32.AND P0, PT, R10, R4, PT",
        "@!P0 IADD3 R10, R10, 0x1, RZ",
        "@!P0 BRA ->0x80",
        "BSYNC B0",
        "VOTE.ANY R11, PT, PT",
    ];
    let got = lanes(&code, &inputs, false);
    assert_eq!(got, (0..32).map(|lane| lane | 0xffff_ffff << 32).collect::<Vec<u64>>());
}
