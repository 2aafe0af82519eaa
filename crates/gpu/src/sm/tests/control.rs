//! Tests of cores with control words: the rules of issue, one by one, against cycles computed by hand.

use warpshard_config::Override;
use warpshard_config::machine::{ControlCore, CoreStyle, WarpOrder};
use warpshard_workload::{AsyncOp, BarrierAccess, BarrierOp, Mbarrier, Pipe};

use super::*;
use crate::test_machine::test_machine;

/// Returns the test machine with a core with control words, whose instruction caches have no latency.
pub(super) fn control_machine() -> Machine {
    let mut machine = test_machine();
    let sm = &mut machine.gpu.sm;
    (sm.style, sm.order, sm.warp_states) = (CoreStyle::ControlWords, WarpOrder::Gty, true);
    sm.control = ControlCore { fetch_latency: [1; 4], fetch_interval: [1; 3], redirect: 1, ..sm.control };
    machine
}

pub(super) fn control_words(stall: u8, pipe: Pipe) -> Control {
    Control { stall, pipe, ..Control::NONE }
}

/// Returns the gaps between the issues of a warp that executes `code`, including the gap before its exit.
fn issue_gaps(code: &[StaticInst]) -> Vec<u64> {
    issue_gaps_on(&control_machine(), code)
}

fn issue_gaps_on(machine: &Machine, code: &[StaticInst]) -> Vec<u64> {
    let mut program = ProgramBuilder::new(1);
    for inst in code {
        program.add_to_all(*inst);
    }
    let issues = Bench::with_single_cta(machine, 32, program.build_with_exit()).issue_cycles();
    issues[..code.len()].windows(2).map(|pair| pair[1] - pair[0]).collect()
}

pub(super) fn alu_inst(dst: u16, src: &[u16], control: Control) -> StaticInst {
    StaticInst { control, ..register_inst(OpClass::Sp, dst, src) }
}

#[test]
fn a_warp_issues_again_when_its_stall_count_is_over() {
    let inst = |stall| alu_inst(1, &[2], control_words(stall, Pipe::Fma));
    assert_eq!(issue_gaps(&[inst(1), inst(4), inst(2), inst(13), inst(1), inst(1)]), [1, 4, 2, 13, 1]);
}

#[test]
fn control_words_replace_the_register_scoreboard() {
    let inst = alu_inst(1, &[1], control_words(1, Pipe::Fma));
    assert_eq!(issue_gaps(&[inst; 4]), [1, 1, 1]);
}

/// Without control words a chain of dependent instructions waits for each result.
#[test]
fn without_control_words_an_instruction_waits_for_its_registers() {
    let inst = alu_inst(1, &[1], Control { pipe: Pipe::Fma, ..Control::NONE });
    assert_eq!(issue_gaps(&[inst; 4]), [4, 4, 4]);
}

/// A machine can ignore the control words of the code.
#[test]
fn a_machine_without_control_words_uses_the_scoreboard() {
    let mut machine = control_machine();
    machine.gpu.sm.control.words = false;
    let inst = alu_inst(1, &[1], control_words(1, Pipe::Fma));
    assert_eq!(issue_gaps_on(&machine, &[inst; 4]), [4, 4, 4]);
}

/// The instruction is an FFMA with three operands in one bank. Two cycles of reads more than one instruction needs are the cost that the
/// reuse cache avoids.
#[test]
fn a_machine_without_a_reuse_cache_reads_marked_operands_again() {
    let mut machine = control_machine();
    let inst = alu_inst(1, &[2, 4, 6], Control { reuse: 0b111, ..control_words(1, Pipe::Fma) });
    let with = issue_gaps_on(&machine, &[inst; 8]);
    machine.gpu.sm.control.reuse = false;
    let without = issue_gaps_on(&machine, &[inst; 8]);
    assert_eq!((with[6], without[6]), (1, 3));
}

