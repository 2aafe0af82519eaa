//! The state of the warps: arrays indexed by warp slot, and one word per condition with a bit for each slot.
//!
//! Inputs are events (an instruction was decoded, issued, written back); outputs are the masks from which fetch and the
//! schedulers choose. Invariants: the masks of a slot change only at such events, never with time; every event
//! that may change a scheduler's choice marks the slot as changed.

use crate::base::{Cycle, prefetch};
use crate::frontend::{Cursor, DynInst, WarpStream};

use super::super::kinds::{KINDS, UnitKind};
use super::buffer::InstBuffer;

/// Warp slots that a mask can hold.
pub(in crate::gpu::sm) const MAX_WARPS: usize = 64;

/// What keeps an instruction from issuing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::gpu::sm) struct Hazard {
    /// It meets a reserved register.
    pub(in crate::gpu::sm) any: bool,
    /// It meets one that memory will write.
    pub(in crate::gpu::sm) memory: bool,
}

/// All warp slots of an SM.
#[derive(Debug, warpshard_state::State)]
pub(in crate::gpu::sm) struct Warps {
    streams: Box<[WarpStream]>,
    cursor: [Cursor; MAX_WARPS],
    undecoded: [u32; MAX_WARPS],
    buffer: Box<[InstBuffer; MAX_WARPS]>,
    kind: [UnitKind; MAX_WARPS],
    /// Instructions between decode and the end of their pipeline.
    pub(in crate::gpu::sm) in_pipe: [u16; MAX_WARPS],
    /// Stores that no acknowledgement came for yet.
    pub(in crate::gpu::sm) stores: [u16; MAX_WARPS],
    /// Lanes of atomics that are under way; the warp waits for all of them.
    pub(in crate::gpu::sm) atomics: [u16; MAX_WARPS],
    /// The CTA slot that a warp belongs to.
    pub(in crate::gpu::sm) cta: [u8; MAX_WARPS],
    /// Order of launch; the smaller, the older.
    pub(in crate::gpu::sm) age: [u32; MAX_WARPS],
    /// When a warp issued last, or was started.
    pub(in crate::gpu::sm) last_issue: [Cycle; MAX_WARPS],
    /// Resident and not yet released by the fetch stage.
    pub(in crate::gpu::sm) live: u64,
    /// The instruction buffer holds something.
    pub(in crate::gpu::sm) valid: u64,
    /// The instruction buffer is empty and the stream is not.
    pub(in crate::gpu::sm) fetchable: u64,
    /// Waits at a CTA barrier.
    pub(in crate::gpu::sm) at_barrier: u64,
    /// Waits for its outstanding writes to registers, because of a memory fence.
    pub(in crate::gpu::sm) at_fence: u64,
    /// Waits for an atomic.
    pub(in crate::gpu::sm) at_atomic: u64,
    /// The front instruction meets a reserved register.
    pub(in crate::gpu::sm) hazard: u64,
    /// As above, and the register is reserved by a memory instruction.
    pub(in crate::gpu::sm) hazard_memory: u64,
    /// Waits at a fence, and all its registers are written.
    pub(in crate::gpu::sm) fence_over: u64,
    /// Issued its last instruction.
    pub(in crate::gpu::sm) finished: u64,
    /// Finished, and nothing of it is under way: the fetch stage may release it.
    pub(in crate::gpu::sm) releasable: u64,
    /// A warp stopped waiting for an atomic since the issue stage last looked at the limit of warps.
    pub(in crate::gpu::sm) wait_ended: bool,
    /// May issue under the current limit of warps.
    pub(in crate::gpu::sm) allowed: u64,
    /// Neither fetches nor issues, because its CTA leaves the SM or is being restored.
    pub(in crate::gpu::sm) frozen: u64,
    /// Something of the above that a scheduler looks at changed since the warp's scheduler last looked.
    pub(in crate::gpu::sm) touched: u64,
    /// Among the touched there may be warps that were touched by what another one did.
    pub(in crate::gpu::sm) touched_others: bool,
    /// The front instruction goes to a unit of the kind; or the last did, where there is none.
    pub(in crate::gpu::sm) of_kind: [u64; KINDS],
}

