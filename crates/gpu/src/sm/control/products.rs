//! The matrix units when they work for warp groups (wgmma): four consecutive warps of a CTA make one product of 64 rows together.
//!
//! A warp hands in its part of a product and goes on; there is room for a few that wait. When all warps of the group have handed theirs in, the
//! operands in shared memory are read, the first matrix and then the columns of the second one, and the four matrix units multiply, two columns
//! per cycle on an H100. Products begin in the order in which they are whole; one is read while the one before is multiplied. A group of products is complete
//! when its last one is. Since each time is known when a product is whole, nothing here is looked at from cycle to cycle.
//!
//! Source: our measurement of an H100 (`products` of `validate/reference/h100/micro.json`): a further product of n columns takes max(n / 2, 16 + n / 4)
//! cycles with both matrices in shared memory, which is 2 KiB and 32 bytes a column at 128 bytes per cycle, and max(n / 2, 14) with the first one
//! in registers; types of elements make no difference.

use std::collections::VecDeque;

use warpshard_config::machine::Products as Spec;

use super::super::core::{MAX_WARPS, bits};

/// Bytes of the first matrix, 64 rows of 32 bytes, and of each column of the second one.
const FIRST_BYTES: u64 = 64 * COLUMN_BYTES;
const COLUMN_BYTES: u64 = 32;

/// A warp's part of a product.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Part {
    pub(super) columns: u16,
    /// The first matrix is in registers.
    pub(super) registers: bool,
    /// It ends a group of products.
    pub(super) closes: bool,
    /// When it was issued.
    pub(super) at: u64,
}

/// Products that begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) products: u64,
    /// Cycles in which the matrix units multiply for them.
    pub(super) cycles: u64,
}

/// The products of a warp.
#[derive(Debug, Default, warpshard_state::State)]
struct OfWarp {
    /// Parts of products that are not whole.
    waiting: VecDeque<Part>,
    /// When products that are whole begin.
    begins: VecDeque<u64>,
    /// The groups of products that are not complete: when they will be, `u64::MAX` where that is not known.
    groups: VecDeque<u64>,
}

/// The matrix units of an SM for warp groups.
#[derive(Debug, warpshard_state::State)]
pub(super) struct GroupProducts {
    #[state(fixed)]
    spec: Spec,
    warps: Box<[OfWarp]>,
    /// When the operands of the next product can be read, and when it can be multiplied.
    read_free: u64,
    multiply_free: u64,
    /// From when until when the products multiply that began since it was last asked.
    times: Vec<(u64, u64)>,
}

impl GroupProducts {
    pub(super) fn new(spec: Spec) -> Self {
        Self { spec, warps: (0..MAX_WARPS).map(|_| OfWarp::default()).collect(), read_free: 0, multiply_free: 0, times: Vec::new() }
    }

    /// Takes out from when until when the products multiply that began since the last time.
    pub(super) fn take_times(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.times.drain(..)
    }

    /// A warp starts: it has no products.
    pub(super) fn forget(&mut self, warp: usize) {
        self.warps[warp] = OfWarp::default();
    }

    /// When a warp may hand in a part: `None` now, `u64::MAX` if the others of its group have to come first.
    pub(super) fn full_until(&mut self, warp: usize, now: u64) -> Option<u64> {
        let of_warp = &mut self.warps[warp];
        while of_warp.begins.pop_front_if(|at| *at <= now).is_some() {}
        let held = of_warp.waiting.len() + of_warp.begins.len();
        if held < self.spec.queue as usize { None } else { Some(of_warp.begins.front().copied().unwrap_or(u64::MAX)) }
    }

    /// When at most `most` groups of a warp are not complete: `None` now, `u64::MAX` if that is not known yet.
    pub(super) fn open_until(&mut self, warp: usize, most: u8, now: u64) -> Option<u64> {
        let groups = &mut self.warps[warp].groups;
        while groups.pop_front_if(|at| *at <= now).is_some() {}
        let over = groups.len().checked_sub(usize::from(most) + 1)?;
        groups.get(over).copied()
    }

    /// Takes a warp's part of a product, and begins the products that are whole; `group` is the set of unfinished warps in its warp group.
    pub(super) fn hand_in(&mut self, warp: usize, part: Part, group: u64) -> Begun {
        let of_warp = &mut self.warps[warp];
        of_warp.waiting.push_back(part);
        if part.closes {
            of_warp.groups.push_back(u64::MAX);
        }
        self.begin_whole(group)
    }

