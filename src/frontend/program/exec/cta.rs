//! A CTA: its warps, its memories, and the barriers at which they meet.

use std::path::PathBuf;

use crate::base::{LaneMask, Task, wide};
use crate::frontend::{Dim3, MemInst, WarpStream};

use super::super::isa::{Banks, Barrier, Decoded, Group, Inst, Op, Space, Special};
use super::super::memory::{Fault, Memory};
use super::access::{self, Memories};
use super::copies::Copies;
use super::lanes::Row;
use super::shadow::{Access, Shadow};
use super::tally::{Count, Tally, passes, sectors};
use super::warp::{Wait, Warp};
use super::{control, convert, cross, float, integer, tensor};

/// First address of the window through which generic accesses reach shared memory.
pub(in super::super) const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// First address of the window through which generic accesses reach local memory.
pub(in super::super) const LOCAL_WINDOW: u64 = SHARED_WINDOW + WINDOW_BYTES;
/// Size of either window.
pub(super) const WINDOW_BYTES: u64 = 1 << 24;
/// Where constant bank 0 holds the end of a thread's local memory, at which its stack begins.
pub(in super::super) const STACK_TOP: usize = 0x28;
/// Instructions of a warp before it lets the other warps of its CTA go on, though it waits for nothing.
const TURN: u64 = 1 << 18;
/// Instructions of a path before it lets the other paths of its warp go on.
const PATH_TURN: u64 = 1 << 14;

/// A kernel with everything that a launch sets.
#[derive(Debug)]
pub(in super::super) struct Kernel {
    pub(in super::super) file: PathBuf,
    pub(in super::super) name: String,
    /// The line of each instruction in its listing, and its text.
    pub(in super::super) lines: Vec<(u32, String)>,
    pub(in super::super) decoded: Decoded,
    /// What each instruction does to memory as the streams' readers see it.
    pub(in super::super) access: Vec<Option<MemInst>>,
    pub(in super::super) banks: Banks,
    pub(in super::super) grid: Dim3,
    pub(in super::super) block: Dim3,
    pub(in super::super) shared_bytes: usize,
    /// Local memory of a thread, in bytes.
    pub(in super::super) local_bytes: usize,
    /// Most instructions that a warp may execute.
    pub(in super::super) limit: u64,
}

/// Why a program cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Trouble {
    /// Outside of all allocations.
    Outside(Fault),
    /// Beyond shared or local memory.
    OutsideOwn {
        space: Space,
        address: u64,
        size: usize,
    },
    Misaligned {
        address: u64,
        bytes: usize,
    },
    /// A constant beyond the end of its bank.
    Constant {
        bank: u8,
        offset: i64,
    },
    /// A jump to a place without an instruction.
    RanOff,
    /// After so many instructions; the place of the last load or atomic, and what is closest to its address.
    Endless(u64, Option<(usize, Fault)>),
    Trap,
    /// Another warp accessed the byte of shared memory, at that place, and no barrier lies between.
    Race {
        byte: usize,
        warp: usize,
        place: usize,
    },
    /// A call of a function that the listing lacks.
    Absent,
    /// Threads wait for what never comes: for each path its warp, place, lanes and what it waits for.
    Stuck(Vec<(usize, usize, u32, String)>),
}

/// Trouble, and where: warp, place in the code, lane.
pub(in super::super) type Located = (usize, usize, usize, Trouble);

/// A barrier of the CTA.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    /// Threads that it waits for; 0 for all that have not exited.
    pub(super) expected: u32,
    /// Threads that arrived without waiting.
    pub(super) arrived: u32,
    /// Threads whose condition holds.
    pub(super) holds: u32,
    /// Threads that reported a condition.
    pub(super) reported: u32,
    pub(super) kind: Option<Barrier>,
}

/// Executes the CTAs of a kernel, one after the other.
#[derive(Debug, Default)]
pub(in super::super) struct Executor {
    warps: Vec<Warp>,
    shared: Vec<u8>,
    local: Vec<u8>,
    copies: Copies,
    /// Where accesses to shared and local memory are checked.
    pub(in super::super) shadow: Option<Box<Shadow>>,
}

/// What is common to the steps of a CTA.
pub(super) struct Context<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) cta: [u32; 3],
    pub(super) barriers: [BarrierState; 16],
    record: bool,
    measure: bool,
    tally: &'a mut Tally,
}

/// How a path's turn ended.
pub(super) enum Flow {
    /// It goes on at this place.
    Next(usize),
    /// The warp's paths have changed.
    Changed,
}

