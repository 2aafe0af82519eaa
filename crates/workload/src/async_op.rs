//! Asynchronous operations since Hopper, which instructions start or wait for outside the pipeline: warp-group matrix products, barriers in
//! shared memory, bulk copies and clusters. [`AsyncOp`] is the static part of an instruction. The dynamic part (addresses, values) is the
//! payload of its [`super::DynInst`], encoded as [`BarrierAccess`] and [`BulkCopy`].

/// The asynchronous operation that an instruction starts or waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum AsyncOp {
    /// No asynchronous operation.
    #[default]
    Nothing,
    /// An asynchronous copy by the load/store unit (LDGSTS).
    Copy {
        /// True if the copy bypasses the L1 (`.BYPASS`).
        past_l1: bool,
    },
    /// Commits the warp's preceding copies as a group (LDGDEPBAR).
    CopyGroup,
    /// Waits until at most [`Control::at_most`](super::Control::at_most) groups of copies are outstanding (DEPBAR).
    CopyWait,
    /// A matrix product of a warp group (wgmma).
    Product {
        /// Columns of the product.
        columns: u16,
        /// True if the first matrix comes from registers instead of shared memory.
        registers: bool,
        /// True if the product ends a group of products (`gsb0`).
        closes: bool,
    },
    /// Waits until at most `most` groups of products are outstanding (WARPGROUP.DEPBAR).
    Products {
        /// Maximum number of outstanding groups.
        most: u8,
    },
    /// An operation on barriers in shared memory (SYNCS, ARRIVES); its payload is a list of [`BarrierAccess`].
    Barrier,
    /// A bulk copy by the tensor memory accelerator; its payload is a [`BulkCopy`].
    Bulk,
    /// Commits the warp's preceding bulk stores as a group (UTMACMDFLUSH).
    BulkGroup,
    /// The warp arrives at the barrier of its cluster (UCGABAR_ARV).
    ClusterArrive,
    /// The warp waits until all warps of its cluster have arrived at the cluster barrier (UCGABAR_WAIT).
    ClusterWait,
    /// The CTA allows the next launch, if it is programmatically dependent, to begin (griddepcontrol.launch_dependents, PREEXIT).
    LaunchDependents,
    /// A warp of a programmatically dependent launch waits for the end of the previous launch (griddepcontrol.wait, ACQBULK).
    GridWait,
}

impl AsyncOp {
    /// Returns true for asynchronous copies by the load/store unit, the commit of a copy group, and waits for copy groups.
    #[inline]
    pub fn concerns_copies(self) -> bool {
        matches!(self, Self::Copy { .. } | Self::CopyGroup | Self::CopyWait)
    }

    /// Returns true if the operation passes through the load/store unit.
    #[inline]
    pub fn passes_load_store(self) -> bool {
        matches!(self, Self::Barrier | Self::Bulk | Self::BulkGroup)
    }
}

/// The state of a barrier in shared memory (mbarrier; PTX ISA, "mbarrier").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Mbarrier {
    /// Arrivals that complete a phase.
    pub arrivals: u64,
    /// Pending arrivals of the present phase.
    pub missing: u64,
    /// Pending bytes of the present phase; negative if copies complete before the thread that expects them has announced the bytes.
    pub bytes: i64,
    /// Parity of the present phase.
    pub phase: bool,
}

/// Maximum number of arrivals of a phase, plus one.
const ARRIVALS_MODULUS: u64 = 1 << 20;
/// Bits of the field of pending bytes.
const PENDING_BYTES_BITS: u32 = 22;

impl Mbarrier {
    /// Decodes the 64 bits of an mbarrier object of Hopper and later, as compiled code writes them: the arrivals of a phase in bits 1 to 20
    /// and the pending arrivals in bits 43 to 62, both as 2^20 minus the number; the phase in bit 63; the pending bytes in the bits between
    /// the two numbers.
    pub fn of(word: u64) -> Self {
        let field = |at: u32| (ARRIVALS_MODULUS - (word >> at & (ARRIVALS_MODULUS - 1))) % ARRIVALS_MODULUS;
        let bytes = (word >> 21 & ((1 << PENDING_BYTES_BITS) - 1)) as i64;
        let bytes = if bytes >> (PENDING_BYTES_BITS - 1) != 0 { bytes - (1 << PENDING_BYTES_BITS) } else { bytes };
        Self { arrivals: field(1), missing: field(43), bytes, phase: word >> 63 != 0 }
    }