impl Warps {
    /// Prefetches the masks, which every cycle looks at.
    #[inline]
    pub(in crate::gpu::sm) fn prefetch(&self) {
        prefetch(&self.live);
        prefetch(&self.touched);
        prefetch(&self.of_kind);
    }

    /// Prefetches what issue and decode look at of the warps that live.
    #[inline]
    pub(in crate::gpu::sm) fn prefetch_arrays(&self) {
        prefetch(&self.cursor);
        prefetch(&self.undecoded);
        prefetch(&self.kind);
        prefetch(&self.in_pipe);
        prefetch(&self.cta);
        prefetch(&*self.streams);
        for slot in bits(self.live) {
            prefetch(&self.buffer[slot]);
        }
    }

    pub(in crate::gpu::sm) fn new(slots: usize) -> Self {
        Self {
            streams: vec![WarpStream::default(); slots].into(),
            cursor: [Cursor::default(); MAX_WARPS],
            undecoded: [0; MAX_WARPS],
            buffer: Box::new([InstBuffer::default(); MAX_WARPS]),
            kind: [UnitKind::Sp; MAX_WARPS],
            in_pipe: [0; MAX_WARPS],
            stores: [0; MAX_WARPS],
            atomics: [0; MAX_WARPS],
            cta: [0; MAX_WARPS],
            age: [0; MAX_WARPS],
            last_issue: [Cycle(0); MAX_WARPS],
            live: 0,
            valid: 0,
            fetchable: 0,
            at_barrier: 0,
            at_fence: 0,
            at_atomic: 0,
            hazard: 0,
            hazard_memory: 0,
            fence_over: 0,
            wait_ended: false,
            finished: 0,
            releasable: 0,
            allowed: u64::MAX,
            frozen: 0,
            touched: 0,
            touched_others: false,
            of_kind: [0; KINDS],
        }
    }

    /// The slots of one of `schedulers` schedulers, which they get in turn.
    pub(in crate::gpu::sm) fn of_scheduler(&self, scheduler: usize, schedulers: u32) -> u64 {
        (scheduler..self.streams.len()).step_by(schedulers as usize).fold(0, |all, slot| all | 1 << slot)
    }

