//! Tests with the thesis's examples, and with phases of models and traces.

use warpshard_base::LaneMask;

use super::*;
use crate::{CachePolicy, Control, MemInst, MemKind, RegisterSets, StreamBuilder};

const NONE: u16 = NO_REGISTER;

fn alu(class: OpClass, dst: u16, src: [u16; 4]) -> StaticInst {
    StaticInst {
        pc: 0,
        class,
        packed_half: false,
        flops: 0,
        dst,
        src,
        mem: None,
        immediate: 0,
        control: Control::NONE,
        registers: RegisterSets::new(dst, src),
    }
}

fn access(kind: MemKind, space: MemSpace, width: u8, dst: u16, src: [u16; 4]) -> StaticInst {
    let class = if kind == MemKind::Load { OpClass::Load } else { OpClass::Store };
    StaticInst { mem: Some(MemInst { space, kind, width, cache: CachePolicy::All }), ..alu(class, dst, src) }
}

/// Creates a program of one warp that executes `code` in order.
fn straight_program(mut code: Vec<StaticInst>) -> CtaProgram {
    let mut builder = StreamBuilder::default();
    for (i, inst) in code.iter_mut().enumerate() {
        inst.pc = 16 * i as u32;
        match inst.mem {
            Some(_) => builder.access(i as u32, LaneMask(1), &[4096]),
            None => builder.op(i as u32, LaneMask::FULL),
        }
    }
    CtaProgram { code: code.into(), warps: [builder.finish()].into(), ..CtaProgram::default() }
}

fn phases_of(code: Vec<StaticInst>) -> Phases {
    Phases::of_program(&straight_program(code), &Latencies::COMPILER_PASS, LongOps::All)
}

/// A listing with the structure and the lengths of figure 3.2: an index from thread and block, two loads, their sum, a store.
/// The second phase begins at the addition, whose operands both loads wrote; the figure gives the phases 18 and 10.
#[test]
fn the_vector_addition_of_the_thesis_has_two_phases_of_18_and_10() {
    let int = OpClass::Int;
    let phases = phases_of(vec![
        alu(OpClass::Alu, 0, [NONE; 4]),                                      // blockIdx.x * blockDim.x
        alu(int, 1, [0, NONE, NONE, NONE]),                                   // + threadIdx.x
        alu(int, 2, [1, NONE, NONE, NONE]),                                   // * 4
        alu(int, 3, [2, NONE, NONE, NONE]),                                   // a + ...
        access(MemKind::Load, MemSpace::Global, 4, 4, [3, NONE, NONE, NONE]), // R0 of the figure
        alu(OpClass::Alu, 6, [NONE; 4]),                                      // the address of b
        access(MemKind::Load, MemSpace::Global, 4, 5, [6, 2, NONE, NONE]),    // R1 of the figure
        alu(OpClass::Alu, 7, [2, NONE, NONE, NONE]),                          // the address of c
        alu(OpClass::Alu, 8, [NONE; 4]),
        alu(int, 5, [5, 4, NONE, NONE]), // IADD32 R1, R1, R0
        alu(int, 8, [8, 7, NONE, NONE]),
        access(MemKind::Store, MemSpace::Global, 4, NONE, [8, 5, NONE, NONE]),
        alu(OpClass::Exit, NONE, [NONE; 4]),
    ]);
    let lengths: Vec<u16> = phases.list().iter().map(|phase| phase.length).collect();
    assert_eq!(lengths, [18, 10]);
    assert_eq!((phases.list()[1].first, phases.starts(9), phases.starts(10)), (9, true, false));
    assert_eq!((phases.distance(0), phases.distance(8), phases.distance(9), phases.distance(12)), (18, 1, 10, 1));
    assert_eq!((phases.length(8), phases.length(12)), (18, 10));
    assert_eq!((phases.longest(), phases.shortest()), (18, 10));
}

/// 3.3.1: several instructions may depend on long operations of the previous phase; only a dependence on a long operation of the current
/// phase starts another phase.
#[test]
fn only_a_long_operation_of_the_same_phase_starts_another() {
    let load = |dst| access(MemKind::Load, MemSpace::Global, 4, dst, [9, NONE, NONE, NONE]);
    let use_of = |src| alu(OpClass::Sp, 20, [src, NONE, NONE, NONE]);
    let phases = phases_of(vec![load(1), load(2), use_of(1), use_of(2), load(3), use_of(1), use_of(3), use_of(3)]);
    let firsts: Vec<u32> = phases.list().iter().map(|phase| phase.first).collect();
    assert_eq!(firsts, [0, 2, 6]);
}

#[test]
fn a_wide_load_marks_all_its_registers_and_a_short_operation_clears_a_register() {
    let wide = access(MemKind::Load, MemSpace::Global, 16, 4, [9, NONE, NONE, NONE]);
    let read = |register| alu(OpClass::Sp, 20, [register, NONE, NONE, NONE]);
    assert_eq!(phases_of(vec![wide, read(7)]).list().len(), 2);
    assert_eq!(phases_of(vec![wide, read(8)]).list().len(), 1);
    assert_eq!(phases_of(vec![wide, alu(OpClass::Alu, 7, [NONE; 4]), read(7)]).list().len(), 1);
    assert_eq!(phases_of(vec![wide, read(255)]).list().len(), 1, "RZ is never a result");
}

#[test]
fn shared_memory_can_be_excluded() {
    let code = vec![access(MemKind::Load, MemSpace::Shared, 4, 1, [9, NONE, NONE, NONE]), alu(OpClass::Sp, 2, [1, NONE, NONE, NONE])];
    let program = straight_program(code);
    let count = |long| Phases::of_program(&program, &Latencies::COMPILER_PASS, long).list().len();
    assert_eq!((count(LongOps::All), count(LongOps::DeviceMemory)), (2, 1));
}

#[test]
fn distances_saturate_and_unknown_instructions_have_none() {
    let phases = phases_of(vec![alu(OpClass::Dp, 1, [NONE; 4]); 9000]);
    assert_eq!((phases.distance(0), phases.distance(8999), phases.distance(9000)), (u16::MAX, 8, 0));
    assert!(phases.starts(9000) && !phases.starts(8999));
}
