//! The state of the warps: arrays indexed by warp slot, and one word per condition with a bit for each slot.
//!
//! Inputs are events (an instruction was decoded, issued, written back); outputs are the masks from which fetch and the schedulers select.
//! Invariants: the masks of a slot change only at such events, never with time; every event that may change the choice of a scheduler marks
//! the slot as changed.

use warpshard_base::{Cycle, prefetch};
use warpshard_workload::{Cursor, DynInst, WarpStream};

use super::super::kinds::{UNIT_KIND_COUNT, UnitKind};
use super::buffer::InstBuffer;

/// Maximum number of warp slots: the bits of a mask.
pub(in crate::sm) const MAX_WARPS: usize = 64;

/// The warp of an instruction or access in flight whose CTA was preempted. It completes without effect.
pub(in crate::sm) const NO_WARP: u8 = u8::MAX;

/// Number of the last instructions of a warp that can be replayed.
pub(in crate::sm) const MAX_REPLAYED_INSTRUCTIONS: u32 = u32::BITS;

/// Returns true if `warp` is a warp of the set `warps`.
#[inline]
pub(in crate::sm) fn is_in(warps: u64, warp: u8) -> bool {
    warp != NO_WARP && warps >> (warp & 63) & 1 != 0
}

/// The instructions that a warp replays before it continues.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Replay {
    /// Instructions that are not decoded: bit `i` is the instruction with `i` issued instructions after it.
    left: u32,
    /// Number of instructions before the cursor.
    at: u32,
    /// Number of instructions before the one in the buffer.
    buffered: u32,
}

/// Scoreboard hazards of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sm) struct Hazard {
    /// True if the instruction uses a reserved register.
    pub(in crate::sm) any: bool,
    /// True if the instruction uses a register that a memory instruction reserved.
    pub(in crate::sm) memory: bool,
}

/// All warp slots of an SM.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct Warps {
    streams: Box<[WarpStream]>,
    cursor: [Cursor; MAX_WARPS],
    undecoded: [u32; MAX_WARPS],
    buffer: Box<[InstBuffer; MAX_WARPS]>,
    kind: [UnitKind; MAX_WARPS],
    /// Instructions between decode and the end of their pipeline.
    pub(in crate::sm) in_pipe: [u16; MAX_WARPS],
    /// Sectors of the stores of a slot that are not acknowledged. Sectors of an ended warp remain in the count of the next warp.
    pub(in crate::sm) stores: [u16; MAX_WARPS],
    /// Sectors of unacknowledged stores that have not left the L1 for the network.
    pub(in crate::sm) unsent: Box<[u16; MAX_WARPS]>,
    /// Slots with unacknowledged stores of an ended warp.
    left_stores: u64,
    /// True if the last store of `left_stores` was acknowledged and the grid scheduler has not been notified.
    pub(in crate::sm) answered: bool,
    /// Outstanding lanes of atomics; the warp waits for all of them.
    pub(in crate::sm) atomics: [u16; MAX_WARPS],
    /// The CTA slot of each warp.
    pub(in crate::sm) cta: [u8; MAX_WARPS],
    /// Order of launch; an older warp has a smaller number.
    pub(in crate::sm) age: [u32; MAX_WARPS],
    /// The cycle of the last issue or of the start of each warp.
    pub(in crate::sm) last_issue: [Cycle; MAX_WARPS],
    /// Resident warps that the fetch stage has not released.
    pub(in crate::sm) live: u64,
    /// Warps with an instruction in their buffer.
    pub(in crate::sm) valid: u64,
    /// Warps with an empty buffer and remaining instructions.
    pub(in crate::sm) fetchable: u64,
    /// Warps that wait at a CTA barrier.
    pub(in crate::sm) at_barrier: u64,
    /// Warps that wait for their outstanding register writes because of a memory fence.
    pub(in crate::sm) at_fence: u64,
    /// Warps that wait for an atomic, or for groups of copies to shared memory.
    pub(in crate::sm) at_atomic: u64,
    /// Warps of `at_atomic` that wait for copies.
    pub(in crate::sm) at_copies: u64,
    /// Warps whose front instruction uses a reserved register.
    pub(in crate::sm) hazard: u64,
    /// Warps whose front instruction uses a register that a memory instruction reserved.
    pub(in crate::sm) hazard_memory: u64,
    /// Warps that wait at a fence and whose registers are all written.
    pub(in crate::sm) fence_over: u64,
    /// Warps that have issued their last instruction.
    pub(in crate::sm) finished: u64,
    /// Finished warps without outstanding operations, which the fetch stage may release.
    pub(in crate::sm) releasable: u64,
    /// True if a warp stopped waiting for an atomic since the issue stage last checked the limit of warps.
    pub(in crate::sm) wait_ended: bool,
    /// Warps that may issue under the current limit of warps.
    pub(in crate::sm) allowed: u64,
    /// Warps that neither fetch nor issue, because their CTA leaves the SM or is being restored.
    pub(in crate::sm) frozen: u64,
    /// Number of times that the outstanding instructions of a slot were squashed: replies to an earlier generation have no effect.
    pub(in crate::sm) generation: [u8; MAX_WARPS],
    replay: Box<[Replay; MAX_WARPS]>,
    /// Warps that replay instructions one by one, or whose cursor has to advance past the last replayed instruction.
    replaying: u64,
    /// Warps with a change, since their scheduler last examined them, of state on which the scheduler depends.
    pub(in crate::sm) touched: u64,
    /// True if the touched warps may include warps that another warp touched.
    pub(in crate::sm) touched_others: bool,
    /// Warps whose front instruction, or last one if there is none, goes to a unit of each kind.
    pub(in crate::sm) of_kind: [u64; UNIT_KIND_COUNT],
}

