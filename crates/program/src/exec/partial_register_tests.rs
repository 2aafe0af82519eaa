//! Tests of instructions on halves, bytes and other parts of registers over edge values, and of atomics of every type, each against a
//! computation on the host.

use super::tests::{EDGE_FLOATS, EDGE_INTEGERS, canonical_bits, check, lanes};

/// Pairs of bfloat edge values: zeros, one, infinities, NaN, denormals, and neighbours of one.
const BFLOAT_PAIRS: [u32; 12] = [
    0,
    0x8000_0000,
    0x3f80_3f80,
    0xbf80_3f81,
    0x7f80_ff80,
    0x7fc0_3f80,
    0x0001_8001,
    0x0080_007f,
    0x4049_c049,
    0x3f00_3e80,
    0x4300_3b80,
    0x7f7f_ff7f,
];

/// Pairs of half-precision edge values.
const HALF_PAIRS: [u32; 12] = [
    0,
    0x8000_0000,
    0x3c00_3c00,
    0xbc00_3c01,
    0x7c00_fc00,
    0x7e00_3c00,
    0x0001_8001,
    0x0400_03ff,
    0x4248_c248,
    0x3800_3400,
    0x6400_1400,
    0x7bff_fbff,
];

fn bfloat(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits << 16))
}

fn half(bits: u32) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

/// Returns the 16-bit number closest to a value by trying all; ties go to even.
fn nearest(value: f64, of: fn(u32) -> f64, infinity: u32) -> u32 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    // Infinity is treated as the number after the largest one.
    let largest = of(infinity - 1);
    let last = largest + (largest - of(infinity - 2));
    let distance = |bits: u32| (if bits == infinity { last } else { of(bits) } - value.abs()).abs();
    if value.abs() >= last {
        return sign | infinity;
    }
    // Values increase with their bit patterns.
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if of(middle) <= value.abs() { low = middle } else { high = middle }
    }
    let up = distance(high) < distance(low) || distance(high) == distance(low) && low & 1 == 1;
    sign | if up { high } else { low }
}

fn map_halves(a: u32, b: u32, c: u32, of: fn(u32) -> f64, infinity: u32, f: impl Fn(f64, f64, f64) -> f64) -> u32 {
    let one = |shift: u32| nearest(f(of(a >> shift & 0xffff), of(b >> shift & 0xffff), of(c >> shift & 0xffff)), of, infinity);
    one(0) | one(16) << 16
}

#[test]
fn arithmetic_of_16_bits_is_rounded_once() {
    for (kind, values, of, infinity) in
        [("", HALF_PAIRS, half as fn(u32) -> f64, 0x7c00), (".BF16_V2", BFLOAT_PAIRS, bfloat as fn(u32) -> f64, 0x7f80)]
    {
        let run = |name: &str, f: fn(f64, f64, f64) -> f64, third: &str| {
            let (name, modifiers) = name.split_once('.').map_or((name, String::new()), |(name, rest)| (name, format!(".{rest}")));
            check(&[&format!("{name}{kind}{modifiers} R10, R4, R5{third}")], &values, |a, b, c| map_halves(a, b, c, of, infinity, f));
        };
        run("HADD2", |a, b, _| a + b, "");
        run("HMUL2", |a, b, _| a * b, "");
        run("HMUL2.SAT", |a, b, _| if a * b > 0.0 { (a * b).min(1.0) } else { 0.0 }, "");
        run("HFMA2.MMA", |a, b, c| a * b + c, ", R6");
        run("HFMA2.RELU", |a, b, c| if a * b + c < 0.0 { 0.0 } else { a * b + c }, ", R6");
        check(&[&format!("HADD2{kind} R10, -|R4.H1_H1|, R5.H0_H0")], &values, |a, b, _| {
            let sum = nearest(-of(a >> 16).abs() + of(b & 0xffff), of, infinity);
            sum | sum << 16
        });
        check(&[&format!("HMNMX2{kind} R10, R4, R5, !PT")], &values, |a, b, _| {
            map_halves(a, b, 0, of, infinity, |a, b, _| match a == b {
                true if a.is_sign_negative() => b,
                true => a,
                false => a.max(b),
            })
        });
        check(&[&format!("HMNMX2{kind}.NAN R10, R4, R5, PT")], &values, |a, b, _| {
            map_halves(a, b, 0, of, infinity, |a, b, _| match a == b {
                true if a.is_sign_negative() => a,
                true => b,
                false if a.is_nan() || b.is_nan() => f64::NAN,
                false => a.min(b),
            })
        });
        let one = if infinity == 0x7c00 { 0x3c00 } else { 0x3f80 };
        check(&[&format!("HSET2{kind}.BF.GT.AND R10, R4, R5, PT")], &values, |a, b, _| {
            let set = |shift: u32| if of(a >> shift & 0xffff) > of(b >> shift & 0xffff) { one } else { 0 };
            set(0) | set(16) << 16
        });
        check(&[&format!("HSET2{kind}.LEU.AND R10, R4, R5, PT")], &values, |a, b, _| {
            let greater = |shift: u32| of(a >> shift & 0xffff) > of(b >> shift & 0xffff);
            (if greater(0) { 0 } else { 0xffff }) | if greater(16) { 0 } else { 0xffff_0000 }
        });
        check(&[&format!("HSETP2{kind}.NEU.AND P0, P1, R4, R5, PT"), "SEL R8, R6, RZ, P0", "SEL R10, R8, RZ, P1"], &values, |a, b, c| {
            let differ = |shift: u32| of(a >> shift & 0xffff) != of(b >> shift & 0xffff);
            if differ(0) && differ(16) { c } else { 0 }
        });
    }
}

