//! Stride prefetching: a table has the last address and stride of each load instruction of each warp, and a load is prefetched once the
//! same stride occurred twice in a row.
//!
//! The reference prediction table of Baer and Chen (Supercomputing 1991), trained per warp as Lee et al. (MICRO 2010) do on GPUs, because
//! the loads of other warps between two loads of a warp hide its stride.

use super::{LoadAccess, PrefetchPolicy};

/// Loads in the table.
const TABLE_ENTRIES: usize = 512;

/// An entry of the table: a load with its last address and stride.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct StrideEntry {
    /// The instruction and, in the low bits, the warp, plus one; 0 for an empty entry.
    key: u64,
    last: u64,
    stride: i64,
}

/// The table, and the distance in strides at which to fetch.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Stride {
    distance: i64,
    entries: Box<[StrideEntry]>,
}

impl PrefetchPolicy for Stride {
    fn new(distance: u32) -> Self {
        Self { distance: distance.into(), entries: vec![StrideEntry::default(); TABLE_ENTRIES].into() }
    }

    fn ahead(&mut self, load: LoadAccess) -> i64 {
        let key = (u64::from(load.inst) << 8 | u64::from(load.warp)) + 1;
        let entry = &mut self.entries[(key ^ key >> 8 << 5) as usize % TABLE_ENTRIES];
        if entry.key != key {
            *entry = StrideEntry { key, last: load.addr.0, stride: 0 };
            return 0;
        }
        let stride = load.addr.0.wrapping_sub(entry.last) as i64;
        let steady = stride == entry.stride;
        (entry.last, entry.stride) = (load.addr.0, stride);
        if steady { stride.wrapping_mul(self.distance) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Addr;

    fn load(warp: u8, addr: u64) -> LoadAccess {
        LoadAccess { warp, inst: 7, addr: Addr(addr) }
    }

    #[test]
    fn a_load_is_prefetched_while_its_stride_repeats() {
        let mut stride = Stride::new(2);
        let ahead: Vec<i64> = [100, 400, 700, 1000, 1010, 1020].iter().map(|addr| stride.ahead(load(0, *addr))).collect();
        assert_eq!(ahead, [0, 0, 600, 600, 0, 20]);
    }

    #[test]
    fn warps_are_trained_separately() {
        let mut stride = Stride::new(1);
        let mut ahead = Vec::new();
        for step in 0..4 {
            ahead.push([stride.ahead(load(0, 1000 + 64 * step)), stride.ahead(load(1, 9000 - 32 * step))]);
        }
        assert_eq!(ahead, [[0, 0], [0, 0], [64, -32], [64, -32]]);
    }
}
