//! The read ports of the register file and the reuse cache of a sub-core.
//!
//! There are two banks, selected by the lowest bit of the register number, with one read port each. A fixed-latency instruction leaves the
//! allocate stage when all its operands can be read in the following three cycles; memory instructions read in the remaining cycles. While
//! the matrix unit multiplies for a warp group, it reads the sums through both ports in half of the cycles.

use std::collections::VecDeque;

use warpshard_workload::{NO_REGISTER, Pipe, StaticInst};

/// The register number of RZ, which is not read.
const RZ: u16 = 255;
/// Maximum number of cycles by which reads are planned ahead.
pub(super) const MAX_PLANNED_READ_CYCLES: u64 = 32;
/// Cycles in which operands are read after the allocate stage.
pub(super) const OPERAND_READ_CYCLES: u64 = 3;

/// The cycles in which each port is busy.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct ReadPorts {
    busy_cycles: [[u64; MAX_PLANNED_READ_CYCLES as usize]; 2],
    sums: SumReads,
}

/// The cycles in which the matrix unit reads sums: the time of each product alternates between pieces with and without reads, of equal
/// length.
#[derive(Debug, Default, warpshard_state::State)]
struct SumReads {
    /// Maximum length of a piece in cycles.
    piece_cycles: u64,
    /// Products that are not over: the first cycle of each and the cycle after its last.
    products: VecDeque<(u64, u64)>,
    /// The cycle after the last product.
    until: u64,
}

impl SumReads {
    #[inline]
    fn reads(&self, cycle: u64) -> bool {
        cycle < self.until && self.products.iter().any(|(begins, ends)| self.reads_in(*begins, *ends, cycle))
    }

    fn reads_in(&self, begins: u64, ends: u64, cycle: u64) -> bool {
        let piece_cycles = self.piece_cycles.min((ends - begins) / 2);
        (begins..ends).contains(&cycle) && (cycle - begins) % (2 * piece_cycles).max(1) < piece_cycles
    }
}

impl ReadPorts {
    /// Creates ports with a matrix unit that reads sums for `sum_reads` consecutive cycles.
    pub(super) fn new(sum_reads: u32) -> Self {
        debug_assert!(u64::from(sum_reads) < MAX_PLANNED_READ_CYCLES - OPERAND_READ_CYCLES);
        Self { sums: SumReads { piece_cycles: sum_reads.into(), ..SumReads::default() }, ..Self::default() }
    }

    /// Records that the matrix unit multiplies from cycle `begins` until before cycle `ends`.
    pub(super) fn multiply(&mut self, begins: u64, ends: u64, now: u64) {
        while self.sums.products.pop_front_if(|(_, ends)| *ends <= now).is_some() {}
        self.sums.products.push_back((begins, ends));
        self.sums.until = ends;
    }

    /// Returns true if a port is busy in a cycle.
    pub(super) fn is_taken(&self, bank: usize, cycle: u64) -> bool {
        self.busy_cycles[bank][(cycle % MAX_PLANNED_READ_CYCLES) as usize] == cycle || self.sums.reads(cycle)
    }

    fn free_ports(&self, bank: usize, after: u64) -> usize {
        (after + 1..=after + OPERAND_READ_CYCLES).filter(|cycle| !self.is_taken(bank, *cycle)).count()
    }

    /// Reserves the ports for `reads` of each bank, at most three, in the cycles after the first possible cycle from `from` on; returns
    /// that cycle.
    pub(super) fn allocate(&mut self, from: u64, reads: [u8; 2]) -> u64 {
        let fits = |at: u64| (0..2).all(|bank| self.free_ports(bank, at) >= usize::from(reads[bank]));
        let mut at = from;
        while !fits(at) {
            at += 1;
        }
        for (bank, reads) in reads.into_iter().enumerate() {
            let mut left = reads;
            for cycle in at + 1..=at + OPERAND_READ_CYCLES {
                if left > 0 && !self.is_taken(bank, cycle) {
                    self.busy_cycles[bank][(cycle % MAX_PLANNED_READ_CYCLES) as usize] = cycle;
                    left -= 1;
                }
            }
        }
        at
    }
}

/// The reuse cache: one register of one warp for each bank and each operand position.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ReuseCache {
    entries: [[(u8, u16); 4]; 2],
}

