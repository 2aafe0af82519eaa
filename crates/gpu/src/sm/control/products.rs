//! The matrix units for products of warp groups (wgmma): four consecutive warps of a CTA compute one product of 64 rows together.
//!
//! A warp issues its part of a product and continues; a few parts can wait. When all warps of the group have issued their parts, the
//! operands in shared memory are read, first the first matrix and then the columns of the second one, and the four matrix units multiply,
//! two columns per cycle on an H100. Products begin in the order in which they become complete; the operands of a product are read while
//! the preceding product is multiplied. A group of products is complete when its last product is. All cycles of a product are determined
//! when its last part is issued, so nothing is polled per cycle.
//!
//! Source: our measurement of an H100 (`products` of `validate/reference/h100/micro.json`): a further product of n columns takes max(n / 2,
//! 16 + n / 4) cycles with both matrices in shared memory, which is 2 KiB and 32 bytes a column at 128 bytes per cycle, and max(n / 2, 14)
//! with the first one in registers; types of elements make no difference.

use std::collections::VecDeque;

use warpshard_config::machine::Products as Spec;

use super::super::core::{MAX_WARPS, bits};

/// Bytes of the first matrix: 64 rows of 32 bytes.
const FIRST_MATRIX_BYTES: u64 = 64 * MATRIX_COLUMN_BYTES;
/// Bytes of a column of the second matrix.
const MATRIX_COLUMN_BYTES: u64 = 32;

/// The part of a product that one warp issues.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct ProductPart {
    pub(super) columns: u16,
    /// True if the first matrix is in registers.
    pub(super) registers: bool,
    /// True if the product ends a group of products.
    pub(super) closes: bool,
    /// The cycle of issue.
    pub(super) at: u64,
}

/// Products that begin at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartedProducts {
    pub(super) products: u64,
    /// Cycles in which the matrix units multiply for the products.
    pub(super) cycles: u64,
}

/// The products of a warp.
#[derive(Debug, Default, warpshard_state::State)]
struct WarpProducts {
    /// Parts of products for which parts of other warps are missing.
    waiting: VecDeque<ProductPart>,
    /// Start cycles of the products whose parts are all issued.
    begins: VecDeque<u64>,
    /// Completion cycles of the incomplete groups of products; `u64::MAX` if undetermined.
    groups: VecDeque<u64>,
}

/// The matrix units of an SM for warp groups.
#[derive(Debug, warpshard_state::State)]
pub(super) struct GroupProducts {
    #[state(fixed)]
    spec: Spec,
    warps: Box<[WarpProducts]>,
    /// The cycle in which the operands of the next product can be read.
    read_free: u64,
    /// The cycle in which the next product can be multiplied.
    multiply_free: u64,
    /// First and end cycles of the products that began since the last call of [`GroupProducts::take_times`].
    times: Vec<(u64, u64)>,
}

impl GroupProducts {
    pub(super) fn new(spec: Spec) -> Self {
        Self { spec, warps: (0..MAX_WARPS).map(|_| WarpProducts::default()).collect(), read_free: 0, multiply_free: 0, times: Vec::new() }
    }

    /// Removes and returns the first and end cycles of the products that began since the last call.
    pub(super) fn take_times(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.times.drain(..)
    }

    /// Discards the products of a warp that starts.
    pub(super) fn clear_warp(&mut self, warp: usize) {
        self.warps[warp] = WarpProducts::default();
    }

    /// Returns the cycle in which a warp may issue a part: `None` if it may now, `u64::MAX` if parts of other warps of its group must come
    /// first.
    pub(super) fn full_until(&mut self, warp: usize, now: u64) -> Option<u64> {
        let of_warp = &mut self.warps[warp];
        while of_warp.begins.pop_front_if(|at| *at <= now).is_some() {}
        let held = of_warp.waiting.len() + of_warp.begins.len();
        if held < self.spec.queue as usize { None } else { Some(of_warp.begins.front().copied().unwrap_or(u64::MAX)) }
    }

    /// Returns the cycle in which at most `most` groups of a warp are incomplete: `None` if that holds now, `u64::MAX` if the cycle is
    /// undetermined.
    pub(super) fn open_until(&mut self, warp: usize, most: u8, now: u64) -> Option<u64> {
        let groups = &mut self.warps[warp].groups;
        while groups.pop_front_if(|at| *at <= now).is_some() {}
        let over = groups.len().checked_sub(usize::from(most) + 1)?;
        groups.get(over).copied()
    }

