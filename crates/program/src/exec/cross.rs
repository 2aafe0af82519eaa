//! Operations across the lanes of a warp: votes, shuffles, matches and reductions.

use super::super::isa::{AtomicOp, Inst, Op, ShuffleMode, VoteMode};
use super::lanes::{Lanes, RegisterRow};

/// Executes a cross-lane operation in the lanes of `mask`; returns false if `inst` is not one.
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32) -> bool {
    match inst.op {
        Op::Vote(mode) => {
            let votes = lanes.predicate(inst.conditions[0]) & mask;
            let holds = match mode {
                VoteMode::All => votes == mask,
                VoteMode::Any => votes != 0,
                VoteMode::Equal => votes == mask || votes == 0,
            };
            lanes.set_predicate(inst.predicates[0], mask, if holds { u32::MAX } else { 0 });
            set_for_all(inst, lanes, mask, votes);
        }
        Op::Match { all, wide } => {
            let source = &inst.src[0];
            let values = if wide { lanes.int_pair(pool, source) } else { lanes.row(pool, source.row).map(u64::from) };
            let equal = |lane: usize| {
                let same = |other: &usize| mask >> other & 1 != 0 && values[*other] == values[lane];
                (0..32).filter(same).fold(0_u32, |bits, other| bits | 1 << other)
            };
            let mut out = [0; 32];
            let mut whole = 0;
            for (lane, out) in out.iter_mut().enumerate() {
                let bits = equal(lane);
                whole |= u32::from(bits == mask) << lane;
                *out = if all && bits != mask { 0 } else { bits };
            }
            lanes.set_predicate(inst.predicates[0], mask, whole);
            lanes.set(inst.dst, mask, &out);
        }
        Op::Shuffle(mode) => shuffle(inst, lanes, pool, mask, mode),
        Op::Reduce { op, signed } => {
            let values = *lanes.row(pool, inst.src[0].row);
            let active = (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| values[lane]);
            let combine = |a: u32, b: u32| match op {
                AtomicOp::Add => a.wrapping_add(b),
                AtomicOp::Or => a | b,
                AtomicOp::Xor => a ^ b,
                AtomicOp::Min if signed => (a as i32).min(b as i32) as u32,
                AtomicOp::Min => a.min(b),
                AtomicOp::Max if signed => (a as i32).max(b as i32) as u32,
                AtomicOp::Max => a.max(b),
                _ => a & b,
            };
            set_for_all(inst, lanes, mask, active.reduce(combine).unwrap_or(0));
        }
        _ => return false,
    }
    true
}

/// Writes one value to all active lanes, or to a uniform register independent of the active lanes.
fn set_for_all(inst: &Inst, lanes: &mut Lanes, mask: u32, value: u32) {
    let mask = if lanes.is_uniform(inst.dst) { u32::MAX } else { mask };
    lanes.set(inst.dst, mask, &[value; 32]);
}

/// Executes a shuffle by PTX's definition of shfl: the third operand holds the lane limit in bits 0 to 4 and the segment mask in bits 8 to
/// 12.
fn shuffle(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, mode: ShuffleMode) {
    let (mut ba, mut bb, mut bc) = ([0; 32], [0; 32], [0; 32]);
    let values = *lanes.int(pool, &inst.src[0], &mut ba);
    let (b, c) = (*lanes.int(pool, &inst.src[1], &mut bb), *lanes.int(pool, &inst.src[2], &mut bc));
    let (mut out, mut inside) = ([0; 32], 0);
    for lane in 0..32_u32 {
        let (amount, limit, segment) = (b[lane as usize] & 31, c[lane as usize] & 31, c[lane as usize] >> 8 & 31);
        let (most, least) = (lane & segment | limit & !segment, lane & segment);
        let (from, valid) = match mode {
            ShuffleMode::Up => (lane.wrapping_sub(amount), lane as i32 - amount as i32 >= most as i32),
            ShuffleMode::Down => (lane + amount, lane + amount <= most),
            ShuffleMode::Butterfly => (lane ^ amount, lane ^ amount <= most),
            ShuffleMode::Index => (least | amount & !segment, (least | amount & !segment) <= most),
        };
        out[lane as usize] = values[if valid { from & 31 } else { lane } as usize];
        inside |= u32::from(valid) << lane;
    }
    lanes.set_predicate(inst.predicates[0], mask, inside);
    lanes.set(inst.dst, mask, &out);
}
