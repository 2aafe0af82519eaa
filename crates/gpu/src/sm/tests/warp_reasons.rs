//! Tests of the states of the warps of a core with control words: one cause after the other, against cycles computed by hand.

use warpshard_workload::{AsyncOp, Pipe};

use super::super::SmDecision;
use super::control::{alu_inst, control_machine, control_words};
use super::*;
use warpshard_stats::activity::WarpReason;

/// Returns the states, with Nsight Compute's names, of the warps that execute a program, without states of zero cycles. They add up to the
/// resident warps.
fn reason_cycles(machine: &Machine, warps: usize, program: ProgramBuilder) -> Vec<(WarpReason, u64)> {
    let mut bench = Bench::with_single_cta(machine, 32 * warps as u32, program.build_with_exit());
    bench.issue_cycles();
    bench.sm.settle(bench.now);
    let counts = bench.reasons().unwrap();
    assert_eq!(counts.iter().sum::<u64>(), bench.stats().sm.resident_warp_cycles);
    assert_eq!(counts[WarpReason::Selected as usize], bench.stats().kernels[0].warp_instructions);
    let all = WarpReason::ALL.into_iter().zip(counts);
    all.filter(|(_, cycles)| *cycles > 0).collect()
}

/// Returns the cycles of one state if every warp executes `code`.
fn cycles_in_reason(machine: &Machine, warps: usize, code: &[StaticInst], reason: WarpReason) -> u64 {
    let mut program = ProgramBuilder::new(warps);
    for inst in code {
        match inst.mem {
            Some(_) => (0..warps).for_each(|warp| {
                program.add_access(warp, *inst, LaneMask::FULL, &lane_addresses(0, 4));
            }),
            None => {
                program.add_to_all(*inst);
            }
        }
    }
    cycles_of(&reason_cycles(machine, warps, program), reason)
}

fn cycles_of(states: &[(WarpReason, u64)], reason: WarpReason) -> u64 {
    states.iter().find(|(state, _)| *state == reason).map_or(0, |(_, cycles)| *cycles)
}

fn load(space: MemSpace, control: Control) -> StaticInst {
    StaticInst { control, ..memory_inst(MemKind::Load, space, 1, &[2]) }
}

const COUNTED_RESULT: Control = Control { counters: 0x70, ..Control::NONE };

#[test]
fn a_stall_count_is_a_wait() {
    let inst = |stall| alu_inst(1, &[2], control_words(stall, Pipe::Fma));
    assert_eq!(cycles_in_reason(&control_machine(), 1, &[inst(5), inst(1), inst(13)], WarpReason::Wait), 4 + 12);
}

/// The result arrives after 17 cycles: one is the issue, and one the stall count.
#[test]
fn a_unit_of_variable_latency_is_a_short_scoreboard() {
    let producer = alu_inst(1, &[2], Control { stall: 2, pipe: Pipe::Xu, ..COUNTED_RESULT });
    let consumer = alu_inst(3, &[1], Control { wait: 1, ..control_words(1, Pipe::Fma) });
    let code = [producer, consumer];
    assert_eq!(cycles_in_reason(&control_machine(), 1, &code, WarpReason::ShortScoreboard), 15);
    assert_eq!(cycles_in_reason(&control_machine(), 1, &code, WarpReason::LongScoreboard), 0);
}

#[test]
fn global_memory_is_a_long_scoreboard_and_shared_memory_a_short_one() {
    let wait_for = |space, reason| {
        let consumer = alu_inst(3, &[1], Control { wait: 1, ..control_words(1, Pipe::Fma) });
        cycles_in_reason(&control_machine(), 1, &[load(space, Control { stall: 2, pipe: Pipe::Alu, ..COUNTED_RESULT }), consumer], reason)
    };
    assert!(wait_for(MemSpace::Global, WarpReason::LongScoreboard) > 100, "the latency of the memory");
    assert_eq!(wait_for(MemSpace::Global, WarpReason::ShortScoreboard), 0);
    assert!(wait_for(MemSpace::Shared, WarpReason::ShortScoreboard) > 10);
    assert_eq!(wait_for(MemSpace::Shared, WarpReason::LongScoreboard), 0);
}

