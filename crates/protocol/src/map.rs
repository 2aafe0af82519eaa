//! The address map: an address's LLC slice, and its bank, row and column in the slice's channel.
//!
//! The mapping follows GPGPU-Sim's `-gpgpu_mem_addr_mapping dramid@N;...`: the partition number is taken out of the address
//! at one bit (by shifting, or by division when the number of partitions is not a power of two), and what remains is cut
//! into row, bank and column by masks. The lowest bank bits select the slice of a partition, and the slice number so formed
//! is hashed with the address bits above it.

use std::collections::BTreeSet;
use std::ops::Range;

use warpshard_base::{Addr, SliceId};
use warpshard_seam::OwnHash;

use super::{HomeRule, Homes};

/// How the slice number is hashed with the address bits above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionHash {
    /// The slice bits as they are.
    #[default]
    Linear,
    /// Exclusive or with the next bits up.
    Xor,
    /// Irreducible-polynomial hashing (Rau, "Pseudo-randomly interleaved memory", ISCA 1991) of the bits above.
    Ipoly,
    /// Equal shares for any number of slices: with slices `odd << bits`, a multiplicative hash of the bits above is added to the slice number, by
    /// exclusive or to its low bits, modulo `odd` to the others. The same as `Ipoly` where `odd` is 1.
    Spread,
    /// The hash of the calling program, [`AddressMap::own_hash`].
    Own,
}

/// A place in a memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The slice, counted over the chip.
    pub slice: SliceId,
    /// Bank of the channel.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Column of the row, in units of the lowest column bit.
    pub column: u32,
}

/// The machine's address mapping, as bit fields. A map with reserved partitions is split into parts: [`AddressMap::of_gpu`],
/// [`AddressMap::of_cpu`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressMap {
    /// Memory partitions (channels) that addresses are spread over.
    pub partitions: u32,
    /// Partitions before these, which are reserved for CPU cores; 0 shares all.
    pub reserved: u32,
    /// LLC slices of a partition, a power of two.
    pub slices_per_partition: u32,
    /// The partition number is taken out of the address at this bit: `1 << interleave_bit` bytes stay together.
    pub interleave_bit: u32,
    /// What remains, as masks over the address without the partition bits: the bits of the row, from low to high.
    pub row_mask: u64,
    /// The bits of the bank. The lowest of them also select the slice of a partition.
    pub bank_mask: u64,
    /// The bits of the column; with the bits inside a burst, the column counts bytes.
    pub column_mask: u64,
    /// Hashing of the slice number.
    pub hash: PartitionHash,
    /// Bits of an address that are the same for all of the GPU's memory, as (lowest bit, how many), because pages of a system go to its GPUs
    /// in turn: they select nothing here. (0, 0) for none.
    pub constant_bits: (u8, u8),
    /// The hash of the calling program, where `hash` asks for it.
    pub own_hash: Option<OwnHash>,
}

/// A lookup of slices alone that exploits locality: it keeps the last result, and precomputes shifts and masks for the most
/// common kind of map.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct NearSlices {
    #[state(fixed)]
    map: Box<AddressMap>,
    /// Addresses that are equal from this bit on have the same slice.
    shift: u32,
    chunk: u64,
    slice: SliceId,
    /// The hash that is added to the slice number, for this address and all that are equal from `above` on.
    mixed: u16,
    lookup: Lookup,
}

// Every SM has one.
const _: () = assert!(size_of::<NearSlices>() <= 80);

/// How the slice of an address is found.
#[derive(Clone, Debug, warpshard_state::State)]
enum Lookup {
    /// By the map.
    Map,
    /// By shifts and masks.
    Hashed(Hashed),
    /// By the map, unless another GPU has the address.
    System(Box<Away>),
}

/// The addresses that lie on other GPUs.
#[derive(Clone, Debug, warpshard_state::State)]
struct Away {
    #[state(fixed)]
    homes: Homes,
    /// Pages known to lie here, where a table of pages decides: a place each, by the low bits of its number, and all of them.
    near: Box<[u64]>,
    known: BTreeSet<u64>,
}

/// Places for pages that were looked up last.
const NEAR_PAGES: usize = 16;

