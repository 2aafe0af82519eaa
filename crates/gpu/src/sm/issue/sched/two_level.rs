//! Two-level scheduling: only the warps of a small ready queue may issue ("Workload-aware scheduling techniques", 3.4.2.2 and Figure 3.6,
//! after Gebhart et al., ISCA 2011).
//!
//! A warp that waits for a long operation (a register that memory writes, a barrier, a fence, an atomic) moves to the pending set; when the
//! wait ends it joins the tail of the active queue, which is then sorted by the key of the order: none, launch, or the length of the next
//! phase. The head of the active queue fills free entries of the ready queue. Each scheduler has private queues. Warps of the ready queue
//! are served round robin.
//!
//! In: masks of the conditions of warps. Out: the mask of the ready queues. Invariant: a single call of [`TwoLevel::update`] reaches a
//! state in which [`TwoLevel::is_settled`] holds, so that cycles without a change of conditions may be skipped.

use super::super::super::core::{MAX_WARPS, bits};

/// Sort keys of the active queue when warps join it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(in crate::sm) enum ActiveQueueSort {
    /// Order of arrival.
    Arrival,
    /// Oldest warp first.
    Age,
    /// Shortest next phase first; ties go to the oldest warp.
    Phase,
}

/// Conditions of the warps of an SM.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct WarpConditions<'a> {
    /// Resident warps with instructions left to issue.
    pub(in crate::sm) running: u64,
    /// Warps that wait for a long operation.
    pub(in crate::sm) waiting: u64,
    /// Order of launch.
    pub(in crate::sm) age: &'a [u32; MAX_WARPS],
    /// Length of the phase of the front instruction.
    pub(in crate::sm) length: &'a [u16; MAX_WARPS],
}

/// The queues of one scheduler.
#[derive(Clone, Debug, warpshard_state::State)]
struct SchedulerQueues {
    /// The warp slots of the scheduler.
    slots: u64,
    ready: u64,
    pending: u64,
    /// Members of the active queue from the head.
    active: Vec<u8>,
    active_mask: u64,
}

/// The queues of the schedulers of an SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct TwoLevel {
    sort: ActiveQueueSort,
    capacity: u32,
    queues: Box<[SchedulerQueues]>,
}

impl TwoLevel {
    /// Creates empty queues; `slots` are the warp slots of each scheduler, and `capacity` is the size of a ready queue.
    pub(in crate::sm) fn new(sort: ActiveQueueSort, capacity: u32, slots: &[u64]) -> Self {
        let queues = |&slots: &u64| SchedulerQueues { slots, ready: 0, pending: 0, active: Vec::with_capacity(MAX_WARPS), active_mask: 0 };
        Self { sort, capacity, queues: slots.iter().map(queues).collect() }
    }

    /// Returns the warps that may issue.
    pub(in crate::sm) fn ready(&self) -> u64 {
        self.queues.iter().fold(0, |mask, queues| mask | queues.ready)
    }

    /// Returns true if an update would change nothing.
    #[inline]
    pub(in crate::sm) fn is_settled(&self, now: &WarpConditions<'_>) -> bool {
        self.queues.iter().all(|queues| queues.is_settled(now, self.capacity))
    }

    /// Moves warps between the queues according to their conditions.
    pub(in crate::sm) fn update(&mut self, now: &WarpConditions<'_>) {
        for queues in &mut self.queues {
            if !queues.is_settled(now, self.capacity) {
                queues.update(now, self.sort, self.capacity);
            }
        }
    }
}

impl SchedulerQueues {
    #[inline]
    fn is_settled(&self, now: &WarpConditions<'_>, capacity: u32) -> bool {
        let known = self.ready | self.pending | self.active_mask;
        let running = now.running & self.slots;
        known == running
            && (self.ready | self.active_mask) & now.waiting == 0
            && self.pending & !now.waiting == 0
            && (self.active_mask == 0 || self.ready.count_ones() >= capacity)
    }