impl Default for ReuseCache {
    fn default() -> Self {
        Self { entries: [[(0, NO_REGISTER); 4]; 2] }
    }
}

impl ReuseCache {
    /// Invalidates the registers of a warp.
    pub(super) fn clear_warp(&mut self, warp: u8) {
        self.entries.iter_mut().flatten().filter(|entry| entry.0 == warp).for_each(|entry| entry.1 = NO_REGISTER);
    }

    /// Looks up the operands of an instruction of a warp; returns the reads of each bank. Any look-up of an operand position replaces its
    /// entry.
    pub(super) fn reads(&mut self, warp: u8, inst: &StaticInst) -> [u8; 2] {
        let mut reads = [0; 2];
        for (place, register) in inst.src.into_iter().enumerate() {
            if register == NO_REGISTER || register == RZ {
                continue;
            }
            let bank = usize::from(register & 1);
            let entry = &mut self.entries[bank][place];
            if *entry != (warp, register) {
                reads[bank] += 1;
                if inst.control.pipe == Pipe::Dp {
                    // The second register of the operand.
                    reads[1 - bank] += 1;
                }
            }
            *entry = (warp, if inst.control.reuse >> place & 1 != 0 { register } else { NO_REGISTER });
        }
        reads.map(|count| count.min(OPERAND_READ_CYCLES as u8))
    }
}

#[cfg(test)]
mod tests {
    use warpshard_workload::{Control, OpClass, RegisterSets};

    use super::*;

    fn inst(src: [u16; 4], reuse: u8) -> StaticInst {
        let control = Control { stall: 1, reuse, ..Control::NONE };
        let registers = RegisterSets::new(0, src);
        StaticInst { pc: 0, class: OpClass::Sp, packed_half: false, flops: 0, dst: 0, src, mem: None, immediate: 0, control, registers }
    }

    /// Three operands in one bank occupy that bank for the window of the next instruction, which waits two cycles if two of its operands
    /// are in that bank.
    #[test]
    fn operands_of_one_bank_are_read_one_by_one() {
        let mut ports = ReadPorts::default();
        assert_eq!(ports.allocate(10, [3, 0]), 10);
        assert_eq!(ports.allocate(11, [0, 3]), 11);
        assert_eq!(ports.allocate(11, [2, 0]), 12);
        assert_eq!(ports.allocate(13, [1, 0]), 13);
    }

    #[test]
    fn the_matrix_unit_reads_sums_in_half_of_the_cycles_of_a_product() {
        let mut ports = ReadPorts::new(16);
        ports.multiply(100, 164, 90);
        ports.multiply(164, 180, 91);
        let free: Vec<u64> = (96..184).filter(|cycle| !ports.is_taken(0, *cycle)).collect();
        let expected: Vec<u64> = (96..100).chain(116..132).chain(148..164).chain(172..184).collect();
        assert_eq!(free, expected);
        // The window of three cycles after the allocate stage needs a free cycle.
        assert_eq!((ports.allocate(99, [0, 0]), ports.allocate(99, [1, 0]), ports.allocate(99, [2, 0])), (99, 113, 115));
        let mut none = ReadPorts::new(0);
        none.multiply(100, 164, 90);
        assert!((96..184).all(|cycle| !none.is_taken(1, cycle)));
    }

    #[test]
    fn a_reused_register_is_read_once() {
        let mut cache = ReuseCache::default();
        assert_eq!(cache.reads(1, &inst([2, 4, 3, NO_REGISTER], 0b001)), [2, 1]);
        assert_eq!(cache.reads(1, &inst([2, 6, RZ, NO_REGISTER], 0b001)), [1, 0], "R2 is in operand position 0");
        assert_eq!(cache.reads(2, &inst([2, NO_REGISTER, 5, NO_REGISTER], 0)), [1, 1], "the register belongs to another warp");
        assert_eq!(cache.reads(1, &inst([2, NO_REGISTER, 5, NO_REGISTER], 0)), [1, 1], "warp 2 replaced the entry");
        assert_eq!(cache.reads(1, &inst([4, 2, NO_REGISTER, NO_REGISTER], 0b010)), [2, 0]);
        assert_eq!(cache.reads(1, &inst([2, 4, NO_REGISTER, NO_REGISTER], 0)), [2, 0], "the operand position differs");
    }
}
