//! Programs limited by global memory: streams, strides, gathers, pointer chases, divergence and atomics.

use super::warp::{
    ALL_LANES, AddressTextForm, INDEX_REGISTER, KernelBuffer, LANES, MemoryInstruction, SCALE_REGISTER, WarpPosition, WarpText, Xorshift,
    ZERO_REGISTER,
};

/// Writes an element-wise sum of two vectors.
pub(super) fn vector_add(text: &mut WarpText, place: WarpPosition) {
    text.prologue();
    text.write_without_result("ISETP.GE.AND", &[INDEX_REGISTER]);
    // All threads are within the vectors, so no lane takes this exit.
    text.write_masked(0, WarpText::exit);
    text.alu("IMAD.MOV.U32", SCALE_REGISTER, &[ZERO_REGISTER, ZERO_REGISTER]);
    text.wide(4);
    text.wide(2);
    text.load_per_thread(KernelBuffer::A, place, 4, 4);
    text.load_per_thread(KernelBuffer::B, place, 2, 2);
    text.wide(INDEX_REGISTER);
    text.alu("FADD", 9, &[4, 2]);
    text.store_per_thread(place, INDEX_REGISTER, 9);
    text.exit();
}

/// Writes a copy with 16 bytes per lane.
pub(super) fn copy_wide(text: &mut WarpText, place: WarpPosition) {
    text.prologue();
    text.wide(2);
    text.wide(4);
    let offset = 16 * place.first_thread();
    let (from, to) = (text.at(KernelBuffer::A, offset), text.at(KernelBuffer::C, offset));
    text.access(MemoryInstruction::load("LDG.E.128.SYS", 16, 8, &[2]), |lane| from + 16 * lane);
    text.access(MemoryInstruction::store("STG.E.128.SYS", 16, &[4, 8]), |lane| to + 16 * lane);
    text.exit();
}

/// Writes four independent loads with a stride of `words` words between lanes, each from a separate region, and the sum of their values.
pub(super) fn strided(text: &mut WarpText, place: WarpPosition, words: u64) {
    const REGION: u64 = 64 << 20;
    text.prologue();
    text.wide(2);
    text.wide(4);
    for (region, dst) in (0..).zip(8..12) {
        let first = text.at(KernelBuffer::A, 4 * words * place.first_thread() + region * REGION);
        text.access(MemoryInstruction::load("LDG.E.SYS", 4, dst, &[2]), |lane| first + 4 * words * lane);
    }
    text.alu("FADD", 12, &[8, 9]);
    text.alu("FADD", 13, &[10, 11]);
    text.alu("FADD", 12, &[12, 13]);
    text.store_per_thread(place, 4, 12);
    text.exit();
}

/// Writes eight dependent gathers from random words of 64 MiB.
pub(super) fn gather(text: &mut WarpText, place: WarpPosition, form: AddressTextForm) {
    const WORDS: u64 = 1 << 24;
    let mut random = Xorshift::new(place.first_thread() + 1);
    text.prologue();
    text.wide(2);
    text.load_per_thread(KernelBuffer::B, place, 8, 2);
    let table = text.at(KernelBuffer::A, 0);
    for _ in 0..8 {
        text.alu("IMAD.WIDE", 10, &[8, SCALE_REGISTER]);
        text.form = form;
        text.access(MemoryInstruction::load("LDG.E.SYS", 4, 8, &[10]), |_| table + 4 * random.below(WORDS));
        text.form = AddressTextForm::Shortest;
    }
    text.store_per_thread(place, 2, 8);
    text.exit();
}

/// Writes a pointer chase by one thread over pointers that are `stride` bytes apart and wrap after `footprint` bytes.
pub(super) fn pointer_chase(text: &mut WarpText, opcode: &str, footprint: u64, stride: u64, loads: u64) {
    text.prologue();
    text.mask = 1;
    let top = text.pc;
    for i in 0..loads {
        text.pc = top;
        let address = text.at(KernelBuffer::A, i * stride % footprint);
        text.access(MemoryInstruction::load(opcode, 8, 8, &[8]), |_| address);
        text.write_without_result("BRA", &[]);
    }
    let address = text.at(KernelBuffer::C, 0);
    text.access(MemoryInstruction::store("STG.E.64.SYS", 8, &[2, 8]), |_| address);
    text.mask = ALL_LANES;
    text.exit();
}