#[test]
fn a_missing_constant_operand_is_an_imc_miss() {
    let plain = alu_inst(1, &[2], control_words(1, Pipe::Fma));
    let with = StaticInst { control: Control { constant: Some(0x210), ..plain.control }, ..plain };
    assert_eq!(cycles_in_reason(&control_machine(), 1, &[plain, with, with], WarpReason::ImcMiss), 79);
}

/// The group itself does not access memory, and its counter is decremented with the replies to its copies.
#[test]
fn a_group_of_copies_is_a_long_scoreboard() {
    let copy = Control { async_op: AsyncOp::Copy { past_l1: false }, ..control_words(1, Pipe::Alu) };
    let copy = StaticInst { control: copy, ..memory_inst(MemKind::Load, MemSpace::Global, NO_REGISTER, &[2]) };
    let group = Control { async_op: AsyncOp::CopyGroup, stall: 2, pipe: Pipe::Alu, ..COUNTED_RESULT };
    let group = StaticInst { control: group, ..register_inst(OpClass::Alu, NO_REGISTER, &[]) };
    let code = [copy, group, alu_inst(1, &[2], Control { wait: 1, ..control_words(1, Pipe::Fma) })];
    assert!(cycles_in_reason(&control_machine(), 1, &code, WarpReason::LongScoreboard) > 50, "the rest of the latency of the memory");
    assert_eq!(cycles_in_reason(&control_machine(), 1, &code, WarpReason::ShortScoreboard), 0);
}

/// Without control words, a warp waits for its source registers.
#[test]
fn a_wait_for_a_register_is_a_scoreboard_wait() {
    let of_alu = alu_inst(1, &[1], Control { pipe: Pipe::Fma, ..Control::NONE });
    assert_eq!(cycles_in_reason(&control_machine(), 1, &[of_alu; 4], WarpReason::Wait), 3 * 3);
    let code = [load(MemSpace::Global, Control::NONE), alu_inst(3, &[1], Control { pipe: Pipe::Fma, ..Control::NONE })];
    assert!(cycles_in_reason(&control_machine(), 1, &code, WarpReason::LongScoreboard) > 100);
}

#[test]
fn a_pipe_of_half_width_throttles_every_second_cycle() {
    let half = alu_inst(1, &[2], control_words(1, Pipe::Alu));
    assert_eq!(cycles_in_reason(&control_machine(), 1, &[half; 4], WarpReason::MathPipeThrottle), 4, "the exit has the same pipe");
}

/// Three operands in one bank cost two bubbles from the third instruction on; the exit has another pipe.
#[test]
fn register_reads_hold_the_control_stage() {
    let three = alu_inst(1, &[2, 4, 6], control_words(1, Pipe::Fma));
    let states = |reason| cycles_in_reason(&control_machine(), 1, &[three; 6], reason);
    assert_eq!((states(WarpReason::Dispatch), states(WarpReason::MathPipeThrottle)), (8, 0));
}

/// Four instructions wait three cycles each, as in `five_memory_instructions_wait_in_a_sub_core`.
#[test]
fn a_full_queue_throttles_by_memory_space() {
    let nine = |space| [load(space, control_words(1, Pipe::Alu)); 9];
    assert_eq!(cycles_in_reason(&control_machine(), 1, &nine(MemSpace::Shared), WarpReason::MioThrottle), 4 * 3);
    assert_eq!(cycles_in_reason(&control_machine(), 1, &nine(MemSpace::Shared), WarpReason::LgThrottle), 0);
    assert!(cycles_in_reason(&control_machine(), 1, &nine(MemSpace::Global), WarpReason::LgThrottle) >= 4 * 3);
}