#[test]
fn a_pipe_of_half_width_accepts_an_instruction_every_second_cycle() {
    let (half, full) = (alu_inst(1, &[2], control_words(1, Pipe::Alu)), alu_inst(3, &[5], control_words(1, Pipe::Fma)));
    assert_eq!(issue_gaps(&[half; 4]), [2, 2, 2]);
    assert_eq!(issue_gaps(&[half, full, half, full]), [1, 1, 1]);
}

/// The consumer waits for counter 0; the stall count of the producer decides whether it sees the increment.
#[test]
fn a_counter_is_visible_a_cycle_late_and_holds_until_the_result() {
    let producer = |stall| alu_inst(1, &[2], Control { counters: 0x70, ..control_words(stall, Pipe::Xu) });
    let consumer = alu_inst(3, &[1], Control { wait: 1, ..control_words(1, Pipe::Fma) });
    assert_eq!(issue_gaps(&[producer(2), consumer]), [17]);
    assert_eq!(issue_gaps(&[producer(1), consumer]), [1], "the consumer issues too early, as on the hardware");
}

/// The first of two results arrives after 17 cycles, and the second eight cycles later.
#[test]
fn depbar_continues_with_outstanding_results() {
    let producer = alu_inst(1, &[2], Control { counters: 0x70, ..control_words(2, Pipe::Xu) });
    let depbar = |most: u16| StaticInst {
        control: Control { at_most: Some(most << 3), ..control_words(4, Pipe::Alu) },
        ..register_inst(OpClass::Alu, NO_REGISTER, &[])
    };
    assert_eq!(issue_gaps(&[producer, producer, depbar(1)]), [8, 9]);
    assert_eq!(issue_gaps(&[producer, producer, depbar(0)]), [8, 17]);
}

/// Huerta et al., Section 5.3: three operands in one bank cost two bubbles; one of them in the reuse cache leaves one.
#[test]
fn operands_in_one_bank_cost_bubbles_and_reuse_saves_one() {
    let three = alu_inst(1, &[2, 4, 6], control_words(1, Pipe::Fma));
    assert_eq!(issue_gaps(&[three; 6]), [1, 3, 3, 3, 3]);
    let kept = alu_inst(1, &[2, 4, 6], Control { reuse: 1, ..control_words(1, Pipe::Fma) });
    assert_eq!(issue_gaps(&[kept; 6])[2..], [2, 2, 2]);
    let spread = alu_inst(1, &[2, 3, 4], control_words(1, Pipe::Fma));
    assert_eq!(issue_gaps(&[spread; 6])[2..], [2, 2, 2]);
    let two = alu_inst(1, &[2, 3], control_words(1, Pipe::Fma));
    assert_eq!(issue_gaps(&[two; 6]), [1, 1, 1, 1, 1]);
}

/// Five instructions issue one after the other. The sixth issues when the first has left for the load/store unit: 2 cycles to the queue and
/// 6 through the address unit. Then one issues every four cycles, the interval of the address unit.
#[test]
fn five_memory_instructions_wait_in_a_sub_core() {
    let mut program = ProgramBuilder::new(1);
    let load = StaticInst { control: control_words(1, Pipe::Alu), ..memory_inst(MemKind::Load, MemSpace::Shared, 1, &[2]) };
    for _ in 0..9 {
        program.add_access(0, load, LaneMask::FULL, &lane_addresses(0, 4));
    }
    let issues = Bench::with_single_cta(&control_machine(), 32, program.build_with_exit()).issue_cycles();
    let from_first: Vec<_> = issues[..9].iter().map(|at| at - issues[0]).collect();
    assert_eq!(from_first, [0, 1, 2, 3, 4, 8, 12, 16, 20]);
}