#[test]
fn conversions_to_and_from_16_bits() {
    let f = |bits: u32| f64::from(f32::from_bits(bits));
    check(&["F2FP.BF16.PACK_AB R10, R4, R5"], &EDGE_FLOATS, |a, b, _| nearest(f(a), bfloat, 0x7f80) << 16 | nearest(f(b), bfloat, 0x7f80));
    check(&["F2FP.F16.F32.PACK_AB R10, R4, R5"], &EDGE_FLOATS, |a, b, _| nearest(f(a), half, 0x7c00) << 16 | nearest(f(b), half, 0x7c00));
    check(&["F2FP.RELU.BF16.F32.PACK_AB R10, RZ, R5"], &EDGE_FLOATS, |_, b, _| if f(b) < 0.0 { 0 } else { nearest(f(b), bfloat, 0x7f80) });
    // Rounding towards zero keeps the upper half of a single-precision number.
    check(&["F2FP.BF16.PACK_AB.RZ R10, RZ, R5"], &EDGE_FLOATS, |_, b, _| if f(b).is_nan() { 0x7fff } else { b >> 16 });
    check(&["F2F.BF16.F32 R10, R4"], &EDGE_FLOATS, |a, _, _| nearest(f(a), bfloat, 0x7f80));
    check(&["I2F.BF16 R10, R4"], &EDGE_INTEGERS, |a, _, _| nearest(f64::from(a as i32), bfloat, 0x7f80));
    check(&["I2F.F16.U16 R10, R4"], &EDGE_INTEGERS, |a, _, _| nearest(f64::from(a as u16), half, 0x7c00));
    check(&["F2I.F16.NTZ R10, R4"], &HALF_PAIRS, |a, _, _| half(a & 0xffff).round_ties_even() as i32 as u32);
    check(&["F2I.BF16.NTZ R10, R4"], &BFLOAT_PAIRS, |a, _, _| bfloat(a & 0xffff).round_ties_even() as i32 as u32);
    check(&["FRND.F16.CEIL R10, R4"], &HALF_PAIRS, |a, _, _| nearest(half(a & 0xffff).ceil(), half, 0x7c00));
    // The unit truncates bits that a half cannot represent.
    let below = |value: f64| nearest(value, half, 0x7c00) - u32::from(half(nearest(value, half, 0x7c00)) > value);
    check(&["MUFU.SQRT.F16 R10, R4.H1"], &HALF_PAIRS, |a, _, _| below(half(a >> 16).sqrt()));
}

