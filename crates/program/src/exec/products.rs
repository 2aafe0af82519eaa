//! Matrix products of a warp group (wgmma) with 64 rows, of which each of four warps computes 16.
//!
//! The second matrix is in shared memory; the first matrix is in shared memory or in registers. A descriptor gives the location of a matrix
//! in shared memory (PTX ISA, "Matrix Descriptor Format" and "Shared Memory Matrix Layout"). Such a matrix consists of core matrices of
//! 8 rows of 16 bytes, or of rows of 32, 64 or 128 bytes whose 16-byte pieces are permuted by higher address bits (swizzled). A warp computes its rows when it executes the instruction; sums
//! follow the [`SummationRule`] of Hopper's matrix unit, bit for bit.

use warpshard_base::{VectorTask, wide};

use super::super::isa::{Element, GroupProduct, Inst, Space, SummationRule};
use super::cta::ExecFault;
use super::lanes::{Lanes, RegisterRow};
use super::plain::{self, FiniteMatrix};
use super::tensor::{COLUMNS, SplitMatrix, SumRow, pack_sums, unpack_sums};

/// Rows per warp.
const WARP_ROWS: usize = 16;
/// Maximum k in elements, or in bytes for single-bit elements.
const MAX_K: usize = 32;

/// Swizzles an address: permutes the 16-byte pieces of rows of `width` bytes.
pub(super) fn swizzle(address: u64, width: u64) -> u64 {
    address ^ (address >> 7 & (width / 16 - 1)) << 4
}

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug)]
struct SharedMatrix {
    start: u64,
    /// Bytes between core matrices in the two dimensions.
    leading: u64,
    stride: u64,
    /// Bytes of a swizzled row; 16 without swizzling.
    width: u64,
    /// True if k is the slow dimension.
    transposed: bool,
    /// Bytes of an element.
    size: u64,
}

impl SharedMatrix {
    fn of(descriptor: u64, transposed: bool, size: u64) -> Result<Self, ExecFault> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        if descriptor >> 49 & 7 != 0 {
            return Err(ExecFault::Unsupported(
                "a matrix descriptor with a base offset: its matrix does not begin at a multiple of the swizzle's period",
            ));
        }
        let width = [16, 128, 64, 32][(descriptor >> 62) as usize & 3];
        Ok(Self { start: field(0), leading: field(16), stride: field(32), width, transposed, size })
    }

    /// Returns the address of an element of a row, or of a column of the second matrix.
    fn address(&self, row: u64, k: u64) -> u64 {
        let Self { start, leading, stride, width, transposed, size } = *self;
        let at = match (transposed, width) {
            (false, 16) => row / 8 * stride + k * size / 16 * leading + row % 8 * 16 + k * size % 16,
            (false, _) => row / 8 * stride + row % 8 * width + k * size,
            (true, 16) => row / 8 * stride + k / 8 * leading + k % 8 * 16 + row % 8 * size,
            (true, _) => row / (width / size) * leading + row % (width / size) * size + k / 8 * stride + k % 8 * width,
        };
        swizzle(start + at, width)
    }

    /// Calls `put(row, k, bits)` for the elements of `rows` rows from `first` on, both multiples of 8. The elements of one 16-byte piece
    /// are located together.
    fn each(
        &self,
        shared: &[u8],
        (first, rows): (usize, usize),
        k: usize,
        mut put: impl FnMut(usize, usize, u32),
    ) -> Result<(), ExecFault> {
        let size = self.size as usize;
        let piece = |row: usize, k: usize, bytes: usize| {
            let address = self.address(row as u64, k as u64);
            let beyond = || ExecFault::BeyondMemory { space: Space::Shared, address, size: shared.len() };
            shared.get(address as usize..address as usize + bytes).ok_or_else(beyond)
        };
        if self.transposed {
            let group = (16 / size).min(8);
            for k in 0..k {
                for row in (0..rows).step_by(group) {
                    for_each_word(piece(first + row, k, group * size)?, size, |i, word| put(row + i, k, word));
                }
            }
        } else {
            for row in 0..rows {
                for start in (0..k).step_by(16 / size) {
                    let count = (16 / size).min(k - start);
                    for_each_word(piece(first + row, start, count * size)?, size, |i, word| put(row, start + i, word));
                }
            }
        }
        Ok(())
    }
}