/// A power of two of partitions with one or two slices each, hashed by a polynomial. Kept small: every SM has one.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Hashed {
    /// The bit at which the number of the partition begins, and its mask.
    partition: (u8, u16),
    /// The bit that selects the slice of a partition, and its mask, 0 for one slice.
    slice: (u8, u8),
    slice_bits: u8,
    /// The first bit that is hashed.
    above: u8,
    /// Bits of the slice's number.
    bits: u8,
    /// The number of the first slice.
    first: u16,
}

impl Hashed {
    fn new(map: &AddressMap) -> Option<Self> {
        let suits = map.constant_bits.1 == 0
            && matches!(map.hash, PartitionHash::Ipoly | PartitionHash::Spread)
            && map.partitions.is_power_of_two()
            && map.slices_per_partition <= 2;
        let slice_bits = map.slices_per_partition.trailing_zeros();
        let partition_bits = map.partitions.trailing_zeros();
        let bank = map.bank_mask.trailing_zeros();
        suits.then(|| Self {
            partition: (map.interleave_bit as u8, (map.partitions - 1) as u16),
            slice: (if bank < map.interleave_bit { bank } else { bank + partition_bits } as u8 & 63, map.slices_per_partition as u8 - 1),
            slice_bits: slice_bits as u8,
            above: (map.interleave_bit + partition_bits + slice_bits) as u8,
            bits: (partition_bits + slice_bits) as u8,
            first: (map.reserved * map.slices_per_partition) as u16,
        })
    }

    /// The slice number by the bits of the address alone, before hashing.
    #[inline]
    fn plain(&self, addr: Addr) -> u64 {
        let partition = addr.0 >> self.partition.0 & u64::from(self.partition.1);
        let slice = addr.0 >> self.slice.0 & u64::from(self.slice.1);
        partition << self.slice_bits | slice
    }

    /// The hash of the bits from `above` on, which is added to the slice number.
    #[inline]
    fn mixed(&self, addr: Addr) -> u16 {
        ipoly(addr.0 >> self.above, 0, u32::from(self.bits)) as u16
    }

    /// As [`NearSlices::bytes_to`], where the bits that select slices are adjacent: each slice has one place in a stretch.
    fn bytes_to(&self, addr: Addr, slices: Range<u16>) -> Option<u64> {
        let (interleave, _) = self.partition;
        let partition_bits = self.bits - self.slice_bits;
        if slices.start < self.first || self.slice_bits > 0 && self.slice.0 != interleave + partition_bits {
            return None;
        }
        let stretch = addr.0 & !((1 << self.above) - 1);
        let mixed = self.mixed(addr);
        let place_of = |slice: u16| {
            let plain = u64::from((slice - self.first) ^ mixed);
            let (partition, slice) = (plain >> self.slice_bits, plain & u64::from(self.slice.1));
            stretch + (slice << self.slice.0 | partition << interleave)
        };
        let next = slices.map(place_of).filter(|place| *place > addr.0).min();
        // The stretch may be the last of the address space.
        Some(next.unwrap_or(stretch.wrapping_add(1 << self.above)).wrapping_sub(addr.0))
    }
}

impl NearSlices {
    /// A lookup that returns the slices of `map`.
    pub fn new(map: AddressMap) -> Self {
        let shift = map.slice_bit();
        let slice = map.slice_of(Addr(0));
        // The hash of the first addresses is 0.
        Self { shift, chunk: 0, slice, mixed: 0, lookup: Hashed::new(&map).map_or(Lookup::Map, Lookup::Hashed), map: Box::new(map) }
    }

    /// A lookup that returns outputs towards the hub for addresses of other GPUs.
    pub fn in_system(map: AddressMap, homes: Homes) -> Self {
        let near = vec![u64::MAX; if homes.rule == HomeRule::FirstTouch { NEAR_PAGES } else { 0 }].into();
        let lookup = Lookup::System(Box::new(Away { homes, near, known: BTreeSet::new() }));
        // No address is in this chunk.
        Self { chunk: u64::MAX, lookup, ..Self::new(map) }
    }

    /// A page turned out to lie on this GPU.
    pub fn learn_own(&mut self, addr: Addr) {
        self.chunk = u64::MAX;
        if let Lookup::System(away) = &mut self.lookup {
            away.known.insert(away.homes.page(addr));
        }
    }

