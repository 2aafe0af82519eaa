//! Barrier objects in shared memory (mbarrier) with arrivals, expected bytes and phases.
//!
//! Since Hopper an object is a [`Mbarrier`](State). Before Hopper there are no bytes: the low word is 2^30 less the number of arrivals,
//! bits 0 to 30 of the high word are 2^31 less the number of missing arrivals, and bit 31 of the high word is the phase. A phase is
//! complete if neither arrivals nor bytes are missing (PTX ISA, "mbarrier").

use warpshard_base::LaneMask;
use warpshard_workload::{BarrierAccess, BarrierOp, Mbarrier as State};

use super::super::isa::{Amount, Inst, Mbarrier, Op, Space};
use super::access::{self, LaneFault, Memories};
use super::cta::{Context, ExecFault, Flow};
use super::lanes::RegisterRow;
use super::warp::{PathWait, Warp};

/// Counts bytes that have arrived for the object at an address.
pub(super) fn complete(memories: &mut Memories<'_>, address: u64, bytes: i64) -> Result<(), ExecFault> {
    let mut barrier = State::of(memories.read(Space::Shared, address, 8, 0)?);
    barrier.arrive(0, -bytes);
    memories.write(Space::Shared, address, 8, barrier.word(), 0)
}

/// Returns true if the phase with parity `parity` is complete.
fn is_complete(memories: &mut Memories<'_>, address: u64, parity: bool) -> Result<bool, ExecFault> {
    Ok(memories.read(Space::Shared, address, 8, 0)? >> 63 != u64::from(parity))
}