/// Two warps in two sub-cores have three stores each, which occupy the load/store unit for 32 cycles. The second store of a warp arrives
/// too late to follow the first one immediately.
#[test]
fn the_load_store_unit_stays_with_a_warp() {
    let mut program = ProgramBuilder::new(2);
    let store = StaticInst { control: control_words(1, Pipe::Alu), ..memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[2]) };
    for warp in 0..2 {
        for at in 0..3 {
            program.add_access(warp, store, LaneMask::FULL, &lane_addresses(0x100_0000 * warp as u64 + 0x10000 * at, 128));
        }
    }
    let mut bench = Bench::with_single_cta(&control_machine(), 64, program.build_with_exit());
    bench.issue_cycles();
    let mut stores: Vec<u64> = bench.requests().iter().map(|(_, packet)| packet.addr.0 >> 16).collect();
    stores.dedup();
    assert_eq!(stores, [0x000, 0x100, 0x101, 0x102, 0x001, 0x002]);
}

/// Four warps reach the barrier in one cycle, and the barrier unit handles one warp per two cycles.
#[test]
fn the_barrier_unit_handles_warps_one_by_one() {
    let spec = control_machine().gpu.sm.control;
    for warps in [1, 4] {
        let mut program = ProgramBuilder::new(warps);
        program.add_to_all(StaticInst { control: control_words(1, Pipe::Alu), ..register_inst(OpClass::Barrier, NO_REGISTER, &[]) });
        program.add_to_all(alu_inst(1, &[2], control_words(1, Pipe::Fma)));
        let issues = Bench::with_single_cta(&control_machine(), 32 * warps as u32, program.build_with_exit()).issue_cycles();
        let gap = u64::from(spec.barrier_interval) * warps as u64 + u64::from(spec.barrier_latency);
        assert_eq!(issues[warps] - issues[0], gap, "{issues:?}");
    }
}

#[test]
fn a_warp_continues_when_its_control_flow_is_resolved() {
    let next = alu_inst(1, &[2], control_words(1, Pipe::Fma));
    for (pipe, cycles) in [(Pipe::Branch, 5), (Pipe::Converge, 13), (Pipe::Call, 26)] {
        let inst = StaticInst { control: control_words(5, pipe), ..register_inst(OpClass::Branch, NO_REGISTER, &[]) };
        assert_eq!(issue_gaps(&[inst, next]), [cycles], "{pipe:?}");
    }
}

/// Returns the end cycle of the CTA of one warp that issues `code` and its exit, and the cycle of the message that follows its stores.
fn end_and_acknowledgement(machine: &Machine, code: &[StaticInst]) -> (u64, Option<u64>) {
    let mut program = ProgramBuilder::new(1);
    for inst in code {
        if inst.mem.is_some() {
            program.add_access(0, *inst, LaneMask::FULL, &lane_addresses(0, 4));
        } else {
            program.add_to_all(*inst);
        }
    }
    let mut bench = Bench::with_single_cta(machine, 32, program.finish());
    bench.finish();
    let at = |which: fn(&Payload) -> bool| bench.sent.iter().find(|(_, payload)| which(payload)).map(|(at, _)| at.0);
    let end = at(|payload| matches!(payload, Payload::CtaDone(_))).expect("the CTA ends");
    let left = at(|payload| matches!(payload, Payload::StoresPending(_)));
    assert!(left.is_none_or(|left| left == end), "the grid scheduler is notified with the end");
    let answered = at(|payload| matches!(payload, Payload::StoresAcknowledged(_)));
    assert_eq!(left.is_some(), answered.is_some());
    (end, answered)
}