#[test]
fn integers_in_parts_of_words() {
    let bytes = u32::to_le_bytes;
    check(&["I2I.U8.S32.SAT R10, R4"], &EDGE_INTEGERS, |a, _, _| (a as i32).clamp(0, 255) as u32);
    check(&["I2I.S8.S32.SAT R10, R4"], &EDGE_INTEGERS, |a, _, _| (a as i32).clamp(-128, 127) as u32);
    check(&["I2IP.S8.S32.SAT R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        let low = |value: u32| (value as i32).clamp(-128, 127) as u32 & 255;
        low(b) | low(a) << 8 | c << 16
    });
    check(&["I2IP.U16.S32.SAT R10, R4, R5, RZ"], &EDGE_INTEGERS, |a, b, _| {
        let low = |value: u32| (value as i32).clamp(0, 65535) as u32;
        low(b) | low(a) << 16
    });
    check(&["IDP.2A.LO.S16.S8 R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        let product = |i: usize| i32::from((a >> (16 * i)) as i16) * i32::from(bytes(b)[i] as i8);
        c.wrapping_add((product(0) + product(1)) as u32)
    });
    check(&["IDP.2A.HI.U16.U8 R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        let product = |i: usize| (a >> (16 * i) & 0xffff) * u32::from(bytes(b)[2 + i]);
        c.wrapping_add(product(0)).wrapping_add(product(1))
    });
    let differences = |a: u32, b: u32| -> [u8; 4] { std::array::from_fn(|i| bytes(a)[i].abs_diff(bytes(b)[i])) };
    check(&["VABSDIFF4.U8 R10, R4, R5, RZ"], &EDGE_INTEGERS, |a, b, _| u32::from_le_bytes(differences(a, b)));
    check(&["VABSDIFF4.U8.ACC R10, R4, R5, R6"], &EDGE_INTEGERS, |a, b, c| {
        differences(a, b).iter().fold(c, |sum, &difference| sum.wrapping_add(u32::from(difference)))
    });
    check(&["VIADD.16x2 R10, R4, R5"], &EDGE_INTEGERS, |a, b, _| {
        u32::from((a as u16).wrapping_add(b as u16)) | u32::from(((a >> 16) as u16).wrapping_add((b >> 16) as u16)) << 16
    });
    check(&["VIMNMX.S16x2 R10, R4, R5, PT"], &EDGE_INTEGERS, |a, b, _| {
        let low = |shift: u32| u32::from(((a >> shift) as i16).min((b >> shift) as i16) as u16);
        low(0) | low(16) << 16
    });
    check(&["VIMNMX3.U32 R10, R4, R5, R6, !PT"], &EDGE_INTEGERS, |a, b, c| a.max(b).max(c));
    check(&["FMNMX.NAN R10, R4, R5, PT"], &EDGE_FLOATS, |a, b, _| match (f32::from_bits(a), f32::from_bits(b)) {
        (x, y) if x.is_nan() || y.is_nan() => 0x7fff_ffff,
        (x, y) if x == y => a | b,
        (x, y) => x.min(y).to_bits(),
    });
}

#[test]
fn scaled_products_are_rounded_once() {
    let f = |bits: u32| f64::from(f32::from_bits(bits));
    for (name, scale) in [("D2", 0.5), ("D8", 0.125), ("M2", 2.0), ("M4", 4.0)] {
        check(&[&format!("FMUL.{name} R10, R4, R5")], &EDGE_FLOATS, |a, b, _| {
            let product = (f(a) * f(b) * scale) as f32;
            if product.is_nan() { 0x7fff_ffff } else { product.to_bits() }
        });
    }
}

#[test]
fn minima_of_doubles_prefer_numbers() {
    let values = [0.0, -0.0, 1.5, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324].map(f64::to_bits);
    let inputs: Vec<[u64; 3]> = values.iter().flat_map(|&a| values.map(|b| [a, b, 0])).collect();
    // The compiler emits fmin and fmax in this form.
    for (name, smaller) in [("MIN", true), ("MAX", false)] {
        let first = format!("DSETP.{name}.AND P0, P1, R4, R6, PT");
        let code = [&first, "SEL R10, R4, R6, P0", "FSEL R11, R5, R7, P0", "@P1 LOP3.LUT R11, R7, 0x80000, RZ, 0xfc, !PT"];
        for (got, [a, b, _]) in lanes(&code, &inputs, true).into_iter().zip(&inputs) {
            let (x, y, got) = (f64::from_bits(*a), f64::from_bits(*b), f64::from_bits(got));
            match (x.is_nan(), y.is_nan()) {
                (true, true) => assert!(got.is_nan()),
                (true, false) => assert_eq!(got.to_bits(), *b),
                (false, true) => assert_eq!(got.to_bits(), *a),
                _ if x == y && x == 0.0 => {
                    assert!(got == 0.0 && got.is_sign_negative() == (smaller && (a | b) >> 63 == 1 || (a & b) >> 63 == 1))
                }
                _ => assert_eq!(got, if smaller { x.min(y) } else { x.max(y) }),
            }
        }
    }
}

