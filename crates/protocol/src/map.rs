//! The address map: the LLC slice of an address, and its bank, row and column in the channel of the slice.
//!
//! The mapping follows GPGPU-Sim's `-gpgpu_mem_addr_mapping dramid@N;...`. The partition number is taken out of the address at one bit, by
//! shifting, or by division if the number of partitions is not a power of two. Masks cut the remaining bits into row, bank and column. The
//! lowest bank bits select the slice of a partition, and the resulting slice number is hashed with the address bits above it.

use std::collections::BTreeSet;
use std::ops::Range;

use warpshard_base::{Addr, SliceId};
use warpshard_seam::UserHash;

use super::{HomeRule, Homes};

/// The hash of the slice number with the address bits above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionHash {
    /// No hash: the slice bits of the address.
    #[default]
    Linear,
    /// Exclusive or with the next higher bits.
    Xor,
    /// Irreducible-polynomial hashing (Rau, "Pseudo-randomly interleaved memory", ISCA 1991) of the higher bits.
    Ipoly,
    /// A hash with equal shares for any number of slices. For `odd << bits` slices, a multiplicative hash of the higher bits is added to
    /// the slice number: by exclusive or to its low bits, modulo `odd` to the other bits. It equals `Ipoly` if `odd` is 1.
    Spread,
    /// The user-defined hash [`AddressMap::own_hash`].
    Own,
}

/// A location in a memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryLocation {
    /// The slice, counted over the chip.
    pub slice: SliceId,
    /// Bank of the channel.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Column of the row, in units of the lowest column bit.
    pub column: u32,
}

/// The machine's address mapping as bit fields. [`AddressMap::of_gpu`] and [`AddressMap::of_cpu`] split a map with reserved partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressMap {
    /// Memory partitions (channels) over which addresses are spread.
    pub partitions: u32,
    /// Number of partitions, with the lowest numbers, that are reserved for CPU cores; 0 if all partitions are shared.
    pub reserved: u32,
    /// LLC slices of a partition, a power of two.
    pub slices_per_partition: u32,
    /// The lowest bit of the partition number in an address: `1 << interleave_bit` consecutive bytes are in one partition.
    pub interleave_bit: u32,
    /// The bits of the row, as a mask over the address without the partition bits.
    pub row_mask: u64,
    /// The bits of the bank, in the same form as `row_mask`. The lowest of them also select the slice of a partition.
    pub bank_mask: u64,
    /// The bits of the column, in the same form as `row_mask`; with the bits inside a burst, the column counts bytes.
    pub column_mask: u64,
    /// The hash of the slice number.
    pub hash: PartitionHash,
    /// A run of address bits that are equal in all of the GPU's memory, as (lowest bit, number of bits), because pages of a system are
    /// assigned to its GPUs in turn. They select no partition. (0, 0) for no bits.
    pub constant_bits: (u8, u8),
    /// The user-defined hash, if `hash` selects it.
    pub own_hash: Option<UserHash>,
}

/// A lookup of slices that exploits locality: it caches the last result, and precomputes shifts and masks for the most common kind of map.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct SliceLookup {
    #[state(fixed)]
    map: Box<AddressMap>,
    /// The lowest address bit that affects the slice: addresses that are equal from this bit up have the same slice.
    shift: u32,
    chunk: u64,
    slice: SliceId,
    /// The hash that is added to the slice number, for all addresses that are equal from `above` up.
    upper_bits_hash: u16,
    lookup: LookupKind,
}

// The type is kept small because every SM has one.
const _: () = assert!(size_of::<SliceLookup>() <= 80);

/// The method that finds the slice of an address.
#[derive(Clone, Debug, warpshard_state::State)]
enum LookupKind {
    /// The address map.
    Map,
    /// Precomputed shifts and masks.
    Hashed(PolynomialLookup),
    /// The address map, unless the address lies on another GPU.
    System(Box<SystemLookup>),
}

/// A lookup of addresses that may lie on other GPUs.
#[derive(Clone, Debug, warpshard_state::State)]
struct SystemLookup {
    #[state(fixed)]
    homes: Homes,
    /// A direct-mapped cache, indexed by the low bits of the page number, of the pages in `known`: pages that the page table placed on this
    /// GPU.
    own_pages: Box<[u64]>,
    known_pages: BTreeSet<u64>,
}