#[test]
fn a_barrier_and_a_fence_hold_their_warps() {
    let machine = control_machine();
    let barrier = StaticInst { control: control_words(1, Pipe::Alu), ..register_inst(OpClass::Barrier, NO_REGISTER, &[]) };
    let spec = machine.gpu.sm.control;
    let gap = 4 * u64::from(spec.barrier_interval) + u64::from(spec.barrier_latency);
    assert_eq!(cycles_in_reason(&machine, 4, &[barrier], WarpReason::Barrier), 4 * (gap - 1));
    let control = Control { scope: FenceScope::Cta, ..control_words(1, Pipe::Alu) };
    let fence = StaticInst { control, ..register_inst(OpClass::Fence, NO_REGISTER, &[]) };
    assert_eq!(cycles_in_reason(&machine, 1, &[fence], WarpReason::Membar), 33 - 1);
}

/// Warps 0 and 4 share a sub-core, and the younger one issues all its instructions first.
#[test]
fn a_warp_that_could_issue_is_not_selected() {
    let inst = alu_inst(1, &[2], control_words(1, Pipe::Fma));
    assert_eq!(cycles_in_reason(&control_machine(), 5, &[inst, inst], WarpReason::NotSelected), 3);
    assert_eq!(cycles_in_reason(&control_machine(), 4, &[inst, inst], WarpReason::NotSelected), 0);
}

/// The instructions of the bench have no addresses, so each one is the target of a branch.
#[test]
fn branches_are_resolved_and_instructions_are_fetched() {
    let mut machine = control_machine();
    machine.gpu.sm.control.redirect = 7;
    let inst = alu_inst(1, &[2], control_words(1, Pipe::Fma));
    assert_eq!(cycles_in_reason(&machine, 1, &[inst; 3], WarpReason::BranchResolving), 3 * 6);
    let before = cycles_in_reason(&machine, 1, &[inst], WarpReason::NoInstruction);
    machine.gpu.sm.control.fetch_latency = [31; 4];
    assert_eq!(
        cycles_in_reason(&machine, 1, &[inst], WarpReason::NoInstruction),
        before + 30,
        "both caches are looked up at the same time"
    );
}

#[test]
fn a_warp_drains_until_its_stores_have_left_or_are_acknowledged() {
    let store = StaticInst { control: control_words(1, Pipe::Alu), ..memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1, 2]) };
    let mut waits = control_machine();
    waits.gpu.sm.control.waits_for_stores = true;
    assert!(cycles_in_reason(&waits, 1, &[store], WarpReason::Drain) > 100);
    assert!(cycles_in_reason(&control_machine(), 1, &[store], WarpReason::Drain) < 60, "the stores have left");
    assert!(cycles_in_reason(&control_machine(), 1, &[alu_inst(1, &[2], control_words(1, Pipe::Fma))], WarpReason::Drain) < 10);
}

/// The program is a product of four warps, and the wait for it.
#[test]
fn a_wait_for_products_is_a_gmma_stall() {
    let product = AsyncOp::Product { columns: 64, registers: false, closes: true };
    let inst = |async_op| StaticInst {
        control: Control { async_op, ..control_words(1, Pipe::Alu) },
        ..register_inst(OpClass::Alu, NO_REGISTER, &[])
    };
    let waits = |code: &[StaticInst]| cycles_in_reason(&control_machine(), 4, code, WarpReason::Gmma);
    assert_eq!(waits(&[inst(product)]), 0);
    assert!(waits(&[inst(product), inst(AsyncOp::Products { most: 0 })]) > 4 * 32, "two columns a cycle");
}

#[test]
fn a_warp_beyond_the_limit_is_in_the_state_misc() {
    let mut program = ProgramBuilder::new(2);
    program.add_to_all(alu_inst(1, &[2], control_words(9, Pipe::Fma))).add_to_all(alu_inst(1, &[2], control_words(1, Pipe::Fma)));
    let mut bench = Bench::with_single_cta(&control_machine(), 64, program.build_with_exit());
    bench.sm.apply(Cycle(0), &SmDecision::WarpLimit(1));
    bench.issue_cycles();
    bench.sm.settle(bench.now);
    let counts = bench.reasons().unwrap();
    assert!(counts[WarpReason::Misc as usize] >= 10, "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), bench.stats().sm.resident_warp_cycles);
}