/// Calls `put(index, bits)` for each element of `size` bytes (1, 2 or 4) of a piece of memory.
#[inline(always)]
fn for_each_word(piece: &[u8], size: usize, mut put: impl FnMut(usize, u32)) {
    match size {
        1 => piece.iter().enumerate().for_each(|(i, byte)| put(i, u32::from(*byte))),
        2 => piece.as_chunks().0.iter().enumerate().for_each(|(i, bytes)| put(i, u32::from(u16::from_le_bytes(*bytes)))),
        _ => piece.as_chunks().0.iter().enumerate().for_each(|(i, bytes)| put(i, u32::from_le_bytes(*bytes))),
    }
}

/// Executes a product in warp `number` of the CTA.
pub(super) fn execute(
    (inst, product): (&Inst, GroupProduct),
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    (shared, number): (&[u8], usize),
) -> Result<(), ExecFault> {
    if mask == 0 {
        return Ok(());
    }
    let descriptor = |first: u16| {
        let word = |row: u16| u64::from(lanes.row(pool, inst.src[1].row + row)[0]);
        word(first) | word(first + 1) << 32
    };
    let size = |element: Element| match element {
        Element::Integer(..) => 1,
        _ => element.bits() as u64 / 8,
    };
    let [ta, tb] = product.transposed;
    let first = if product.registers { None } else { Some(SharedMatrix::of(descriptor(0), ta, size(product.a))?) };
    let second = SharedMatrix::of(descriptor(2), tb, size(product.b))?;
    // Single-bit elements are read in bytes.
    let k = match product.a {
        Element::Integer(1, _) => usize::from(product.k) / 8,
        _ => usize::from(product.k),
    };
    let mut a = [[0; MAX_K]; WARP_ROWS];
    match first {
        Some(matrix) => {
            matrix.each(shared, (number % 4 * WARP_ROWS, WARP_ROWS), k, |row, k, word| a[row][k] = word)?;
        }
        None => {
            let per = 4 / size(product.a) as usize;
            for register in 0..2 * k / (4 * per) {
                let words = lanes.row(pool, inst.src[0].row + register as u16);
                for (lane, word) in words.iter().enumerate() {
                    for part in 0..per {
                        let bits = 32 / per as u32;
                        let value = word >> (bits * part as u32) & (u32::MAX >> (32 - bits));
                        a[lane / 4 + 8 * (register % 2)][register / 2 * 4 * per + lane % 4 * per + part] = value;
                    }
                }
            }
        }
    }
    let adds = lanes.predicate(inst.conditions[0]) & mask != 0;
    let integers = matches!(product.a, Element::Integer(..));
    let floats = FloatRows::of(product, &a, k);
    let registers = if product.half { 2 } else { 4 };
    for block in 0..usize::from(product.n) / COLUMNS {
        let mut b = [[0; COLUMNS]; MAX_K];
        second.each(shared, (COLUMNS * block, COLUMNS), k, |column, k, word| b[k][column] = word)?;
        let mut sums = [[0; COLUMNS]; WARP_ROWS];
        let register = |i: usize| (registers * block + i % registers) as u16;
        if adds {
            unpack_sums(std::array::from_fn(|i| lanes.row(pool, inst.src[2].row + register(i))), product.half, &mut sums);
        }
        if integers {
            for (sums, a) in sums.iter_mut().zip(&a) {
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = integer_sum(product, &a[..k], *sum, |k| b[k][column]);
                }
            }
        } else {
            floats.add(&mut sums, &b);
        }
        for (i, out) in pack_sums(&sums, product.half).iter().enumerate().take(registers) {
            lanes.set(inst.dst + register(i), mask, out);
        }
    }
    Ok(())
}