    /// Encodes the 64 bits of the object.
    pub fn word(self) -> u64 {
        let field = |number: u64| ARRIVALS_MODULUS.wrapping_sub(number) & (ARRIVALS_MODULUS - 1);
        let bytes = self.bytes as u64 & ((1 << PENDING_BYTES_BITS) - 1);
        field(self.arrivals) << 1 | bytes << 21 | field(self.missing) << 43 | u64::from(self.phase) << 63
    }

    /// Records arrivals and `bytes` expected bytes, or completed bytes if negative. The phase ends if nothing is pending; returns true if
    /// it ends.
    pub fn arrive(&mut self, arrivals: u64, bytes: i64) -> bool {
        self.bytes += bytes;
        self.missing = self.missing.saturating_sub(arrivals);
        let ends = self.missing == 0 && self.bytes == 0;
        if ends {
            self.missing = self.arrivals;
            self.phase = !self.phase;
        }
        ends
    }
}

/// The operation of an instruction on a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierOp {
    /// Writes the barrier's word, which initialises the barrier.
    Write(u64),
    /// Arrives at the barrier, with expected bytes, or completed bytes if negative.
    Arrive {
        /// Number of arrivals.
        arrivals: u32,
        /// Number of expected bytes; completed bytes if negative.
        bytes: i32,
        /// True if the number of arrivals that completes later phases decreases by `arrivals`.
        drops: bool,
    },
    /// Arrives at the barrier after the warp's preceding asynchronous copies are complete.
    AfterCopies {
        /// Number of arrivals.
        arrivals: u32,
        /// Number of expected bytes; completed bytes if negative.
        bytes: i32,
    },
    /// Waits until the phase with the given parity is complete.
    Wait(bool),
    /// Tests whether a phase is complete, with a negative result.
    Look,
}

/// An operation on a barrier, with the address of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierAccess {
    /// Byte address in shared memory; the rank of the CTA in its cluster is in bits 24 to 31.
    pub address: u32,
    /// The operation.
    pub op: BarrierOp,
}

impl BarrierAccess {
    /// Number of 32-bit words of an encoded access.
    pub const WORDS: usize = 4;

    /// Encodes the access as words of a payload.
    pub fn words(self) -> [u32; Self::WORDS] {
        let [kind, low, high] = match self.op {
            BarrierOp::Write(word) => [0, word as u32, (word >> 32) as u32],
            BarrierOp::Arrive { arrivals, bytes, drops } => [1 + u32::from(drops), arrivals, bytes as u32],
            BarrierOp::AfterCopies { arrivals, bytes } => [3, arrivals, bytes as u32],
            BarrierOp::Wait(parity) => [4, u32::from(parity), 0],
            BarrierOp::Look => [5, 0, 0],
        };
        [self.address, kind, low, high]
    }

    /// Decodes the accesses of a payload.
    pub fn of(payload: &[u32]) -> impl Iterator<Item = Self> {
        payload.as_chunks::<4>().0.iter().map(|&[address, kind, low, high]| {
            let op = match kind {
                0 => BarrierOp::Write(u64::from(low) | u64::from(high) << 32),
                1 | 2 => BarrierOp::Arrive { arrivals: low, bytes: high as i32, drops: kind == 2 },
                3 => BarrierOp::AfterCopies { arrivals: low, bytes: high as i32 },
                4 => BarrierOp::Wait(low != 0),
                _ => BarrierOp::Look,
            };
            Self { address, op }
        })
    }
}

/// The direction of a bulk copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum BulkKind {
    /// From device memory to shared memory.
    Load,
    /// From shared memory to device memory.
    Store,
    /// From shared memory to device memory, combined with the contents of device memory.
    Reduce,
    /// From device memory to the LLC.
    Prefetch,
    /// Within the shared memory of a cluster.
    Move,
}

/// Equally spaced pieces of device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Pieces {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes of each piece.
    pub bytes: u32,
    /// Number of pieces.
    pub count: u32,
    /// Bytes from the start of one piece to the start of the next.
    pub stride: u64,
}

/// A bulk copy by the tensor memory accelerator.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct BulkCopy {
    /// Direction of the copy.
    pub kind: BulkKind,
    /// Bytes of shared memory that each destination receives or the source sends, including bytes outside the tensor.
    pub bytes: u32,
    /// For a load, the barrier that counts its bytes, in the format of [`BarrierAccess::address`]; `None` for other kinds.
    pub barrier: Option<u32>,
    /// CTAs of the cluster that receive the data, as a bit set; empty for only the issuing CTA.
    pub ctas: u16,
    /// Address of the tensor map; 0 without a tensor map.
    pub map: u64,
    /// Pieces of device memory that are read or written.
    pub pieces: Vec<Pieces>,
}

