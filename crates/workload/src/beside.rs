//! What instructions start or wait for beside the pipeline since Hopper: products of warp groups, barriers in shared memory, bulk copies and
//! clusters. [`Beside`] is what an instruction's code says; what its execution adds (addresses, values) is the payload of its
//! [`super::DynInst`], in the words of [`BarrierAccess`] and [`BulkCopy`].

/// What an instruction starts or waits for beside the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum Beside {
    /// Nothing.
    #[default]
    Nothing,
    /// An asynchronous copy by the load/store unit (LDGSTS).
    Copy {
        /// It reads past the L1 (`.BYPASS`).
        past_l1: bool,
    },
    /// The copies of the warp so far are a group (LDGDEPBAR).
    CopyGroup,
    /// Waits until at most [`Control::at_most`](super::Control::at_most) groups of copies are not complete (DEPBAR).
    CopyWait,
    /// A product of a warp group (wgmma).
    Product {
        /// Columns of the product.
        columns: u16,
        /// The first matrix comes from registers, not from shared memory.
        registers: bool,
        /// It ends a group of products (`gsb0`).
        closes: bool,
    },
    /// Waits until at most so many groups of products are not complete (WARPGROUP.DEPBAR).
    Products {
        /// So many.
        most: u8,
    },
    /// An operation on barriers in shared memory (SYNCS, ARRIVES); its payload is a list of [`BarrierAccess`].
    Barrier,
    /// A bulk copy by the tensor memory accelerator; its payload is a [`BulkCopy`].
    Bulk,
    /// The bulk stores of the warp so far are a group (UTMACMDFLUSH).
    BulkGroup,
    /// The warp arrives at the barrier of its cluster (UCGABAR_ARV).
    ClusterArrive,
    /// It waits until all warps of its cluster have arrived (UCGABAR_WAIT).
    ClusterWait,
    /// The CTA lets the launch after it begin, where that is programmatically dependent (griddepcontrol.launch_dependents, PREEXIT).
    LaunchDependents,
    /// A warp of a programmatically dependent launch waits for the end of the launch before it (griddepcontrol.wait, ACQBULK).
    GridWait,
}

impl Beside {
    /// Whether it is an asynchronous copy by the load/store unit, closes a group of these, or waits for groups.
    #[inline]
    pub fn concerns_copies(self) -> bool {
        matches!(self, Self::Copy { .. } | Self::CopyGroup | Self::CopyWait)
    }

    /// Whether it passes the load/store unit on its way.
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
    /// Arrivals that the present phase lacks.
    pub missing: u64,
    /// Bytes that it lacks; fewer than none where copies were faster than the thread that expects them.
    pub bytes: i64,
    /// The parity of the present phase.
    pub phase: bool,
}

/// Most arrivals of a phase, and one.
const ARRIVALS: u64 = 1 << 20;
/// Bits of the bytes that are missing.
const BYTES: u32 = 22;

impl Mbarrier {
    /// Reads the 64 bits of an object since Hopper, which compiled code writes: the arrivals of a phase in bits 1 to 20 and those that are missing
    /// in bits 43 to 62, both as 2^20 less the number; the phase in bit 63; between them the bytes that are missing.
    pub fn of(word: u64) -> Self {
        let field = |at: u32| (ARRIVALS - (word >> at & (ARRIVALS - 1))) % ARRIVALS;
        let bytes = (word >> 21 & ((1 << BYTES) - 1)) as i64;
        let bytes = if bytes >> (BYTES - 1) != 0 { bytes - (1 << BYTES) } else { bytes };
        Self { arrivals: field(1), missing: field(43), bytes, phase: word >> 63 != 0 }
    }

    /// The 64 bits of the object.
    pub fn word(self) -> u64 {
        let field = |number: u64| ARRIVALS.wrapping_sub(number) & (ARRIVALS - 1);
        let bytes = self.bytes as u64 & ((1 << BYTES) - 1);
        field(self.arrivals) << 1 | bytes << 21 | field(self.missing) << 43 | u64::from(self.phase) << 63
    }

