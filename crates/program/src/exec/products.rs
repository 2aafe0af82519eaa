//! Products of matrices by a warp group (wgmma): 64 rows, of which each of four warps has 16.
//!
//! The second matrix, and the first one unless it lies in registers, are in shared memory where descriptors say (PTX ISA, "Matrix Descriptor
//! Format" and "Shared Memory Matrix Layout"): in core matrices of 8 rows of 16 bytes, or in rows of 32, 64 or 128 bytes whose pieces of 16
//! bytes are exchanged by the bits of the address above (swizzled). A warp computes its rows when it executes the instruction; sums are made
//! by the [`Rule`] of Hopper's matrix unit, bit for bit.

use super::super::isa::{Element, GroupProduct, Inst, Rule, Space};
use super::cta::Trouble;
use super::lanes::{Lanes, Row};
use super::plain::{self, Plain};
use super::tensor::{COLUMNS, Split, Sums, of_sum, per_register};

/// Rows of a warp.
const ROWS: usize = 16;
/// Largest k, in elements or, of bits, in bytes.
const MOST_K: usize = 32;

/// Exchanges pieces of 16 bytes of rows of `width` bytes by the address.
pub(super) fn swizzle(address: u64, width: u64) -> u64 {
    address ^ (address >> 7 & (width / 16 - 1)) << 4
}

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    start: u64,
    /// Bytes between core matrices in the two dimensions.
    leading: u64,
    stride: u64,
    /// Bytes of a row: 16 where nothing is exchanged.
    width: u64,
    /// Whether k is the slow dimension.
    transposed: bool,
    /// Bytes of an element.
    size: u64,
}

impl Matrix {
    fn of(descriptor: u64, transposed: bool, size: u64) -> Result<Self, Trouble> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        if descriptor >> 49 & 7 != 0 {
            return Err(Trouble::Unsupported(
                "a matrix descriptor with a base offset: its matrix does not begin at a multiple of the swizzle's period",
            ));
        }
        let width = [16, 128, 64, 32][(descriptor >> 62) as usize & 3];
        Ok(Self { start: field(0), leading: field(16), stride: field(32), width, transposed, size })
    }

    /// Where an element of a row, or of a column of the second matrix, lies.
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

    /// Calls `put(row, k, bits)` for the elements of `rows` rows, a multiple of 8 from a multiple of 8 on. What lies in one piece of 16 bytes is found at
    /// once.
    fn each(&self, shared: &[u8], (first, rows): (usize, usize), k: usize, mut put: impl FnMut(usize, usize, u32)) -> Result<(), Trouble> {
        let size = self.size as usize;
        let word = |bytes: &[u8], i: usize| match size {
            2 => u32::from(bytes[2 * i]) | u32::from(bytes[2 * i + 1]) << 8,
            _ => bytes[size * i..size * (i + 1)].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
        };
        let piece = |row: usize, k: usize, bytes: usize| {
            let address = self.address(row as u64, k as u64);
            let beyond = || Trouble::OutsideOwn { space: Space::Shared, address, size: shared.len() };
            shared.get(address as usize..address as usize + bytes).ok_or_else(beyond)
        };
        if self.transposed {
            let group = (16 / size).min(8);
            for k in 0..k {
                for row in (0..rows).step_by(group) {
                    let bytes = piece(first + row, k, group * size)?;
                    (0..group).for_each(|i| put(row + i, k, word(bytes, i)));
                }
            }
        } else {
            for row in 0..rows {
                for start in (0..k).step_by(16 / size) {
                    let count = (16 / size).min(k - start);
                    let bytes = piece(first + row, start, count * size)?;
                    (0..count).for_each(|i| put(row, start + i, word(bytes, i)));
                }
            }
        }
        Ok(())
    }
}