impl Executor {
    /// Executes CTA `index`; returns a stream per warp, empty ones where `record` is false.
    pub(in super::super) fn cta(
        &mut self,
        kernel: &Kernel,
        memory: &mut Memory,
        index: u32,
        record: bool,
        measured: (&mut Tally, bool),
    ) -> Result<Box<[WarpStream]>, Located> {
        let threads = kernel.block.count() as usize;
        let count = threads.div_ceil(32);
        while self.warps.len() < count || self.warps.first().is_some_and(|warp| !warp.lanes.fits(kernel.decoded.rows)) {
            if self.warps.first().is_some_and(|warp| !warp.lanes.fits(kernel.decoded.rows)) {
                self.warps.clear();
            }
            self.warps.push(Warp::new(kernel.decoded.rows));
        }
        for (number, warp) in self.warps[..count].iter_mut().enumerate() {
            let lanes = (threads - 32 * number).min(32);
            warp.start(if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 });
        }
        for (memory, size) in [(&mut self.shared, kernel.shared_bytes), (&mut self.local, kernel.local_bytes * count * 32)] {
            memory.clear();
            memory.resize(size, 0);
        }
        let mut memories = Memories {
            global: memory,
            shared: std::mem::take(&mut self.shared),
            local: std::mem::take(&mut self.local),
            local_bytes: kernel.local_bytes,
            copies: std::mem::take(&mut self.copies),
            shadow: self.shadow.take(),
        };
        memories.copies.clear();
        if let Some(shadow) = &mut memories.shadow {
            shadow.begin(count, memories.shared.len(), memories.local.len());
        }
        let (x, y) = (kernel.grid.x.max(1), kernel.grid.y.max(1));
        let (tally, measure) = measured;
        tally.0.resize(kernel.decoded.code.len(), Count::default());
        let cta = [index % x, index / x % y, index / (x * y)];
        let mut context = Context { kernel, cta, barriers: Default::default(), record, measure, tally };
        let done = run(&mut self.warps[..count], &mut memories, &mut context);
        (self.shared, self.local, self.copies) = (memories.shared, memories.local, memories.copies);
        self.shadow = memories.shadow;
        done?;
        Ok(self.warps[..count].iter_mut().map(|warp| std::mem::take(&mut warp.stream).finish()).collect())
    }
}

/// Lets the warps take turns until all have exited.
fn run(warps: &mut [Warp], memories: &mut Memories<'_>, context: &mut Context<'_>) -> Result<(), Located> {
    loop {
        let mut advanced = false;
        for (number, warp) in warps.iter_mut().enumerate() {
            let end = warp.executed + TURN;
            while let Some(path) = warp.next_path() {
                advanced = true;
                wide(Turn { warp, number, path, memories, context })?;
                if warp.executed >= end {
                    break;
                }
            }
        }
        if warps.iter().all(|warp| warp.paths.is_empty()) {
            return Ok(());
        }
        if !control::release_barriers(warps, context, memories) && !advanced {
            return Err(stuck(warps));
        }
    }
}

/// What a warp that does not end does: the access of device memory in which it may wait.
#[cold]
fn endless(warp: &Warp, kernel: &Kernel, memories: &Memories<'_>) -> Trouble {
    let (place, address) = warp.last_access;
    let loads = kernel.decoded.code.get(place).is_some_and(|inst| matches!(inst.op, Op::Load { .. } | Op::Atomic { .. }));
    Trouble::Endless(kernel.limit, (loads && address != 0).then(|| (place, memories.global.near(address))))
}

fn stuck(warps: &[Warp]) -> Located {
    let mut waiting = Vec::new();
    for (number, warp) in warps.iter().enumerate() {
        for path in &warp.paths {
            let wait = match path.wait {
                Wait::Ready => "nothing".into(),
                Wait::Sync(barrier) => format!("convergence barrier B{barrier}"),
                Wait::Warp(mask) => format!("lanes {mask:08x} of the warp"),
                Wait::Barrier(barrier) => format!("barrier {barrier} of the CTA"),
            };
            waiting.push((number, path.place, path.mask, wait));
        }
    }
    let (warp, place, mask) = waiting.first().map_or((0, 0, 1), |first| (first.0, first.1, first.2));
    (warp, place, mask.trailing_zeros() as usize, Trouble::Stuck(waiting))
}

/// A path that executes until the warp's paths change or others are to go on.
struct Turn<'t, 'm, 'c> {
    warp: &'t mut Warp,
    number: usize,
    path: usize,
    memories: &'t mut Memories<'m>,
    context: &'t mut Context<'c>,
}