impl Warps {
    /// Returns the warps whose front instruction is of one of `kinds`, which has a bit for each kind.
    #[inline]
    pub(in crate::sm) fn of_kinds(&self, mut kinds: u16) -> u64 {
        let mut warps = 0;
        while kinds != 0 {
            warps |= self.of_kind[kinds.trailing_zeros() as usize];
            kinds &= kinds - 1;
        }
        warps
    }

    /// Prefetches the masks that every cycle uses.
    #[inline]
    pub(in crate::sm) fn prefetch(&self) {
        prefetch(&self.live);
        prefetch(&self.touched);
        prefetch(&self.of_kind);
    }

    /// Prefetches the data of the live warps that issue and decode use.
    #[inline]
    pub(in crate::sm) fn prefetch_arrays(&self) {
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

    pub(in crate::sm) fn new(slots: usize) -> Self {
        Self {
            streams: vec![WarpStream::default(); slots].into(),
            cursor: [Cursor::default(); MAX_WARPS],
            undecoded: [0; MAX_WARPS],
            buffer: Box::new([InstBuffer::default(); MAX_WARPS]),
            kind: [UnitKind::Sp; MAX_WARPS],
            in_pipe: [0; MAX_WARPS],
            stores: [0; MAX_WARPS],
            unsent: Box::new([0; MAX_WARPS]),
            left_stores: 0,
            answered: false,
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
            at_copies: 0,
            hazard: 0,
            hazard_memory: 0,
            fence_over: 0,
            wait_ended: false,
            finished: 0,
            releasable: 0,
            allowed: u64::MAX,
            frozen: 0,
            generation: [0; MAX_WARPS],
            replay: Box::new([Replay::default(); MAX_WARPS]),
            replaying: 0,
            touched: 0,
            touched_others: false,
            of_kind: [0; UNIT_KIND_COUNT],
        }
    }

    /// Returns the slots of one of `schedulers` schedulers; the slots are distributed round robin.
    pub(in crate::sm) fn of_scheduler(&self, scheduler: usize, schedulers: u32) -> u64 {
        (scheduler..self.streams.len()).step_by(schedulers as usize).fold(0, |all, slot| all | 1 << slot)
    }

    /// Returns the bytes of the arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.streams) + size_of_val(&*self.buffer)
    }

