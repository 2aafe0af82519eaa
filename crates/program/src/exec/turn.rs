//! The turn of a path: it executes instructions in sequence until the warp's paths change or another path gets a turn.
//!
//! This is the executor's inner loop, compiled for the host's vector extensions ([`wide`](warpshard_base::wide)); its hot functions are
//! inlined.

use warpshard_base::{LaneMask, VectorTask};
use warpshard_workload::{CONSTANT_LINE_BYTES, CachePolicy, MemSpace, constant_address};

use super::super::isa::{Barrier, ExecutorGroup, Inst, Number, Op, Special};
use super::access::{self, Memories};
use super::block_access;
use super::cta::{Context, ExecFault, Flow, Kernel, LocatedFault, SHARED_WINDOW};
use super::lanes::RegisterRow;
use super::shadow::WarpAccess;
use super::tally::{passes, sectors};
use super::warp::PathWait;
use super::warp::Warp;
use super::{bulk, control, convert, cross, float, footprint, image, integer, mbarrier, products, runtime_calls, tensor};

/// The turn of a path until the warp's paths change or another path gets a turn.
pub(super) struct PathTurn<'t, 'm, 'c> {
    pub(super) warp: &'t mut Warp,
    pub(super) number: usize,
    pub(super) path: usize,
    pub(super) memories: &'t mut Memories<'m>,
    pub(super) context: &'t mut Context<'c>,
}

impl VectorTask for PathTurn<'_, '_, '_> {
    type Output = Result<(), LocatedFault>;

    #[inline(always)]
    fn run(self) -> Result<(), LocatedFault> {
        let PathTurn { warp, number, path, memories, context } = self;
        let kernel = context.kernel;
        let (code, pool) = (&kernel.decoded.code[..], context.pool);
        let mut place = warp.paths[path].place;
        let active = warp.paths[path].mask;
        let lane = active.trailing_zeros() as usize & 31;
        let alone = warp.paths.len() == 1;
        let mut buffers = [[0; 32]; 3];
        let mut begun = warp.executed;
        for _ in 0..kernel.turn() {
            let Some(inst) = code.get(place) else {
                return Err((number, place.min(code.len().saturating_sub(1)), lane, ExecFault::NoInstruction));
            };
            let mask = warp.lanes.guarded(inst, active);
            warp.executed += 1;
            if warp.executed > kernel.limit {
                return Err((number, place, lane, limit_exceeded(warp, kernel, memories)));
            }
            let count = &mut context.tally.0[place];
            count.warps += 1;
            count.lanes += u64::from(mask.count_ones());
            if context.record && !matches!(inst.group, ExecutorGroup::Access | ExecutorGroup::Image | ExecutorGroup::Payload) {
                warp.stream.op(place as u32, LaneMask(mask));
            }
            let wide = if inst.uniform && mask != 0 { u32::MAX } else { mask };
            match inst.group {
                ExecutorGroup::Integer if integer::execute(inst, &mut warp.lanes, pool, wide, &mut buffers) => {}
                ExecutorGroup::Float if float::execute(inst, &mut warp.lanes, pool, wide, &mut buffers) => {}
                ExecutorGroup::Access => {
                    let places = access::addresses(&inst.address, &warp.lanes, pool);
                    if context.record || context.measure {
                        // An asynchronous copy writes zeros and reads nothing if its predicate is false.
                        let reads = if let Op::CopyAsync { .. } = inst.op { warp.lanes.predicate(inst.conditions[0]) } else { u32::MAX };
                        note_access(warp, place, mask & reads, &places, context);
                    }
                    warp.last_access = (place, places[mask.trailing_zeros() as usize & 31]);
                    if let Some(mut shadow) = memories.shadow.take() {
                        let strong = kernel.access.get(place).copied().flatten().is_some_and(|access| access.cache != CachePolicy::All);
                        let access = WarpAccess { inst, warp: number, place, mask, addresses: &places, strong };
                        let noted = shadow.record_access(access, memories);
                        memories.shadow = Some(shadow);
                        noted.map_err(|(lane, fault)| (number, place, lane, fault))?;
                    }
                    // In a cluster the address selects the CTA whose shared memory is accessed.
                    if memories.peers.len() > 1 || !block_access::execute(inst, &mut warp.lanes, pool, mask, &places, memories) {
                        access::execute(inst, &mut warp.lanes, pool, mask, &places, memories, (32 * number, place))
                            .map_err(|(lane, fault)| (number, place, lane, fault))?;
                    }
                    if let Some(mut shadow) = memories.shadow.take() {
                        let settled = shadow.settle(memories);
                        memories.shadow = Some(shadow);
                        settled.map_err(|(lane, fault)| (number, place, lane, fault))?;
                    }
                }
                ExecutorGroup::Branch if alone => {
                    let taken = mask & warp.lanes.predicate(inst.conditions[0]);
                    let target = inst.immediate as usize / 16;
                    if taken != 0 && taken != active {
                        warp.paths[path].place = place + 1;
                        warp.split(path, taken, target);
                        return Ok(());
                    }
                    place = if taken == 0 { place + 1 } else { target };
                    continue;
                }
                _ => {
                    warp.paths[path].place = place;
                    if let Some(shadow) = &mut memories.shadow
                        && kernel.lines.get(place).is_some_and(|(_, text)| text.starts_with("MEMBAR"))
                    {
                        shadow.fence();
                    }
                    if !alone {
                        // Other paths get a turn only at instructions that may change the path, never between instructions that pass on a
                        // uniform register.
                        warp.count_executed(path, warp.executed - begun);
                        begun = warp.executed;
                    }
                    match execute_other(inst, warp, number, path, mask, pool, (context, memories))
                        .map_err(|(at, fault)| (number, place, at.unwrap_or(lane), fault))?
                    {
                        Flow::Next(next) => place = next,
                        Flow::Changed => return Ok(()),
                    }
                    continue;
                }
            }
            place += 1;
        }
        // The other paths precede this one in the next turn.
        warp.paths[path].place = place;
        if !alone {
            warp.yield_turn(path);
        }
        Ok(())
    }
}