    /// The slice that owns `addr`.
    #[inline]
    pub fn slice_of(&mut self, addr: Addr) -> SliceId {
        let chunk = addr.0 >> self.shift;
        if chunk != self.chunk {
            self.slice = self.find_slice(addr, chunk);
        }
        self.slice
    }

    /// The slice of an address in another chunk than the last one.
    fn find_slice(&mut self, addr: Addr, chunk: u64) -> SliceId {
        let before = std::mem::replace(&mut self.chunk, chunk);
        let Lookup::Hashed(hashed) = &self.lookup else { return self.find_in_system(addr) };
        if (chunk ^ before) >> (u32::from(hashed.above) - self.shift) != 0 {
            self.mixed = hashed.mixed(addr);
        }
        SliceId((hashed.plain(addr) as u16 ^ self.mixed) + hashed.first)
    }

    /// The slice of an address that may lie on another GPU.
    fn find_in_system(&mut self, addr: Addr) -> SliceId {
        if let Lookup::System(away) = &mut self.lookup
            && !away.is_own(addr)
        {
            return away.homes.port(addr);
        }
        self.map.slice_of(addr)
    }

    /// Bytes from `addr`, which belongs to none of `slices`, to the next address that may belong to one of them; a lower bound.
    pub fn bytes_to(&self, addr: Addr, slices: Range<u16>) -> u64 {
        let chunk = (1 << self.shift) - (addr.0 & ((1 << self.shift) - 1));
        let hashed = if let Lookup::Hashed(hashed) = &self.lookup { hashed.bytes_to(addr, slices) } else { None };
        hashed.unwrap_or(chunk)
    }
}

impl Away {
    fn is_own(&mut self, addr: Addr) -> bool {
        if let Some(home) = self.homes.home(addr) {
            return home == self.homes.own;
        }
        let page = self.homes.page(addr);
        let place = page as usize % NEAR_PAGES;
        if self.near[place] == page {
            return true;
        }
        let known = self.known.contains(&page);
        if known {
            self.near[place] = page;
        }
        known
    }
}

/// An address split in two: the partition number before hashing, and the rest.
struct Split {
    partition: u64,
    rest: u64,
}

impl AddressMap {
    /// The lowest bit of an address that selects a slice: addresses that are equal from it on have the same slice. The bank bits
    /// that do so may lie below those of the partition.
    #[inline]
    pub fn slice_bit(&self) -> u32 {
        if self.slices_per_partition > 1 { self.interleave_bit.min(self.bank_mask.trailing_zeros()) } else { self.interleave_bit }
    }

    /// The slice that owns `addr`. A few nanoseconds: called once per memory access.
    #[inline]
    pub fn slice_of(&self, addr: Addr) -> SliceId {
        self.hashed(&self.split(addr))
    }

    /// Slice, bank, row and column of `addr`. Address bits above the row are ignored, as in the reference.
    #[inline]
    pub fn locate(&self, addr: Addr) -> Location {
        let split = self.split(addr);
        Location {
            slice: self.hashed(&split),
            bank: gather(split.rest, self.bank_mask) as u32,
            row: gather(split.rest, self.row_mask) as u32,
            column: gather(split.rest, self.column_mask) as u32,
        }
    }

    /// The address within its slice, without the bits that select partition and slice: consecutive lines of a slice have
    /// consecutive addresses, so that all of its sets are used.
    #[inline]
    pub fn within_slice(&self, addr: Addr) -> u64 {
        let mut rest = self.split(addr).rest;
        let mut banks = self.bank_mask;
        for removed in 0..self.slices_per_partition.trailing_zeros() {
            let bit = banks.trailing_zeros() - removed;
            let below = (1 << bit) - 1;
            rest = (rest >> (bit + 1)) << bit | rest & below;
            banks &= banks - 1;
        }
        rest
    }

    /// The address within its partition, without the bits that select the partition: adjacent data of a partition has adjacent
    /// addresses. Together with the partition's number it is unique.
    #[inline]
    pub fn within_partition(&self, addr: Addr) -> u64 {
        self.split(addr).rest
    }

    /// The part of a chip's map that SMs use: all partitions but those reserved.
    #[must_use]
    pub fn of_gpu(&self) -> Self {
        Self { partitions: self.partitions - self.reserved, ..self.clone() }
    }

    /// The part of a chip's map that CPU cores use: the reserved partitions, or all where none is.
    #[must_use]
    pub fn of_cpu(&self) -> Self {
        let partitions = if self.reserved > 0 { self.reserved } else { self.partitions };
        Self { partitions, reserved: 0, ..self.clone() }
    }

