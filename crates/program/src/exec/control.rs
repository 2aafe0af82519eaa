//! Branches, calls, convergence and barriers.

use super::super::isa::{BARRIERS, Barrier, Inst, Op};
use super::access::Memories;
use super::cta::{BarrierState, Context, ExecFault, Flow};
use super::lanes::RegisterRow;
use super::warp::{PathWait, Warp};

/// Executes a control-flow instruction of the path `path` of `warp` in the lanes of `mask`.
pub(super) fn execute(
    inst: &Inst,
    warp: &mut Warp,
    path: usize,
    mask: u32,
    pool: &[RegisterRow],
    context: &mut Context<'_>,
) -> Result<Flow, ExecFault> {
    let place = warp.paths[path].place;
    let active = warp.paths[path].mask;
    let next = place + 1;
    let target = inst.immediate as usize / 16;
    let barrier = inst.address.bank;
    match inst.op {
        Op::Branch => return Ok(branch(warp, path, mask & warp.lanes.predicate(inst.conditions[0]), target)),
        Op::Call => return Ok(branch(warp, path, mask, target)),
        Op::BranchDiverged { together } => {
            let mut buffer = [0; 32];
            let named = warp.lanes.int(pool, &inst.src[0], &mut buffer)[0];
            let whole = if named == 0 { warp.live } else { named };
            // The guard selects the lanes that count; all lanes of the path take the same direction.
            return Ok(if (mask == whole) == together { branch(warp, path, active, target) } else { Flow::Next(next) });
        }
        Op::BranchAny => {
            let taken = mask & warp.lanes.predicate(inst.conditions[0]) != 0;
            return Ok(if taken { branch(warp, path, active, target) } else { Flow::Next(next) });
        }
        Op::Elect => {
            let leader = mask & mask.wrapping_neg();
            warp.lanes.set_predicate(inst.predicates[0], mask, leader);
            let all = if warp.lanes.is_uniform(inst.dst) { u32::MAX } else { mask };
            warp.lanes.set(inst.dst, all, &[leader.trailing_zeros() & 31; 32]);
        }
        Op::RequestRegisters => warp.lanes.set_predicate(inst.predicates[0], u32::MAX, u32::MAX),
        Op::BranchIndirect | Op::JumpTo => {
            let base = match inst.op {
                Op::JumpTo => i64::from(inst.immediate),
                _ => 16 * (place as i64 + 1) + i64::from(inst.immediate as i32),
            };
            return indirect(inst, warp, path, mask, pool, base);
        }
        Op::SetSync => warp.sync[usize::from(barrier)] = mask,
        // All lanes of the barrier have arrived.
        Op::Sync
            if warp.paths.len() == 1
                && warp.sync[usize::from(barrier)] & active != 0
                && mask & warp.lanes.predicate(inst.conditions[0]) != 0
                && warp.sync[usize::from(barrier)] & warp.live & !active == 0 =>
        {
            warp.sync[usize::from(barrier)] = 0;
        }
        Op::Sync if warp.sync[usize::from(barrier)] & active != 0 && mask & warp.lanes.predicate(inst.conditions[0]) != 0 => {
            warp.paths[path].wait = PathWait::Sync(barrier);
            warp.release();
            return Ok(Flow::Changed);
        }
        Op::Break => {
            warp.sync[usize::from(barrier)] &= !(mask & warp.lanes.predicate(inst.conditions[0]));
            return Ok(flow_after_change(warp, path, next));
        }
        Op::BarrierToRegister { clear } => {
            let value = warp.sync[usize::from(barrier)];
            warp.lanes.set(inst.dst, mask, &[value; 32]);
            if clear && mask != 0 {
                warp.sync[usize::from(barrier)] = 0;
            }
        }
        Op::RegisterToBarrier if mask != 0 => {
            warp.sync[usize::from(barrier)] = warp.lanes.row(pool, inst.src[0].row)[mask.trailing_zeros() as usize];
        }
        Op::WarpSync { exclusive } if mask != 0 => {
            let named = *warp.lanes.row(pool, inst.src[0].row);
            return Ok(warp_sync(warp, path, mask, &named, exclusive));
        }
        Op::WarpSyncAll if mask != 0 => return Ok(warp_sync(warp, path, mask, &[u32::MAX; 32], false)),
        Op::Exit => {
            let gone = mask & warp.lanes.predicate(inst.conditions[0]);
            if gone == 0 {
                return Ok(Flow::Next(next));
            }
            warp.live &= !gone;
            warp.paths[path].mask &= !gone;
            if warp.paths[path].mask == 0 {
                warp.paths.swap_remove(path);
            } else {
                warp.paths[path].place = next;
            }
            warp.release();
            return Ok(Flow::Changed);
        }
        Op::Barrier(kind) if mask != 0 => return arrive(inst, warp, path, mask, pool, context, kind),
        Op::BarrierResult => {
            let value = warp.barrier_result;
            warp.lanes.set(inst.dst, mask, &[value; 32]);
            warp.lanes.set_predicate(inst.predicates[0], mask, if value != 0 { u32::MAX } else { 0 });
        }
        Op::Yield if warp.paths.len() > 1 => {
            warp.paths[path].place = next;
            warp.handle_yield(path);
            warp.polling = context.kernel.polls;
            return Ok(Flow::Changed);
        }
        // A single path waits for other warps, or in a cooperative launch for other CTAs.
        Op::Yield if mask != 0 && (inst.immediate != 0 || context.kernel.polls) => {
            warp.paths[path].place = next;
            warp.polling = true;
            return Ok(Flow::Changed);
        }
        Op::Trap if mask != 0 => return Err(ExecFault::Trap),
        _ => {}
    }
    Ok(Flow::Next(next))
}