    /// Adds the part of a warp and begins the products whose parts are complete; `group` is the set of unfinished warps in its warp group.
    pub(super) fn add_part(&mut self, warp: usize, part: ProductPart, group: u64) -> StartedProducts {
        let of_warp = &mut self.warps[warp];
        of_warp.waiting.push_back(part);
        if part.closes {
            of_warp.groups.push_back(u64::MAX);
        }
        self.begin_complete(group)
    }

    /// Begins the products for which all unfinished warps of a group have issued their parts.
    pub(super) fn begin_complete(&mut self, group: u64) -> StartedProducts {
        let mut begun = StartedProducts::default();
        while group != 0 && bits(group).all(|warp| !self.warps[warp].waiting.is_empty()) {
            let parts = bits(group).filter_map(|warp| self.warps[warp].waiting.front().copied());
            let Some(last) = parts.max_by_key(|part| part.at) else { break };
            let (begins, ends) = self.schedule(&last);
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
            begun.cycles += self.multiply_cycles(&last);
        }
        begun
    }

    /// Returns the start and the end cycle of a product whose parts are complete.
    fn schedule(&mut self, part: &ProductPart) -> (u64, u64) {
        let columns = u64::from(part.columns);
        let first = if part.registers { 0 } else { FIRST_MATRIX_BYTES };
        let read = (first + MATRIX_COLUMN_BYTES * columns).div_ceil(u64::from(self.spec.shared_bytes));
        let (least, latency) =
            if part.registers { (self.spec.register_interval, self.spec.register_latency) } else { (0, self.spec.latency) };
        let reads = self.read_free.max(part.at + 1);
        let begins = reads.max(self.multiply_free);
        let multiplies = self.multiply_cycles(part);
        let takes = multiplies.max(u64::from(least));
        self.multiply_free = begins + takes;
        self.times.push((begins, begins + multiplies));
        // The operands of one product can be buffered while another one is multiplied. If the first matrix is in registers, columns are
        // read as needed.
        self.read_free = if part.registers { begins } else { (reads + read).max(begins) };
        (begins, begins + multiplies + u64::from(latency))
    }

    /// Returns the cycles in which the matrix units multiply for a product.
    fn multiply_cycles(&self, part: &ProductPart) -> u64 {
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

    /// Returns the end cycles of products whose parts are issued as early as possible.
    fn product_ends(columns: u16, registers: bool, count: usize) -> Vec<u64> {
        let (mut units, mut now, mut all) = (products(), 100, Vec::<u64>::new());
        for _ in 0..count {
            while let Some(until) = units.full_until(0, now) {
                now = until;
            }
            assert_eq!(units.add_part(0, ProductPart { columns, registers, closes: true, at: now }, 1).products, 1);
            all.extend(units.warps[0].groups.back());
        }
        all.iter().map(|end| end - 100).collect()
    }

    #[test]
    fn a_product_takes_the_maximum_of_read_and_multiply_time() {
        let steps = |columns, registers| product_ends(columns, registers, 6).windows(2).map(|two| two[1] - two[0]).collect::<Vec<_>>();
        assert_eq!(product_ends(64, false, 1), [1 + 32 + 50]);
        assert_eq!([8, 32, 64, 128, 256].map(|columns| steps(columns, false)[4]), [18, 24, 32, 64, 128]);
        assert_eq!([8, 32, 64, 256].map(|columns| steps(columns, true)[4]), [14, 16, 32, 128]);
        assert_eq!(steps(256, false), [128; 5]);
    }

    #[test]
    fn a_product_begins_when_all_warps_have_issued_their_parts() {
        let mut units = products();
        let part = ProductPart { columns: 64, registers: false, closes: true, at: 10 };
        for warp in 0..3 {
            assert_eq!(units.add_part(warp, part, 0b1111), StartedProducts::default());
        }
        assert_eq!((units.open_until(0, 0, 500), units.open_until(0, 1, 500)), (Some(u64::MAX), None));
        assert_eq!(units.add_part(0, part, 0b1111), StartedProducts::default());
        assert_eq!(units.full_until(0, 500), Some(u64::MAX));
        assert_eq!(units.add_part(3, ProductPart { at: 30, ..part }, 0b1111), StartedProducts { products: 1, cycles: 32 });
        assert_eq!(
            (units.open_until(0, 1, 40), units.open_until(0, 1, 500), units.open_until(0, 0, 500)),
            (Some(113), None, Some(u64::MAX))
        );
        // A finished warp takes no part.
        assert_eq!(units.full_until(0, 31), None);
        units.add_part(1, part, 0b1111);
        assert_eq!(units.begin_complete(0b0011).products, 1);
        assert_eq!(units.open_until(0, 0, 500), None);
        units.clear_warp(2);
        assert_eq!(units.open_until(2, 0, 0), None);
    }
}
