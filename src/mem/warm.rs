//! Warming of the slices of a partition by copies from the host.
//!
//! In the reference (`gpgpu_sim::perf_memcpy_to_gpu`) a copy enters its sectors, in ascending order, into the tags of their
//! slices in zero time. It stores their addresses in 32 bits, so that data above 4 GiB never hits; hardware has no such
//! limit. Warming takes no time and counts nothing.

use crate::base::{Addr, Cycle, LINE_BYTES, SECTOR_BYTES, SectorMask};
use crate::config::machine::MemcpyWarms;
use crate::protocol::{AddressMap, NearSlices, Warm};

use super::slice_port::SlicePort;

/// Puts what `copy` leaves in the slices of `slice_ports`, those of one partition in their order, there at `now`.
pub(super) fn warm(slice_ports: &mut [SlicePort], map: &AddressMap, copy: Warm, how: MemcpyWarms, now: Cycle) {
    if copy.bytes == 0 || slice_ports.is_empty() {
        return;
    }
    let first = copy.addr.0 / SECTOR_BYTES;
    let count = match how {
        MemcpyWarms::Off => return,
        // The reference steps by sectors from the first byte, so that it may miss the last sector of an unaligned copy.
        MemcpyWarms::Low32 => copy.bytes.div_ceil(SECTOR_BYTES),
        MemcpyWarms::Full => (copy.addr.0.saturating_add(copy.bytes - 1)) / SECTOR_BYTES - first + 1,
    };
    let own = usize::from(slice_ports[0].slice.id().0);
    let together = (1u64 << map.slice_bit()).max(SECTOR_BYTES);
    let end = first.saturating_add(count);
    let mut owners = NearSlices::new(map.clone());
    let mut sector = first;
    while sector < end {
        let full = sector.wrapping_mul(SECTOR_BYTES);
        let addr = if how == MemcpyWarms::Low32 { Addr(full & u64::from(u32::MAX)) } else { Addr(full) };
        let Some(side) = slice_ports.get_mut(usize::from(owners.slice_of(addr).0).wrapping_sub(own)) else {
            sector += owners.bytes_to(addr, own as u16..(own + slice_ports.len()) as u16) / SECTOR_BYTES;
            continue;
        };
        // The sectors of one line go into it together.
        let unit = together.min(LINE_BYTES);
        let last = (sector + (unit - addr.0 % unit) / SECTOR_BYTES).min(end);
        let index = addr.0 % LINE_BYTES / SECTOR_BYTES;
        let sectors = SectorMask((((1u32 << (last - sector)) - 1) << index) as u8);
        side.slice.warm(addr, map.within_slice(addr), sectors, now);
        sector = last;
    }
}