    /// The part of a chip's map that contains partition number `partition`.
    #[must_use]
    pub fn of_partition(&self, partition: u32) -> Self {
        if partition < self.reserved { self.of_cpu() } else { self.of_gpu() }
    }

    #[inline]
    fn split(&self, addr: Addr) -> Split {
        let addr = self.without_constant_bits(addr);
        let above = addr.0 >> self.interleave_bit;
        let below = addr.0 & ((1 << self.interleave_bit) - 1);
        let partitions = u64::from(self.partitions);
        let (partition, quotient) = if partitions.is_power_of_two() {
            (above & (partitions - 1), above >> partitions.trailing_zeros())
        } else {
            (above % partitions, above / partitions)
        };
        Split { partition, rest: quotient << self.interleave_bit | below }
    }

    /// The address without the bits that are the same for all of the GPU's memory.
    #[inline]
    pub(super) fn without_constant_bits(&self, addr: Addr) -> Addr {
        match self.constant_bits {
            (_, 0) => addr,
            (from, count) => Addr(addr.0 >> (from + count) << from | addr.0 & ((1 << from) - 1)),
        }
    }

    #[inline]
    fn hashed(&self, split: &Split) -> SliceId {
        let slice_bits = self.slices_per_partition.trailing_zeros();
        let plain = split.partition << slice_bits | lowest(split.rest, self.bank_mask, slice_bits);
        let above = split.rest >> self.interleave_bit;
        let slice = match self.hash {
            PartitionHash::Own => {
                let slices = u64::from(self.partitions) << slice_bits;
                self.own_hash.as_ref().map_or(plain, |OwnHash(hash)| hash.slice(plain, above >> slice_bits, slices))
            }
            PartitionHash::Linear => plain,
            PartitionHash::Xor => {
                let mixed = split.partition ^ (above >> slice_bits) & (u64::from(self.partitions) - 1);
                mixed << slice_bits | plain & ((1 << slice_bits) - 1)
            }
            PartitionHash::Ipoly if self.partitions.is_power_of_two() => {
                ipoly(above >> slice_bits, plain, self.partitions.trailing_zeros() + slice_bits)
            }
            PartitionHash::Ipoly => {
                // With division, the reference keeps the slice bits among the bits above, hashes into the next power of two
                // and folds numbers beyond the last slice.
                let bits = self.partitions.next_power_of_two().trailing_zeros() + slice_bits;
                ipoly(above, plain, bits) % u64::from(self.partitions * self.slices_per_partition)
            }
            PartitionHash::Spread => {
                let slices = u64::from(self.partitions) << slice_bits;
                let bits = slices.trailing_zeros();
                let (odd, low) = (slices >> bits, plain & ((1 << bits) - 1));
                let above = above >> slice_bits;
                if odd == 1 {
                    ipoly(above, low, bits)
                } else {
                    // The golden ratio in 64 bits (Knuth, The Art of Computer Programming, 6.4): the high half depends on all bits of the address.
                    let mixed = above.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let turned = ((plain >> bits) + (mixed >> 44)) % odd;
                    (turned << bits) | (low ^ (mixed >> 32)) & ((1 << bits) - 1)
                }
            }
        };
        SliceId((slice + u64::from(self.reserved * self.slices_per_partition)) as u16)
    }
}

/// Primitive polynomials by degree, without their leading terms, and how many bits above the index take part.
const POLYNOMIALS: [(u64, u32); 11] =
    [(0, 0), (0b1, 4), (0b11, 7), (0b11, 10), (0b11, 13), (0b101, 15), (0b11, 19), (0b11, 22), (0b11101, 25), (0b10001, 28), (0b1001, 31)];

/// What each value of each nibble above the index contributes, by degree.
static NIBBLES: [[[u16; 16]; 8]; 11] = nibbles();