    /// Bytes of its arrays.
    pub(in crate::gpu::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.streams) + size_of_val(&*self.buffer)
    }

    /// Puts a new warp into a free slot.
    pub(in crate::gpu::sm) fn start(&mut self, warp: usize, cta: usize, age: u32, now: Cycle, stream: WarpStream) {
        debug_assert!(self.live >> warp & 1 == 0, "warp {warp} is started twice");
        self.cursor[warp] = Cursor::default();
        self.undecoded[warp] = stream.len();
        stream.prefetch(Cursor::default());
        self.streams[warp] = stream;
        self.cta[warp] = cta as u8;
        self.age[warp] = age;
        self.last_issue[warp] = now;
        self.live |= 1 << warp;
        self.touched |= 1 << warp;
        if self.undecoded[warp] > 0 {
            self.fetchable |= 1 << warp;
        } else {
            self.finished |= 1 << warp;
            self.releasable |= 1 << warp;
        }
    }

    /// Takes a released warp out of its slot.
    pub(in crate::gpu::sm) fn remove(&mut self, warp: usize) {
        let clear = !(1 << warp);
        self.live &= clear;
        self.touched |= !clear;
        self.finished &= clear;
        self.releasable &= clear;
        self.streams[warp] = WarpStream::default();
    }

    /// Instructions of a warp that were issued.
    pub(in crate::gpu::sm) fn executed(&self, warp: usize) -> u32 {
        self.streams[warp].len() - self.undecoded[warp] - u32::from(self.buffer[warp].len)
    }

    /// Takes a warp out of its slot before its end; nothing of it is under way.
    pub(in crate::gpu::sm) fn evict(&mut self, warp: usize) {
        debug_assert!(self.is_quiet(warp), "warp {warp} has something under way");
        self.remove(warp);
        self.in_pipe[warp] = 0;
        self.buffer[warp] = InstBuffer::default();
        let clear = !(1 << warp);
        for mask in [
            &mut self.valid,
            &mut self.fetchable,
            &mut self.at_barrier,
            &mut self.at_fence,
            &mut self.hazard,
            &mut self.hazard_memory,
            &mut self.fence_over,
            &mut self.frozen,
        ] {
            *mask &= clear;
        }
    }

    /// Lets a warp that was just started go on after so many instructions.
    pub(in crate::gpu::sm) fn skip(&mut self, warp: usize, executed: u32) {
        let (bit, len) = (1u64 << warp, self.streams[warp].len());
        self.cursor[warp] = self.streams[warp].go_to(executed);
        self.undecoded[warp] = len.saturating_sub(executed);
        if self.undecoded[warp] == 0 {
            self.fetchable &= !bit;
            self.finished |= bit;
            self.releasable |= bit;
        }
    }

    /// The static index of the instruction that the next fetch of the warp begins with.
    pub(in crate::gpu::sm) fn next_index(&self, warp: usize) -> Option<u32> {
        let mut cursor = self.cursor[warp];
        self.streams[warp].next(&mut cursor).map(|inst| inst.index)
    }

    /// Decodes up to `count` instructions into the empty buffer of a warp and returns how many there were.
    #[inline]
    pub(in crate::gpu::sm) fn decode(&mut self, warp: usize, count: u32) -> u32 {
        let count = count.min(self.undecoded[warp]);
        let (stream, mut cursor) = (&mut self.streams[warp], self.cursor[warp]);
        for _ in 0..count {
            let Some(inst) = stream.next(&mut cursor) else {
                panic!("warp {warp}: the stream ends {} instructions early", self.undecoded[warp]);
            };
            self.buffer[warp].push(inst);
            if stream.part_ends_at(cursor) {
                stream.advance(&mut cursor);
            }
        }
        // What follows is decoded when these have issued, which is long after in terms of the host's caches.
        stream.prefetch(cursor);
        self.cursor[warp] = cursor;
        self.undecoded[warp] -= count;
        self.in_pipe[warp] += count as u16;
        self.valid |= 1 << warp;
        self.touched |= 1 << warp;
        count
    }

    /// The front instruction of a warp.
    #[inline]
    pub(in crate::gpu::sm) fn front(&self, warp: usize) -> &DynInst {
        self.buffer[warp].front()
    }

    /// Takes the front instruction. What follows is the caller's business: another one, or [`Warps::run_dry`].
    #[inline]
    pub(in crate::gpu::sm) fn take_front(&mut self, warp: usize) -> DynInst {
        self.touched |= 1 << warp;
        self.buffer[warp].pop()
    }

    /// Whether a warp has a front instruction, that taken last put aside.
    #[inline]
    pub(in crate::gpu::sm) fn has_front(&self, warp: usize) -> bool {
        self.buffer[warp].len > 0
    }

    /// The last instruction in the buffer of a warp was taken: it wants a fetch, or is finished, which is returned.
    #[inline]
    pub(in crate::gpu::sm) fn run_dry(&mut self, warp: usize) -> bool {
        let bit = 1u64 << warp;
        self.valid &= !bit;
        let finished = self.undecoded[warp] == 0;
        if finished {
            self.finished |= bit;
        } else {
            self.fetchable |= bit;
        }
        finished
    }

    /// Notes which kind of unit the front instruction needs.
    #[inline]
    pub(in crate::gpu::sm) fn set_kind(&mut self, warp: usize, kind: UnitKind) {
        self.of_kind[self.kind[warp] as usize] &= !(1 << warp);
        self.kind[warp] = kind;
        self.of_kind[kind as usize] |= 1 << warp;
    }

    /// The kind of unit that the front instruction needs.
    #[inline]
    pub(in crate::gpu::sm) fn kind(&self, warp: usize) -> UnitKind {
        self.kind[warp]
    }

    /// Notes whether the front instruction meets a reserved register, and whether memory reserved it.
    #[inline]
    pub(in crate::gpu::sm) fn set_hazard(&mut self, warp: usize, hazard: Hazard) {
        let bit = 1u64 << warp;
        let now = self.hazard & !bit | u64::from(hazard.any) << warp;
        let by_memory = self.hazard_memory & !bit | u64::from(hazard.memory) << warp;
        self.touched |= (now ^ self.hazard) | (by_memory ^ self.hazard_memory);
        (self.hazard, self.hazard_memory) = (now, by_memory);
    }

    /// What one warp did touches others.
    #[inline]
    pub(in crate::gpu::sm) fn touch_others(&mut self, warps: u64) {
        self.touched |= warps;
        self.touched_others = true;
    }

    /// Opens the barrier of `all` warps of a CTA if those of them that are `running` are at it.
    #[inline]
    pub(in crate::gpu::sm) fn open_barrier(&mut self, all: u64, running: u64) {
        if self.at_barrier & all == running && running != 0 {
            self.touch_others(self.at_barrier & all);
            self.at_barrier &= !all;
        }
    }

    /// Those whose registers are all written leave their fence.
    #[inline]
    pub(in crate::gpu::sm) fn leave_fences(&mut self) {
        let over = std::mem::take(&mut self.fence_over);
        self.touched |= self.at_fence & over;
        self.at_fence &= !over;
    }

    /// Only the warps of `allowed` may issue.
    #[inline]
    pub(in crate::gpu::sm) fn allow(&mut self, allowed: u64) {
        self.touch_others((self.allowed ^ allowed) & self.live);
        self.allowed = allowed;
    }

    /// All lanes of a warp's atomics came back.
    #[inline]
    pub(in crate::gpu::sm) fn leave_atomic(&mut self, warp: usize) {
        self.touched |= 1 << warp;
        self.at_atomic &= !(1 << warp);
        self.wait_ended = true;
    }

    /// Warps that wait for something other than a register or a unit.
    #[inline]
    pub(in crate::gpu::sm) fn waiting(&self) -> u64 {
        self.at_barrier | self.at_fence | self.at_atomic
    }

    /// The stream of a warp, for the addresses of its accesses.
    #[inline]
    pub(in crate::gpu::sm) fn stream(&self, warp: usize) -> &WarpStream {
        &self.streams[warp]
    }

    /// Whether nothing of a warp is in flight but what the scoreboard knows: all that is between decode and the end of its
    /// pipeline waits in its buffer.
    pub(in crate::gpu::sm) fn is_quiet(&self, warp: usize) -> bool {
        self.in_pipe[warp] == u16::from(self.buffer[warp].len) && self.stores[warp] == 0 && self.atomics[warp] == 0
    }

    /// The `limit` oldest resident warps among those that wait neither at a barrier nor for a fence or an atomic. One that
    /// waits gives its place away, as in GPGPU-Sim's static limiting; or a CTA with more warps than the limit would wait at its
    /// barrier for warps that may not issue.
    pub(in crate::gpu::sm) fn oldest(&self, limit: u32) -> u64 {
        let mut left = self.live & !self.finished & !self.waiting();
        let mut chosen = 0;
        for _ in 0..limit {
            let Some(warp) = oldest_of(left, &self.age) else { break };
            left &= !(1 << warp);
            chosen |= 1u64 << warp;
        }
        chosen
    }
}

/// The warp of `mask` that was launched first.
#[inline]
pub(in crate::gpu::sm) fn oldest_of(mask: u64, age: &[u32; MAX_WARPS]) -> Option<usize> {
    bits(mask).min_by_key(|warp| age[*warp])
}

/// The slots in `mask`, ascending.
#[inline]
pub(in crate::gpu::sm) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let bit = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
