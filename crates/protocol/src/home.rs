//! The memory map of a system: the GPU whose memory holds an address.
//!
//! Input: an address. Output: its *home* GPU, or unknown. Each GPU has a private [`Homes`]; they differ in the requesting GPU.

use std::ops::Range;
use std::sync::Arc;

use warpshard_base::{Addr, GpuId, SliceId};

/// The rule that assigns addresses to GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeRule {
    /// Each allocation lies on one GPU. `ranges` lists allocations and their GPUs, ascending and without overlap; any other address lies on
    /// the GPU of the application that owns it.
    Local {
        /// Address ranges of allocations, with their GPUs.
        ranges: Arc<[(Range<u64>, GpuId)]>,
        /// The GPU of each application.
        applications: Arc<[GpuId]>,
    },
    /// Pages are assigned to the GPUs in turn.
    Interleaved,
    /// A page belongs to the GPU that accesses it first.
    FirstTouch,
}

/// The memory map from the view of one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    /// The GPU that uses this map.
    pub own: GpuId,
    /// The number of GPUs in the system.
    pub gpus: u32,
    /// The lowest address bit of the page number: a page has `1 << page_bit` bytes.
    pub page_bit: u32,
    /// The rule that assigns addresses to GPUs.
    pub rule: HomeRule,
    /// The first output of the request network that leads to the hub, and the number of such outputs.
    pub hub: (u16, u16),
}

impl Homes {
    /// Returns the home of an address; `None` if the page table decides it ([`HomeRule::FirstTouch`]).
    #[inline]
    pub fn home(&self, addr: Addr) -> Option<GpuId> {
        match &self.rule {
            HomeRule::Interleaved => Some(self.in_turn(addr)),
            HomeRule::Local { ranges, applications } => {
                let after = ranges.partition_point(|(range, _)| range.start <= addr.0);
                let inside = after.checked_sub(1).map(|last| &ranges[last]).filter(|(range, _)| addr.0 < range.end);
                let by_application = || applications.get(addr.application()).copied().unwrap_or_default();
                Some(inside.map_or_else(by_application, |(_, gpu)| *gpu))
            }
            HomeRule::FirstTouch => None,
        }
    }

    /// Returns the page number of an address.
    #[inline]
    pub fn page(&self, addr: Addr) -> u64 {
        addr.0 >> self.page_bit
    }

    /// Returns the GPU that an address's page is assigned to by taking turns: its home if pages are interleaved, otherwise the GPU with its
    /// entry of the page table.
    #[inline]
    pub fn in_turn(&self, addr: Addr) -> GpuId {
        GpuId((self.page(addr) % u64::from(self.gpus)) as u8)
    }

    /// Returns the output of the request network that leads to the hub, for an address on another GPU. Consecutive lines use the outputs in
    /// turn.
    #[inline]
    pub fn port(&self, addr: Addr) -> SliceId {
        let (first, count) = self.hub;
        SliceId(first + spread_over(addr, count))
    }
}

impl HomeRule {
    /// Returns the run of address bits that are equal in all pages of `1 << page_bit` bytes of one of `gpus` GPUs, as (lowest bit, number
    /// of bits).
    pub fn constant_bits(&self, page_bit: u32, gpus: u32) -> (u8, u8) {
        if *self == Self::Interleaved { (page_bit as u8, gpus.trailing_zeros() as u8) } else { (0, 0) }
    }
}

/// Selects one of `count` outputs for a line, so that neighbouring lines use different ones.
#[inline]
pub(crate) fn spread_over(addr: Addr, count: u16) -> u16 {
    let line = addr.0 >> 7;
    ((line ^ line >> 5 ^ line >> 11) % u64::from(count)) as u16
}

impl Homes {
    /// Selects one of `count` equal links for an address; neighbouring lines use different ones.
    #[inline]
    pub fn link_index(addr: Addr, count: u16) -> u16 {
        if count == 1 { 0 } else { spread_over(addr, count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_homes(rule: HomeRule) -> Homes {
        Homes { own: GpuId(0), gpus: 4, page_bit: 12, rule, hub: (64, 8) }
    }

    #[test]
    fn an_address_without_an_allocation_has_the_gpu_of_its_application() {
        let ranges = [(0x1000..0x3000, GpuId(3)), (0x8000..0x9000, GpuId(1))];
        let homes = test_homes(HomeRule::Local { ranges: ranges.into(), applications: [GpuId(2)].into() });
        let home = |addr| homes.home(Addr(addr)).unwrap().0;
        assert_eq!([0, 0xfff, 0x1000, 0x2fff, 0x3000, 0x8000, 0x9000].map(home), [2, 2, 3, 3, 2, 1, 2]);
    }

    #[test]
    fn pages_are_assigned_to_gpus_in_turn() {
        let homes = test_homes(HomeRule::Interleaved);
        let home = |addr| homes.home(Addr(addr)).unwrap().0;
        assert_eq!([0, 0xfff, 0x1000, 0x3000, 0x4000].map(home), [0, 0, 1, 3, 0]);
        assert_eq!(homes.rule.constant_bits(12, 4), (12, 2));
    }

    #[test]
    fn neighbouring_lines_take_different_ports() {
        let homes = test_homes(HomeRule::FirstTouch);
        assert_eq!(homes.home(Addr(7)), None);
        let mut ports: Vec<u16> = (0..8).map(|line| homes.port(Addr(128 * line)).0).collect();
        ports.sort_unstable();
        assert_eq!(ports, (64..72).collect::<Vec<_>>());
    }
}