/// Executes an instruction that is neither arithmetic nor a memory access. The error contains the lane if it concerns one.
fn execute_other(
    inst: &Inst,
    warp: &mut Warp,
    number: usize,
    path: usize,
    mask: u32,
    pool: &[RegisterRow],
    (context, memories): (&mut Context<'_>, &mut Memories<'_>),
) -> Result<Flow, (Option<usize>, ExecFault)> {
    let next = warp.paths[path].place + 1;
    if context.skips_products && inst.op.is_product() {
        return Ok(Flow::Next(next));
    }
    let lanes = &mut warp.lanes;
    if convert::execute(inst, lanes, pool, mask) || cross::execute(inst, lanes, pool, mask) || tensor::execute(inst, lanes, pool, mask) {
        return Ok(Flow::Next(next));
    }
    match inst.op {
        Op::Nop => {}
        Op::Special(special, wide) => {
            let values = special_values(special, warp, number, context, memories.rank);
            let mask = if warp.lanes.is_uniform(inst.dst) { u32::MAX } else { mask };
            warp.lanes.set(inst.dst, mask, &values);
            if wide {
                let high = if let Special::Clock(0) = special { (warp.executed >> 32) as u32 } else { 0 };
                warp.lanes.set(inst.dst + 1, mask, &[high; 32]);
            }
        }
        Op::LoadPlace => {
            // Address of the instruction itself, or of the immediate.
            let place = if inst.immediate == 0 { 16 * (next as u64 - 1) } else { u64::from(inst.immediate) };
            warp.lanes.set_pair(inst.dst, mask, &[place; 32]);
        }
        Op::LoadConstant { number, words } => {
            let Number::Integer(bytes, signed) = number else { return Ok(Flow::Next(next)) };
            let mask = if inst.uniform && mask != 0 { u32::MAX } else { mask };
            let places = access::addresses(&inst.address, &warp.lanes, pool);
            if context.record {
                note_constants(warp, next - 1, mask, &places, inst);
            }
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                for word in 0..u16::from(words) {
                    let offset = i64::from(places[lane] as u32) + 4 * i64::from(word);
                    let bank = inst.address.bank;
                    let value = context
                        .kernel
                        .banks
                        .read(bank, offset, usize::from(bytes))
                        .ok_or((Some(lane), ExecFault::Constant { bank, offset }))?;
                    let shift = 32 - 8 * u32::from(bytes);
                    let value = (value as u32) << shift;
                    warp.lanes.set_lane(inst.dst + word, lane, if signed { ((value as i32) >> shift) as u32 } else { value >> shift });
                }
            }
        }
        Op::Barrier(Barrier::Arrive) if mask != 0 => {
            let barrier = warp.lanes.row(pool, inst.src[0].row)[mask.trailing_zeros() as usize] & 15;
            if let Some(shadow) = &mut memories.shadow {
                shadow.arrive(barrier as usize, number);
            }
            return control::execute(inst, warp, path, mask, pool, context).map_err(|fault| (None, fault));
        }
        Op::Image(image) => {
            let textures = &context.kernel.textures;
            let done = image::execute(inst, image, lanes, pool, mask, (memories, textures), 32 * number);
            let places = done.map_err(|(lane, fault)| (Some(lane), fault))?;
            if context.record || context.measure {
                note_access(warp, next - 1, mask, &places, context);
            }
        }
        Op::Mbarrier(op) => {
            return mbarrier::execute((inst, op), warp, (number, path), mask, pool, (memories, context.record))
                .map_err(|(lane, fault)| (Some(lane), fault));
        }
        Op::GroupProduct(product) => {
            products::execute((inst, product), lanes, pool, mask, (&memories.shared, number)).map_err(|fault| (None, fault))?;
        }
        Op::Bulk(op) => {
            let banks = &context.kernel.banks;
            let mut payload = Vec::new();
            if context.record && mask != 0 {
                payload = footprint::of(inst, op, lanes, pool, (memories, banks)).map_err(|fault| (None, fault))?.words();
            }
            if mask != 0 {
                bulk::execute(inst, op, lanes, pool, (memories, banks)).map_err(|fault| (None, fault))?;
            }
            if context.record {
                warp.stream.payload(next as u32 - 1, LaneMask(mask), &payload);
            }
        }
        Op::WaitProducts if mask != 0 => {
            warp.waits[0] += 1;
            warp.paths[path].wait = PathWait::Products;
            return Ok(Flow::Changed);
        }
        Op::ClusterArrive if mask != 0 => warp.waits[1] += 1,
        Op::ClusterWait if mask != 0 => {
            warp.paths[path].wait = PathWait::Cluster;
            return Ok(Flow::Changed);
        }
        Op::CallRuntime => {
            let done = runtime_calls::call(inst, lanes, pool, mask, memories, 32 * number);
            done.map_err(|(lane, fault)| (Some(lane), fault))?;
        }
        _ => return control::execute(inst, warp, path, mask, pool, context).map_err(|fault| (None, fault)),
    }
    Ok(Flow::Next(next))
}