/// Continues at `next` after a change that may have released other paths.
fn flow_after_change(warp: &mut Warp, path: usize, next: usize) -> Flow {
    if warp.paths.len() == 1 {
        return Flow::Next(next);
    }
    warp.paths[path].place = next;
    warp.release();
    Flow::Changed
}

/// Makes lanes wait for the lanes that their masks name. If `exclusive`, lanes with different masks continue on separate paths; otherwise
/// only lanes with missing partners wait.
fn warp_sync(warp: &mut Warp, path: usize, mask: u32, named: &RegisterRow, exclusive: bool) -> Flow {
    let (place, active) = (warp.paths[path].place, warp.paths[path].mask);
    let with = |lanes: u32, wanted: u32| {
        (0..32).filter(|&lane| lanes >> lane & 1 != 0 && named[lane] == wanted).fold(0, |bits, lane| bits | 1 << lane)
    };
    let first = named[mask.trailing_zeros() as usize];
    let missing = |lane: &usize| mask >> lane & 1 != 0 && named[*lane] & warp.live & !active != 0;
    let apart = with(mask, first) != mask && exclusive;
    if !apart && (0..32).all(|lane| !missing(&lane)) {
        return Flow::Next(place + 1);
    }
    let mut left = if exclusive { mask } else { (0..32).filter(missing).fold(0, |bits, lane| bits | 1 << lane) };
    if active & !left != 0 {
        warp.split(path, active & !left, place + 1);
    }
    // The path itself waits with the last group; the other groups are split off.
    while left != 0 {
        let wanted = named[left.trailing_zeros() as usize];
        let group = with(left, wanted);
        left &= !group;
        if left == 0 {
            warp.paths[path].wait = PathWait::Warp(wanted);
        } else {
            warp.split(path, group, place);
            if let Some(path) = warp.paths.last_mut() {
                path.wait = PathWait::Warp(wanted);
            }
        }
    }
    warp.release();
    Flow::Changed
}

fn branch(warp: &mut Warp, path: usize, taken: u32, target: usize) -> Flow {
    let (place, active) = (warp.paths[path].place, warp.paths[path].mask);
    if taken == 0 {
        Flow::Next(place + 1)
    } else if taken == active {
        if warp.paths.len() == 1 {
            return Flow::Next(target);
        }
        warp.paths[path].place = target;
        Flow::Changed
    } else {
        warp.paths[path].place = place + 1;
        warp.split(path, taken, target);
        Flow::Changed
    }
}

