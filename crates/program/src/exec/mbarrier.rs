//! Barriers that are objects in shared memory (mbarrier): arrivals, bytes that are expected, and phases.
//!
//! An object since Hopper is a [`Mbarrier`](State). Before Hopper there are no bytes: the arrivals are in the low word as 2^30 less their number,
//! those that are missing in bits 0 to 30 of the high one as 2^31 less their number, and the phase in its bit 31. A phase is complete when no
//! arrival and no byte is missing (PTX ISA, "mbarrier").

use warpshard_base::LaneMask;
use warpshard_workload::{BarrierAccess, BarrierOp, Mbarrier as State};

use super::super::isa::{Amount, Inst, Mbarrier, Op, Space};
use super::access::{self, LaneTrouble, Memories};
use super::cta::{Context, Flow, Trouble};
use super::lanes::Row;
use super::warp::{Wait, Warp};

/// Bytes have come to the object at an address.
pub(super) fn complete(memories: &mut Memories<'_>, address: u64, bytes: i64) -> Result<(), Trouble> {
    let mut barrier = State::of(memories.read(Space::Shared, address, 8, 0)?);
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
    (memories, record): (&mut Memories<'_>, bool),
) -> Result<Flow, LaneTrouble> {
    let place = warp.paths[path].place as u32;
    let mut accesses = Accesses { all: Vec::new(), record };
    let flow = apply((inst, op), warp, (number, path), mask, pool, (memories, &mut accesses))?;
    if record {
        let words: Vec<u32> = accesses.all.iter().flat_map(|access| access.words()).collect();
        warp.stream.payload(place, LaneMask(mask), &words);
    }
    Ok(flow)
}

/// What an instruction did to barriers, as the timing model reads it; lanes that did the same together.
struct Accesses {
    all: Vec<BarrierAccess>,
    record: bool,
}

impl Accesses {
    fn add(&mut self, address: u64, op: BarrierOp) {
        if !self.record {
            return;
        }
        let address = address as u32;
        let same =
            |known: &&mut BarrierAccess| known.address == address && std::mem::discriminant(&known.op) == std::mem::discriminant(&op);
        match (self.all.iter_mut().find(same).map(|known| &mut known.op), op) {
            (
                Some(BarrierOp::Arrive { arrivals, bytes, .. } | BarrierOp::AfterCopies { arrivals, bytes }),
                BarrierOp::Arrive { arrivals: more, bytes: others, .. } | BarrierOp::AfterCopies { arrivals: more, bytes: others },
            ) => {
                *arrivals += more;
                *bytes = bytes.wrapping_add(others);
            }
            (Some(_), _) => {}
            (None, op) => self.all.push(BarrierAccess { address, op }),
        }
    }
}

/// Executes it and notes what it did.
fn apply(
    (inst, op): (&Inst, Mbarrier),
    warp: &mut Warp,
    (number, path): (usize, usize),
    mask: u32,
    pool: &[Row],
    (memories, accesses): (&mut Memories<'_>, &mut Accesses),
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
                accesses.add(places[lane], BarrierOp::Write(word));
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
                let mut barrier = State::of(old);
                let count = u64::from(amount(arrivals, lane));
                if drops {
                    barrier.arrivals = barrier.arrivals.saturating_sub(count);
                }
                let bytes = i64::from(amount(bytes, lane));
                let bytes = if complete { -bytes } else { bytes };
                barrier.arrive(count, bytes);
                accesses.add(places[lane], BarrierOp::Arrive { arrivals: count as u32, bytes: bytes as i32, drops });
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
                let mut barrier = State::of(memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?);
                let (arrivals, bytes) = if bytes { (0, -1) } else { (1, 0) };
                barrier.arrive(arrivals, bytes);
                accesses.add(places[lane], BarrierOp::AfterCopies { arrivals: arrivals as u32, bytes: bytes as i32 });
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
                Some(wait @ Wait::Mbarrier(address, parity)) if waits && same && holds == 0 && mask == warp.paths[path].mask => {
                    accesses.add(address.into(), BarrierOp::Wait(parity));
                    warp.paths[path].wait = wait;
                    return Ok(Flow::Changed);
                }
                Some(_) => {
                    active().for_each(|lane| accesses.add(places[lane], BarrierOp::Look));
                    warp.lanes.set_predicate(inst.predicates[0], mask, holds);
                    warp.paths[path].place = next;
                    warp.rests = true;
                    if warp.paths.len() > 1 {
                        warp.step_back(path);
                    }
                    return Ok(Flow::Changed);
                }
                None => {
                    active().for_each(|lane| accesses.add(places[lane], BarrierOp::Wait(low[lane] >> 31 != 0)));
                    warp.lanes.set_predicate(inst.predicates[0], mask, holds);
                }
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