/// Executes an atomic operation of one lane at address `place` with its two inputs; returns the old and the new value.
fn execute_atomic(name: &str, place: u64, a: u64, b: u64, wide: bool, compares: bool) -> (u64, u64) {
    let code =
        if compares { format!("ATOMG.E.{name} PT, R12, [R2+0x10], R4, R6") } else { format!("ATOMG.E.{name} PT, R12, [R2+0x10], R4") };
    let old = lanes(&[&code, "MOV R10, R12", "MOV R11, R13"], &[[a, b, place]], true)[0];
    let new = lanes(&[&code, "LDG.E.64.SYS R10, [R2+0x10]"], &[[a, b, place]], true)[0];
    if wide { (old, new) } else { (old & 0xffff_ffff, new & 0xffff_ffff) }
}

#[test]
fn atomics_of_every_type_give_the_old_value_and_leave_the_new_one() {
    let f = |value: f32| u64::from(value.to_bits());
    let minus = u64::from((-5_i32) as u32);
    for (name, place, a, new) in [
        ("ADD.STRONG.GPU", 0xffff_ffff, 2, 1),
        ("MIN.S32.STRONG.GPU", 3, minus, minus),
        ("MAX.S32.STRONG.GPU", minus, 3, 3),
        ("MIN.STRONG.GPU", 3, minus, 3),
        ("MAX.STRONG.GPU", 3, minus, minus),
        ("INC.STRONG.GPU", 7, 7, 0),
        ("INC.STRONG.GPU", 6, 7, 7),
        ("DEC.STRONG.GPU", 0, 7, 7),
        ("DEC.STRONG.GPU", 9, 7, 7),
        ("DEC.STRONG.GPU", 5, 7, 4),
        ("AND.STRONG.GPU", 0b1100, 0b1010, 0b1000),
        ("OR.STRONG.GPU", 0b1100, 0b1010, 0b1110),
        ("XOR.STRONG.GPU", 0b1100, 0b1010, 0b0110),
        ("EXCH.STRONG.GPU", 1, 2, 2),
        ("ADD.F32.FTZ.RN.STRONG.GPU", f(1.5), f(2.25), f(3.75)),
        ("ADD.F32.FTZ.RN.STRONG.GPU", 1, f(0.0), 0),
        ("ADD.F16x2.RN.STRONG.GPU", 0x3c00_4000, 0x3c00_3c00, 0x4000_4200),
    ] {
        assert_eq!(execute_atomic(name, place, a, 0, false, false), (place, new), "{name} of {a:#x} on {place:#x}");
    }
    let (d, low) = (f64::to_bits, (-5_i64) as u64);
    for (name, place, a, new) in [
        ("ADD.64.STRONG.GPU", u64::MAX, 2, 1),
        ("MIN.S64.STRONG.GPU", 3, low, low),
        ("MAX.S64.STRONG.GPU", low, 3, 3),
        ("MIN.64.STRONG.GPU", 3, low, 3),
        ("MAX.64.STRONG.GPU", 3, low, low),
        ("AND.64.STRONG.GPU", low, 1 << 40, 1 << 40),
        ("OR.64.STRONG.GPU", 1, 1 << 40, 1 << 40 | 1),
        ("XOR.64.STRONG.GPU", 1 << 40 | 1, 1 << 40, 1),
        ("EXCH.64.STRONG.GPU", 1, low, low),
        ("ADD.F64.RN.STRONG.GPU", d(1.5), d(0.25), d(1.75)),
    ] {
        assert_eq!(execute_atomic(name, place, a, 0, true, false), (place, new), "{name} of {a:#x} on {place:#x}");
    }
    assert_eq!(execute_atomic("CAS.STRONG.GPU", 5, 5, 9, false, true), (5, 9));
    assert_eq!(execute_atomic("CAS.STRONG.GPU", 6, 5, 9, false, true), (6, 6));
    assert_eq!(execute_atomic("CAS.64.STRONG.GPU", low, low, 9, true, true), (low, 9));
    assert_eq!(execute_atomic("CAS.64.STRONG.GPU", low, 5, 9, true, true), (low, low));
}