const fn nibbles() -> [[[u16; 16]; 8]; 11] {
    let mut tables = [[[0; 16]; 8]; 11];
    let mut degree = 1;
    while degree < 11 {
        let (taps, inputs) = POLYNOMIALS[degree];
        // The remainder of x^degree, x^(degree + 1), ... by the polynomial.
        let mut remainder = taps;
        let mut bit = 0;
        while bit < inputs as usize {
            let mut value = 0;
            while value < 16 {
                if value >> (bit % 4) & 1 != 0 {
                    tables[degree][bit / 4][value] ^= remainder as u16;
                }
                value += 1;
            }
            remainder <<= 1;
            if remainder >> degree != 0 {
                remainder = remainder & ((1 << degree) - 1) ^ taps;
            }
            bit += 1;
        }
        degree += 1;
    }
    tables
}

/// Mixes `above` into a number `index` of `bits` bits: the remainder of `above * x^bits + index`, seen as a polynomial over
/// GF(2), by a primitive polynomial of degree `bits` (Rau, ISCA 1991).
///
/// The low 13, 15 and 19 bits of `above` take part for 16, 32 and 64 banks, as in GPGPU-Sim's `hashing.cc`.
///
/// # Panics
/// For more than 10 bits.
#[inline]
pub fn ipoly(above: u64, index: u64, bits: u32) -> u64 {
    let tables = &NIBBLES[bits as usize];
    let part = |i: usize| tables[i][(above >> (4 * i)) as usize & 15];
    let mut mixed = (part(0) ^ part(1)) ^ (part(2) ^ part(3));
    // The nibbles above contribute nothing to small degrees.
    if bits > 5 {
        mixed ^= part(4) ^ part(5);
    }
    if bits > 7 {
        mixed ^= part(6) ^ part(7);
    }
    index ^ u64::from(mixed)
}

/// Nibbles that take part in mixing, at least, up to a degree.
const _: () = assert!(POLYNOMIALS[5].1 <= 16 && POLYNOMIALS[7].1 <= 24);

/// The bits of `value` under `mask`, moved together. Costs one step per run of ones in the mask.
#[inline]
fn gather(value: u64, mut mask: u64) -> u64 {
    let mut result = 0;
    let mut filled = 0;
    while mask != 0 {
        let start = mask.trailing_zeros();
        let length = (mask >> start).trailing_ones();
        let ones = u64::MAX >> (64 - length);
        result |= (value >> start & ones) << filled;
        filled += length;
        mask &= !(ones << start);
    }
    result
}