    /// Arrivals come, and `bytes` are expected or, where negative, have come; the phase ends if nothing is missing. Returns whether it did.
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

/// What an instruction does to a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierOp {
    /// Its word is written, which initialises it.
    Write(u64),
    /// Arrivals, and bytes that are expected or, where negative, have come; `drops` arrivals fewer complete the next phases.
    Arrive {
        /// Arrivals.
        arrivals: u32,
        /// Bytes.
        bytes: i32,
        /// Arrivals that no later phase has.
        drops: bool,
    },
    /// The same once the asynchronous copies that the warp has begun are complete.
    AfterCopies {
        /// Arrivals.
        arrivals: u32,
        /// Bytes.
        bytes: i32,
    },
    /// Waits until the phase of a parity is complete.
    Wait(bool),
    /// Looks whether a phase is complete, and found that it is not.
    Look,
}

/// An operation on a barrier, with the address of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierAccess {
    /// Byte of the shared memory; the number of the CTA in its cluster in bits 24 to 31.
    pub address: u32,
    /// What happens.
    pub op: BarrierOp,
}

impl BarrierAccess {
    /// Words of an access.
    pub const WORDS: usize = 4;

    /// As words of a payload.
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

    /// The accesses of a payload.
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

/// Where a bulk copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum BulkKind {
    /// From device memory to shared memory.
    Load,
    /// From shared memory to device memory.
    Store,
    /// The same, combined with what device memory has.
    Reduce,
    /// From device memory to the LLC.
    Prefetch,
    /// Within the shared memory of a cluster.
    Move,
}

/// Pieces of device memory at equal distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Pieces {
    /// The first byte.
    pub address: u64,
    /// Bytes of each.
    pub bytes: u32,
    /// How many there are.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u64,
}

/// A bulk copy.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct BulkCopy {
    /// Where it goes.
    pub kind: BulkKind,
    /// Bytes of shared memory that each destination gets, or that leave: with what lies outside of a tensor.
    pub bytes: u32,
    /// The barrier at which a load counts, as in [`BarrierAccess::address`]; none for the other kinds.
    pub barrier: Option<u32>,
    /// The CTAs of the cluster that get it, as a set; empty for the CTA itself.
    pub ctas: u16,
    /// Address of its tensor map; 0 where it has none.
    pub map: u64,
    /// The device memory that is read or written.
    pub pieces: Vec<Pieces>,
}

const HEAD: usize = 6;
const PIECE: usize = 6;

impl BulkCopy {
    /// As words of a payload.
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

    /// The copy of a payload; `None` where it is none.
    pub fn of(payload: &[u32]) -> Option<Self> {
        let (head, rest) = payload.split_first_chunk::<HEAD>()?;
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let kind = [BulkKind::Load, BulkKind::Store, BulkKind::Reduce, BulkKind::Prefetch, BulkKind::Move].get(head[0] as usize)?;
        let piece = |&[low, high, bytes, count, near, far]: &[u32; PIECE]| Pieces {
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
            pieces: rest.as_chunks::<PIECE>().0.iter().map(piece).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_neither_arrivals_nor_bytes_are_missing() {
        // As compiled code initialises an object for two arrivals.
        let count = 0x10_0000_u64 - 2;
        let mut barrier = Mbarrier::of((count << 1 & 0xffff_ffff) | (count << 11 & 0xffff_ffff) << 32);
        assert_eq!(barrier, Mbarrier { arrivals: 2, missing: 2, bytes: 0, phase: false });
        assert!(!barrier.arrive(1, 4096) && !barrier.arrive(1, -4000));
        assert_eq!(Mbarrier::of(barrier.word()), Mbarrier { arrivals: 2, missing: 0, bytes: 96, phase: false });
        assert!(barrier.arrive(0, -96));
        assert_eq!(barrier, Mbarrier { arrivals: 2, missing: 2, bytes: 0, phase: true });
        // Bytes that come before they are expected.
        barrier.bytes -= 64;
        assert_eq!(Mbarrier::of(barrier.word()), barrier);
    }

    #[test]
    fn accesses_and_copies_are_read_as_they_were_written() {
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
