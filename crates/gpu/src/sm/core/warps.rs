//! The state of the warps: arrays indexed by warp slot, and one word per condition with a bit for each slot.
//!
//! Inputs are events (an instruction was decoded, issued, written back); outputs are the masks from which fetch and the
//! schedulers choose. Invariants: the masks of a slot change only at such events, never with time; every event
//! that may change a scheduler's choice marks the slot as changed.

use warpshard_base::{Cycle, prefetch};
use warpshard_workload::{Cursor, DynInst, WarpStream};

use super::super::kinds::{KINDS, UnitKind};
use super::buffer::InstBuffer;

/// Warp slots that a mask can hold.
pub(in crate::sm) const MAX_WARPS: usize = 64;

/// In place of a warp: that of an instruction or access under way whose CTA was taken away. It passes on, but nothing comes of it.
pub(in crate::sm) const NOBODY: u8 = u8::MAX;

/// How many of a warp's last instructions can be replayed.
pub(in crate::sm) const REPLAYABLE: u32 = u32::BITS;

/// Whether a warp, if it is one, is in a set.
#[inline]
pub(in crate::sm) fn is_in(warps: u64, warp: u8) -> bool {
    warp != NOBODY && warps >> (warp & 63) & 1 != 0
}

/// The instructions that a warp replays before it goes on.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Replay {
    /// Those that are not decoded: bit `i` is the one before `i` others of those that were issued.
    left: u32,
    /// The instruction at the cursor, and the one in the buffer, by the number of those before it.
    at: u32,
    buffered: u32,
}

/// What keeps an instruction from issuing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sm) struct Hazard {
    /// It meets a reserved register.
    pub(in crate::sm) any: bool,
    /// It meets one that memory will write.
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
    /// Sectors of stores from a slot that no acknowledgement came for yet; those that an ended warp left count on for the warp after it.
    pub(in crate::sm) stores: [u16; MAX_WARPS],
    /// Those of them that have not left the L1 for the network.
    pub(in crate::sm) unsent: Box<[u16; MAX_WARPS]>,
    /// Slots from which an ended warp left such stores.
    left_stores: u64,
    /// The last of `left_stores` was acknowledged, and the grid scheduler does not know it.
    pub(in crate::sm) answered: bool,
    /// Lanes of atomics that are under way; the warp waits for all of them.
    pub(in crate::sm) atomics: [u16; MAX_WARPS],
    /// The CTA slot that a warp belongs to.
    pub(in crate::sm) cta: [u8; MAX_WARPS],
    /// Order of launch; the smaller, the older.
    pub(in crate::sm) age: [u32; MAX_WARPS],
    /// When a warp issued last, or was started.
    pub(in crate::sm) last_issue: [Cycle; MAX_WARPS],
    /// Resident and not yet released by the fetch stage.
    pub(in crate::sm) live: u64,
    /// The instruction buffer holds something.
    pub(in crate::sm) valid: u64,
    /// The instruction buffer is empty and the stream is not.
    pub(in crate::sm) fetchable: u64,
    /// Waits at a CTA barrier.
    pub(in crate::sm) at_barrier: u64,
    /// Waits for its outstanding writes to registers, because of a memory fence.
    pub(in crate::sm) at_fence: u64,
    /// Waits for an atomic, or for groups of copies to shared memory.
    pub(in crate::sm) at_atomic: u64,
    /// Those of them that wait for copies.
    pub(in crate::sm) at_copies: u64,
    /// The front instruction meets a reserved register.
    pub(in crate::sm) hazard: u64,
    /// As above, and the register is reserved by a memory instruction.
    pub(in crate::sm) hazard_memory: u64,
    /// Waits at a fence, and all its registers are written.
    pub(in crate::sm) fence_over: u64,
    /// Issued its last instruction.
    pub(in crate::sm) finished: u64,
    /// Finished, and nothing of it is under way: the fetch stage may release it.
    pub(in crate::sm) releasable: u64,
    /// A warp stopped waiting for an atomic since the issue stage last looked at the limit of warps.
    pub(in crate::sm) wait_ended: bool,
    /// May issue under the current limit of warps.
    pub(in crate::sm) allowed: u64,
    /// Neither fetches nor issues, because its CTA leaves the SM or is being restored.
    pub(in crate::sm) frozen: u64,
    /// How often a slot's instructions under way were squashed: replies to an earlier generation have no effect.
    pub(in crate::sm) generation: [u8; MAX_WARPS],
    replay: Box<[Replay; MAX_WARPS]>,
    /// Replays instructions, one by one, or has to move its cursor past the last of them.
    replaying: u64,
    /// Something of the above that a scheduler looks at changed since the warp's scheduler last looked.
    pub(in crate::sm) touched: u64,
    /// Among the touched there may be warps that were touched by what another one did.
    pub(in crate::sm) touched_others: bool,
    /// The front instruction goes to a unit of the kind; or the last did, where there is none.
    pub(in crate::sm) of_kind: [u64; KINDS],
}

