//! Programs limited by issue slots, latencies and execution units.

use super::warp::{INDEX_REGISTER, SCALE_REGISTER, WarpPosition, WarpText, ZERO_REGISTER};

/// Arithmetic instructions in the body of a loop.
const BODY: u32 = 32;
/// First register of the accumulators.
const ACCUMULATOR: u8 = 16;

/// Writes `count` fused multiply-adds over independent accumulators in a loop; the result is stored.
pub(super) fn ffma(text: &mut WarpText, place: WarpPosition, chains: u8, count: u32) {
    text.prologue();
    let accumulator = |chain: u8| ACCUMULATOR + 2 * chain;
    (0..chains).for_each(|chain| text.alu("MOV", accumulator(chain), &[]));
    let top = text.pc;
    for i in 0..count {
        let r = accumulator((i % u32::from(chains)) as u8);
        text.alu("FFMA", r, &[r, 4, 5]);
        if i % BODY == BODY - 1 {
            text.alu("IADD3", SCALE_REGISTER, &[SCALE_REGISTER, ZERO_REGISTER]);
            text.write_without_result("ISETP.NE.AND", &[SCALE_REGISTER]);
            text.write_without_result("BRA", &[]);
            if i + 1 < count {
                text.pc = top;
            }
        }
    }
    text.wide(2);
    text.store_per_thread(place, 2, ACCUMULATOR);
    text.exit();
}

/// Writes `count` instructions of one opcode with `sources` source registers over independent chains, in a loop.
pub(super) fn chains(text: &mut WarpText, opcode: &str, sources: usize, chains: u8, count: u32) {
    text.prologue();
    let top = text.pc;
    for i in 0..count {
        let r = ACCUMULATOR + 4 * (i % u32::from(chains)) as u8;
        text.alu(opcode, r, &[r, 4, INDEX_REGISTER][..sources]);
        if i % BODY == BODY - 1 {
            text.write_without_result("BRA", &[]);
            if i + 1 < count {
                text.pc = top;
            }
        }
    }
    text.exit();
}

/// Writes straight-line code larger than an instruction cache.
pub(super) fn long_code(text: &mut WarpText, count: u32) {
    text.prologue();
    for i in 0..count {
        let r = ACCUMULATOR + 2 * (i % 8) as u8;
        text.alu("FFMA", r, &[r, 4, 5]);
    }
    text.exit();
}