#[test]
fn a_warp_ends_when_its_exit_is_resolved_and_its_stores_have_left() {
    let exit = |pipe| StaticInst { control: control_words(5, pipe), ..register_inst(OpClass::Exit, NO_REGISTER, &[]) };
    let store = StaticInst { control: control_words(1, Pipe::Alu), ..memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1, 2]) };
    let (branch, none) = end_and_acknowledgement(&control_machine(), &[exit(Pipe::Branch)]);
    assert_eq!(
        (end_and_acknowledgement(&control_machine(), &[exit(Pipe::Exit)]), none),
        ((branch + 12, None), None),
        "17 cycles in place of 5"
    );
    let (end, answered) = end_and_acknowledgement(&control_machine(), &[store, exit(Pipe::Exit)]);
    let mut waits = control_machine();
    waits.gpu.sm.control.waits_for_stores = true;
    let (late, told) = end_and_acknowledgement(&waits, &[store, exit(Pipe::Exit)]);
    assert!(end + 100 < late, "{end} and {late}");
    assert!(answered.is_some_and(|answered| answered <= late && answered + 10 > late), "{answered:?} and {late}");
    assert_eq!(told, None, "no message follows if the end waits for the stores");
}

#[test]
fn a_fence_takes_the_time_of_its_scope() {
    for (scope, cycles) in [(FenceScope::Cta, 33), (FenceScope::Gpu, 715), (FenceScope::System, 1458)] {
        let fence =
            StaticInst { control: Control { scope, ..control_words(1, Pipe::Alu) }, ..register_inst(OpClass::Fence, NO_REGISTER, &[]) };
        assert_eq!(issue_gaps(&[fence, alu_inst(1, &[2], control_words(1, Pipe::Fma))]), [cycles]);
    }
}

#[test]
fn a_constant_operand_holds_its_warp_until_its_line_arrives() {
    let plain = alu_inst(1, &[2], control_words(1, Pipe::Fma));
    let with = |address| StaticInst { control: Control { constant: Some(address), ..plain.control }, ..plain };
    // A line has 64 bytes; addresses from 0x240 on are in the next line.
    assert_eq!(issue_gaps(&[plain, with(0x210), with(0x230), with(0x240), with(0x210), plain]), [80, 1, 80, 1, 1]);
}

#[test]
fn an_ldc_miss_delays_the_result() {
    let mut program = ProgramBuilder::new(1);
    let ldc = StaticInst { control: Control { counters: 0x70, ..control_words(2, Pipe::Constant) }, ..register_inst(OpClass::Alu, 1, &[]) };
    let reads: [&[u32]; 4] = [&[0x200], &[0x200], &[0x240, 0x280], &[]];
    for lines in reads {
        program.add_with_payload(0, ldc, lines);
        program.add_to_all(alu_inst(1, &[2], Control { wait: 1, ..control_words(1, Pipe::Fma) }));
    }
    let mut bench = Bench::with_single_cta(&control_machine(), 32, program.build_with_exit());
    let issues = bench.issue_cycles();
    let waits: Vec<u64> = (0..4).map(|i| issues[2 * i + 1] - issues[2 * i]).collect();
    assert_eq!(waits, [29 + 70, 29, 29 + 71, 29], "lines arrive one by one");
    assert_eq!(bench.stats().sm.constant_misses, 3);
}

/// The counter of a group of copies is decremented with the last copy, which takes a round trip through memory.
#[test]
fn the_counter_of_a_group_of_copies_falls_with_the_last() {
    let mut program = ProgramBuilder::new(1);
    let copy = StaticInst {
        control: Control { async_op: AsyncOp::Copy { past_l1: false }, ..control_words(1, Pipe::Alu) },
        ..memory_inst(MemKind::Load, MemSpace::Global, NO_REGISTER, &[2])
    };
    let group = StaticInst {
        control: Control { async_op: AsyncOp::CopyGroup, counters: 0x70, ..control_words(2, Pipe::Alu) },
        ..register_inst(OpClass::Alu, NO_REGISTER, &[])
    };
    program.add_access(0, copy, LaneMask::FULL, &lane_addresses(0x10_0000, 4));
    program.add_to_all(group);
    program.add_to_all(alu_inst(1, &[2], Control { wait: 1, ..control_words(1, Pipe::Fma) }));
    let mut bench = Bench::with_single_cta(&control_machine(), 32, program.build_with_exit());
    let issues = bench.issue_cycles();
    let answered = bench.requests().iter().map(|(at, _)| at + bench.latency).max().unwrap();
    assert!(issues[2] > answered, "{issues:?}, the answer comes in {answered}");
}