const HEAD_WORDS: usize = 6;
const PIECE_WORDS: usize = 6;

impl BulkCopy {
    /// Encodes the copy as words of a payload.
    pub fn words(&self) -> Vec<u32> {
        let kind = match self.kind {
            BulkKind::Load => 0,
            BulkKind::Store => 1,
            BulkKind::Reduce => 2,
            BulkKind::Prefetch => 3,
            BulkKind::Move => 4,
        };
        let mut words =
            vec![kind, self.bytes, self.barrier.unwrap_or(u32::MAX), self.ctas.into(), self.map as u32, (self.map >> 32) as u32];
        for piece in &self.pieces {
            let Pieces { address, bytes, count, stride } = *piece;
            words.extend([address as u32, (address >> 32) as u32, bytes, count, stride as u32, (stride >> 32) as u32]);
        }
        words
    }

    /// Decodes the copy of a payload; `None` if the payload is not a copy.
    pub fn of(payload: &[u32]) -> Option<Self> {
        let (head, rest) = payload.split_first_chunk::<HEAD_WORDS>()?;
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let kind = [BulkKind::Load, BulkKind::Store, BulkKind::Reduce, BulkKind::Prefetch, BulkKind::Move].get(head[0] as usize)?;
        let piece = |&[low, high, bytes, count, near, far]: &[u32; PIECE_WORDS]| Pieces {
            address: wide(low, high),
            bytes,
            count,
            stride: wide(near, far),
        };
        Some(Self {
            kind: *kind,
            bytes: head[1],
            barrier: (head[2] != u32::MAX).then_some(head[2]),
            ctas: head[3] as u16,
            map: wide(head[4], head[5]),
            pieces: rest.as_chunks::<PIECE_WORDS>().0.iter().map(piece).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_without_pending_arrivals_and_bytes() {
        // The initial word of an object for two arrivals, as compiled code writes it.
        let count = 0x10_0000_u64 - 2;
        let mut barrier = Mbarrier::of((count << 1 & 0xffff_ffff) | (count << 11 & 0xffff_ffff) << 32);
        assert_eq!(barrier, Mbarrier { arrivals: 2, missing: 2, bytes: 0, phase: false });
        assert!(!barrier.arrive(1, 4096) && !barrier.arrive(1, -4000));
        assert_eq!(Mbarrier::of(barrier.word()), Mbarrier { arrivals: 2, missing: 0, bytes: 96, phase: false });
        assert!(barrier.arrive(0, -96));
        assert_eq!(barrier, Mbarrier { arrivals: 2, missing: 2, bytes: 0, phase: true });
        // 64 bytes complete before they are expected.
        barrier.bytes -= 64;
        assert_eq!(Mbarrier::of(barrier.word()), barrier);
    }

    #[test]
    fn accesses_and_copies_survive_a_round_trip() {
        let ops = [
            BarrierOp::Write(0x1234_5678_9abc_def0),
            BarrierOp::Arrive { arrivals: 3, bytes: -64, drops: false },
            BarrierOp::Arrive { arrivals: 1, bytes: 0, drops: true },
            BarrierOp::AfterCopies { arrivals: 32, bytes: 0 },
            BarrierOp::Wait(true),
            BarrierOp::Look,
        ];
        let accesses: Vec<_> = ops.into_iter().map(|op| BarrierAccess { address: 0x0100_0408, op }).collect();
        let words: Vec<u32> = accesses.iter().flat_map(|access| access.words()).collect();
        assert_eq!(BarrierAccess::of(&words).collect::<Vec<_>>(), accesses);
        for barrier in [None, Some(0x400)] {
            let pieces = vec![Pieces { address: 1 << 40, bytes: 128, count: 64, stride: 1 << 33 }; 2];
            let copy = BulkCopy { kind: BulkKind::Reduce, bytes: 8192, barrier, ctas: 5, map: 0x7000_0000_0040, pieces };
            assert_eq!(BulkCopy::of(&copy.words()), Some(copy));
        }
        assert_eq!(BulkCopy::of(&[9, 0, 0, 0, 0, 0]), None);
    }
}