    /// Starts a new warp in a free slot.
    pub(in crate::sm) fn start(&mut self, warp: usize, cta: usize, age: u32, now: Cycle, stream: WarpStream) {
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

    /// Removes a released warp from its slot.
    pub(in crate::sm) fn remove(&mut self, warp: usize) {
        let clear = !(1 << warp);
        self.live &= clear;
        self.touched |= !clear;
        self.finished &= clear;
        self.releasable &= clear;
        self.replaying &= clear;
        self.streams[warp] = WarpStream::default();
    }

    /// Returns the number of issued instructions of a warp.
    pub(in crate::sm) fn executed_count(&self, warp: usize) -> u32 {
        self.streams[warp].len() - self.remaining_instructions(warp)
    }

    /// Returns the number of instructions of a warp that were never issued.
    #[inline]
    pub(in crate::sm) fn remaining_instructions(&self, warp: usize) -> u32 {
        // The buffer of a warp that replays holds only replayed instructions.
        let buffered = if self.replaying >> warp & 1 != 0 { 0 } else { self.buffer[warp].len };
        self.undecoded[warp] + u32::from(buffered)
    }

    /// Returns the number of instructions after the replayed one that was just taken from the buffer of a warp.
    pub(super) fn left_after_replayed(&self, warp: usize) -> u32 {
        self.streams[warp].len() - self.replay[warp].buffered - 1
    }

    /// Returns the number of instructions in the buffer of a warp.
    pub(in crate::sm) fn buffered_count(&self, warp: usize) -> usize {
        usize::from(self.buffer[warp].len)
    }

    /// Returns true if the instruction that was just taken from the buffer of a warp had been issued before.
    #[inline]
    pub(in crate::sm) fn is_replay(&self, warp: usize) -> bool {
        self.replaying >> warp & 1 != 0
    }

    /// Returns the bit in [`WarpContext::is_replay`](warpshard_protocol::WarpContext::is_replay) of the instruction of a warp that `left`
    /// others follow; `None` if it was issued too long ago.
    pub(in crate::sm) fn replay_bit(&self, warp: usize, left: u32) -> Option<u32> {
        let before = left - self.remaining_instructions(warp);
        (before < MAX_REPLAYED_INSTRUCTIONS).then(|| 1 << before)
    }

    /// Records the instructions that a leaving warp has to replay: the `squashed` ones, and the pending replays that it has not issued.
    pub(in crate::sm) fn add_replays(&mut self, warp: usize, squashed: u32) {
        let buffered = if self.is_replay(warp) && self.has_front(warp) {
            1 << (self.streams[warp].len() - self.undecoded[warp] - self.replay[warp].buffered - 1)
        } else {
            0
        };
        self.replay[warp].left |= squashed | buffered;
    }

    /// Returns the instructions that a warp has to replay; none of them is in its buffer or in flight.
    pub(in crate::sm) fn pending_replays(&self, warp: usize) -> u32 {
        self.replay[warp].left
    }

    /// Discards the outstanding stores of a warp.
    pub(in crate::sm) fn discard_stores(&mut self, warp: usize) {
        self.generation[warp] = self.generation[warp].wrapping_add(1);
        (self.stores[warp], self.unsent[warp]) = (0, 0);
        self.stores_acknowledged(warp);
    }

    /// Records that a warp ends before its stores are acknowledged; returns true if it is the first such warp on the SM since the grid
    /// scheduler was notified that all stores are acknowledged.
    pub(in crate::sm) fn end_with_stores(&mut self, warp: usize) -> bool {
        let first = self.left_stores == 0 && !std::mem::take(&mut self.answered);
        self.left_stores |= 1 << warp;
        first
    }

    /// Records that no store of a slot is outstanding.
    #[inline]
    pub(in crate::sm) fn stores_acknowledged(&mut self, warp: usize) {
        let bit = 1 << warp;
        if self.left_stores & bit != 0 {
            self.left_stores &= !bit;
            self.answered = self.left_stores == 0;
        }
    }

    /// Removes a warp from its slot before its end.
    pub(in crate::sm) fn remove_early(&mut self, warp: usize) {
        self.remove(warp);
        self.discard_stores(warp);
        self.in_pipe[warp] = 0;
        self.atomics[warp] = 0;
        self.replay[warp] = Replay::default();
        self.buffer[warp] = InstBuffer::default();
        let clear = !(1 << warp);
        for mask in [
            &mut self.valid,
            &mut self.fetchable,
            &mut self.at_barrier,
            &mut self.at_atomic,
            &mut self.at_copies,
            &mut self.at_fence,
            &mut self.hazard,
            &mut self.hazard_memory,
            &mut self.fence_over,
            &mut self.frozen,
        ] {
            *mask &= clear;
        }
    }

    /// Makes a warp that was just started continue after `executed` instructions, some of which it replays.
    pub(in crate::sm) fn resume_at(&mut self, warp: usize, executed: u32, replays: u32) {
        let (bit, len) = (1u64 << warp, self.streams[warp].len());
        let at = executed - (u32::BITS - replays.leading_zeros());
        self.cursor[warp] = self.streams[warp].seek(at);
        self.undecoded[warp] = len.saturating_sub(executed);
        if replays != 0 {
            self.replay[warp] = Replay { left: replays, at, buffered: 0 };
            self.replaying |= bit;
            self.fetchable |= bit;
        } else if self.undecoded[warp] == 0 {
            self.fetchable &= !bit;
            self.finished |= bit;
            self.releasable |= bit;
        }
    }

    /// Returns the static index of the instruction with which the next fetch of the warp begins.
    pub(in crate::sm) fn next_index(&self, warp: usize) -> Option<u32> {
        let mut cursor = self.cursor[warp];
        if self.replaying >> warp & 1 != 0 {
            (self.replay[warp].at..self.replayed_next(warp)).for_each(|_| _ = self.streams[warp].next(&mut cursor));
        }
        self.streams[warp].next(&mut cursor).map(|inst| inst.index)
    }

    /// Returns the number of instructions before the next one that a replaying warp decodes: the first one left to replay, or the first new
    /// one.
    fn replayed_next(&self, warp: usize) -> u32 {
        let issued = self.streams[warp].len() - self.undecoded[warp];
        issued - (u32::BITS - self.replay[warp].left.leading_zeros())
    }

    /// Decodes the next instruction that a warp replays; returns true if none is left, so that the warp continues with new instructions.
    #[cold]
    fn decode_replayed(&mut self, warp: usize) -> bool {
        let next = self.replayed_next(warp);
        let (stream, cursor, replay) = (&mut self.streams[warp], &mut self.cursor[warp], &mut self.replay[warp]);
        let mut pass = || {
            let inst = stream.next(cursor);
            if stream.part_ends_at(*cursor) {
                stream.advance(cursor);
            }
            inst
        };
        (replay.at..next).for_each(|_| _ = pass());
        replay.at = next;
        if replay.left == 0 {
            self.replaying &= !(1 << warp);
            return true;
        }
        let Some(inst) = pass() else { panic!("warp {warp}: the stream ends before an instruction that is replayed") };
        (replay.at, replay.buffered) = (next + 1, next);
        replay.left &= !(1 << replay.left.ilog2());
        self.buffer[warp].push(inst);
        self.in_pipe[warp] += 1;
        self.valid |= 1 << warp;
        self.touched |= 1 << warp;
        false
    }

    /// Decodes up to `count` instructions into the empty buffer of a warp and returns their number.
    // There are two callers, one for each style of core.
    #[inline(always)]
    pub(in crate::sm) fn decode(&mut self, warp: usize, count: u32) -> u32 {
        if self.replaying >> warp & 1 != 0 && !self.decode_replayed(warp) {
            return 1;
        }
        let count = count.min(self.undecoded[warp]);
        let (stream, mut cursor, buffer) = (&mut self.streams[warp], self.cursor[warp], &mut self.buffer[warp]);
        for _ in 0..count {
            let Some(inst) = stream.next(&mut cursor) else {
                panic!("warp {warp}: the stream ends {} instructions early", self.undecoded[warp]);
            };
            buffer.push(inst);
            if stream.part_ends_at(cursor) {
                stream.advance(&mut cursor);
            }
        }
        // The next instructions are decoded when these have issued, which is late compared with the latency of the host's caches.
        stream.prefetch(cursor);
        self.cursor[warp] = cursor;
        self.undecoded[warp] -= count;
        self.in_pipe[warp] += count as u16;
        self.valid |= 1 << warp;
        self.touched |= 1 << warp;
        count
    }

    /// Returns the front instruction of a warp.
    #[inline]
    pub(in crate::sm) fn front(&self, warp: usize) -> &DynInst {
        self.buffer[warp].front()
    }

    /// Removes and returns the front instruction. The caller handles the next state: another front instruction, or [`Warps::buffer_emptied`].
    #[inline]
    pub(in crate::sm) fn take_front(&mut self, warp: usize) -> DynInst {
        let inst = *self.front(warp);
        self.pop_front(warp);
        inst
    }

    /// Removes the front instruction.
    #[inline]
    pub(in crate::sm) fn pop_front(&mut self, warp: usize) {
        self.touched |= 1 << warp;
        self.buffer[warp].pop();
    }

    /// Returns true if a warp has a front instruction, after the last one was removed.
    #[inline]
    pub(in crate::sm) fn has_front(&self, warp: usize) -> bool {
        self.buffer[warp].len > 0
    }

    /// Updates a warp whose last buffered instruction was removed: the warp needs a fetch, or is finished, which returns true.
    #[inline]
    pub(in crate::sm) fn buffer_emptied(&mut self, warp: usize) -> bool {
        let bit = 1u64 << warp;
        self.valid &= !bit;
        let finished = self.undecoded[warp] == 0 && self.replay[warp].left == 0;
        if finished {
            self.finished |= bit;
        } else {
            self.fetchable |= bit;
        }
        finished
    }

    /// Records the kind of unit that the front instruction needs.
    #[inline]
    pub(in crate::sm) fn set_kind(&mut self, warp: usize, kind: UnitKind) {
        self.of_kind[self.kind[warp] as usize] &= !(1 << warp);
        self.kind[warp] = kind;
        self.of_kind[kind as usize] |= 1 << warp;
    }

    /// Returns the kind of unit that the front instruction needs.
    #[inline]
    pub(in crate::sm) fn kind(&self, warp: usize) -> UnitKind {
        self.kind[warp]
    }

    /// Records the scoreboard hazards of the front instruction.
    #[inline]
    pub(in crate::sm) fn set_hazard(&mut self, warp: usize, hazard: Hazard) {
        let bit = 1u64 << warp;
        let now = self.hazard & !bit | u64::from(hazard.any) << warp;
        let by_memory = self.hazard_memory & !bit | u64::from(hazard.memory) << warp;
        self.touched |= (now ^ self.hazard) | (by_memory ^ self.hazard_memory);
        (self.hazard, self.hazard_memory) = (now, by_memory);
    }

    /// Marks warps as touched by another warp.
    #[inline]
    pub(in crate::sm) fn touch_others(&mut self, warps: u64) {
        self.touched |= warps;
        self.touched_others = true;
    }

    /// Opens the barrier of `all` warps of a CTA if its `running` warps are at the barrier.
    #[inline]
    pub(in crate::sm) fn open_barrier(&mut self, all: u64, running: u64) {
        if self.at_barrier & all == running && running != 0 {
            self.touch_others(self.at_barrier & all);
            self.at_barrier &= !all;
        }
    }

    /// Releases the warps at a fence whose registers are all written.
    #[inline]
    pub(in crate::sm) fn leave_fences(&mut self) {
        let over = std::mem::take(&mut self.fence_over);
        self.touched |= self.at_fence & over;
        self.at_fence &= !over;
    }

    /// Restricts issue to the warps of `allowed`.
    #[inline]
    pub(in crate::sm) fn restrict_issue(&mut self, allowed: u64) {
        self.touch_others((self.allowed ^ allowed) & self.live);
        self.allowed = allowed;
    }

    /// Ends the wait of a warp for its atomics, whose lanes have all been returned.
    #[inline]
    pub(in crate::sm) fn leave_atomic(&mut self, warp: usize) {
        self.touched |= 1 << warp;
        self.at_atomic &= !(1 << warp);
        self.wait_ended = true;
    }

    /// Ends the wait of a warp for groups of copies, which are complete.
    pub(in crate::sm) fn leave_copies(&mut self, warp: usize) {
        self.at_copies &= !(1 << warp);
        self.leave_atomic(warp);
    }

    /// Returns the warps that wait for something other than a register or a unit.
    #[inline]
    pub(in crate::sm) fn waiting(&self) -> u64 {
        self.at_barrier | self.at_fence | self.at_atomic
    }

    /// Returns the instruction stream of a warp, for the addresses of its accesses.
    #[inline]
    pub(in crate::sm) fn stream(&self, warp: usize) -> &WarpStream {
        &self.streams[warp]
    }

    /// Returns true if the outstanding state of a warp is limited to its scoreboard: all its instructions between decode and the end of the
    /// pipeline are in its buffer.
    pub(in crate::sm) fn is_quiet(&self, warp: usize) -> bool {
        self.in_pipe[warp] == u16::from(self.buffer[warp].len) && self.stores[warp] == 0 && self.atomics[warp] == 0
    }

    /// Returns the `limit` oldest resident warps that do not wait at a barrier, a fence, an atomic or for copies. A waiting warp frees its
    /// position, as in GPGPU-Sim's static limiting; otherwise a CTA with more warps than the limit would wait at its barrier for warps that
    /// may not issue.
    pub(in crate::sm) fn oldest_warps(&self, limit: u32) -> u64 {
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

/// Returns the warp of `mask` that was launched first.
#[inline]
pub(in crate::sm) fn oldest_of(mask: u64, age: &[u32; MAX_WARPS]) -> Option<usize> {
    bits(mask).min_by_key(|warp| age[*warp])
}

/// Returns the slots in `mask` in ascending order.
#[inline]
pub(in crate::sm) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let bit = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
