//! Barriers that are objects in shared memory (mbarrier): arrivals, bytes that are expected, and phases.
//!
//! The 64 bits of an object since Hopper are those that compiled code writes and reads: the arrivals of a phase in bits 1 to 20 and those that
//! are missing in bits 43 to 62, both as 2^20 less the number; the phase in bit 63. Between them are the bytes that are missing, of which code
//! sees nothing. Before Hopper there are no bytes: the arrivals are in the low word as 2^30 less their number, those that are missing in bits 0
//! to 30 of the high one as 2^31 less their number, and the phase in its bit 31. A phase is complete when no arrival and no byte is missing
//! (PTX ISA, "mbarrier").

use super::super::isa::{Amount, Inst, Mbarrier, Op, Space};
use super::access::{self, LaneTrouble, Memories};
use super::cta::{Context, Flow, Trouble};
use super::lanes::Row;
use super::warp::{Wait, Warp};

/// Most arrivals of a phase, and one.
const ARRIVALS: u64 = 1 << 20;
/// Bits of the bytes that are missing.
const BYTES: u32 = 22;

/// An object in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    /// Arrivals of a phase.
    arrivals: u64,
    /// Arrivals that are missing.
    pub(super) missing: u64,
    /// Bytes that are missing; fewer than none where copies were faster than the thread that expects them.
    pub(super) bytes: i64,
    /// The parity of the phase.
    phase: bool,
}

impl Barrier {
    pub(super) fn of(word: u64) -> Self {
        let field = |at: u32| (ARRIVALS - (word >> at & (ARRIVALS - 1))) % ARRIVALS;
        let bytes = (word >> 21 & ((1 << BYTES) - 1)) as i64;
        let bytes = if bytes >> (BYTES - 1) != 0 { bytes - (1 << BYTES) } else { bytes };
        Self { arrivals: field(1), missing: field(43), bytes, phase: word >> 63 != 0 }
    }

    pub(super) fn word(self) -> u64 {
        let field = |number: u64| ARRIVALS.wrapping_sub(number) & (ARRIVALS - 1);
        let bytes = self.bytes as u64 & ((1 << BYTES) - 1);
        field(self.arrivals) << 1 | bytes << 21 | field(self.missing) << 43 | u64::from(self.phase) << 63
    }

    /// Arrivals and bytes come, and the phase ends if nothing is missing.
    fn arrive(&mut self, arrivals: u64, bytes: i64) {
        self.bytes += bytes;
        self.missing = self.missing.saturating_sub(arrivals);
        if self.missing == 0 && self.bytes == 0 {
            self.missing = self.arrivals;
            self.phase = !self.phase;
        }
    }
}

/// Bytes have come to the object at an address.
pub(super) fn complete(memories: &mut Memories<'_>, address: u64, bytes: i64) -> Result<(), Trouble> {
    let mut barrier = Barrier::of(memories.read(Space::Shared, address, 8, 0)?);
    barrier.arrive(0, -bytes);
    memories.write(Space::Shared, address, 8, barrier.word(), 0)
}

/// Whether the phase of a parity is complete.
fn is_complete(memories: &mut Memories<'_>, address: u64, parity: bool) -> Result<bool, Trouble> {
    Ok(memories.read(Space::Shared, address, 8, 0)? >> 63 != u64::from(parity))
}

