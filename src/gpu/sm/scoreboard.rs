//! The scoreboard: registers that an issued instruction will still write.
//!
//! An instruction issues only when neither its sources nor its destination are reserved, so a register has at most one
//! writer under way. RZ (255) is a register like any other, as in the reference.

use crate::base::touch;
use crate::frontend::StaticInst;

use super::warps::{MAX_WARPS, bits};

/// Registers 0 to 255, and one that is never reserved, which stands for none.
type RegisterSet = [u64; 5];

/// The register that stands for none.
const NEVER: u16 = 256;

/// What keeps an instruction from issuing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    /// Nothing.
    None,
    /// A register that a fixed-latency unit will write.
    Alu,
    /// A register that a memory instruction will write.
    Memory,
}

/// Reserved registers of all warps.
#[derive(Debug)]
pub(super) struct Scoreboard {
    reserved: Box<[RegisterSet; MAX_WARPS]>,
    by_memory: Box<[RegisterSet; MAX_WARPS]>,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self { reserved: Box::new([[0; 5]; MAX_WARPS]), by_memory: Box::new([[0; 5]; MAX_WARPS]) }
    }

    /// Asks the host for the registers of the warps of `live`.
    #[inline]
    pub(super) fn touch(&self, live: u64) {
        for warp in bits(live) {
            touch(&self.reserved[warp]);
        }
    }

    /// Bytes of its arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.reserved) + size_of_val(&*self.by_memory)
    }

    /// What keeps `inst` of `warp` from issuing.
    #[inline]
    pub(super) fn hazard(&self, warp: usize, inst: &StaticInst) -> Hazard {
        let meets = |set: &RegisterSet| {
            let [a, b, c, d] = inst.src;
            (bit(set, inst.dst) | bit(set, a) | bit(set, b) | bit(set, c) | bit(set, d)) & 1 != 0
        };
        if !meets(&self.reserved[warp]) {
            Hazard::None
        } else if meets(&self.by_memory[warp]) {
            Hazard::Memory
        } else {
            Hazard::Alu
        }
    }

    /// Reserves the destination of an instruction that issues.
    #[inline]
    pub(super) fn reserve(&mut self, warp: usize, register: u16, memory: bool) {
        debug_assert!(!has(&self.reserved[warp], register), "R{register} of warp {warp} is reserved twice");
        let (word, bit) = place(register);
        self.reserved[warp][word] |= bit;
        if memory {
            self.by_memory[warp][word] |= bit;
        }
    }

    /// Releases a register that was written.
    #[inline]
    pub(super) fn release(&mut self, warp: usize, register: u16) {
        let (word, bit) = place(register);
        self.reserved[warp][word] &= !bit;
        self.by_memory[warp][word] &= !bit;
    }

    /// Whether no register of the warp is reserved.
    #[inline]
    pub(super) fn is_clear(&self, warp: usize) -> bool {
        // Compared as arrays, they would be compared by a call.
        self.reserved[warp].iter().fold(0, |all, word| all | word) == 0
    }

    /// The reserved registers of a warp, ascending.
    pub(super) fn registers(&self, warp: usize) -> impl Iterator<Item = u16> {
        let set = self.reserved[warp];
        (0..256).filter(move |register| has(&set, *register))
    }
}

#[inline]
fn place(register: u16) -> (usize, u64) {
    debug_assert!(register < NEVER, "R{register} is not a register");
    (usize::from(register >> 6) & 3, 1 << (register & 63))
}

#[inline]
fn has(set: &RegisterSet, register: u16) -> bool {
    bit(set, register) & 1 != 0
}

/// The register's bit of the set, as the lowest bit; zero for `NO_REGISTER`.
#[inline]
fn bit(set: &RegisterSet, register: u16) -> u64 {
    let register = register.min(NEVER);
    set[usize::from(register >> 6)] >> (register & 63)
}