/// Entries of the cache of pages that were looked up last.
const CACHED_PAGES: usize = 16;

/// Shifts and masks for a power of two of partitions with one or two slices each and a polynomial hash. The type is kept small because
/// every SM has one.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct PolynomialLookup {
    /// The lowest bit of the partition number, and its mask.
    partition: (u8, u16),
    /// The bit that selects the slice of a partition, and its mask, which is 0 if there is one slice.
    slice: (u8, u8),
    slice_bits: u8,
    /// The lowest bit that is hashed.
    above: u8,
    /// Bits of the slice number.
    bits: u8,
    /// The number of the first slice.
    first: u16,
}

impl PolynomialLookup {
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

    /// Returns the slice number before hashing.
    #[inline]
    fn unhashed_slice(&self, addr: Addr) -> u64 {
        let partition = addr.0 >> self.partition.0 & u64::from(self.partition.1);
        let slice = addr.0 >> self.slice.0 & u64::from(self.slice.1);
        partition << self.slice_bits | slice
    }

    /// Returns the hash of the bits from `above` up, which is added to the slice number.
    #[inline]
    fn hash_of_upper_bits(&self, addr: Addr) -> u16 {
        ipoly(addr.0 >> self.above, 0, u32::from(self.bits)) as u16
    }

    /// Returns the same as [`SliceLookup::bytes_to`], if the bits that select slices are adjacent: each slice then has one chunk in a
    /// stretch.
    fn bytes_to(&self, addr: Addr, slices: Range<u16>) -> Option<u64> {
        let (interleave, _) = self.partition;
        let partition_bits = self.bits - self.slice_bits;
        if slices.start < self.first || self.slice_bits > 0 && self.slice.0 != interleave + partition_bits {
            return None;
        }
        let stretch = addr.0 & !((1 << self.above) - 1);
        let mixed = self.hash_of_upper_bits(addr);
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

impl SliceLookup {
    /// Returns a lookup of the slices of `map`.
    pub fn new(map: AddressMap) -> Self {
        let shift = map.slice_bit();
        let slice = map.slice_of(Addr(0)); // The hash of the first addresses is 0.
        let lookup = PolynomialLookup::new(&map).map_or(LookupKind::Map, LookupKind::Hashed);
        Self { shift, chunk: 0, slice, upper_bits_hash: 0, lookup, map: Box::new(map) }
    }

    /// Returns a lookup that returns outputs towards the hub for addresses on other GPUs.
    pub fn in_system(map: AddressMap, homes: Homes) -> Self {
        let near = vec![u64::MAX; if homes.rule == HomeRule::FirstTouch { CACHED_PAGES } else { 0 }].into();
        let lookup = LookupKind::System(Box::new(SystemLookup { homes, own_pages: near, known_pages: BTreeSet::new() }));
        // No address is in this chunk, so the first lookup misses.
        Self { chunk: u64::MAX, lookup, ..Self::new(map) }
    }

    /// Records that the page of `addr` lies on this GPU.
    pub fn add_own_page(&mut self, addr: Addr) {
        self.chunk = u64::MAX;
        if let LookupKind::System(away) = &mut self.lookup {
            away.known_pages.insert(away.homes.page(addr));
        }
    }

    /// Returns the slice that owns `addr`.
    #[inline]
    pub fn slice_of(&mut self, addr: Addr) -> SliceId {
        let chunk = addr.0 >> self.shift;
        if chunk != self.chunk {
            self.slice = self.find_slice(addr, chunk);
        }
        self.slice
    }

    /// Returns the slice of an address outside the chunk of the last lookup.
    fn find_slice(&mut self, addr: Addr, chunk: u64) -> SliceId {
        let before = std::mem::replace(&mut self.chunk, chunk);
        let LookupKind::Hashed(hashed) = &self.lookup else { return self.find_in_system(addr) };
        if (chunk ^ before) >> (u32::from(hashed.above) - self.shift) != 0 {
            self.upper_bits_hash = hashed.hash_of_upper_bits(addr);
        }
        SliceId((hashed.unhashed_slice(addr) as u16 ^ self.upper_bits_hash) + hashed.first)
    }

    /// Returns the slice of an address that may lie on another GPU.
    fn find_in_system(&mut self, addr: Addr) -> SliceId {
        if let LookupKind::System(away) = &mut self.lookup
            && !away.is_own(addr)
        {
            return away.homes.port(addr);
        }
        self.map.slice_of(addr)
    }

    /// Returns a lower bound of the bytes from `addr`, which belongs to none of `slices`, to the next address that belongs to one of them.
    pub fn bytes_to(&self, addr: Addr, slices: Range<u16>) -> u64 {
        let chunk = (1 << self.shift) - (addr.0 & ((1 << self.shift) - 1));
        let hashed = if let LookupKind::Hashed(hashed) = &self.lookup { hashed.bytes_to(addr, slices) } else { None };
        hashed.unwrap_or(chunk)
    }
}

impl SystemLookup {
    fn is_own(&mut self, addr: Addr) -> bool {
        if let Some(home) = self.homes.home(addr) {
            return home == self.homes.own;
        }
        let page = self.homes.page(addr);
        let place = page as usize % CACHED_PAGES;
        if self.own_pages[place] == page {
            return true;
        }
        let known = self.known_pages.contains(&page);
        if known {
            self.own_pages[place] = page;
        }
        known
    }
}

/// An address split into the partition number before hashing and the remaining bits.
struct SplitAddress {
    partition: u64,
    remaining_bits: u64,
}

impl AddressMap {
    /// Returns the lowest address bit that selects a slice: addresses that are equal from this bit up have the same slice. The bank bits
    /// that select a slice may be below the partition bits.
    #[inline]
    pub fn slice_bit(&self) -> u32 {
        if self.slices_per_partition > 1 { self.interleave_bit.min(self.bank_mask.trailing_zeros()) } else { self.interleave_bit }
    }

    /// Returns the slice that owns `addr`. A call takes a few nanoseconds and is made once per memory access.
    #[inline]
    pub fn slice_of(&self, addr: Addr) -> SliceId {
        self.hashed_slice(&self.split_address(addr))
    }

    /// Returns slice, bank, row and column of `addr`. Address bits above the row are ignored, as in GPGPU-Sim.
    #[inline]
    pub fn locate(&self, addr: Addr) -> MemoryLocation {
        let split = self.split_address(addr);
        MemoryLocation {
            slice: self.hashed_slice(&split),
            bank: gather_bits(split.remaining_bits, self.bank_mask) as u32,
            row: gather_bits(split.remaining_bits, self.row_mask) as u32,
            column: gather_bits(split.remaining_bits, self.column_mask) as u32,
        }
    }

    /// Returns the address within its slice, without the bits that select partition and slice. Consecutive lines of a slice have
    /// consecutive addresses, so that all of its sets are used.
    #[inline]
    pub fn within_slice(&self, addr: Addr) -> u64 {
        let mut rest = self.split_address(addr).remaining_bits;
        let mut banks = self.bank_mask;
        for removed in 0..self.slices_per_partition.trailing_zeros() {
            let bit = banks.trailing_zeros() - removed;
            let below = (1 << bit) - 1;
            rest = (rest >> (bit + 1)) << bit | rest & below;
            banks &= banks - 1;
        }
        rest
    }

    /// Returns the address within its partition, without the bits that select the partition. Adjacent data of a partition has adjacent
    /// addresses, and the address is unique within the partition.
    #[inline]
    pub fn within_partition(&self, addr: Addr) -> u64 {
        self.split_address(addr).remaining_bits
    }

    /// Returns the part of a chip's map that SMs use: all partitions except the reserved ones.
    #[must_use]
    pub fn of_gpu(&self) -> Self {
        Self { partitions: self.partitions - self.reserved, ..self.clone() }
    }

    /// Returns the part of a chip's map that CPU cores use: the reserved partitions, or all partitions if none is reserved.
    #[must_use]
    pub fn of_cpu(&self) -> Self {
        let partitions = if self.reserved > 0 { self.reserved } else { self.partitions };
        Self { partitions, reserved: 0, ..self.clone() }
    }

    /// Returns the part of a chip's map that contains partition number `partition`.
    #[must_use]
    pub fn of_partition(&self, partition: u32) -> Self {
        if partition < self.reserved { self.of_cpu() } else { self.of_gpu() }
    }

    #[inline]
    fn split_address(&self, addr: Addr) -> SplitAddress {
        let addr = self.without_constant_bits(addr);
        let above = addr.0 >> self.interleave_bit;
        let below = addr.0 & ((1 << self.interleave_bit) - 1);
        let partitions = u64::from(self.partitions);
        let (partition, quotient) = if partitions.is_power_of_two() {
            (above & (partitions - 1), above >> partitions.trailing_zeros())
        } else {
            (above % partitions, above / partitions)
        };
        SplitAddress { partition, remaining_bits: quotient << self.interleave_bit | below }
    }

    /// Returns the address without the bits that are equal in all of the GPU's memory.
    #[inline]
    pub(super) fn without_constant_bits(&self, addr: Addr) -> Addr {
        match self.constant_bits {
            (_, 0) => addr,
            (from, count) => Addr(addr.0 >> (from + count) << from | addr.0 & ((1 << from) - 1)),
        }
    }

    #[inline]
    fn hashed_slice(&self, split: &SplitAddress) -> SliceId {
        let slice_bits = self.slices_per_partition.trailing_zeros();
        let plain = split.partition << slice_bits | lowest_bits(split.remaining_bits, self.bank_mask, slice_bits);
        let above = split.remaining_bits >> self.interleave_bit;
        let slice = match self.hash {
            PartitionHash::Own => {
                let slices = u64::from(self.partitions) << slice_bits;
                self.own_hash.as_ref().map_or(plain, |UserHash(hash)| hash.slice(plain, above >> slice_bits, slices))
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
                // With division, GPGPU-Sim keeps the slice bits among the higher bits, hashes into the next power of two and folds numbers
                // beyond the last slice.
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
                    // The golden ratio in 64 bits (Knuth, The Art of Computer Programming, 6.4): the high half depends on all bits of the
                    // address.
                    let mixed = above.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let turned = ((plain >> bits) + (mixed >> 44)) % odd;
                    (turned << bits) | (low ^ (mixed >> 32)) & ((1 << bits) - 1)
                }
            }
        };
        SliceId((slice + u64::from(self.reserved * self.slices_per_partition)) as u16)
    }
}

/// Primitive polynomials by degree, without their leading terms, and the number of bits above the index that take part in the hash.
const POLYNOMIALS: [(u64, u32); 11] =
    [(0, 0), (0b1, 4), (0b11, 7), (0b11, 10), (0b11, 13), (0b101, 15), (0b11, 19), (0b11, 22), (0b11101, 25), (0b10001, 28), (0b1001, 31)];

/// The contribution of each value of each nibble above the index, by degree.
static NIBBLE_CONTRIBUTIONS: [[[u16; 16]; 8]; 11] = nibbles();

const fn nibbles() -> [[[u16; 16]; 8]; 11] {
    let mut tables = [[[0; 16]; 8]; 11];
    let mut degree = 1;
    while degree < 11 {
        let (taps, inputs) = POLYNOMIALS[degree];
        // The remainder of x^degree, x^(degree + 1), ... divided by the polynomial.
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

/// Mixes `above` into a number `index` of `bits` bits: the remainder of `above * x^bits + index`, seen as a polynomial over GF(2), by a
/// primitive polynomial of degree `bits` (Rau, ISCA 1991).
///
/// The low 13, 15 and 19 bits of `above` take part for 16, 32 and 64 banks, as in GPGPU-Sim's `hashing.cc`.
///
/// # Panics
/// If `bits` is more than 10.
#[inline]
pub fn ipoly(above: u64, index: u64, bits: u32) -> u64 {
    let tables = &NIBBLE_CONTRIBUTIONS[bits as usize];
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

/// Degrees up to 5 use at most four nibbles, degrees up to 7 at most six.
const _: () = assert!(POLYNOMIALS[5].1 <= 16 && POLYNOMIALS[7].1 <= 24);

/// Returns the bits of `value` under `mask`, moved together. It takes one step per run of ones in the mask.
#[inline]
fn gather_bits(value: u64, mut mask: u64) -> u64 {
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

/// Returns the lowest `count` bits of `value` under `mask`.
#[inline]
fn lowest_bits(value: u64, mut mask: u64, count: u32) -> u64 {
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

    /// The mapping of SM7_QV100: `dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS`.
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

    /// The columns of the hash matrices for 16, 32 and 64 banks, each the contribution of one higher bit, as published with the scheme.
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
    fn the_cached_slice_equals_the_slice_of_the_map() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..qv100() };
        let reserved = AddressMap { reserved: 4, ..qv100() };
        let others = [PartitionHash::Ipoly, PartitionHash::Xor].map(six_by_two);
        for map in others.into_iter().chain([qv100(), low_banks, one_slice, reserved]) {
            let mut near = SliceLookup::new(map.clone());
            for addr in (0..4096).map(|i| Addr((i * 32) ^ ((i % 5) << 20) ^ ((i % 7) << 33))) {
                assert_eq!(near.slice_of(addr), map.slice_of(addr), "{addr}");
            }
        }
    }

    #[test]
    fn skipped_bytes_belong_to_other_slices() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..qv100() };
        let reserved = AddressMap { reserved: 4, ..qv100() };
        for map in [PartitionHash::Ipoly, PartitionHash::Xor].map(six_by_two).into_iter().chain([qv100(), low_banks, one_slice, reserved]) {
            let near = SliceLookup::new(map.clone());
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
    fn addresses_that_differ_only_below_the_slice_bit_share_a_slice() {
        let low_banks = AddressMap { bank_mask: 0x7020, ..qv100() };
        let one_slice = AddressMap { slices_per_partition: 1, ..low_banks.clone() };
        let maps = [qv100(), low_banks, one_slice];
        assert_eq!(maps.each_ref().map(AddressMap::slice_bit), [8, 5, 8]);
        for map in maps {
            let bytes = 1 << map.slice_bit();
            let slice_of = |chunk: u64, byte: u64| map.slice_of(Addr(chunk * bytes + byte));
            assert!((0..4096).all(|chunk| slice_of(chunk, 0) == slice_of(chunk, bytes - 1)));
            assert_ne!(slice_of(0, 0), slice_of(1, 0), "the chunk has the largest possible size");
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
        // The partition bits are 8 to 12; above them the fields of the string are five bits higher.
        let addr = 3 << 8 | 1 << 13 | 0b101 << 14 | 0b011 << 17 | 0x123 << 20 | 0x47;
        let location = map.locate(Addr(addr));
        assert_eq!(location.slice, SliceId(3 * 2 + 1));
        assert_eq!(location.bank, 0b0111);
        assert_eq!(location.row, 0x123);
        assert_eq!(location.column, 0b101 << 8 | 0x47);
        assert_eq!(map.locate(Addr(addr + (1 << 33))), location, "bits above the row do not matter");
    }

    #[test]
    fn the_sixth_higher_bit_flips_slices_as_in_the_polynomial() {
        let map = qv100();
        assert_eq!(map.slice_of(Addr(0)), SliceId(0));
        assert_eq!(map.slice_of(Addr(1 << 8)), SliceId(2));
        assert_eq!(map.slice_of(Addr(1 << 13)), SliceId(1));
        assert_eq!(map.slice_of(Addr(1 << 14)), SliceId(0b11));
        assert_eq!(map.slice_of(Addr(1 << 15)), SliceId(0b110));
    }

    #[test]
    fn no_two_addresses_share_a_location() {
        for map in [qv100(), AddressMap { hash: PartitionHash::Xor, ..qv100() }, six_by_two(PartitionHash::Linear)] {
            let count = 1 << 16;
            for base in [0, 0x1f00_0000] {
                let places: BTreeSet<_> = (0..count).map(|i| map.locate(Addr(base + i * 32))).collect();
                assert_eq!(places.len() as u64, count, "{:?}", map.hash);
            }
        }
    }

    #[test]
    fn partition_counts_that_are_not_powers_of_two_use_division() {
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
                // The lines of a stretch, and lines a power of two apart, are spread so that no slice gets twice its share.
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
                assert_eq!(within.len(), 1 << 14, "two addresses share a location");
            }
        }
    }

    #[test]
    fn lines_of_a_slice_have_consecutive_addresses() {
        let map = qv100();
        let slice = map.slice_of(Addr(0));
        let mut seen: Vec<_> =
            (0..64 * 64).map(|i| Addr(i * 128)).filter(|a| map.slice_of(*a) == slice).map(|a| map.within_slice(a) / 128).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
    }
}