/// Executes an instruction in the lanes of `mask`, which the warp's path is on.
pub(super) fn execute(
    (inst, op): (&Inst, Mbarrier),
    warp: &mut Warp,
    (number, path): (usize, usize),
    mask: u32,
    pool: &[Row],
    memories: &mut Memories<'_>,
) -> Result<Flow, LaneTrouble> {
    let next = warp.paths[path].place + 1;
    let places = access::addresses(&inst.address, &warp.lanes, pool).map(|address| address & 0xffff_ffff);
    let active = || (0..32).filter(|lane| mask >> lane & 1 != 0);
    let low = *warp.lanes.row(pool, inst.src[0].row);
    match op {
        Mbarrier::Write => {
            let high = *warp.lanes.row(pool, inst.src[0].row + 1);
            if let Some(lane) = active().next() {
                let word = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                memories.write(Space::Shared, places[lane], 8, word, 0).map_err(|trouble| (lane, trouble))?;
            }
        }
        Mbarrier::Invalidate => {}
        Mbarrier::Arrive { arrivals, bytes, complete, drops } => {
            let amount = |amount: Amount, lane: usize| match amount {
                Amount::None => 0,
                Amount::One => 1,
                Amount::Register => low[lane],
            };
            for lane in active() {
                let at = |trouble| (lane, trouble);
                let old = memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?;
                let mut barrier = Barrier::of(old);
                let count = u64::from(amount(arrivals, lane));
                if drops {
                    barrier.arrivals = barrier.arrivals.saturating_sub(count);
                }
                let bytes = i64::from(amount(bytes, lane));
                barrier.arrive(count, if complete { -bytes } else { bytes });
                memories.write(Space::Shared, places[lane], 8, barrier.word(), 0).map_err(at)?;
                warp.lanes.put(inst.dst, lane, old as u32);
                warp.lanes.put(inst.dst + 1, lane, (old >> 32) as u32);
            }
            note(memories, &places, mask, number, true);
        }
        Mbarrier::Copies { bytes } => {
            memories.copies.close(32 * number);
            memories.copies.wait(32 * number, 0, &mut memories.shared);
            for lane in active() {
                let at = |trouble| (lane, trouble);
                let mut barrier = Barrier::of(memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?);
                if bytes {
                    barrier.arrive(0, -1)
                } else {
                    barrier.arrive(1, 0)
                }
                memories.write(Space::Shared, places[lane], 8, barrier.word(), 0).map_err(at)?;
            }
            note(memories, &places, mask, number, true);
        }
        Mbarrier::Arrive80 { copies } => {
            if copies {
                memories.copies.close(32 * number);
                memories.copies.wait(32 * number, 0, &mut memories.shared);
            }
            for lane in active() {
                let at = |trouble| (lane, trouble);
                let old = memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?;
                let (low, mut high) = (old as u32, (old >> 32) as u32);
                let phase = high >> 31;
                high = high.wrapping_add(1);
                if high >> 31 != phase {
                    // 2^31 less the arrivals, of which the low word has 2^30 less them.
                    high = high & 0x8000_0000 | 0x4000_0000_u32.wrapping_add(low) & 0x7fff_ffff;
                }
                memories.write(Space::Shared, places[lane], 8, u64::from(low) | u64::from(high) << 32, 0).map_err(at)?;
                if !copies {
                    warp.lanes.put(inst.dst, lane, old as u32);
                    warp.lanes.put(inst.dst + 1, lane, (old >> 32) as u32);
                }
            }
            note(memories, &places, mask, number, true);
        }
        Mbarrier::Check { waits } => {
            let (mut holds, mut missing) = (0, None);
            let mut same = true;
            for lane in active() {
                let parity = low[lane] >> 31 != 0;
                if is_complete(memories, places[lane], parity).map_err(|trouble| (lane, trouble))? {
                    holds |= 1 << lane;
                } else {
                    let wait = Wait::Mbarrier(places[lane] as u32, parity);
                    same &= missing.is_none_or(|other| other == wait);
                    missing = Some(wait);
                }
            }
            note(memories, &places, holds, number, false);
            match missing {
                // All lanes wait for one phase.
                Some(wait) if waits && same && holds == 0 && mask == warp.paths[path].mask => {
                    warp.paths[path].wait = wait;
                    return Ok(Flow::Changed);
                }
                Some(_) => {
                    warp.lanes.set_predicate(inst.predicates[0], mask, holds);
                    warp.paths[path].place = next;
                    warp.rests = true;
                    if warp.paths.len() > 1 {
                        warp.step_back(path);
                    }
                    return Ok(Flow::Changed);
                }
                None => warp.lanes.set_predicate(inst.predicates[0], mask, holds),
            }
        }
    }
    Ok(Flow::Next(next))
}

/// Tells the checks of shared memory which warp arrives, or learns that a phase is complete.
fn note(memories: &mut Memories<'_>, places: &[u64; 32], mask: u32, warp: usize, arrives: bool) {
    if let Some(shadow) = &mut memories.shadow {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            shadow.meet(places[lane] as u32, warp, arrives);
        }
    }
}

/// Lets the paths of a warp go on that wait for a phase which is complete; whether any did. `Err` names the path's place and its trouble.
pub(super) fn release(
    warp: &mut Warp,
    number: usize,
    context: &Context<'_>,
    memories: &mut Memories<'_>,
) -> Result<bool, (usize, Trouble)> {
    let mut any = false;
    while let Some((wait, address)) = next_complete(warp, memories)? {
        for path in warp.paths.iter().filter(|path| path.wait == wait) {
            if let Op::Mbarrier(_) = context.kernel.decoded.code[path.place].op {
                let index = context.kernel.decoded.code[path.place].predicates[0];
                warp.lanes.set_predicate(index, path.mask, u32::MAX);
            }
        }
        note(memories, &[u64::from(address); 32], 1, number, false);
        warp.resume(wait);
        any = true;
    }
    Ok(any)
}

/// The next wait of a warp for a phase that is complete.
fn next_complete(warp: &Warp, memories: &mut Memories<'_>) -> Result<Option<(Wait, u32)>, (usize, Trouble)> {
    for path in &warp.paths {
        if let Wait::Mbarrier(address, parity) = path.wait
            && is_complete(memories, u64::from(address), parity).map_err(|trouble| (path.place, trouble))?
        {
            return Ok(Some((path.wait, address)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_neither_arrivals_nor_bytes_are_missing() {
        // As compiled code initialises an object for two arrivals.
        let count = 0x10_0000_u64 - 2;
        let mut barrier = Barrier::of((count << 1 & 0xffff_ffff) | (count << 11 & 0xffff_ffff) << 32);
        assert_eq!(barrier, Barrier { arrivals: 2, missing: 2, bytes: 0, phase: false });
        barrier.bytes += 4096;
        barrier.arrive(1, 0);
        barrier.arrive(1, -4000);
        assert_eq!(Barrier::of(barrier.word()), Barrier { arrivals: 2, missing: 0, bytes: 96, phase: false });
        barrier.arrive(0, -96);
        assert_eq!(barrier, Barrier { arrivals: 2, missing: 2, bytes: 0, phase: true });
        // Bytes that come before they are expected.
        barrier.bytes -= 64;
        assert_eq!(Barrier::of(barrier.word()), barrier);
    }
}
