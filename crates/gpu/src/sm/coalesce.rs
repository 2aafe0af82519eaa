//! Coalescing: the lanes of a warp access become accesses of one segment each (a sector, or a line if the L1 works on lines).
//!
//! The accesses have ascending addresses; the load/store unit takes them from the end, as the reference does.

use warpshard_base::{Addr, SECTOR_BYTES, SectorMask};

/// An access to one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct CoalescedAccess {
    /// Address of the sector, or of the segment if the access covers several sectors.
    pub(super) addr: Addr,
    /// Bytes of the sector, if the access covers one sector; all ones otherwise.
    pub(super) bytes: u32,
    pub(super) sectors: SectorMask,
    /// Number of participating lanes.
    pub(super) lanes: u8,
}

/// Coalesces `base + i * stride` for `lanes` lanes if they are contiguous; returns true if they are.
#[inline]
pub(super) fn run(base: u64, stride: i32, lanes: u32, width: u32, segment: u64, out: &mut Vec<CoalescedAccess>) -> bool {
    if stride != width as i32 || segment != SECTOR_BYTES || !width.is_power_of_two() || base & u64::from(width - 1) != 0 {
        return false;
    }
    let end = base + u64::from(lanes * width);
    let mut at = base;
    while at < end {
        let addr = Addr(at).sector();
        let stop = end.min(addr.0 + SECTOR_BYTES);
        let bytes = byte_mask(at - addr.0, stop - at);
        out.push(CoalescedAccess { addr, bytes, sectors: SectorMask::of(addr), lanes: ((stop - at) >> width.trailing_zeros()) as u8 });
        at = stop;
    }
    true
}

/// Coalesces `base + i * stride` for `lanes` lanes into sectors if the elements ascend without overlap and none crosses the end of a
/// sector; returns true if it did.
pub(super) fn ascending(base: u64, stride: i32, lanes: u32, width: u32, segment: u64, out: &mut Vec<CoalescedAccess>) -> bool {
    let aligned = width.is_power_of_two() && width <= SECTOR_BYTES as u32 && (base | stride as u64) & u64::from(width - 1) == 0;
    let step = u64::try_from(stride).unwrap_or(0);
    if segment != SECTOR_BYTES || !aligned || step < u64::from(width) || base.checked_add(step * u64::from(lanes)).is_none() {
        return false;
    }
    let of_lane = u32::MAX >> (u32::BITS - width);
    let (mut at, mut left) = (base, lanes);
    while left > 0 {
        let (addr, before) = (Addr(at).sector(), left);
        let mut bytes = 0;
        while left > 0 && Addr(at).sector() == addr {
            bytes |= of_lane << (at % SECTOR_BYTES);
            at += step;
            left -= 1;
        }
        out.push(CoalescedAccess { addr, bytes, sectors: SectorMask::of(addr), lanes: (before - left) as u8 });
    }
    true
}

/// Coalesces arbitrary addresses, which may be reordered; `segment` is 32, 64 or 128 bytes.
pub(super) fn gather(addresses: &mut [u64], width: u32, segment: u64, out: &mut Vec<CoalescedAccess>) {
    // Ascending accesses are appended; searching the position of each one would cost more than this sort.
    if !addresses.is_sorted() {
        addresses.sort_unstable();
    }
    for &first in &*addresses {
        let last = first + u64::from(width) - 1;
        let mut at = first;
        loop {
            let stop = last.min(at | (SECTOR_BYTES - 1));
            add(out, at, stop - at + 1, segment, u8::from(at == first));
            if stop == last {
                break;
            }
            at = stop + 1;
        }
    }
}

/// Adds bytes within one sector to the access of their segment.
#[inline]
fn add(out: &mut Vec<CoalescedAccess>, at: u64, count: u64, segment: u64, lanes: u8) {
    let bytes = byte_mask(at & (SECTOR_BYTES - 1), count);
    let sectors = SectorMask::of(Addr(at));
    let start = at & !(segment - 1);
    // The access is created at each use: a shared copy in memory would be assembled from its parts, which is slow on the host.
    let access = || CoalescedAccess { addr: Addr(at).sector(), bytes, sectors, lanes };
    match out.last_mut() {
        Some(last) if last.addr.0 & !(segment - 1) == start => merge(last, bytes, sectors, lanes, start),
        Some(last) if last.addr.0 > at => insert(out, &access(), start, segment),
        _ => out.push(access()),
    }
}

/// Adds bytes of sectors to the access of their segment, which starts at `start`.
#[inline]
fn merge(access: &mut CoalescedAccess, bytes: u32, sectors: SectorMask, lanes: u8, start: u64) {
    access.lanes += lanes;
    if access.sectors == sectors {
        access.bytes |= bytes;
    } else {
        access.sectors.0 |= sectors.0;
        access.bytes = u32::MAX;
        access.addr = Addr(start);
    }
}

/// Inserts an access to a segment before the last one: a lane crossed into the last segment before a later lane stayed in this segment.
#[cold]
fn insert(out: &mut Vec<CoalescedAccess>, access: &CoalescedAccess, start: u64, segment: u64) {
    let place = out.iter().rposition(|access| access.addr.0 & !(segment - 1) <= start);
    match place {
        Some(place) if out[place].addr.0 & !(segment - 1) == start => {
            merge(&mut out[place], access.bytes, access.sectors, access.lanes, start)
        }
        _ => out.insert(place.map_or(0, |place| place + 1), *access),
    }
}

