//! Programs that use shared memory and barriers.

use super::warp::{KernelBuffer, LANES, MemoryInstruction, WarpPosition, WarpText, ZERO_REGISTER};

/// Writes stores and loads of shared memory with `ways` lanes per bank, separated by barriers.
pub(super) fn bank_conflicts(text: &mut WarpText, place: WarpPosition, ways: u64) {
    const ROUNDS: u32 = 16;
    const BYTES: u64 = 32 << 10;
    let word = |warp: u64, lane: u64| (warp * 4 * LANES + lane * 4 * ways) % BYTES;
    text.prologue();
    let top = text.pc;
    for _ in 0..ROUNDS {
        text.pc = top;
        text.alu("FFMA", 10, &[10, 11, 12]);
        text.access(MemoryInstruction::store("STS", 4, &[8, 10]), |lane| word(place.warp, lane));
        text.write_without_result("BAR.SYNC", &[]);
        // Loads the words that the neighbouring warp stored.
        text.access(MemoryInstruction::load("LDS.U", 4, 12, &[9]), |lane| word(place.warp ^ 1, lane));
        text.alu("FADD", 10, &[10, 12]);
        text.write_without_result("BAR.SYNC", &[]);
        text.write_without_result("BRA", &[]);
    }
    text.wide(2);
    text.store_per_thread(place, 2, 10);
    text.exit();
}

/// Writes a tree sum of a CTA's words in shared memory, then one atomic addition.
pub(super) fn reduction(text: &mut WarpText, place: WarpPosition) {
    let word = |lane: u64| 4 * (place.first_of_cta() + lane);
    text.prologue();
    text.wide(2);
    text.load_per_thread(KernelBuffer::A, place, 8, 2);
    text.access(MemoryInstruction::store("STS", 4, &[9, 8]), word);
    text.write_without_result("BAR.SYNC", &[]);
    let mut half = place.warps * LANES / 2;
    while half > 0 {
        text.write_without_result("ISETP.GT.AND", &[10]);
        let adding = (0..LANES).filter(|lane| place.first_of_cta() + lane < half).fold(0, |mask, lane| mask | 1 << lane);
        if adding == 0 {
            text.skip(4);
        } else {
            text.write_masked(adding, |text| {
                text.access(MemoryInstruction::load("LDS.U", 4, 11, &[9]), word);
                text.access(MemoryInstruction::load("LDS.U", 4, 12, &[9]), |lane| word(lane) + 4 * half);
                text.alu("FADD", 11, &[11, 12]);
                text.access(MemoryInstruction::store("STS", 4, &[9, 11]), word);
            });
        }
        text.write_without_result("BAR.SYNC", &[]);
        half /= 2;
    }
    if place.warp == 0 {
        let sum = text.at(KernelBuffer::C, 0);
        text.write_masked(1, |text| {
            text.access(MemoryInstruction::load("LDS.U", 4, 8, &[9]), |_| 0);
            text.access(MemoryInstruction::store("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", 4, &[2, 8]), |_| sum);
        });
    }
    text.exit();
}

/// Rows and columns of the square product, and terms of its sums.
pub(super) const COLUMNS: u64 = 512;
pub(super) const DEPTH: u64 = 32;

/// Writes the computation of a 64 x 64 tile of a matrix product by 256 threads with 4 x 4 sums each, in steps of 16 terms.
pub(super) fn matrix_product(text: &mut WarpText, place: WarpPosition) {
    const TILE: u64 = 64;
    const STEP: u64 = 16;
    /// Offset in shared memory of the second matrix's tile.
    const SECOND_TILE: u64 = TILE * STEP * 4;
    /// First registers of the 16 sums, of four values of the first matrix, and of four values of the second.
    const FIRST_SUM_REGISTER: u8 = 64;
    const FIRST_ROW_REGISTER: u8 = 32;
    const FIRST_COLUMN_REGISTER: u8 = 36;
    let (row, column) = (place.cta / (COLUMNS / TILE) * TILE, place.cta % (COLUMNS / TILE) * TILE);
    let thread = |lane: u64| place.first_of_cta() + lane;
    text.prologue();
    text.alu("S2R", 8, &[]);
    text.alu("LEA", 9, &[8, 6]);
    text.wide(2);
    text.alu("IMAD.WIDE", 4, &[8, 7]);
    (FIRST_SUM_REGISTER..FIRST_SUM_REGISTER + 16).for_each(|sum| text.alu("MOV", sum, &[]));
    let top = text.pc;
    for step in (0..DEPTH).step_by(STEP as usize) {
        text.pc = top;
        // Each thread loads four words of 64 rows of the first matrix, and four words of 16 rows of the second.
        let (a, b) = (text.at(KernelBuffer::A, 0), text.at(KernelBuffer::B, 0));
        text.access(MemoryInstruction::load("LDG.E.128.SYS", 16, 16, &[2]), |lane| {
            a + 4 * ((row + thread(lane) / 4) * DEPTH + step + thread(lane) % 4 * 4)
        });
        text.access(MemoryInstruction::load("LDG.E.128.SYS", 16, 20, &[4]), |lane| {
            b + 4 * ((step + thread(lane) / 16) * COLUMNS + column + thread(lane) % 16 * 4)
        });
        text.write_without_result("BAR.SYNC", &[]);
        text.access(MemoryInstruction::store("STS.128", 16, &[10, 16]), |lane| 16 * thread(lane));
        text.access(MemoryInstruction::store("STS.128", 16, &[11, 20]), |lane| SECOND_TILE + 16 * thread(lane));
        text.write_without_result("BAR.SYNC", &[]);
        for k in 0..STEP {
            // A warp reads two rows, one for each half of its lanes.
            text.access(MemoryInstruction::load("LDS.U.128", 16, FIRST_ROW_REGISTER, &[12]), |lane| k * 256 + thread(lane) / 16 * 16);
            text.access(MemoryInstruction::load("LDS.U.128", 16, FIRST_COLUMN_REGISTER, &[13]), |lane| {
                SECOND_TILE + k * 256 + thread(lane) % 16 * 16
            });
            for sum in 0..16 {
                text.alu(
                    "FFMA",
                    FIRST_SUM_REGISTER + sum,
                    &[FIRST_ROW_REGISTER + sum / 4, FIRST_COLUMN_REGISTER + sum % 4, FIRST_SUM_REGISTER + sum],
                );
            }
        }
        text.alu("IADD3", 14, &[14, ZERO_REGISTER]);
        text.write_without_result("ISETP.GE.AND", &[14]);
        text.write_without_result("BRA", &[]);
    }
    for line in 0..4 {
        let c = text.at(KernelBuffer::C, 0);
        text.access(MemoryInstruction::store("STG.E.128.SYS", 16, &[2, FIRST_SUM_REGISTER + 4 * line as u8]), |lane| {
            c + 4 * ((row + thread(lane) / 16 * 4 + line) * COLUMNS + column + thread(lane) % 16 * 4)
        });
    }
    text.exit();
}