/// An arrival after copies opens a barrier no sooner than the reply to the copies; without preceding copies it opens the barrier
/// immediately.
#[test]
fn an_arrival_after_copies_waits_for_their_reply() {
    let wait_opens = |copies: bool| {
        let mut program = ProgramBuilder::new(1);
        let barrier = |control: Control| StaticInst {
            control: Control { async_op: AsyncOp::Barrier, ..control },
            ..register_inst(OpClass::Alu, NO_REGISTER, &[])
        };
        let access = |op: BarrierOp| BarrierAccess { address: 0x400, op }.words();
        let one = Mbarrier { arrivals: 32, missing: 32, bytes: 0, phase: false };
        program.add_with_payload(0, barrier(control_words(2, Pipe::Alu)), &access(BarrierOp::Write(one.word())));
        let copy = StaticInst {
            control: Control { async_op: AsyncOp::Copy { past_l1: true }, ..control_words(2, Pipe::Alu) },
            ..memory_inst(MemKind::Load, MemSpace::Global, NO_REGISTER, &[2])
        };
        if copies {
            program.add_access(0, copy, LaneMask::FULL, &lane_addresses(0x10_0000, 4));
        }
        program.add_with_payload(0, barrier(control_words(2, Pipe::Alu)), &access(BarrierOp::AfterCopies { arrivals: 32, bytes: 0 }));
        program.add_with_payload(0, barrier(Control { counters: 0x70, ..control_words(2, Pipe::Alu) }), &access(BarrierOp::Wait(false)));
        program.add_to_all(alu_inst(1, &[2], Control { wait: 1, ..control_words(1, Pipe::Fma) }));
        let mut bench = Bench::with_single_cta(&control_machine(), 32, program.build_with_exit());
        let issues = bench.issue_cycles();
        let answered = bench.requests().iter().map(|(at, _)| at + bench.latency).max();
        (issues[issues.len() - 2], answered)
    };
    let (opened, answered) = wait_opens(true);
    assert!(Some(opened) > answered, "the barrier opens in {opened}, the reply arrives in {answered:?}");
    let (alone, _) = wait_opens(false);
    assert!(alone < opened, "{alone} and {opened}");
}

#[test]
fn the_youngest_warp_issues_first_and_continues() {
    let mut program = ProgramBuilder::new(8);
    for _ in 0..2 {
        program.add_to_all(alu_inst(1, &[2], control_words(1, Pipe::Fma)));
    }
    let mut bench = Bench::with_single_cta(&control_machine(), 256, program.build_with_exit());
    let _ = bench.issue_cycles();
    // Warps 0 and 4 share a sub-core. The CTA ends in the same cycle for all warps, so only the order of their last issues shows the
    // policy.
    let last = |warp: usize| bench.sm.core.warps.last_issue[warp];
    assert!(last(4) < last(0), "{} and {}", last(4), last(0));
}

#[test]
fn keys_that_need_a_scoreboard_or_dual_issue_are_refused() {
    for (key, value, expected) in [
        ("gpu.sm.issue_width", "2", "expected 1 with style = \"control-words\""),
        ("gpu.sm.order", "two-level-lrr", "and no CCWS"),
        ("gpu.sm.units.sfu", "3", "expected a multiple of `gpu.sm.schedulers`"),
        ("gpu.sm.control.xu.initiation", "0", "expected"),
    ] {
        let overrides = [("gpu.sm.style", "control-words"), (key, value)].map(|(key, value)| Override::new(key, value));
        let error = Machine::load("v100", &overrides).expect_err(key).to_string();
        assert!(error.contains(key) && error.contains(expected), "{error}");
    }
}