/// Writes nested branches on three bits of the lane, then a loop whose trip count differs between lanes.
pub(super) fn divergent(text: &mut WarpText, place: WarpPosition) {
    const MAX_TRIPS: u64 = 12;
    let thread = place.first_thread();
    text.prologue();
    text.wide(2);
    text.load_per_thread(KernelBuffer::A, place, 8, 2);
    text.write_without_result("ISETP.NE.AND", &[8]);
    branch_on(text, 0);
    let mut random = Xorshift::new(thread + 7);
    let trips: [u64; LANES as usize] = std::array::from_fn(|_| 1 + random.below(MAX_TRIPS));
    let top = text.pc;
    for trip in 0..trips.into_iter().max().unwrap_or(0) {
        text.pc = top;
        let still = (0..LANES).filter(|lane| trips[*lane as usize] > trip).fold(0, |mask, lane| mask | 1 << lane);
        text.write_masked(still, |text| {
            let first = text.at(KernelBuffer::B, 4 * (16 * thread + trip));
            text.access(MemoryInstruction::load("LDG.E.SYS", 4, 20, &[4]), |lane| first + 4 * 16 * lane);
            text.alu("FADD", 21, &[21, 20]);
            text.write_without_result("ISETP.LT.AND", &[22]);
            text.write_without_result("BRA", &[]);
        });
    }
    text.write_without_result("BSYNC", &[]);
    text.store_per_thread(place, 2, 21);
    text.exit();
}

/// Writes both sides of a branch on bit `bit` of the lane, each with a branch on the next bit; after three bits, four multiply-adds.
fn branch_on(text: &mut WarpText, bit: u32) {
    /// Lanes with the bit set, for each bit.
    const TAKEN_LANES: [u32; 3] = [0xaaaa_aaaa, 0xcccc_cccc, 0xf0f0_f0f0];
    let Some(&taken) = TAKEN_LANES.get(bit as usize) else {
        (10..14).for_each(|r| text.alu("FFMA", r, &[8, 9, r]));
        return;
    };
    let (taken, other) = (text.mask & taken, text.mask & !taken);
    text.write_without_result("BSSY", &[]);
    text.write_masked(taken, |text| text.write_without_result("BRA", &[]));
    text.write_masked(other, |text| branch_on(text, bit + 1));
    text.write_masked(other, |text| text.write_without_result("BRA", &[]));
    text.write_masked(taken, |text| branch_on(text, bit + 1));
    text.write_without_result("BSYNC", &[]);
}

/// The target words of the threads' atomic additions.
#[derive(Clone, Copy, Debug)]
pub(super) enum AtomicTargets {
    /// All threads add to one word.
    Shared,
    /// Each thread adds to a separate word, which repeat after `words` words.
    PerThread { words: u64 },
    /// Each thread adds to a random word.
    Random { words: u64 },
}

/// Writes one atomic addition per thread.
pub(super) fn atomics(text: &mut WarpText, place: WarpPosition, targets: AtomicTargets) {
    let thread = place.first_thread();
    text.prologue();
    text.wide(2);
    text.load_per_thread(KernelBuffer::A, place, 8, 2);
    text.alu("IMAD.WIDE", 4, &[8, SCALE_REGISTER]);
    let words = text.at(KernelBuffer::C, 0);
    let reduction = MemoryInstruction::store("RED.E.ADD.STRONG.GPU", 4, &[4, 8]);
    match targets {
        AtomicTargets::Shared => text.access(reduction, |_| words),
        AtomicTargets::PerThread { words: count } => text.access(reduction, |lane| words + 4 * (thread % count + lane)),
        AtomicTargets::Random { words: count } => {
            let mut random = Xorshift::new(thread + 3);
            text.access(MemoryInstruction::load("ATOMG.E.ADD.STRONG.GPU", 4, 9, &[4, 8]), |_| words + 4 * random.below(count));
        }
    }
    text.exit();
}