/// Executes a barrier instruction in the lanes of `mask`, which are on the path `path` of the warp.
pub(super) fn execute(
    (inst, op): (&Inst, Mbarrier),
    warp: &mut Warp,
    (number, path): (usize, usize),
    mask: u32,
    pool: &[RegisterRow],
    (memories, record): (&mut Memories<'_>, bool),
) -> Result<Flow, LaneFault> {
    let place = warp.paths[path].place as u32;
    let mut accesses = BarrierAccesses { entries: Vec::new(), record };
    let flow = apply((inst, op), warp, (number, path), mask, pool, (memories, &mut accesses))?;
    if record {
        let words: Vec<u32> = accesses.entries.iter().flat_map(|access| access.words()).collect();
        warp.stream.payload(place, LaneMask(mask), &words);
    }
    Ok(flow)
}

/// The effects of an instruction on barriers, in the form that the timing model reads; equal effects of several lanes are combined.
struct BarrierAccesses {
    entries: Vec<BarrierAccess>,
    record: bool,
}

impl BarrierAccesses {
    fn add(&mut self, address: u64, op: BarrierOp) {
        if !self.record {
            return;
        }
        let address = address as u32;
        let same =
            |known: &&mut BarrierAccess| known.address == address && std::mem::discriminant(&known.op) == std::mem::discriminant(&op);
        match (self.entries.iter_mut().find(same).map(|known| &mut known.op), op) {
            (
                Some(BarrierOp::Arrive { arrivals, bytes, .. } | BarrierOp::AfterCopies { arrivals, bytes }),
                BarrierOp::Arrive { arrivals: more, bytes: others, .. } | BarrierOp::AfterCopies { arrivals: more, bytes: others },
            ) => {
                *arrivals += more;
                *bytes = bytes.wrapping_add(others);
            }
            (Some(_), _) => {}
            (None, op) => self.entries.push(BarrierAccess { address, op }),
        }
    }
}

/// Executes a barrier instruction and records its effects.
fn apply(
    (inst, op): (&Inst, Mbarrier),
    warp: &mut Warp,
    (number, path): (usize, usize),
    mask: u32,
    pool: &[RegisterRow],
    (memories, accesses): (&mut Memories<'_>, &mut BarrierAccesses),
) -> Result<Flow, LaneFault> {
    let next = warp.paths[path].place + 1;
    let places = access::addresses(&inst.address, &warp.lanes, pool).map(|address| address & 0xffff_ffff);
    let active = || (0..32).filter(|lane| mask >> lane & 1 != 0);
    let low = *warp.lanes.row(pool, inst.src[0].row);
    match op {
        Mbarrier::Write => {
            let high = *warp.lanes.row(pool, inst.src[0].row + 1);
            if let Some(lane) = active().next() {
                let word = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                memories.write(Space::Shared, places[lane], 8, word, 0).map_err(|fault| (lane, fault))?;
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
                let at = |fault| (lane, fault);
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
                warp.lanes.set_lane(inst.dst, lane, old as u32);
                warp.lanes.set_lane(inst.dst + 1, lane, (old >> 32) as u32);
            }
            notify_checker(memories, &places, mask, number, true);
        }
        Mbarrier::Copies { bytes } => {
            memories.copies.close(32 * number);
            memories.copies.wait(32 * number, 0, &mut memories.shared);
            for lane in active() {
                let at = |fault| (lane, fault);
                let mut barrier = State::of(memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?);
                let (arrivals, bytes) = if bytes { (0, -1) } else { (1, 0) };
                barrier.arrive(arrivals, bytes);
                accesses.add(places[lane], BarrierOp::AfterCopies { arrivals: arrivals as u32, bytes: bytes as i32 });
                memories.write(Space::Shared, places[lane], 8, barrier.word(), 0).map_err(at)?;
            }
            notify_checker(memories, &places, mask, number, true);
        }
        Mbarrier::Arrive80 { copies } => {
            if copies {
                memories.copies.close(32 * number);
                memories.copies.wait(32 * number, 0, &mut memories.shared);
            }
            for lane in active() {
                let at = |fault| (lane, fault);
                let old = memories.read(Space::Shared, places[lane], 8, 0).map_err(at)?;
                let (low, mut high) = (old as u32, (old >> 32) as u32);
                let phase = high >> 31;
                high = high.wrapping_add(1);
                if high >> 31 != phase {
                    // Restarts the count at 2^31 less the number of arrivals; the low word holds 2^30 less this number.
                    high = high & 0x8000_0000 | 0x4000_0000_u32.wrapping_add(low) & 0x7fff_ffff;
                }
                memories.write(Space::Shared, places[lane], 8, u64::from(low) | u64::from(high) << 32, 0).map_err(at)?;
                if !copies {
                    warp.lanes.set_lane(inst.dst, lane, old as u32);
                    warp.lanes.set_lane(inst.dst + 1, lane, (old >> 32) as u32);
                }
            }
            notify_checker(memories, &places, mask, number, true);
        }
        Mbarrier::Check { waits } => {
            let (mut holds, mut missing) = (0, None);
            let mut same = true;
            for lane in active() {
                let parity = low[lane] >> 31 != 0;
                if is_complete(memories, places[lane], parity).map_err(|fault| (lane, fault))? {
                    holds |= 1 << lane;
                } else {
                    let wait = PathWait::Mbarrier(places[lane] as u32, parity);
                    same &= missing.is_none_or(|other| other == wait);
                    missing = Some(wait);
                }
            }
            notify_checker(memories, &places, holds, number, false);
            match missing {
                // All lanes wait for the same phase.
                Some(wait @ PathWait::Mbarrier(address, parity)) if waits && same && holds == 0 && mask == warp.paths[path].mask => {
                    accesses.add(address.into(), BarrierOp::Wait(parity));
                    warp.paths[path].wait = wait;
                    return Ok(Flow::Changed);
                }
                Some(_) => {
                    active().for_each(|lane| accesses.add(places[lane], BarrierOp::Look));
                    warp.lanes.set_predicate(inst.predicates[0], mask, holds);
                    warp.paths[path].place = next;
                    warp.polling = true;
                    if warp.paths.len() > 1 {
                        warp.yield_turn(path);
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

/// Notifies the checker of shared memory of a warp's arrival at a barrier, or of a completed phase that the warp observes.
fn notify_checker(memories: &mut Memories<'_>, places: &[u64; 32], mask: u32, warp: usize, arrives: bool) {
    if let Some(shadow) = &mut memories.shadow {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            shadow.observe_barrier(places[lane] as u32, warp, arrives);
        }
    }
}

/// Releases paths of a warp that wait for a completed phase; returns true if any path was released. The error contains the instruction
/// index of the path and its fault.
pub(super) fn release(
    warp: &mut Warp,
    number: usize,
    context: &Context<'_>,
    memories: &mut Memories<'_>,
) -> Result<bool, (usize, ExecFault)> {
    let mut any = false;
    while let Some((wait, address)) = next_complete(warp, memories)? {
        for path in warp.paths.iter().filter(|path| path.wait == wait) {
            if let Op::Mbarrier(_) = context.kernel.decoded.code[path.place].op {
                let index = context.kernel.decoded.code[path.place].predicates[0];
                warp.lanes.set_predicate(index, path.mask, u32::MAX);
            }
        }
        notify_checker(memories, &[u64::from(address); 32], 1, number, false);
        warp.resume(wait);
        any = true;
    }
    Ok(any)
}

/// Returns the next wait of a warp whose phase is complete.
fn next_complete(warp: &Warp, memories: &mut Memories<'_>) -> Result<Option<(PathWait, u32)>, (usize, ExecFault)> {
    for path in &warp.paths {
        if let PathWait::Mbarrier(address, parity) = path.wait
            && is_complete(memories, u64::from(address), parity).map_err(|fault| (path.place, fault))?
        {
            return Ok(Some((path.wait, address)));
        }
    }
    Ok(None)
}