/// A warp's rows of the first matrix, converted once for all columns of a floating-point product.
struct FloatRows<'a> {
    product: GroupProduct,
    rule: SummationRule,
    /// Raw elements, `k` per row.
    words: &'a [[u32; MAX_K]; WARP_ROWS],
    k: usize,
    /// True if the products are negated.
    turned: bool,
    plain: Option<FiniteMatrix<WARP_ROWS, MAX_K>>,
}

impl<'a> FloatRows<'a> {
    fn of(product: GroupProduct, words: &'a [[u32; MAX_K]; WARP_ROWS], k: usize) -> Self {
        let rule = SummationRule::of_groups(matches!(product.a, Element::E4m3 | Element::E5m2));
        let turned = product.negated[0] != product.negated[1];
        let plain = (!product.half && plain::supports(product.a) && plain::supports(product.b)).then(|| {
            let mut plain = FiniteMatrix::of(words, product.a);
            if turned {
                plain.negate();
            }
            plain
        });
        Self { product, rule, words, k, turned, plain }
    }

    /// Adds the products with eight columns of the second matrix to the sums.
    fn add(&self, sums: &mut [[u32; COLUMNS]; WARP_ROWS], b: &[[u32; COLUMNS]; MAX_K]) {
        // Rows that the fast path has computed.
        let done = match &self.plain {
            Some(a) => wide(ColumnBlock { a, rule: self.rule, k: self.k, b, element: self.product.b, sums }),
            None => [false; WARP_ROWS],
        };
        if done == [true; WARP_ROWS] {
            return;
        }
        let split = split_exponents(self.words, self.k, self.product.a, self.turned);
        let other = split_exponents(b, self.k, self.product.b, false);
        for (row, bits) in sums.iter_mut().enumerate().filter(|(row, _)| !done[*row]) {
            let mut sums = SumRow { bits: *bits, half: self.product.half };
            sums.add(self.rule, (&split, row), &other, 0..self.k);
            *bits = sums.bits;
        }
    }
}

/// The fast path of a product with eight columns of the second matrix.
struct ColumnBlock<'a> {
    a: &'a FiniteMatrix<WARP_ROWS, MAX_K>,
    rule: SummationRule,
    k: usize,
    b: &'a [[u32; COLUMNS]; MAX_K],
    element: Element,
    sums: &'a mut [[u32; COLUMNS]; WARP_ROWS],
}

impl VectorTask for ColumnBlock<'_> {
    /// For each row, `true` if it was computed.
    type Output = [bool; WARP_ROWS];

    #[inline(always)]
    fn run(self) -> [bool; WARP_ROWS] {
        plain::add(self.sums, self.rule, (self.a, &FiniteMatrix::of(self.b, self.element)), (0, self.k))
    }
}

/// Returns the elements with separate exponents, of the first matrix by rows, of the second by columns; `turned` negates them.
fn split_exponents<const N: usize, const M: usize>(words: &[[u32; M]; N], k: usize, element: Element, turned: bool) -> SplitMatrix<N, M> {
    let mut split = SplitMatrix::new();
    for (row, words) in words.iter().enumerate() {
        for (column, word) in words.iter().enumerate() {
            // The k dimension may have fewer elements.
            if if N == MAX_K { row < k } else { column < k } {
                split.set_element(row, column, (element, *word, 0));
            }
        }
    }
    if turned {
        split.significands.iter_mut().flatten().for_each(|value| *value = -*value);
        split.values.iter_mut().flatten().for_each(|value| *value = -*value);
    }
    split
}

/// Returns a sum of integer products, or of the population counts of common bits for single-bit elements.
fn integer_sum(product: GroupProduct, a: &[u32], addend: u32, b: impl Fn(usize) -> u32) -> u32 {
    let value = |element: Element, byte: u32| match element {
        Element::Integer(8, true) => i64::from(byte as u8 as i8),
        _ => i64::from(byte),
    };
    let one = |(k, a): (usize, &u32)| match product.a {
        Element::Integer(1, _) => i64::from((a & b(k)).count_ones()),
        _ => value(product.a, *a) * value(product.b, b(k)),
    };
    let sum = i64::from(addend as i32) + a.iter().enumerate().map(one).sum::<i64>();
    if product.saturate { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { sum as u32 }
}