    /// Begins the products that are whole, of the warps of a group that have not finished.
    pub(super) fn begin_whole(&mut self, group: u64) -> Begun {
        let mut begun = Begun::default();
        while group != 0 && bits(group).all(|warp| !self.warps[warp].waiting.is_empty()) {
            let parts = bits(group).filter_map(|warp| self.warps[warp].waiting.front().copied());
            let Some(last) = parts.max_by_key(|part| part.at) else { break };
            let (begins, ends) = self.times(&last);
            for warp in bits(group) {
                let of_warp = &mut self.warps[warp];
                let part = of_warp.waiting.pop_front();
                of_warp.begins.push_back(begins);
                if part.is_some_and(|part| part.closes)
                    && let Some(end) = of_warp.groups.iter_mut().find(|end| **end == u64::MAX)
                {
                    *end = ends;
                }
            }
            begun.products += 1;
            begun.cycles += self.multiplies(&last);
        }
        begun
    }

    /// When a product that is whole begins and ends.
    fn times(&mut self, part: &Part) -> (u64, u64) {
        let columns = u64::from(part.columns);
        let first = if part.registers { 0 } else { FIRST_BYTES };
        let read = (first + COLUMN_BYTES * columns).div_ceil(u64::from(self.spec.shared_bytes));
        let (least, latency) =
            if part.registers { (self.spec.register_interval, self.spec.register_latency) } else { (0, self.spec.latency) };
        let reads = self.read_free.max(part.at + 1);
        let begins = reads.max(self.multiply_free);
        let multiplies = self.multiplies(part);
        let takes = multiplies.max(u64::from(least));
        self.multiply_free = begins + takes;
        self.times.push((begins, begins + multiplies));
        // There is room for the operands of one product beside those of the one that is multiplied. Columns come as they are needed where the first
        // matrix is in registers.
        self.read_free = if part.registers { begins } else { (reads + read).max(begins) };
        (begins, begins + multiplies + u64::from(latency))
    }

    /// Cycles in which the matrix units multiply for a product.
    fn multiplies(&self, part: &Part) -> u64 {
        u64::from(part.columns).div_ceil(u64::from(self.spec.columns.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn products() -> GroupProducts {
        GroupProducts::new(Spec {
            latency: 50,
            register_latency: 40,
            shared_bytes: 128,
            register_interval: 14,
            queue: 2,
            sum_reads: 16,
            columns: 2,
        })
    }

    /// The cycles in which products end whose parts come as early as they may.
    fn ends(columns: u16, registers: bool, count: usize) -> Vec<u64> {
        let (mut units, mut now, mut all) = (products(), 100, Vec::<u64>::new());
        for _ in 0..count {
            while let Some(until) = units.full_until(0, now) {
                now = until;
            }
            assert_eq!(units.hand_in(0, Part { columns, registers, closes: true, at: now }, 1).products, 1);
            all.extend(units.warps[0].groups.back());
        }
        all.iter().map(|end| end - 100).collect()
    }

    #[test]
    fn products_take_the_longer_of_reading_and_multiplying() {
        let steps = |columns, registers| ends(columns, registers, 6).windows(2).map(|two| two[1] - two[0]).collect::<Vec<_>>();
        assert_eq!(ends(64, false, 1), [1 + 32 + 50]);
        assert_eq!([8, 32, 64, 128, 256].map(|columns| steps(columns, false)[4]), [18, 24, 32, 64, 128]);
        assert_eq!([8, 32, 64, 256].map(|columns| steps(columns, true)[4]), [14, 16, 32, 128]);
        assert_eq!(steps(256, false), [128; 5]);
    }

    #[test]
    fn a_product_begins_when_all_warps_have_handed_in_their_parts() {
        let mut units = products();
        let part = Part { columns: 64, registers: false, closes: true, at: 10 };
        for warp in 0..3 {
            assert_eq!(units.hand_in(warp, part, 0b1111), Begun::default());
        }
        assert_eq!((units.open_until(0, 0, 500), units.open_until(0, 1, 500)), (Some(u64::MAX), None));
        assert_eq!(units.hand_in(0, part, 0b1111), Begun::default());
        assert_eq!(units.full_until(0, 500), Some(u64::MAX));
        assert_eq!(units.hand_in(3, Part { at: 30, ..part }, 0b1111), Begun { products: 1, cycles: 32 });
        assert_eq!(
            (units.open_until(0, 1, 40), units.open_until(0, 1, 500), units.open_until(0, 0, 500)),
            (Some(113), None, Some(u64::MAX))
        );
        // A warp that has finished takes no part.
        assert_eq!(units.full_until(0, 31), None);
        units.hand_in(1, part, 0b1111);
        assert_eq!(units.begin_whole(0b0011).products, 1);
        assert_eq!(units.open_until(0, 0, 500), None);
        units.forget(2);
        assert_eq!(units.open_until(2, 0, 0), None);
    }
}
