//! Tests of tensor instructions, matrix loads and asynchronous copies as the compiler emits them: compiled code loads, multiplies and
//! stores matrices, and the products are compared with host results.

use std::path::Path;
use std::sync::Arc;

use warpshard_base::Rng;

use super::Program;

fn data_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("tests/data/programs")
}

/// Loads one kernel of a source's listing with buffers given by type, count and contents; the last buffer is the output.
pub(super) fn program(source: &str, arch: u32, kernel: &str, block: usize, buffers: &[(&str, usize, Vec<i64>)]) -> Arc<Program> {
    let arguments: Vec<String> = (0..buffers.len()).map(|number| format!("&b{number}")).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    launch(source, arch, (kernel, block), buffers, &arguments, &[&format!("b{}", buffers.len() - 1)])
}

/// Loads one kernel of a source's listing, with its buffers `b0`, `b1` and so on, its arguments, and the buffers that are outputs.
pub(super) fn launch(
    source: &str,
    arch: u32,
    (kernel, block): (&str, usize),
    buffers: &[(&str, usize, Vec<i64>)],
    arguments: &[&str],
    outputs: &[&str],
) -> Arc<Program> {
    let listing = data_folder().join(format!("{source}.sm_{arch}.sass"));
    let mut text = format!("modules = {{ sm_{arch} = {:?} }}\n[buffers]\n", listing.display().to_string());
    for (number, (kind, count, values)) in buffers.iter().enumerate() {
        text += &format!("b{number} = {{ type = \"{kind}\", count = {count}, contents = {{ values = {values:?} }} }}\n");
    }
    text += &format!("[[launches]]\nkernel = \"{kernel}\"\ngrid = [1]\nblock = [{block}]\narguments = {arguments:?}\n");
    outputs.iter().for_each(|output| text += &format!("[[outputs]]\nbuffer = \"{output}\"\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.toml");
    std::fs::write(&file, text).unwrap();
    Program::load(&file, Some(arch), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the 16-bit floating-point representation of an integer from -8 to 8.
fn sixteen_bit_float(value: i64, fraction: u32, bias: i64) -> i64 {
    if value == 0 {
        return 0;
    }
    let exponent = i64::from(value.unsigned_abs().ilog2());
    let rest = (value.abs() << fraction >> exponent) & ((1 << fraction) - 1);
    i64::from(value < 0) << 15 | (exponent + bias) << fraction | rest
}

/// Number of matrix pairs that each kernel multiplies.
pub(super) const MATRIX_PAIRS: u64 = 20;

/// Checks twice the products of matrices of small integers with `kernel`, whose name contains the types, the sizes and the layouts.
fn check(arch: u32, kernel: &str) {
    (0..MATRIX_PAIRS).for_each(|pair| check_pair(arch, kernel, pair));
}

fn check_pair(arch: u32, kernel: &str, pair: u64) {
    let parts: Vec<&str> = kernel.split('_').collect();
    let [m, n, k] = [1, 2, 3].map(|i| parts[i].parse::<usize>().unwrap());
    let (a_rows, b_rows) = (parts[4].starts_with('r'), parts[4].ends_with('r'));
    let signed = parts[0] != "u32";
    // The integers are small enough for all sums to be exact in every format.
    let mut random = Rng::keyed(pair, &[m as u64, n as u64, k as u64]);
    let mut matrix = |size: usize| (0..size).map(|_| random.below(17) as i64 - if signed { 8 } else { 0 }).collect::<Vec<i64>>();
    let (a, b) = (matrix(m * k), matrix(k * n));
    let (input, encode): (&str, &dyn Fn(i64) -> i64) = match (parts[0], m * n) {
        ("s32", _) => ("i8", &|value| value),
        ("u32", _) => ("u8", &|value| value),
        ("tf", _) => ("f32", &|value| value),
        ("f64", _) => ("f64", &|value| value),
        ("bf", _) => ("u16", &|value| sixteen_bit_float(value, 7, 127)),
        _ => ("u16", &|value| sixteen_bit_float(value, 10, 15)),
    };
    let output = match parts[0] {
        "s32" | "u32" => "i32",
        "f16" => "u16",
        "f64" => "f64",
        _ => "f32",
    };
    let (stored_a, stored_b) = (a.iter().map(|&value| encode(value)).collect(), b.iter().map(|&value| encode(value)).collect());
    let program = program("tensor", arch, kernel, 32, &[(input, m * k, stored_a), (input, k * n, stored_b), (output, m * n, vec![0])]);
    let done = program.execute(false).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    let size = done.outputs[0].bytes.len() / (m * n);
    for (i, bytes) in done.outputs[0].bytes.chunks_exact(size).enumerate() {
        let word = bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        let (row, column) = (i / n, i % n);
        let first = |j: usize| a[if a_rows { row * k + j } else { j * m + row }];
        let second = |j: usize| b[if b_rows { j * n + column } else { column * k + j }];
        let expected = 2 * (0..k).map(|j| first(j) * second(j)).sum::<i64>();
        let got = match output {
            "i32" => f64::from(word as u32 as i32),
            "u16" => {
                // Half precision is exact up to 2048; larger results are rounded on the host to eleven bits.
                let (exponent, fraction) = ((word >> 10 & 31) as i32, (word & 0x3ff) as f64);
                let magnitude = if exponent == 0 { fraction * 2_f64.powi(-24) } else { (1024.0 + fraction) * 2_f64.powi(exponent - 25) };
                if word >> 15 == 1 { -magnitude } else { magnitude }
            }
            "f64" => f64::from_bits(word),
            _ => f64::from(f32::from_bits(word as u32)),
        };
        assert!(expected.abs() <= 2048 || output != "u16", "the sums of {kernel} are not exact");
        assert_eq!(got, expected as f64, "{kernel} of sm_{arch}, row {row}, column {column}");
    }
}

#[test]
fn products_of_matrices_are_those_of_the_host_in_every_layout() {
    let halves =
        ["f32_16_16_16_rr", "f32_16_16_16_rc", "f32_16_16_16_cc", "f16_16_16_16_rr", "f16_16_16_16_cr", "f32_32_8_16_cr", "f32_8_32_16_rc"];
    for arch in [70, 75, 80] {
        halves.iter().for_each(|kernel| check(arch, kernel));
    }
    for arch in [75, 80] {
        ["s32_16_16_16_rc", "u32_16_16_16_rr"].iter().for_each(|kernel| check(arch, kernel));
    }
    for kernel in ["bf_16_16_16_rr", "tf_16_16_8_rc", "f64_8_8_4_rr", "f64_8_8_4_rc", "f32_16_8_16_rr"] {
        check(80, kernel);
    }
}

/// Returns the bits of a random double. A `hard` one is adversarial: its exponent differs greatly from others, or it is subnormal, infinite
/// or NaN.
fn random_double(random: &mut Rng, hard: bool) -> u64 {
    let (sign, fraction) = (random.below(2) << 63, random.below(1 << 52));
    if !hard {
        return sign | (1019 + random.below(9)) << 52 | fraction;
    }
    match random.below(16) {
        0 => sign,
        1 => sign | fraction,
        2 => sign | 0x7ff << 52,
        3 => sign | 0x7ff << 52 | fraction | 1,
        4 => sign | 1,
        5 => sign | 0x7fe << 52 | ((1 << 52) - 1),
        _ => sign | (900 + random.below(250)) << 52 | fraction,
    }
}

/// Integer dot products wrap, and double-precision ones are chains of fused multiply-adds in the order of k. The test uses twenty matrices
/// per kernel; with `WARPSHARD_AT_LENGTH`, a million dot products per kernel.
#[test]
fn products_of_bytes_and_doubles_are_those_of_any_numbers() {
    let at_length = std::env::var_os("WARPSHARD_AT_LENGTH").is_some();
    for (arch, kernel, m, k) in
        [(75, "s32_16_16_16_rc", 16, 16), (80, "s32_16_16_16_rc", 16, 16), (80, "u32_16_16_16_rr", 16, 16), (80, "f64_8_8_4_rr", 8, 4)]
    {
        let pairs = if at_length { 1_000_000_u64.div_ceil((m * m) as u64) } else { MATRIX_PAIRS };
        for pair in 0..pairs {
            let mut random = Rng::keyed(pair, &[u64::from(arch), m as u64]);
            let doubles = kernel.starts_with("f64");
            let mut number = || if doubles { random_double(&mut random, pair % 2 == 1) } else { random.below(256) };
            let (a, b): (Vec<u64>, Vec<u64>) = ((0..m * k).map(|_| number()).collect(), (0..k * m).map(|_| number()).collect());
            // Doubles are given as 32-bit words because numbers of a launch file have 53 bits.
            let (input, output, words) = if doubles { ("u32", "f64", 2) } else { ("u8", "i32", 1) };
            let stored = |matrix: &[u64]| {
                let parts = matrix.iter().flat_map(|&bits| [bits & 0xffff_ffff, bits >> 32].into_iter().take(words));
                (input, words * matrix.len(), parts.map(|part| part as i64).collect::<Vec<i64>>())
            };
            let program = program("tensor", arch, kernel, 32, &[stored(&a), stored(&b), (output, m * m, vec![0])]);
            let done = program.execute(false).unwrap_or_else(|error| panic!("{kernel}: {error}"));
            let out = &done.outputs[0].bytes;
            for at in 0..m * m {
                let (row, column) = (at / m, at % m);
                let second = |j: usize| if kernel.ends_with("rc") { b[column * k + j] } else { b[j * m + column] };
                // The kernel adds the product twice.
                let terms = (0..2 * k).map(|j| (a[row * k + j % k], second(j % k)));
                if doubles {
                    let want = terms.fold(0.0_f64, |sum, (a, b)| f64::from_bits(a).mul_add(f64::from_bits(b), sum));
                    let got = f64::from_le_bytes(out[8 * at..8 * at + 8].try_into().unwrap());
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{kernel}, pair {pair}, {at}: {got:e}, not {want:e}"
                    );
                } else {
                    let signed = |bits: u64| if kernel.starts_with('s') { i64::from(bits as i8) } else { bits as i64 };
                    let want = terms.map(|(a, b)| signed(a) * signed(b)).sum::<i64>() as i32;
                    let got = i32::from_le_bytes(out[4 * at..4 * at + 4].try_into().unwrap());
                    assert_eq!(got, want, "{kernel} of sm_{arch}, pair {pair}, {at}");
                }
            }
        }
    }
}

#[test]
fn asynchronous_copies_appear_when_their_group_is_waited_for() {
    let input: Vec<i64> = (0..1024).collect();
    let program = program("tensor", 80, "copies", 128, &[("i32", 1024, input), ("i32", 1536, vec![0])]);
    let done = program.execute(false).unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<i32> = done.outputs[0].bytes.chunks_exact(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect();
    for thread in 0..128 {
        for i in 0..4 {
            assert_eq!(words[4 * thread + i], (4 * (127 - thread) + i) as i32);
            // Eight bytes were copied, or zeros for lanes without a source.
            let copied = |from: usize| match i {
                2 | 3 => -1,
                _ if from % 2 == 1 => (512 + 4 * from + i) as i32,
                _ => 0,
            };
            assert_eq!(words[512 + 4 * thread + i], copied(127 - thread), "thread {thread}");
            assert_eq!(words[1024 + 4 * thread + i], copied(thread), "thread {thread}");
        }
    }
}