/// Executes a product in warp `number` of the CTA.
pub(super) fn execute(
    (inst, product): (&Inst, GroupProduct),
    lanes: &mut Lanes,
    pool: &[Row],
    mask: u32,
    (shared, number): (&[u8], usize),
) -> Result<(), Trouble> {
    if mask == 0 {
        return Ok(());
    }
    let descriptor = |first: u16| {
        let word = |row: u16| u64::from(lanes.row(pool, inst.src[1].row + row)[0]);
        word(first) | word(first + 1) << 32
    };
    let size = |element: Element| match element {
        Element::Integer(..) => 1,
        _ => 4 / per_register(element) as u64,
    };
    let [ta, tb] = product.transposed;
    let first = if product.registers { None } else { Some(Matrix::of(descriptor(0), ta, size(product.a))?) };
    let second = Matrix::of(descriptor(2), tb, size(product.b))?;
    // Bits are taken as bytes.
    let k = match product.a {
        Element::Integer(1, _) => usize::from(product.k) / 8,
        _ => usize::from(product.k),
    };
    let mut a = [[0; MOST_K]; ROWS];
    match first {
        Some(matrix) => {
            matrix.each(shared, (number % 4 * ROWS, ROWS), k, |row, k, word| a[row][k] = word)?;
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
    let blocks = usize::from(product.n) / COLUMNS;
    let integers = matches!(product.a, Element::Integer(..));
    let rule = Rule::of_groups(matches!(product.a, Element::E4m3 | Element::E5m2));
    let turned = product.negated[0] != product.negated[1];
    let ordinary = !product.half && Plain::<1, 1>::takes(product.a) && Plain::<1, 1>::takes(product.b);
    let mut plain = Plain::<ROWS, MOST_K>::new();
    // With exponents apart, where sums need them.
    let mut split: Option<Split<ROWS, MOST_K>> = None;
    if ordinary {
        for (row, a) in a.iter().enumerate() {
            for (k, word) in a.iter().enumerate().take(k) {
                plain.put(row, k, (product.a, *word, 0));
            }
        }
        if turned {
            plain.negate();
        }
    }
    for block in 0..blocks {
        let mut b = [[0; COLUMNS]; MOST_K];
        second.each(shared, (COLUMNS * block, COLUMNS), k, |column, k, word| b[k][column] = word)?;
        let mut sums = [Sums { bits: [0; COLUMNS], half: product.half }; ROWS];
        let per = if product.half { 2 } else { 1 };
        let row = |i: usize| (4 / per * block + i / per) as u16;
        for lane in (0..32).filter(|_| adds) {
            for i in 0..4 {
                let (at, column) = of_sum(i, lane);
                let word = lanes.row(pool, inst.src[2].row + row(i))[lane];
                sums[at].bits[column] = if product.half { word >> (16 * (i % 2)) & 0xffff } else { word };
            }
        }
        if integers {
            for (sums, a) in sums.iter_mut().zip(&a) {
                for (column, sum) in sums.bits.iter_mut().enumerate() {
                    *sum = whole(product, &a[..k], *sum, |k| b[k][column]);
                }
            }
        } else {
            let mut plain_b = Plain::<MOST_K, COLUMNS>::new();
            if ordinary {
                for (k, b) in b.iter().enumerate().take(k) {
                    for (column, word) in b.iter().enumerate() {
                        plain_b.put(k, column, (product.b, *word, 0));
                    }
                }
            }
            let mut other: Option<Split<MOST_K, COLUMNS>> = None;
            for (row, sums) in sums.iter_mut().enumerate() {
                if ordinary && plain::add(&mut sums.bits, rule, (&plain, row), &plain_b, 0..k) {
                    continue;
                }
                let split = split.get_or_insert_with(|| apart(&a, k, product.a, turned));
                let other = other.get_or_insert_with(|| apart(&b, k, product.b, false));
                sums.add(rule, (split, row), other, 0..k);
            }
        }
        let value = |i: usize, lane: usize| {
            let (at, column) = of_sum(i, lane);
            sums[at].bits[column]
        };
        for i in (0..4).step_by(per) {
            let out = std::array::from_fn(|lane| if product.half { value(i, lane) | value(i + 1, lane) << 16 } else { value(i, lane) });
            lanes.set(inst.dst + row(i), mask, &out);
        }
    }
    Ok(())
}

/// The elements with exponents apart, of the first matrix in rows, of the second in columns; `turned` for the other sign.
fn apart<const N: usize, const M: usize>(words: &[[u32; M]; N], k: usize, element: Element, turned: bool) -> Split<N, M> {
    let mut split = Split::new();
    for (row, words) in words.iter().enumerate() {
        for (column, word) in words.iter().enumerate() {
            // Of the dimension of k there may be fewer.
            if if N == MOST_K { row < k } else { column < k } {
                split.put(row, column, (element, *word, 0));
            }
        }
    }
    if turned {
        split.significands.iter_mut().flatten().for_each(|value| *value = -*value);
        split.values.iter_mut().flatten().for_each(|value| *value = -*value);
    }
    split
}

/// A sum of integers, or of the bits that two bytes have in common.
fn whole(product: GroupProduct, a: &[u32], addend: u32, b: impl Fn(usize) -> u32) -> u32 {
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