/// Records a load from a constant bank with the address of each constant-cache line that it reads.
fn note_constants(warp: &mut Warp, place: usize, mask: u32, places: &[u64; 32], inst: &Inst) {
    let (mut lines, mut count) = ([0; 32], 0);
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = constant_address(inst.address.bank, places[lane] as u32) / CONSTANT_LINE_BYTES * CONSTANT_LINE_BYTES;
        if !lines[..count].contains(&address) {
            lines[count] = address;
            count += 1;
        }
    }
    warp.stream.payload(place as u32, LaneMask(mask), &lines[..count]);
}

fn special_values(special: Special, warp: &Warp, number: usize, context: &Context<'_>, rank: usize) -> RegisterRow {
    let block = context.kernel.block;
    let (x, y) = (block.x.max(1), block.y.max(1));
    std::array::from_fn(|lane| {
        let thread = (32 * number + lane) as u32;
        match special {
            Special::Zero => 0,
            Special::Thread(0) => thread % x,
            Special::Thread(1) => thread / x % y,
            Special::Thread(_) => thread / (x * y),
            Special::Cta(dimension) => context.cta[usize::from(dimension) % 3],
            Special::Lane => lane as u32,
            Special::Warp => number as u32,
            Special::Clock(0) => warp.executed as u32,
            Special::Clock(_) => (warp.executed >> 32) as u32,
            Special::LaneMask(kind) => {
                let own = 1_u32 << lane;
                [own, own - 1, own | (own - 1), !(own | (own - 1)), !(own - 1)][usize::from(kind) % 5]
            }
            Special::SharedWindow => (SHARED_WINDOW >> 32) as u32,
            Special::ClusterRank => rank as u32,
        }
    })
}

/// Records an access in the stream and counts its sectors or passes.
fn note_access(warp: &mut Warp, place: usize, mask: u32, places: &[u64; 32], context: &mut Context<'_>) {
    let Some(access) = context.kernel.access[place] else {
        if context.record {
            warp.stream.op(place as u32, LaneMask(mask));
        }
        return;
    };
    let mut packed = [0; 32];
    let mut active = &places[..];
    if mask != u32::MAX {
        let mut count = 0;
        for (lane, address) in places.iter().enumerate() {
            packed[count & 31] = *address;
            count += (mask >> lane & 1) as usize;
        }
        active = &packed[..count];
    }
    if context.record {
        warp.stream.access(place as u32, LaneMask(mask), active);
    }
    if context.measure && mask != 0 {
        let bytes = u64::from(access.width);
        let shared = access.space == MemSpace::Shared;
        let parts = if shared { passes(active, bytes) } else { sectors(active, bytes) };
        context.tally.0[place].parts += parts;
    }
}

/// Returns the fault of a warp that exceeds the instruction limit, with the last device-memory access, for which it may be waiting.
#[cold]
fn limit_exceeded(warp: &Warp, kernel: &Kernel, memories: &Memories<'_>) -> ExecFault {
    let (place, address) = warp.last_access;
    let loads = kernel.decoded.code.get(place).is_some_and(|inst| matches!(inst.op, Op::Load { .. } | Op::Atomic { .. }));
    ExecFault::InstructionLimit(kernel.limit, (loads && address != 0).then(|| (place, memories.global.fault_at(address))))
}