#[test]
fn tensor_sums_round_once_and_propagate_nan() {
    // All elements of both matrices are equal, so every sum is c plus sixteen times the square of the element.
    for (number, c, expected) in [
        (0x3c00_3c00_u64, 1.0_f32, 17.0_f32),
        (0x0001_0001, 0.0, 16.0 * 2_f32.powi(-48)),
        (0x7bff_7bff, -1.0, (16.0 * 65504.0_f64 * 65504.0 - 1.0) as f32),
        (0x7c00_7c00, 0.0, f32::INFINITY),
        (0x7c00_7c00, f32::NEG_INFINITY, f32::NAN),
        (0x7e00_7e00, 0.0, f32::NAN),
    ] {
        let code = ["MOV R12, R4", "MOV R13, R4", "MOV R14, R4", "MOV R15, R4", "MOV R16, R4", "MOV R17, R4"];
        let more = ["MOV R20, R5", "MOV R21, R5", "MOV R22, R5", "MOV R23, R5", "HMMA.16816.F32 R8, R12, R16, R20", "MOV R10, R8"];
        let code: Vec<&str> = code.into_iter().chain(more).collect();
        for got in lanes(&code, &[[number, u64::from(c.to_bits()), 0]; 32], false) {
            let got = f32::from_bits(got as u32);
            assert!(got == expected || got.is_nan() && expected.is_nan(), "{number:#x}: {got} instead of {expected}");
        }
    }
    // Integer sums beyond 32 bits wrap or saturate.
    for (name, expected) in [("IMMA.16816.S8.S8", 0x7fff_fff0_u32.wrapping_add(16 * 128 * 128)), ("IMMA.16816.S8.S8.SAT", 0x7fff_ffff)] {
        let line = format!("{name} R8, R12.ROW, R14.COL, R20");
        let code =
            ["MOV R12, R4", "MOV R13, R4", "MOV R14, R4", "MOV R20, R5", "MOV R21, R5", "MOV R22, R5", "MOV R23, R5", &line, "MOV R10, R8"];
        assert!(lanes(&code, &[[0x8080_8080, 0x7fff_fff0, 0]; 32], false).iter().all(|&got| got as u32 == expected), "{name}");
    }
}

#[test]
fn every_part_of_a_register_is_read_where_an_opcode_can_name_it() {
    let byte = |word: u32, i: u32| word >> (8 * i) & 0xff;
    for i in 0..4 {
        check(&[&format!("I2F.U8 R10, R4.B{i}")], &EDGE_INTEGERS, move |a, _, _| (byte(a, i) as f32).to_bits());
        check(&[&format!("I2F.S8 R10, R4.B{i}")], &EDGE_INTEGERS, move |a, _, _| f32::from(byte(a, i) as i8).to_bits());
        check(&[&format!("I2F.U8 R10, -R4.B{i}")], &EDGE_INTEGERS, move |a, _, _| (0.0 - byte(a, i) as f32).to_bits());
        check(&[&format!("I2F.F16.U8 R10, R4.B{i}")], &EDGE_INTEGERS, move |a, _, _| nearest(f64::from(byte(a, i)), half, 0x7c00));
    }
    for (i, part) in [(0, ".H0"), (1, ".H1"), (0, "")] {
        let half_word = move |word: u32| (word >> (16 * i)) as u16;
        check(&[&format!("I2F.U16 R10, R4{part}")], &EDGE_INTEGERS, move |a, _, _| f32::from(half_word(a)).to_bits());
        check(&[&format!("I2F.S16 R10, R4{part}")], &EDGE_INTEGERS, move |a, _, _| f32::from(half_word(a) as i16).to_bits());
        check(&[&format!("I2F.S16 R10, |R4{part}|")], &EDGE_INTEGERS, move |a, _, _| f32::from(half_word(a) as i16).abs().to_bits());
        check(&[&format!("I2FP.F32.U16 R10, R4{part}")], &EDGE_INTEGERS, move |a, _, _| f32::from(half_word(a)).to_bits());
        check(&[&format!("F2F.F32.F16 R10, R4{part}")], &HALF_PAIRS, move |a, _, _| canonical_bits(half(u32::from(half_word(a))) as f32));
        check(&[&format!("F2I.F16 R10, R4{part}")], &HALF_PAIRS, move |a, _, _| {
            half(u32::from(half_word(a))).round_ties_even() as i32 as u32
        });
        check(&[&format!("HADD2.F32 R10, -RZ, R4{}", if i == 1 { ".H1_H1" } else { ".H0_H0" })], &HALF_PAIRS, move |a, _, _| {
            canonical_bits(half(u32::from(half_word(a))) as f32)
        });
    }
    // Reads predicates from each byte.
    for i in 0..4 {
        let code = [&format!("R2P PR, R4.B{i}, 0x7f"), "P2R R10, PR, RZ, 0x7f"];
        check(&code, &EDGE_INTEGERS, move |a, _, _| byte(a, i) & 0x7f);
    }
    let wanted = |word: u32, half: &str| match half {
        ".H0_H0" => word & 0xffff | word << 16,
        ".H1_H1" => word >> 16 | word & 0xffff_0000,
        _ => word,
    };
    for first in ["", ".H0_H0", ".H1_H1"] {
        for second in ["", ".H0_H0", ".H1_H1"] {
            let sum = move |a: u32, b: u32| map_halves(wanted(a, first), wanted(b, second), 0, half, 0x7c00, |a, b, _| a + b);
            check(&[&format!("HADD2 R10, R4{first}, R5{second}")], &HALF_PAIRS, move |a, b, _| sum(a, b));
            let product = move |a: u32, b: u32| map_halves(wanted(a, first), wanted(b, second), 0, half, 0x7c00, |a, b, _| a * b);
            check(&[&format!("HMUL2 R10, R4{first}, R5{second}")], &HALF_PAIRS, move |a, b, _| product(a, b));
            check(&[&format!("HSET2.BF.GT.AND R10, R4{first}, R5{second}, PT")], &HALF_PAIRS, move |a, b, _| {
                let greater = |shift: u32| half(wanted(a, first) >> shift & 0xffff) > half(wanted(b, second) >> shift & 0xffff);
                [0, 16].into_iter().fold(0, |word, shift| word | if greater(shift) { 0x3c00 << shift } else { 0 })
            });
        }
    }
}

