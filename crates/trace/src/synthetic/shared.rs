//! Programs that use shared memory and barriers.

use super::warp::{Access, Buffer, LANES, Place, WarpText, ZERO};

/// Stores and loads of shared memory with `ways` lanes on each bank, between barriers.
pub(super) fn bank_conflicts(text: &mut WarpText, place: Place, ways: u64) {
    const ROUNDS: u32 = 16;
    const BYTES: u64 = 32 << 10;
    let word = |warp: u64, lane: u64| (warp * 4 * LANES + lane * 4 * ways) % BYTES;
    text.prologue();
    let top = text.pc;
    for _ in 0..ROUNDS {
        text.pc = top;
        text.alu("FFMA", 10, &[10, 11, 12]);
        text.access(Access::store("STS", 4, &[8, 10]), |lane| word(place.warp, lane));
        text.effect("BAR.SYNC", &[]);
        // What the neighbouring warp stored.
        text.access(Access::load("LDS.U", 4, 12, &[9]), |lane| word(place.warp ^ 1, lane));
        text.alu("FADD", 10, &[10, 12]);
        text.effect("BAR.SYNC", &[]);
        text.effect("BRA", &[]);
    }
    text.wide(2);
    text.store_own(place, 2, 10);
    text.exit();
}

/// A tree sum of a CTA's words in shared memory, then one atomic addition.
pub(super) fn reduction(text: &mut WarpText, place: Place) {
    let word = |lane: u64| 4 * (place.first_of_cta() + lane);
    text.prologue();
    text.wide(2);
    text.load_own(Buffer::A, place, 8, 2);
    text.access(Access::store("STS", 4, &[9, 8]), word);
    text.effect("BAR.SYNC", &[]);
    let mut half = place.warps * LANES / 2;
    while half > 0 {
        text.effect("ISETP.GT.AND", &[10]);
        let adding = (0..LANES).filter(|lane| place.first_of_cta() + lane < half).fold(0, |mask, lane| mask | 1 << lane);
        if adding == 0 {
            text.skip(4);
        } else {
            text.masked(adding, |text| {
                text.access(Access::load("LDS.U", 4, 11, &[9]), word);
                text.access(Access::load("LDS.U", 4, 12, &[9]), |lane| word(lane) + 4 * half);
                text.alu("FADD", 11, &[11, 12]);
                text.access(Access::store("STS", 4, &[9, 11]), word);
            });
        }
        text.effect("BAR.SYNC", &[]);
        half /= 2;
    }
    if place.warp == 0 {
        let sum = text.at(Buffer::C, 0);
        text.masked(1, |text| {
            text.access(Access::load("LDS.U", 4, 8, &[9]), |_| 0);
            text.access(Access::store("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", 4, &[2, 8]), |_| sum);
        });
    }
    text.exit();
}

/// Columns of the product, which is square, and length of its sums.
pub(super) const COLUMNS: u64 = 512;
pub(super) const DEPTH: u64 = 32;

/// A tile of 64 by 64 of a matrix product by 256 threads with 4 by 4 sums each, in steps of 16 along the sums.
pub(super) fn matrix_product(text: &mut WarpText, place: Place) {
    const TILE: u64 = 64;
    const STEP: u64 = 16;
    /// Where the tile of the second matrix lies in shared memory.
    const SECOND: u64 = TILE * STEP * 4;
    /// The first of 16 sums, four values of the first and four of the second matrix.
    const SUMS: u8 = 64;
    const ROW: u8 = 32;
    const COLUMN: u8 = 36;
    let (row, column) = (place.cta / (COLUMNS / TILE) * TILE, place.cta % (COLUMNS / TILE) * TILE);
    let thread = |lane: u64| place.first_of_cta() + lane;
    text.prologue();
    text.alu("S2R", 8, &[]);
    text.alu("LEA", 9, &[8, 6]);
    text.wide(2);
    text.alu("IMAD.WIDE", 4, &[8, 7]);
    (SUMS..SUMS + 16).for_each(|sum| text.alu("MOV", sum, &[]));
    let top = text.pc;
    for step in (0..DEPTH).step_by(STEP as usize) {
        text.pc = top;
        // Four words per thread: of 64 rows of the first matrix, and of 16 rows of the second.
        let (a, b) = (text.at(Buffer::A, 0), text.at(Buffer::B, 0));
        text.access(Access::load("LDG.E.128.SYS", 16, 16, &[2]), |lane| {
            a + 4 * ((row + thread(lane) / 4) * DEPTH + step + thread(lane) % 4 * 4)
        });
        text.access(Access::load("LDG.E.128.SYS", 16, 20, &[4]), |lane| {
            b + 4 * ((step + thread(lane) / 16) * COLUMNS + column + thread(lane) % 16 * 4)
        });
        text.effect("BAR.SYNC", &[]);
        text.access(Access::store("STS.128", 16, &[10, 16]), |lane| 16 * thread(lane));
        text.access(Access::store("STS.128", 16, &[11, 20]), |lane| SECOND + 16 * thread(lane));
        text.effect("BAR.SYNC", &[]);
        for k in 0..STEP {
            // A warp reads two rows, each for half of its lanes.
            text.access(Access::load("LDS.U.128", 16, ROW, &[12]), |lane| k * 256 + thread(lane) / 16 * 16);
            text.access(Access::load("LDS.U.128", 16, COLUMN, &[13]), |lane| SECOND + k * 256 + thread(lane) % 16 * 16);
            for sum in 0..16 {
                text.alu("FFMA", SUMS + sum, &[ROW + sum / 4, COLUMN + sum % 4, SUMS + sum]);
            }
        }
        text.alu("IADD3", 14, &[14, ZERO]);
        text.effect("ISETP.GE.AND", &[14]);
        text.effect("BRA", &[]);
    }
    for line in 0..4 {
        let c = text.at(Buffer::C, 0);
        text.access(Access::store("STG.E.128.SYS", 16, &[2, SUMS + 4 * line as u8]), |lane| {
            c + 4 * ((row + thread(lane) / 16 * 4 + line) * COLUMNS + column + thread(lane) % 16 * 4)
        });
    }
    text.exit();
}
