//! Where an address lives: its LLC slice, and its bank, row and column in the slice's channel.

use crate::base::{Addr, SliceId};

/// How the slice number is mixed with the address bits above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHash {
    /// The slice bits as they are.
    Linear,
    /// Exclusive or with the next bits up.
    Xor,
    /// Irreducible-polynomial hashing (Rau, "Pseudo-randomly interleaved memory", ISCA 1991) of the bits above.
    Ipoly,
}

/// A place in a memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The slice, counted over the chip.
    pub slice: SliceId,
    /// Bank of the channel, bank group in the low bits where the machine says so.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Column of the row, in bytes.
    pub column: u32,
}

/// The machine's address mapping, as bit fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Memory partitions (channels) of the chip.
    pub partitions: u32,
    /// LLC slices of a partition.
    pub slices_per_partition: u32,
    /// The partition number is taken out of the address at this bit: `1 << interleave_bit` bytes stay together.
    pub interleave_bit: u32,
    /// What remains, as masks over the address without the partition bits: the bits of the row, from low to high.
    pub row_mask: u64,
    /// The bits of the bank. The lowest of them also tell the slices of a partition apart.
    pub bank_mask: u64,
    /// The bits of the column, in units of the burst.
    pub column_mask: u64,
    /// Mixing of the slice number.
    pub hash: PartitionHash,
}

impl AddressMap {
    /// The slice that owns `addr`.
    #[inline]
    pub fn slice_of(&self, addr: Addr) -> SliceId {
        self.locate(addr).slice
    }

    /// Slice, bank, row and column of `addr`.
    pub fn locate(&self, _addr: Addr) -> Location {
        Location::default()
    }
}