/// Coalesces atomics: lanes that change the same bytes go into different accesses of their sector, one after another.
pub(super) fn atomic(addresses: &[u64], width: u32, out: &mut Vec<CoalescedAccess>) {
    for &address in addresses {
        let addr = Addr(address).sector();
        let bytes = byte_mask(address - addr.0, u64::from(width));
        match out.iter_mut().find(|access| access.addr == addr && access.bytes & bytes == 0) {
            Some(access) => {
                access.bytes |= bytes;
                access.lanes += 1;
            }
            None => out.push(CoalescedAccess { addr, bytes, sectors: SectorMask::of(addr), lanes: 1 }),
        }
    }
    out.sort_by_key(|access| access.addr.0);
}

#[inline]
fn byte_mask(first: u64, count: u64) -> u32 {
    let count = count.min(SECTOR_BYTES - first);
    ((u64::MAX >> (64 - count)) << first) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Rng;

    #[test]
    fn a_run_of_words_is_four_sectors() {
        let mut fast = Vec::new();
        assert!(run(0x1000, 4, 32, 4, 32, &mut fast));
        assert_eq!(
            fast.iter().map(|a| (a.addr.0, a.bytes, a.lanes)).collect::<Vec<_>>(),
            [(0x1000, u32::MAX, 8), (0x1020, u32::MAX, 8), (0x1040, u32::MAX, 8), (0x1060, u32::MAX, 8)]
        );
    }

    #[test]
    fn the_fast_path_agrees_with_the_general_one() {
        let mut rng = Rng::keyed(3, &[]);
        for _ in 0..500 {
            let width = 1 << rng.below(5);
            let (base, lanes) = (rng.below(1 << 12) * width, 1 + rng.below(32));
            let mut addresses: Vec<u64> = (0..lanes).map(|i| base + i * width).collect();
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            assert!(run(base, width as i32, lanes as u32, width as u32, 32, &mut fast));
            gather(&mut addresses, width as u32, 32, &mut slow);
            assert_eq!(fast, slow);
        }
    }

    #[test]
    fn strided_accesses_agree_with_the_general_path() {
        let mut rng = Rng::keyed(5, &[]);
        for _ in 0..500 {
            let width = 1 << rng.below(5);
            let (base, lanes, step) = (rng.below(1 << 12) * width, 1 + rng.below(32), width * (1 + rng.below(40)));
            let mut addresses: Vec<u64> = (0..lanes).map(|i| base + i * step).collect();
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            assert!(ascending(base, step as i32, lanes as u32, width as u32, 32, &mut fast));
            gather(&mut addresses, width as u32, 32, &mut slow);
            assert_eq!(fast, slow);
        }
    }

    #[test]
    fn strides_that_overlap_descend_or_cross_sectors_are_gathered() {
        let mut out = Vec::new();
        for (base, stride, width, segment) in [
            (0x1000, 2, 4, 32),
            (0x1000, -8, 4, 32),
            (0x1002, 8, 4, 32),
            (0x1000, 6, 4, 32),
            (0x1000, 12, 12, 32),
            (0x1000, 8, 4, 128),
            (u64::MAX - 63, 4, 4, 32),
        ] {
            assert!(!ascending(base, stride, 32, width, segment, &mut out), "{base:#x} + {stride} * i");
        }
        assert_eq!(out, []);
    }

    #[test]
    fn every_byte_of_a_gather_is_in_exactly_one_access() {
        let mut rng = Rng::keyed(4, &[]);
        for segment in [32, 64, 128] {
            for _ in 0..200 {
                let mut addresses: Vec<u64> = (0..32).map(|_| rng.below(1 << 10)).collect();
                let mut out = Vec::new();
                gather(&mut addresses, 4, segment, &mut out);
                assert!(out.windows(2).all(|pair| pair[0].addr.0 / segment < pair[1].addr.0 / segment));
                for byte in addresses.iter().flat_map(|a| *a..*a + 4) {
                    let access = out.iter().find(|access| access.addr.0 / segment == byte / segment).unwrap();
                    assert!(access.sectors.0 & SectorMask::of(Addr(byte)).0 != 0);
                    assert!(access.bytes >> (byte % 32) & 1 != 0);
                }
            }
        }
    }

    #[test]
    fn lanes_that_cross_a_sector_touch_both() {
        let mut out = Vec::new();
        gather(&mut [0x101c], 8, 32, &mut out);
        assert_eq!(out.iter().map(|a| (a.addr.0, a.bytes, a.lanes)).collect::<Vec<_>>(), [(0x1000, 0xf000_0000, 1), (0x1020, 0xf, 0)]);
    }

    #[test]
    fn a_lane_stays_in_a_sector_that_an_earlier_lane_crossed() {
        let mut out = Vec::new();
        gather(&mut [0x101e, 0x101c], 8, 32, &mut out);
        assert_eq!(out.iter().map(|a| (a.addr.0, a.bytes, a.lanes)).collect::<Vec<_>>(), [(0x1000, 0xf000_0000, 2), (0x1020, 0x3f, 0)]);
    }

    #[test]
    fn a_line_access_names_its_sectors() {
        let mut out = Vec::new();
        gather(&mut [0x1080, 0x1004, 0x1044], 4, 128, &mut out);
        assert_eq!(out.iter().map(|a| (a.addr.0, a.sectors.0)).collect::<Vec<_>>(), [(0x1000, 0b101), (0x1080, 1)]);
    }

    #[test]
    fn atomics_on_one_address_take_as_many_accesses_as_lanes() {
        let mut out = Vec::new();
        atomic(&[0x2000; 32], 4, &mut out);
        assert_eq!(out.len(), 32);
        out.clear();
        let addresses: Vec<u64> = (0..32).map(|i| 0x2000 + 4 * (i % 8)).collect();
        atomic(&addresses, 4, &mut out);
        assert!(out.len() == 4 && out.iter().all(|access| access.lanes == 8 && access.bytes == u32::MAX));
    }
}