/// Executes a jump to a target in a register.
fn indirect(inst: &Inst, warp: &mut Warp, path: usize, mask: u32, pool: &[RegisterRow], base: i64) -> Result<Flow, ExecFault> {
    let values = *warp.lanes.row(pool, inst.src[0].row);
    let place = warp.paths[path].place;
    let target = |lane: u32| {
        let target = base + i64::from(values[lane as usize] as i32);
        if target >= 0 && target % 16 == 0 { Ok(target as usize / 16) } else { Err(ExecFault::NoInstruction) }
    };
    let mut left = mask;
    let stay = warp.paths[path].mask & !mask;
    while left != 0 {
        let goal = target(left.trailing_zeros())?;
        let mut same = 0;
        for lane in (0..32).filter(|lane| left >> lane & 1 != 0) {
            if target(lane)? == goal {
                same |= 1 << lane;
            }
        }
        left &= !same;
        if left == 0 && stay == 0 {
            // The last group of lanes keeps the path.
            warp.paths[path].place = goal;
            return Ok(if warp.paths.len() == 1 { Flow::Next(goal) } else { Flow::Changed });
        }
        warp.split(path, same, goal);
    }
    warp.paths[path].place = place + 1;
    Ok(Flow::Changed)
}

fn arrive(
    inst: &Inst,
    warp: &mut Warp,
    path: usize,
    mask: u32,
    pool: &[RegisterRow],
    context: &mut Context<'_>,
    kind: Barrier,
) -> Result<Flow, ExecFault> {
    let first = mask.trailing_zeros() as usize;
    let value = |source: usize| warp.lanes.row(pool, inst.src[source].row)[first];
    let (number, threads) = (value(0), value(1));
    if number >= u32::from(BARRIERS) || !threads.is_multiple_of(32) {
        return Err(ExecFault::NoBarrier { number, threads });
    }
    let number = number as u8;
    let state = &mut context.barriers[usize::from(number)];
    state.expected = threads;
    state.kind = Some(kind);
    let place = warp.paths[path].place;
    if kind == Barrier::Arrive {
        // All threads of a warp arrive together.
        state.arrived += 32;
        return Ok(Flow::Next(place + 1));
    }
    state.holds += (mask & warp.lanes.predicate(inst.conditions[0])).count_ones();
    state.reported += mask.count_ones();
    let rest = warp.paths[path].mask & !mask;
    if rest != 0 {
        warp.split(path, rest, place + 1);
    }
    warp.paths[path].wait = PathWait::Barrier(number);
    Ok(Flow::Changed)
}

/// Releases the threads of complete barriers; returns true if any thread was released.
pub(super) fn release_barriers(warps: &mut [Warp], context: &mut Context<'_>, memories: &mut Memories<'_>) -> bool {
    let mut any = false;
    for number in 0..16_u8 {
        let wait = PathWait::Barrier(number);
        let waiting = |warp: &Warp| warp.paths.iter().filter(|path| path.wait == wait).fold(0, |mask, path| mask | path.mask);
        let state = context.barriers[usize::from(number)];
        if state.kind.is_none() {
            continue;
        }
        let mut arrived = state.arrived;
        let mut expected = 0;
        for warp in warps.iter() {
            let lanes = waiting(warp);
            // If the barrier has a thread count, an arriving warp counts with all its threads.
            arrived += if state.expected == 0 || lanes == 0 { lanes.count_ones() } else { 32 };
            expected += warp.live.count_ones();
        }
        if state.expected != 0 {
            expected = state.expected.next_multiple_of(32);
        }
        let some = warps.iter().any(|warp| waiting(warp) != 0);
        if !some || arrived < expected {
            continue;
        }
        let all = |holds: bool| if holds { u32::MAX } else { 0 };
        let result = match state.kind {
            Some(Barrier::Count) => state.holds,
            Some(Barrier::And) => all(state.holds == state.reported),
            Some(Barrier::Or) => all(state.holds != 0),
            _ => 0,
        };
        let reduces = matches!(state.kind, Some(Barrier::Count | Barrier::And | Barrier::Or));
        if let Some(shadow) = &mut memories.shadow {
            let released: Vec<usize> = (0..warps.len()).filter(|&number| waiting(&warps[number]) != 0).collect();
            shadow.release(usize::from(number), released.iter().copied());
        }
        for warp in warps.iter_mut().filter(|warp| waiting(warp) != 0) {
            warp.resume(wait);
            if reduces {
                warp.barrier_result = result;
            }
        }
        context.barriers[usize::from(number)] = BarrierState::default();
        any = true;
    }
    any
}