impl Warps {
    /// The warps whose front instruction is of one of `kinds`, a bit for each.
    #[inline]
    pub(in crate::sm) fn of_kinds(&self, mut kinds: u16) -> u64 {
        let mut warps = 0;
        while kinds != 0 {
            warps |= self.of_kind[kinds.trailing_zeros() as usize];
            kinds &= kinds - 1;
        }
        warps
    }

    /// Prefetches the masks, which every cycle looks at.
    #[inline]
    pub(in crate::sm) fn prefetch(&self) {
        prefetch(&self.live);
        prefetch(&self.touched);
        prefetch(&self.of_kind);
    }

    /// Prefetches what issue and decode look at of the warps that live.
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
            of_kind: [0; KINDS],
        }
    }

    /// The slots of one of `schedulers` schedulers, which they get in turn.
    pub(in crate::sm) fn of_scheduler(&self, scheduler: usize, schedulers: u32) -> u64 {
        (scheduler..self.streams.len()).step_by(schedulers as usize).fold(0, |all, slot| all | 1 << slot)
    }

    /// Bytes of its arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.streams) + size_of_val(&*self.buffer)
    }

    /// Puts a new warp into a free slot.
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

    /// Takes a released warp out of its slot.
    pub(in crate::sm) fn remove(&mut self, warp: usize) {
        let clear = !(1 << warp);
        self.live &= clear;
        self.touched |= !clear;
        self.finished &= clear;
        self.releasable &= clear;
        self.replaying &= clear;
        self.streams[warp] = WarpStream::default();
    }

    /// Instructions of a warp that were issued.
    pub(in crate::sm) fn executed(&self, warp: usize) -> u32 {
        self.streams[warp].len() - self.left(warp)
    }

    /// Instructions of a warp that were never issued.
    #[inline]
    pub(in crate::sm) fn left(&self, warp: usize) -> u32 {
        // The buffer of one that replays holds nothing else.
        let buffered = if self.replaying >> warp & 1 != 0 { 0 } else { self.buffer[warp].len };
        self.undecoded[warp] + u32::from(buffered)
    }

    /// Instructions of a warp that replays which follow the one that was just taken from its buffer.
    pub(super) fn left_after_replayed(&self, warp: usize) -> u32 {
        self.streams[warp].len() - self.replay[warp].buffered - 1
    }

    /// Instructions in the buffer of a warp.
    pub(in crate::sm) fn buffered(&self, warp: usize) -> usize {
        usize::from(self.buffer[warp].len)
    }

    /// Whether the instruction that was just taken from the buffer of a warp had been issued before.
    #[inline]
    pub(in crate::sm) fn replays(&self, warp: usize) -> bool {
        self.replaying >> warp & 1 != 0
    }

    /// The instruction of a warp that `left` others follow, as a bit of [`WarpContext::replays`](warpshard_protocol::WarpContext::replays); none
    /// where it was issued too long ago.
    pub(in crate::sm) fn replay_bit(&self, warp: usize, left: u32) -> Option<u32> {
        let before = left - self.left(warp);
        (before < REPLAYABLE).then(|| 1 << before)
    }

    /// A warp that leaves has to replay the instructions of `squashed`, and those that it had to replay and has not issued.
    pub(in crate::sm) fn owe(&mut self, warp: usize, squashed: u32) {
        let buffered = if self.replays(warp) && self.has_front(warp) {
            1 << (self.streams[warp].len() - self.undecoded[warp] - self.replay[warp].buffered - 1)
        } else {
            0
        };
        self.replay[warp].left |= squashed | buffered;
    }

    /// The instructions that a warp has to replay, none of which is in its buffer or under way.
    pub(in crate::sm) fn owed(&self, warp: usize) -> u32 {
        self.replay[warp].left
    }

    /// What a warp has under way in memory is given up.
    pub(in crate::sm) fn give_up(&mut self, warp: usize) {
        self.generation[warp] = self.generation[warp].wrapping_add(1);
        (self.stores[warp], self.unsent[warp]) = (0, 0);
        self.stores_answered(warp);
    }

    /// A warp ends before its stores are acknowledged; returns whether it is the first on the SM that leaves some since
    /// the grid scheduler was told that all are acknowledged.
    pub(in crate::sm) fn leave_stores(&mut self, warp: usize) -> bool {
        let first = self.left_stores == 0 && !std::mem::take(&mut self.answered);
        self.left_stores |= 1 << warp;
        first
    }

    /// No store from a slot is under way any more.
    #[inline]
    pub(in crate::sm) fn stores_answered(&mut self, warp: usize) {
        let bit = 1 << warp;
        if self.left_stores & bit != 0 {
            self.left_stores &= !bit;
            self.answered = self.left_stores == 0;
        }
    }

    /// Takes a warp out of its slot before its end.
    pub(in crate::sm) fn evict(&mut self, warp: usize) {
        self.remove(warp);
        self.give_up(warp);
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

    /// Lets a warp that was just started go on after so many instructions, of which it replays some.
    pub(in crate::sm) fn skip(&mut self, warp: usize, executed: u32, replays: u32) {
        let (bit, len) = (1u64 << warp, self.streams[warp].len());
        let at = executed - (u32::BITS - replays.leading_zeros());
        self.cursor[warp] = self.streams[warp].go_to(at);
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

    /// The static index of the instruction that the next fetch of the warp begins with.
    pub(in crate::sm) fn next_index(&self, warp: usize) -> Option<u32> {
        let mut cursor = self.cursor[warp];
        if self.replaying >> warp & 1 != 0 {
            (self.replay[warp].at..self.replayed_next(warp)).for_each(|_| _ = self.streams[warp].next(&mut cursor));
        }
        self.streams[warp].next(&mut cursor).map(|inst| inst.index)
    }

    /// The instruction that a warp which replays decodes next, by the number of those before it: the first that is left, or the first that is new.
    fn replayed_next(&self, warp: usize) -> u32 {
        let issued = self.streams[warp].len() - self.undecoded[warp];
        issued - (u32::BITS - self.replay[warp].left.leading_zeros())
    }

    /// Decodes the next instruction that a warp replays; where none is left it goes on to what is new, which is returned.
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

    /// Decodes up to `count` instructions into the empty buffer of a warp and returns how many there were.
    // Called from two places, one for each style of core.
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
    pub(in crate::sm) fn front(&self, warp: usize) -> &DynInst {
        self.buffer[warp].front()
    }

    /// Takes the front instruction. What follows is the caller's business: another one, or [`Warps::run_dry`].
    #[inline]
    pub(in crate::sm) fn take_front(&mut self, warp: usize) -> DynInst {
        let inst = *self.front(warp);
        self.pop_front(warp);
        inst
    }

    /// The same, of which only what follows is wanted.
    #[inline]
    pub(in crate::sm) fn pop_front(&mut self, warp: usize) {
        self.touched |= 1 << warp;
        self.buffer[warp].pop();
    }

    /// Whether a warp has a front instruction, that taken last put aside.
    #[inline]
    pub(in crate::sm) fn has_front(&self, warp: usize) -> bool {
        self.buffer[warp].len > 0
    }

    /// The last instruction in the buffer of a warp was taken: it wants a fetch, or is finished, which is returned.
    #[inline]
    pub(in crate::sm) fn run_dry(&mut self, warp: usize) -> bool {
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

    /// Notes which kind of unit the front instruction needs.
    #[inline]
    pub(in crate::sm) fn set_kind(&mut self, warp: usize, kind: UnitKind) {
        self.of_kind[self.kind[warp] as usize] &= !(1 << warp);
        self.kind[warp] = kind;
        self.of_kind[kind as usize] |= 1 << warp;
    }

    /// The kind of unit that the front instruction needs.
    #[inline]
    pub(in crate::sm) fn kind(&self, warp: usize) -> UnitKind {
        self.kind[warp]
    }

    /// Notes whether the front instruction meets a reserved register, and whether memory reserved it.
    #[inline]
    pub(in crate::sm) fn set_hazard(&mut self, warp: usize, hazard: Hazard) {
        let bit = 1u64 << warp;
        let now = self.hazard & !bit | u64::from(hazard.any) << warp;
        let by_memory = self.hazard_memory & !bit | u64::from(hazard.memory) << warp;
        self.touched |= (now ^ self.hazard) | (by_memory ^ self.hazard_memory);
        (self.hazard, self.hazard_memory) = (now, by_memory);
    }

    /// What one warp did touches others.
    #[inline]
    pub(in crate::sm) fn touch_others(&mut self, warps: u64) {
        self.touched |= warps;
        self.touched_others = true;
    }

    /// Opens the barrier of `all` warps of a CTA if those of them that are `running` are at it.
    #[inline]
    pub(in crate::sm) fn open_barrier(&mut self, all: u64, running: u64) {
        if self.at_barrier & all == running && running != 0 {
            self.touch_others(self.at_barrier & all);
            self.at_barrier &= !all;
        }
    }

    /// Those whose registers are all written leave their fence.
    #[inline]
    pub(in crate::sm) fn leave_fences(&mut self) {
        let over = std::mem::take(&mut self.fence_over);
        self.touched |= self.at_fence & over;
        self.at_fence &= !over;
    }

    /// Only the warps of `allowed` may issue.
    #[inline]
    pub(in crate::sm) fn allow(&mut self, allowed: u64) {
        self.touch_others((self.allowed ^ allowed) & self.live);
        self.allowed = allowed;
    }

    /// All lanes of a warp's atomics came back.
    #[inline]
    pub(in crate::sm) fn leave_atomic(&mut self, warp: usize) {
        self.touched |= 1 << warp;
        self.at_atomic &= !(1 << warp);
        self.wait_ended = true;
    }

    /// The groups of copies that a warp waited for are complete.
    pub(in crate::sm) fn leave_copies(&mut self, warp: usize) {
        self.at_copies &= !(1 << warp);
        self.leave_atomic(warp);
    }

    /// Warps that wait for something other than a register or a unit.
    #[inline]
    pub(in crate::sm) fn waiting(&self) -> u64 {
        self.at_barrier | self.at_fence | self.at_atomic
    }

    /// The stream of a warp, for the addresses of its accesses.
    #[inline]
    pub(in crate::sm) fn stream(&self, warp: usize) -> &WarpStream {
        &self.streams[warp]
    }

    /// Whether nothing of a warp is in flight but what the scoreboard knows: all that is between decode and the end of its
    /// pipeline waits in its buffer.
    pub(in crate::sm) fn is_quiet(&self, warp: usize) -> bool {
        self.in_pipe[warp] == u16::from(self.buffer[warp].len) && self.stores[warp] == 0 && self.atomics[warp] == 0
    }

    /// The `limit` oldest resident warps among those that wait neither at a barrier nor for a fence, an atomic or copies. One that
    /// waits gives its place away, as in GPGPU-Sim's static limiting; or a CTA with more warps than the limit would wait at its
    /// barrier for warps that may not issue.
    pub(in crate::sm) fn oldest(&self, limit: u32) -> u64 {
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
pub(in crate::sm) fn oldest_of(mask: u64, age: &[u32; MAX_WARPS]) -> Option<usize> {
    bits(mask).min_by_key(|warp| age[*warp])
}

/// The slots in `mask`, ascending.
#[inline]
pub(in crate::sm) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let bit = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