    fn update(&mut self, now: &WarpConditions<'_>, sort: ActiveQueueSort, capacity: u32) {
        let running = now.running & self.slots;
        let new = running & !(self.ready | self.pending | self.active_mask);
        let joins = running & !now.waiting & (new | self.pending);
        self.pending = running & now.waiting;
        self.ready &= running & !now.waiting;
        self.active.retain(|&warp| running & !now.waiting & 1 << warp != 0);
        // Warps that join in the same cycle do so in the order of their launch.
        let mut left = joins;
        while let Some(warp) = bits(left).min_by_key(|&warp| now.age[warp]) {
            left &= !(1 << warp);
            self.active.push(warp as u8);
        }
        if joins != 0 {
            let age = |warp: u8| now.age[usize::from(warp)];
            match sort {
                ActiveQueueSort::Arrival => {}
                ActiveQueueSort::Age => self.active.sort_unstable_by_key(|&warp| age(warp)),
                ActiveQueueSort::Phase => self.active.sort_unstable_by_key(|&warp| (now.length[usize::from(warp)], age(warp))),
            }
        }
        let free = capacity.saturating_sub(self.ready.count_ones()) as usize;
        let moved = self.active.drain(..free.min(self.active.len()));
        self.ready |= moved.fold(0, |mask, warp| mask | 1 << warp);
        self.active_mask = self.active.iter().fold(0, |mask, &warp| mask | 1 << warp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestQueues {
        queues: TwoLevel,
        age: [u32; MAX_WARPS],
        length: [u16; MAX_WARPS],
    }

    impl TestQueues {
        /// Creates eight warps of one scheduler, launched in the order of their slots, with a ready queue of three.
        fn new(sort: ActiveQueueSort) -> Self {
            let mut age = [0; MAX_WARPS];
            (0..).zip(&mut age).for_each(|(i, age)| *age = i);
            Self { queues: TwoLevel::new(sort, 3, &[0xff]), age, length: [0; MAX_WARPS] }
        }

        fn ready(&mut self, waiting: u64) -> u64 {
            let now = WarpConditions { running: 0xff, waiting, age: &self.age, length: &self.length };
            self.queues.update(&now);
            assert!(self.queues.is_settled(&now));
            self.queues.ready()
        }
    }

    #[test]
    fn a_waiting_warp_is_replaced_by_the_head_of_the_active_queue() {
        let mut core = TestQueues::new(ActiveQueueSort::Arrival);
        assert_eq!(core.ready(0), 0b0000_0111);
        assert_eq!(core.ready(0b010), 0b0000_1101);
        assert_eq!(core.ready(0b111), 0b0011_1000);
    }

    #[test]
    fn without_sorting_a_returning_warp_joins_the_tail() {
        let mut core = TestQueues::new(ActiveQueueSort::Arrival);
        core.ready(0);
        core.ready(0b001);
        core.ready(0b000);
        assert_eq!(core.ready(0b1110), 0b0111_0000, "warps 4 to 6 come before warp 0");
    }

    #[test]
    fn sorted_by_age_a_returning_warp_precedes_younger_ones() {
        let mut core = TestQueues::new(ActiveQueueSort::Age);
        core.ready(0);
        core.ready(0b001);
        core.ready(0b000);
        assert_eq!(core.ready(0b1110), 0b0011_0001, "warp 0 is the oldest");
    }

    #[test]
    fn sorted_by_phase_the_shortest_next_phase_comes_first() {
        let mut core = TestQueues::new(ActiveQueueSort::Phase);
        core.ready(0);
        core.length[..8].copy_from_slice(&[0, 0, 0, 30, 40, 20, 10, 50]);
        core.ready(0b001);
        core.length[0] = 25;
        core.ready(0b000);
        // Warp 3 has already replaced warp 0 in the ready queue; of the others, warps 6, 5 and 0 have the shortest next phases.
        assert_eq!(core.ready(0b1110), 0b0110_0001);
    }

    #[test]
    fn warps_that_ended_leave_and_new_ones_join_the_tail() {
        let mut core = TestQueues::new(ActiveQueueSort::Arrival);
        core.ready(0);
        let ended = WarpConditions { running: 0b1111_1100, waiting: 0, age: &core.age, length: &core.length };
        core.queues.update(&ended);
        assert_eq!(core.queues.ready(), 0b0001_1100);
        assert_eq!(core.ready(0b0001_1100), 0b1110_0000, "the two new warps come after warps 5 to 7");
        assert_eq!(core.ready(0b1111_1100), 0b0000_0011);
    }

    #[test]
    fn schedulers_have_private_queues() {
        let mut core = TestQueues::new(ActiveQueueSort::Arrival);
        core.queues = TwoLevel::new(ActiveQueueSort::Arrival, 1, &[0b0101_0101, 0b1010_1010]);
        assert_eq!(core.ready(0), 0b0000_0011);
    }
}