#[test]
fn minima_of_sums_of_three_and_of_halves() {
    let halves = |a: u32, b: u32, c: u32, f: &dyn Fn(i32, i32, i32) -> i32, signed: bool| {
        let part = |word: u32, i: u32| {
            let half = (word >> (16 * i)) as u16;
            if signed { i32::from(half as i16) } else { i32::from(half) }
        };
        (0..2).fold(0, |word, i| word | (f(part(a, i), part(b, i), part(c, i)) as u32 & 0xffff) << (16 * i))
    };
    let s = |word: u32| word as i32;
    for (low, end) in [(true, "PT"), (false, "!PT")] {
        let pick = move |a: i32, b: i32| if low { a.min(b) } else { a.max(b) };
        let wide = move |a: u32, b: u32| if low { a.min(b) } else { a.max(b) };
        check(&[&format!("VIADDMNMX.RELU R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| {
            pick(s(a).wrapping_add(s(b)), s(c)).max(0) as u32
        });
        check(&[&format!("VIADDMNMX R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| pick(s(a).wrapping_add(s(b)), s(c)) as u32);
        check(&[&format!("VIADDMNMX.U32 R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| wide(a.wrapping_add(b), c));
        check(&[&format!("VIMNMX3.RELU R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| {
            pick(pick(s(a), s(b)), s(c)).max(0) as u32
        });
        check(&[&format!("VIMNMX.RELU R10, R4, R5, {end}")], &EDGE_INTEGERS, move |a, b, _| pick(s(a), s(b)).max(0) as u32);
        check(&[&format!("VIADDMNMX.S16x2.RELU R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| {
            halves(a, b, c, &|a, b, c| pick(i32::from((a + b) as i16), c).max(0), true)
        });
        check(&[&format!("VIADDMNMX.U16x2 R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| {
            halves(a, b, c, &|a, b, c| pick((a + b) & 0xffff, c), false)
        });
        check(&[&format!("VIMNMX3.S16x2 R10, R4, R5, R6, {end}")], &EDGE_INTEGERS, move |a, b, c| {
            halves(a, b, c, &|a, b, c| pick(pick(a, b), c), true)
        });
        // The predicates are true for a half if the first number is the result, also for equal numbers.
        let line = format!("VIMNMX.S16x2 R10, P0, P1, R4, R5, {end}");
        check(&[&line, "P2R R10, PR, RZ, 0x3"], &EDGE_INTEGERS, move |a, b, _| {
            let first = |i: u32| {
                let (a, b) = ((a >> (16 * i)) as i16, (b >> (16 * i)) as i16);
                u32::from(if low { a <= b } else { a >= b })
            };
            first(0) | first(1) << 1
        });
    }
}
