//! Tests of warp-group matrix products of all types and layouts in `tests/data/programs/groups.cu` against integer sums. All sums are
//! exact.

use warpshard_base::Rng;

use super::tensor_tests::{MATRIX_PAIRS, program};

const ROWS: usize = 64;
const COLUMNS: usize = 32;
/// Offset of the second matrix in shared memory, in bytes.
const SECOND_MATRIX_OFFSET: usize = 8192;
/// Words of shared memory before the words of the descriptors.
const SHARED_WORDS: usize = 3072;

/// Returns the size in bytes and the bits of an element with a small integer value.
fn encoded(kind: &str, value: i64) -> (usize, u32) {
    let number = |bits: u32, fraction: u32, bias: i64| {
        let size = value.unsigned_abs();
        if size == 0 {
            return 0;
        }
        let exponent = size.ilog2();
        let rest = (size << fraction >> exponent) as u32 & ((1 << fraction) - 1);
        u32::from(value < 0) << (bits - 1) | (u32::try_from(i64::from(exponent) + bias).unwrap()) << fraction | rest
    };
    match kind {
        "f16" => (2, number(16, 10, 15)),
        "bf16" => (2, number(16, 7, 127)),
        "tf32" => (4, number(32, 23, 127)),
        "e4m3" => (1, number(8, 3, 7)),
        "e5m2" => (1, number(8, 2, 15)),
        _ => (1, value as u32 & 0xff),
    }
}

/// Returns random elements that are integers in a type.
fn elements(kind: &str, count: usize, random: &mut Rng) -> Vec<i64> {
    let (low, values) = match kind {
        "s8" => (-128, 256),
        "u8" | "b1" => (0, 256),
        _ => (-4, 9),
    };
    (0..count).map(|_| random.below(values) as i64 + low).collect()
}

/// The layout of a matrix as tensor copies write it: rows of `width` bytes whose 16-byte pieces are swizzled by the row number, or, for a
/// width of 16, core matrices in sequence.
struct MatrixLayout {
    width: usize,
    transposed: bool,
    size: usize,
}

impl MatrixLayout {
    /// Returns the offset of an element of a row, or of a column of the second matrix.
    fn offset_of(&self, row: usize, k: usize) -> usize {
        let Self { width, transposed, size } = *self;
        // The line of memory and the byte in it.
        let (line, byte) = if transposed { (k, row * size) } else { (row, k * size + self.preceding_bytes()) };
        if width == 16 {
            // If k is the slow dimension, the core matrices along it are contiguous.
            return if transposed { byte / 16 * 256 + line / 8 * 128 } else { line / 8 * 256 + byte / 16 * 128 }
                + line % 8 * 16
                + byte % 16;
        }
        let (tile, byte) = (byte / width, byte % width);
        let exchanged = match width {
            128 => line % 8,
            64 => line / 2 % 4,
            _ => line / 4 % 2,
        };
        tile * 16 * width + line * width + ((byte / 16) ^ exchanged) * 16 + byte % 16
    }

    /// Returns the bytes along k that precede the matrix in the same rows.
    fn preceding_bytes(&self) -> usize {
        if self.width >= 64 && !self.transposed { 32 } else { 0 }
    }

    /// Returns the descriptor without the base address of shared memory.
    fn descriptor(&self, start: usize) -> u64 {
        let (leading, stride) = match (self.width, self.transposed) {
            (16, _) => (128, 256),
            (width, true) => (16 * width, 8 * width),
            (width, false) => (16, 8 * width),
        };
        let mode = [128, 64, 32].iter().position(|&width| width == self.width).map_or(0, |place| place as u64 + 1);
        (start + self.preceding_bytes()) as u64 >> 4 | leading as u64 >> 4 << 16 | stride as u64 >> 4 << 32 | mode << 62
    }
}

fn check(kernel: &str, width: usize) {
    (0..MATRIX_PAIRS).for_each(|pair| check_pair(kernel, width, pair));
}

