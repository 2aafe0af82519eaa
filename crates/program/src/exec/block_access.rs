//! Loads and stores whose lanes access one piece of memory: bounds are checked once for all lanes.

use super::super::isa::{Inst, Number, Op, Space};
use super::access::Memories;
use super::lanes::{Lanes, RegisterRow};

/// The range of addresses that the lanes of a warp access.
struct LaneSpan {
    /// Lowest address in the accessed space.
    low: u64,
    /// Bytes from `low` to the end of the last access.
    bytes: usize,
    /// Offsets of the lanes from `low`; inactive lanes have the offset of an active lane.
    offsets: [u32; 32],
    /// Bits that are set in any address.
    bits: u64,
}

/// Returns the span of accesses of `size` bytes in the lanes of `mask`, or `None` if they are too far apart.
#[inline(always)]
fn span(places: &[u64; 32], mask: u32, size: usize) -> Option<LaneSpan> {
    let first = places[mask.trailing_zeros() as usize & 31];
    let (mut relative, mut far) = ([0_i32; 32], 0);
    for lane in 0..32 {
        let active = i64::from(mask >> lane & 1).wrapping_neg();
        let distance = places[lane].wrapping_sub(first) as i64 & active;
        relative[lane] = distance as i32;
        far |= distance ^ i64::from(distance as i32);
    }
    let (mut least, mut most, mut bits) = (0, 0, 0);
    for distance in relative {
        least = least.min(distance);
        most = most.max(distance);
        bits |= distance;
    }
    if far != 0 || least < -(1 << 29) || most > 1 << 29 {
        return None;
    }
    let mut offsets = [0; 32];
    for lane in 0..32 {
        offsets[lane] = (relative[lane] - least) as u32;
    }
    let low = first.checked_add_signed(i64::from(least))?;
    Some(LaneSpan { low, bytes: (most - least) as usize + size, offsets, bits: u64::from(bits as u32) | first })
}

/// Executes a load or store of global or shared memory if all lanes access one piece of memory; returns false without any effect for other
/// instructions or if there is a fault.
#[inline(always)]
pub(super) fn execute(
    inst: &Inst,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    places: &[u64; 32],
    memories: &mut Memories<'_>,
) -> bool {
    let (space, size, stores) = match inst.op {
        Op::Load { space, number: Number::Integer(bytes, _), words } => (space, usize::from(bytes) * usize::from(words), false),
        Op::Store { space, bytes } => (space, usize::from(bytes), true),
        _ => return false,
    };
    if mask == 0 {
        return true;
    }
    let Some(LaneSpan { low, bytes, offsets, bits }) = span(places, mask, size) else { return false };
    if bits & (size as u64 - 1) != 0 {
        return false;
    }
    let (last, _) = memories.resolve(space, low.wrapping_add(bytes as u64 - 1));
    let (space, low) = memories.resolve(space, low);
    if space == Space::Local || space != last {
        return false;
    }
    let active = || (0..32).filter(|lane| mask >> lane & 1 != 0);
    let window = match space {
        Space::Shared => usize::try_from(low).ok().and_then(|low| memories.shared.get_mut(low..low.checked_add(bytes)?)),
        _ if stores => memories.global.window_to_write(low, bytes, active().map(|lane| offsets[lane] as usize), size),
        _ => memories.global.window(low, bytes),
    };
    let Some(window) = window else { return false };
    let mut scattered = 0;
    for (lane, offset) in (0..).zip(offsets) {
        scattered |= offset ^ (lane * size as u32);
    }
    match inst.op {
        Op::Load { number: Number::Integer(4, _), words: 1, .. } => {
            let words = window.as_chunks::<4>().0;
            let mut out = [0; 32];
            if scattered == 0 && words.len() == 32 {
                for lane in 0..32 {
                    out[lane] = u32::from_le_bytes(words[lane]);
                }
            } else if words.len() == 1 {
                out = [u32::from_le_bytes(words[0]); 32];
            } else {
                for lane in 0..32 {
                    out[lane] = u32::from_le_bytes(words[offsets[lane] as usize / 4]);
                }
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::Load { number: Number::Integer(4, _), words: count, .. } => {
            let words = window.as_chunks::<4>().0;
            for word in 0..usize::from(count) {
                let mut out = [0; 32];
                for lane in 0..32 {
                    out[lane] = u32::from_le_bytes(words[offsets[lane] as usize / 4 + word]);
                }
                lanes.set(inst.dst + word as u16, mask, &out);
            }
        }
        Op::Load { number: Number::Integer(_, signed), .. } => {
            let mut out = [0; 32];
            for (out, offset) in out.iter_mut().zip(offsets) {
                let at = offset as usize;
                *out = match (size, signed) {
                    (1, false) => u32::from(window[at]),
                    (1, true) => i32::from(window[at] as i8) as u32,
                    (_, false) => u32::from(u16::from_le_bytes([window[at], window[at + 1]])),
                    (_, true) => i32::from(i16::from_le_bytes([window[at], window[at + 1]])) as u32,
                };
            }
            lanes.set(inst.dst, mask, &out);
        }
        _ if size < 4 => {
            let row = lanes.row(pool, inst.src[0].row);
            for lane in active() {
                let at = offsets[lane] as usize;
                window[at..at + size].copy_from_slice(&row[lane].to_le_bytes()[..size]);
            }
        }
        _ => {
            let words = window.as_chunks_mut::<4>().0;
            for word in 0..size / 4 {
                let row = lanes.row(pool, inst.src[0].row + word as u16);
                if scattered == 0 && mask == u32::MAX && words.len() == 32 {
                    for lane in 0..32 {
                        words[lane] = row[lane].to_le_bytes();
                    }
                } else {
                    for lane in active() {
                        words[offsets[lane] as usize / 4 + word] = row[lane].to_le_bytes();
                    }
                }
            }
        }
    }
    true
}