impl Task for Turn<'_, '_, '_> {
    type Output = Result<(), Located>;

    #[inline(always)]
    fn run(self) -> Result<(), Located> {
        let Turn { warp, number, path, memories, context } = self;
        let kernel = context.kernel;
        let (code, pool) = (&kernel.decoded.code[..], &kernel.decoded.pool[..]);
        let mut place = warp.paths[path].place;
        let active = warp.paths[path].mask;
        let lane = active.trailing_zeros() as usize & 31;
        let alone = warp.paths.len() == 1;
        let mut buffers = [[0; 32]; 3];
        for _ in 0..if alone { TURN } else { PATH_TURN } {
            let Some(inst) = code.get(place) else {
                return Err((number, place.min(code.len().saturating_sub(1)), lane, Trouble::RanOff));
            };
            let mask = warp.lanes.guarded(inst, active);
            warp.executed += 1;
            if warp.executed > kernel.limit {
                return Err((number, place, lane, endless(warp, kernel, memories)));
            }
            let count = &mut context.tally.0[place];
            count.warps += 1;
            count.lanes += u64::from(mask.count_ones());
            if context.record && inst.group != Group::Access {
                warp.stream.op(place as u32, LaneMask(mask));
            }
            let wide = if inst.uniform && mask != 0 { u32::MAX } else { mask };
            match inst.group {
                Group::Integer if integer::execute(inst, &mut warp.lanes, pool, wide, &mut buffers) => {}
                Group::Float if float::execute(inst, &mut warp.lanes, pool, wide, &mut buffers) => {}
                Group::Access => {
                    let places = access::addresses(&inst.address, &warp.lanes, pool);
                    if context.record || context.measure {
                        note_access(warp, place, mask, &places, context);
                    }
                    warp.last_access = (place, places[mask.trailing_zeros() as usize & 31]);
                    if let Some(mut shadow) = memories.shadow.take() {
                        let access = Access { inst, warp: number, place, mask, addresses: &places };
                        let noted = shadow.note(access, memories);
                        memories.shadow = Some(shadow);
                        noted.map_err(|(lane, trouble)| (number, place, lane, trouble))?;
                    }
                    if !access::execute_at_once(inst, &mut warp.lanes, pool, mask, &places, memories) {
                        access::execute(inst, &mut warp.lanes, pool, mask, &places, memories, (32 * number, place))
                            .map_err(|(lane, trouble)| (number, place, lane, trouble))?;
                    }
                }
                Group::Branch if alone => {
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
                    match other(inst, warp, number, path, mask, pool, (context, memories))
                        .map_err(|trouble| (number, place, lane, trouble))?
                    {
                        Flow::Next(next) => place = next,
                        Flow::Changed => return Ok(()),
                    }
                    continue;
                }
            }
            place += 1;
        }
        // Others go first the next time.
        warp.paths[path].place = place;
        if !alone {
            warp.paths[path].turn += 1;
        }
        Ok(())
    }
}

/// What is neither arithmetic nor an access.
fn other(
    inst: &Inst,
    warp: &mut Warp,
    number: usize,
    path: usize,
    mask: u32,
    pool: &[Row],
    (context, memories): (&mut Context<'_>, &mut Memories<'_>),
) -> Result<Flow, Trouble> {
    let next = warp.paths[path].place + 1;
    let lanes = &mut warp.lanes;
    if convert::execute(inst, lanes, pool, mask) || cross::execute(inst, lanes, pool, mask) || tensor::execute(inst, lanes, pool, mask) {
        return Ok(Flow::Next(next));
    }
    match inst.op {
        Op::Nop => {}
        Op::Special(special, wide) => {
            let values = special_values(special, warp, number, context);
            let mask = if warp.lanes.is_uniform(inst.dst) { u32::MAX } else { mask };
            warp.lanes.set(inst.dst, mask, &values);
            if wide {
                let high = if let Special::Clock(0) = special { (warp.executed >> 32) as u32 } else { 0 };
                warp.lanes.set(inst.dst + 1, mask, &[high; 32]);
            }
        }
        Op::LoadPlace => {
            // Its own place, or the one that it names.
            let place = if inst.immediate == 0 { 16 * (next as u64 - 1) } else { u64::from(inst.immediate) };
            warp.lanes.set_pair(inst.dst, mask, &[place; 32]);
        }
        Op::LoadConstant { number, words } => {
            let super::super::isa::Number::Integer(bytes, signed) = number else { return Ok(Flow::Next(next)) };
            let places = access::addresses(&inst.address, &warp.lanes, pool);
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                for word in 0..u16::from(words) {
                    let offset = i64::from(places[lane] as u32) + 4 * i64::from(word);
                    let bank = inst.address.bank;
                    let value = context.kernel.banks.read(bank, offset, usize::from(bytes)).ok_or(Trouble::Constant { bank, offset })?;
                    let shift = 32 - 8 * u32::from(bytes);
                    let value = (value as u32) << shift;
                    warp.lanes.put(inst.dst + word, lane, if signed { ((value as i32) >> shift) as u32 } else { value >> shift });
                }
            }
        }
        Op::Barrier(Barrier::Arrive) if mask != 0 => {
            let barrier = warp.lanes.row(pool, inst.src[0].row)[mask.trailing_zeros() as usize] & 15;
            if let Some(shadow) = &mut memories.shadow {
                shadow.arrive(barrier as usize, number);
            }
            return control::execute(inst, warp, path, mask, pool, context);
        }
        _ => return control::execute(inst, warp, path, mask, pool, context),
    }
    Ok(Flow::Next(next))
}

fn special_values(special: Special, warp: &Warp, number: usize, context: &Context<'_>) -> Row {
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
        }
    })
}

/// Writes an access down and measures it.
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
        let shared = access.space == crate::frontend::MemSpace::Shared;
        let parts = if shared { passes(active, bytes) } else { sectors(active, bytes) };
        context.tally.0[place].parts += parts;
    }
}