/// The lowest `count` bits of `value` under `mask`.
#[inline]
fn lowest(value: u64, mut mask: u64, count: u32) -> u64 {
    let mut result = 0;
    for i in 0..count {
        result |= (value >> mask.trailing_zeros() & 1) << i;
        mask &= mask - 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// `dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS`, the mapping of SM7_QV100.
    fn qv100() -> AddressMap {
        AddressMap {
            partitions: 32,
            slices_per_partition: 2,
            interleave_bit: 8,
            row_mask: 0x0fff_8000,
            bank_mask: 0x7100,
            column_mask: 0x0eff,
            hash: PartitionHash::Ipoly,
            ..AddressMap::default()
        }
    }

    fn six_by_two(hash: PartitionHash) -> AddressMap {
        AddressMap { partitions: 6, hash, ..qv100() }
    }

    /// Columns of the hash matrices for 16, 32 and 64 banks: what one bit above contributes, as published with the scheme.
    #[test]
    fn the_hash_equals_the_published_matrices() {
        // Output bit i is the parity of the address bits in row i.
        let of = |bits: &[u32]| bits.iter().fold(0u64, |mask, bit| mask | 1 << bit);
        let banks16 =
            [of(&[11, 10, 9, 8, 6, 4, 3, 0]), of(&[12, 8, 7, 6, 5, 3, 1, 0]), of(&[9, 8, 7, 6, 4, 2, 1]), of(&[10, 9, 8, 7, 5, 3, 2])];
        let banks32 = [
            of(&[13, 12, 11, 10, 9, 6, 5, 3, 0]),
            of(&[14, 13, 12, 11, 10, 7, 6, 4, 1]),
            of(&[14, 10, 9, 8, 7, 6, 3, 2, 0]),
            of(&[11, 10, 9, 8, 7, 4, 3, 1]),
            of(&[12, 11, 10, 9, 8, 5, 4, 2]),
        ];
        let banks64 = [
            of(&[18, 17, 16, 15, 12, 10, 6, 5, 0]),
            of(&[15, 13, 12, 11, 10, 7, 5, 1, 0]),
            of(&[16, 14, 13, 12, 11, 8, 6, 2, 1]),
            of(&[17, 15, 14, 13, 12, 9, 7, 3, 2]),
            of(&[18, 16, 15, 14, 13, 10, 8, 4, 3]),
            of(&[17, 16, 15, 14, 11, 9, 5, 4]),
        ];
        for rows in [&banks16[..], &banks32[..], &banks64[..]] {
            let bits = rows.len() as u32;
            for bit in 0..40 {
                let expected = rows.iter().enumerate().fold(0, |value, (i, row)| value | (row >> bit & 1) << i);
                assert_eq!(ipoly(1 << bit, 0, bits), expected, "bit {bit} of {bits}");
            }
            for index in 0..1 << bits {
                assert_eq!(ipoly(0, index, bits), index);
                assert_eq!(ipoly(0x1_2345, index, bits), ipoly(0x1_2345, 0, bits) ^ index);
            }
        }
    }

    #[test]
    fn the_kept_slice_is_the_one_that_the_map_tells() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..qv100() };
        let reserved = AddressMap { reserved: 4, ..qv100() };
        let others = [PartitionHash::Ipoly, PartitionHash::Xor].map(six_by_two);
        for map in others.into_iter().chain([qv100(), low_banks, one_slice, reserved]) {
            let mut near = NearSlices::new(map.clone());
            for addr in (0..4096).map(|i| Addr((i * 32) ^ ((i % 5) << 20) ^ ((i % 7) << 33))) {
                assert_eq!(near.slice_of(addr), map.slice_of(addr), "{addr}");
            }
        }
    }

    #[test]
    fn what_is_passed_over_belongs_to_others() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..qv100() };
        let reserved = AddressMap { reserved: 4, ..qv100() };
        for map in [PartitionHash::Ipoly, PartitionHash::Xor].map(six_by_two).into_iter().chain([qv100(), low_banks, one_slice, reserved]) {
            let near = NearSlices::new(map.clone());
            let first = (map.reserved * map.slices_per_partition) as u16;
            for own in [first, first + 2 * map.slices_per_partition as u16] {
                let slices = own..own + map.slices_per_partition as u16;
                let owns = |addr: u64| slices.contains(&map.slice_of(Addr(addr)).0);
                let (begin, end) = (0x7_1234_0000, 0x7_1236_0000);
                let mut steps = 0;
                let mut addr = begin;
                while addr < end {
                    let bytes = if owns(addr) { 32 } else { near.bytes_to(Addr(addr), slices.clone()) };
                    assert!(owns(addr) || (addr..addr + bytes).step_by(32).all(|passed| !owns(passed)), "{addr:#x} of {map:?}");
                    steps += u64::from(!owns(addr));
                    addr += bytes;
                }
                assert!(map != qv100() || steps <= 3 * (end - begin) / (64 * 256), "{steps} steps");
            }
        }
    }

    #[test]
    fn addresses_that_differ_below_the_slice_bit_have_one_slice_and_others_not_always() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..low_banks.clone() };
        let maps = [qv100(), low_banks, one_slice];
        assert_eq!(maps.each_ref().map(AddressMap::slice_bit), [8, 5, 8]);
        for map in maps {
            let bytes = 1 << map.slice_bit();
            let slice_of = |chunk: u64, byte: u64| map.slice_of(Addr(chunk * bytes + byte));
            assert!((0..4096).all(|chunk| slice_of(chunk, 0) == slice_of(chunk, bytes - 1)));
            assert_ne!(slice_of(0, 0), slice_of(1, 0), "the chunk is as large as can be");
        }
    }

    #[test]
    fn every_stretch_of_64_interleave_units_visits_every_slice_once() {
        let map = qv100();
        for stretch in [0, 1, 77, 0x1234_5678] {
            let slices: BTreeSet<_> = (0..64).map(|i| map.slice_of(Addr((stretch * 64 + i) * 256))).collect();
            assert_eq!(slices.len(), 64, "stretch {stretch}");
        }
    }

    #[test]
    fn strides_of_powers_of_two_spread_over_the_slices() {
        let map = qv100();
        for shift in 8..20 {
            let slices: BTreeSet<_> = (0..64).map(|i| map.slice_of(Addr(0x7f00_0000_0000 + (i << shift)))).collect();
            assert!(slices.len() >= 60, "stride 2^{shift} reaches {} slices", slices.len());
        }
    }

    #[test]
    fn fields_are_taken_from_the_bits_that_the_mapping_names() {
        let map = AddressMap { hash: PartitionHash::Linear, ..qv100() };
        // Partition bits 8 to 12; above them the fields of the string, five bits up.
        let addr = 3 << 8 | 1 << 13 | 0b101 << 14 | 0b011 << 17 | 0x123 << 20 | 0x47;
        let location = map.locate(Addr(addr));
        assert_eq!(location.slice, SliceId(3 * 2 + 1));
        assert_eq!(location.bank, 0b0111);
        assert_eq!(location.row, 0x123);
        assert_eq!(location.column, 0b101 << 8 | 0x47);
        assert_eq!(map.locate(Addr(addr + (1 << 33))), location, "bits above the row do not matter");
    }

    #[test]
    fn the_sixth_bit_above_flips_slices_as_the_polynomial_says() {
        let map = qv100();
        assert_eq!(map.slice_of(Addr(0)), SliceId(0));
        assert_eq!(map.slice_of(Addr(1 << 8)), SliceId(2));
        assert_eq!(map.slice_of(Addr(1 << 13)), SliceId(1));
        assert_eq!(map.slice_of(Addr(1 << 14)), SliceId(0b11));
        assert_eq!(map.slice_of(Addr(1 << 15)), SliceId(0b110));
    }

    #[test]
    fn no_two_addresses_share_a_place() {
        for map in [qv100(), AddressMap { hash: PartitionHash::Xor, ..qv100() }, six_by_two(PartitionHash::Linear)] {
            let count = 1 << 16;
            for base in [0, 0x1f00_0000] {
                let places: BTreeSet<_> = (0..count).map(|i| map.locate(Addr(base + i * 32))).collect();
                assert_eq!(places.len() as u64, count, "{:?}", map.hash);
            }
        }
    }

    #[test]
    fn partitions_that_are_no_power_of_two_are_divided_out() {
        let map = six_by_two(PartitionHash::Linear);
        let partitions: Vec<_> = (0..12).map(|i| map.slice_of(Addr(i * 256)).0 / 2).collect();
        assert_eq!(partitions, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        let folded = six_by_two(PartitionHash::Ipoly);
        assert!((0..100_000).all(|i| folded.slice_of(Addr(i * 256)).0 < 12));
    }

    #[test]
    fn spreading_is_the_polynomial_at_powers_of_two_and_fair_at_all_numbers() {
        for partitions in [1u32, 2, 8, 32, 64, 3, 5, 6, 20, 24, 40, 80] {
            for slices_per_partition in [1u32, 2] {
                let map = AddressMap { partitions, slices_per_partition, hash: PartitionHash::Spread, ..qv100() };
                let slices = u64::from(partitions * slices_per_partition);
                if partitions.is_power_of_two() {
                    let ipoly = AddressMap { hash: PartitionHash::Ipoly, ..map.clone() };
                    let same = |i: u64| map.slice_of(Addr(i * 224)) == ipoly.slice_of(Addr(i * 224));
                    assert!((0..20_000).all(same), "{partitions} x {slices_per_partition}");
                }
                // Lines of a stretch, and lines a power of two apart: no slice gets twice its share.
                for shift in [8, 12, 16, 20].into_iter().filter(|shift| *shift == 8 || slices >= 16) {
                    let mut counts = vec![0u64; slices as usize];
                    let lines = slices * 256;
                    (0..lines).for_each(|i| counts[map.slice_of(Addr(i << shift)).index()] += 1);
                    assert!(
                        counts.iter().all(|&count| count > 128 && count < 512),
                        "{partitions} x {slices_per_partition}, 2^{shift}: {counts:?}"
                    );
                }
                let within: BTreeSet<_> = (0..1 << 14).map(|i| map.locate(Addr(0x1f00_0000 + i * 32))).collect();
                assert_eq!(within.len(), 1 << 14, "two addresses share a place");
            }
        }
    }

    #[test]
    fn a_slice_sees_its_lines_side_by_side() {
        let map = qv100();
        let slice = map.slice_of(Addr(0));
        let mut seen: Vec<_> =
            (0..64 * 64).map(|i| Addr(i * 128)).filter(|a| map.slice_of(*a) == slice).map(|a| map.within_slice(a) / 128).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
    }
}
