//! Memory footprints of bulk copies, in the form in which the timing model reads them from a stream.

use warpshard_workload::{BulkCopy, BulkKind, Pieces};

use super::super::isa::{Banks, Bulk, Inst};
use super::super::tensor_map::{MAX_RANK, TensorMap};
use super::access::Memories;
use super::bulk::{COPY_UNIT_BYTES, tensor};
use super::cta::ExecFault;
use super::lanes::{Lanes, RegisterRow};

/// Returns the encoded footprint of a bulk copy; prefetches have an empty one.
pub(super) fn of(
    inst: &Inst,
    op: Bulk,
    lanes: &Lanes,
    pool: &[RegisterRow],
    (memories, banks): (&mut Memories<'_>, &Banks),
) -> Result<BulkCopy, ExecFault> {
    let word = |source: usize, offset: u16| lanes.row(pool, inst.src[source].row + offset)[0];
    let wide = |source: usize| u64::from(word(source, 0)) | u64::from(word(source, 1)) << 32;
    let size = || COPY_UNIT_BYTES as u32 * (word(2, 0) & 0xffff);
    let ctas = |multicast: bool| if multicast { (word(2, 0) >> 16) as u16 } else { 0 };
    let one = |address: u64| vec![Pieces { address, bytes: size(), count: 1, stride: 0 }];
    let linear = |kind, pieces| BulkCopy { kind, bytes: size(), barrier: None, ctas: 0, map: 0, pieces };
    Ok(match op {
        Bulk::Prefetch => BulkCopy { kind: BulkKind::Prefetch, bytes: 0, barrier: None, ctas: 0, map: 0, pieces: Vec::new() },
        Bulk::LoadTensor { rank, multicast } => {
            let map = tensor(wide(1), rank, memories, banks)?;
            let pieces = box_pieces(&map, |place| word(0, 2 + place as u16) as i32);
            BulkCopy {
                kind: BulkKind::Load,
                bytes: box_bytes(&map),
                barrier: Some(word(0, 1)),
                ctas: ctas(multicast),
                map: wide(1),
                pieces,
            }
        }
        Bulk::StoreTensor { rank } | Bulk::ReduceTensor { rank, .. } => {
            let kind = if matches!(op, Bulk::StoreTensor { .. }) { BulkKind::Store } else { BulkKind::Reduce };
            let map = tensor(wide(1), rank, memories, banks)?;
            let pieces = box_pieces(&map, |place| word(0, 1 + place as u16) as i32);
            BulkCopy { kind, bytes: box_bytes(&map), barrier: None, ctas: 0, map: wide(1), pieces }
        }
        Bulk::Load { multicast } => BulkCopy { barrier: Some(word(0, 1)), ctas: ctas(multicast), ..linear(BulkKind::Load, one(wide(1))) },
        Bulk::Store => linear(BulkKind::Store, one(wide(0))),
        Bulk::Move => BulkCopy { barrier: Some(word(0, 1)), ..linear(BulkKind::Move, Vec::new()) },
        Bulk::Reduce { .. } => linear(BulkKind::Reduce, one(wide(0))),
    })
}

/// Returns the number of bytes of a box.
fn box_bytes(map: &TensorMap) -> u32 {
    (map.counts().iter().product::<u64>() * map.size()) as u32
}

/// Returns the device memory of a box: the parts of its rows inside the tensor, with equally spaced rows combined.
fn box_pieces(map: &TensorMap, corner: impl Fn(usize) -> i32) -> Vec<Pieces> {
    let (counts, size) = (map.counts(), map.size());
    // Elements of a row inside the tensor; with a step above 1 the range also contains the skipped elements.
    let step = i64::from(map.steps[0]);
    let begin = i64::from(corner(0)).max(0);
    let end = (i64::from(corner(0)) + (counts[0] as i64 - 1) * step + 1).min(map.sizes[0] as i64);
    let mut all: Vec<Pieces> = Vec::new();
    if begin >= end {
        return all;
    }
    let row = ((end - begin) as u64 * size) as u32;
    let mut at = [0_u64; MAX_RANK];
    for _ in 0..counts[1..].iter().product::<u64>() {
        let mut address = Some(map.address.wrapping_add(begin as u64 * size));
        for (place, at) in at.iter().enumerate().take(map.rank).skip(1) {
            let index = i64::from(corner(place)) + (at * u64::from(map.steps[place])) as i64;
            let inside = index >= 0 && (index as u64) < map.sizes[place];
            address = address.filter(|_| inside).map(|address| address.wrapping_add(index as u64 * map.strides[place - 1]));
        }
        if let Some(address) = address {
            add_piece(&mut all, address, row);
        }
        for place in 1..MAX_RANK {
            at[place] += 1;
            if at[place] < counts[place] {
                break;
            }
            at[place] = 0;
        }
    }
    all
}

/// Adds a row and combines it with the previous rows if possible.
fn add_piece(all: &mut Vec<Pieces>, address: u64, row: u32) {
    let single = Pieces { address, bytes: row, count: 1, stride: 0 };
    let Some(last) = all.last_mut() else { return all.push(single) };
    let next = last.address.wrapping_add(last.stride.wrapping_mul(u64::from(last.count)));
    match last.count {
        // The row directly follows the previous piece.
        1 if last.address + u64::from(last.bytes) == address => last.bytes += row,
        1 if last.bytes == row && address > last.address => (last.count, last.stride) = (2, address - last.address),
        2.. if last.bytes == row && next == address => last.count += 1,
        _ => all.push(single),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(sizes: &[u64], strides: &[u64], extents: &[u32]) -> TensorMap {
        let mut map = TensorMap {
            address: 0x1000,
            rank: sizes.len(),
            kind: 9,
            sizes: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            extents: [1; MAX_RANK],
            steps: [1; MAX_RANK],
            swizzle: 128,
            interleave: 0,
            fills_nan: false,
        };
        map.sizes[..sizes.len()].copy_from_slice(sizes);
        map.strides[..strides.len()].copy_from_slice(strides);
        map.extents[..extents.len()].copy_from_slice(extents);
        map
    }

    #[test]
    fn rows_of_a_box_are_pieces_at_equal_distances() {
        let matrix = map(&[256, 100], &[512], &[64, 16]);
        let at = |x: i32, y: i32| box_pieces(&matrix, |place| [x, y][place]);
        assert_eq!(at(64, 8), [Pieces { address: 0x1000 + 8 * 512 + 128, bytes: 128, count: 16, stride: 512 }]);
        assert_eq!(at(224, -14), [Pieces { address: 0x1000 + 448, bytes: 64, count: 2, stride: 512 }], "what lies outside is not read");
        assert_eq!(at(0, 100), []);
        assert_eq!(box_bytes(&matrix), 2048);
        let whole = map(&[64, 100], &[128], &[64, 16]);
        assert_eq!(box_pieces(&whole, |place| [0, 4][place]), [Pieces { address: 0x1200, bytes: 2048, count: 1, stride: 0 }]);
        let three = map(&[64, 4, 3], &[256, 4096], &[64, 4, 2]);
        let rows = box_pieces(&three, |place| [0, 0, 1][place]);
        assert_eq!(rows.iter().map(|piece| (piece.address, piece.count)).collect::<Vec<_>>(), [(0x2000, 4), (0x3000, 4)]);
    }
}