fn check_pair(kernel: &str, width: usize, pair: u64) {
    let parts: Vec<&str> = kernel.split('_').collect();
    let [sum, first, second, layouts] = parts[..] else { panic!("{kernel}") };
    let size = encoded(first, 0).0;
    let depth = 32 / size;
    let mut random = Rng::keyed(pair, &[width as u64]);
    let (left, right) = (elements(first, ROWS * depth, &mut random), elements(second, depth * COLUMNS, &mut random));
    let (a, b) = (|row: usize, k: usize| left[row * depth + k], |k: usize, column: usize| right[k * COLUMNS + column]);
    let mut bytes = vec![0_u8; 4 * (SHARED_WORDS + 4 + 4 * 128)];
    let mut put = |at: usize, (size, bits): (usize, u32)| bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
    let layout = |letter: &str| MatrixLayout { width, transposed: letter == "t", size };
    let (first_layout, second_layout) = (layout(&layouts[..1]), layout(&layouts[1..]));
    for k in 0..depth {
        for row in 0..ROWS {
            if layouts.starts_with('o') {
                // Each register of a thread holds 4 bytes of a row: two registers for two rows, then two for the bytes 16 further.
                let (warp, row_of, byte) = (row / 16, row % 16, k * size);
                let (lane, register) = (row_of % 8 * 4 + byte % 16 / 4, row_of / 8 + byte / 16 * 2);
                put(4 * (SHARED_WORDS + 4 + 4 * (32 * warp + lane) + register) + byte % 4, encoded(first, a(row, k)));
            } else {
                put(first_layout.offset_of(row, k), encoded(first, a(row, k)));
            }
        }
        (0..COLUMNS).for_each(|column| put(SECOND_MATRIX_OFFSET + second_layout.offset_of(column, k), encoded(second, b(k, column))));
    }
    for (place, descriptor) in [first_layout.descriptor(0), second_layout.descriptor(SECOND_MATRIX_OFFSET)].into_iter().enumerate() {
        put(4 * (SHARED_WORDS + 2 * place), (4, descriptor as u32));
        put(4 * (SHARED_WORDS + 2 * place + 1), (4, (descriptor >> 32) as u32));
    }
    let words = bytes.chunks_exact(4).map(|word| i64::from(u32::from_le_bytes(word.try_into().unwrap()))).collect::<Vec<_>>();
    let buffers = [("u32", words.len(), words), ("u32", ROWS * COLUMNS, vec![0])];
    let done = program("groups", 90, kernel, 128, &buffers).check(false).unwrap_or_else(|error| panic!("{kernel}, {width}: {error}"));
    let words: Vec<u32> = done.outputs[0].bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let one = |k: usize| if first == "b1" { i64::from((a(row, k) & b(k, column)).count_ones()) } else { a(row, k) * b(k, column) };
            let expected = 2 * (0..depth).map(one).sum::<i64>();
            let (thread, i) = (row / 16 * 32 + row % 8 * 4 + column % 8 / 2, column / 8 * 4 + row % 16 / 8 * 2 + column % 2);
            let (got, wanted) = match sum {
                "f16" => (words[8 * thread + i / 2] >> (16 * (i % 2)) & 0xffff, encoded("f16", expected).1),
                "f32" => (words[16 * thread + i], (expected as f32).to_bits()),
                _ => (words[16 * thread + i], expected as u32),
            };
            assert_eq!(got, wanted, "{kernel}, rows of {width} bytes: row {row}, column {column}, {expected}");
        }
    }
}

#[test]
fn products_of_warp_groups_are_those_of_integers_for_all_types_and_layouts() {
    const KERNELS: [&str; 16] = [
        "f32_f16_f16_nn",
        "f32_f16_f16_tn",
        "f32_f16_f16_nt",
        "f32_bf16_bf16_tt",
        "f16_f16_f16_nn",
        "f32_tf32_tf32_nn",
        "f32_e4m3_e5m2_nn",
        "f16_e5m2_e4m3_nn",
        "s32_s8_s8_nn",
        "s32_u8_s8_nn",
        "s32_u8_u8_nn",
        "s32_b1_b1_nn",
        "f32_f16_f16_on",
        "f32_tf32_tf32_on",
        "f32_e4m3_e4m3_on",
        "s32_s8_u8_on",
    ];
    for kernel in KERNELS {
        [16, 32, 64, 128].into_iter().for_each(|width| check(kernel, width));
    }
}
