//! The phases of kernel models.

use std::sync::Arc;

use warpshard_base::CtaIndex;
use warpshard_configs::Files;
use warpshard_model::{Model, builtin_model};
use warpshard_workload::phases::{Latencies, LongOps, Phases};
use warpshard_workload::{Control, CtaProgram, NO_REGISTER, OpClass, RegisterSets, StaticInst};

/// A warp with a branch that diverges by lane, and a loop that all lanes repeat.
const BRANCHES: &str = r#"
name = "branches"
[buffers]
a = { elements = 4096 }
[[kernel]]
name = "k"
grid = 2
block = 64
body = [
  { op = "s2r", dst = "i" },
  { if = "lane < 8", then = [{ op = "fadd", dst = "x", src = ["x"] }], else = [{ op = "fmul", dst = "x", src = ["x"] }] },
  { if = "random(2)", then = [{ op = "fadd", dst = "x", src = ["x"] }] },
  { loop = "j", count = 3, body = [
    { op = "load", dst = "v", src = ["i"], buffer = "a", index = "j * 64 + thread" },
    { op = "fadd", dst = "x", src = ["v", "x"] },
    { op = "exit", when = "j == 2 & lane > 30" },
  ] },
  { loop = "j", count = "lane % 4 + 1", body = [{ op = "fadd", dst = "x", src = ["x"] }] },
  { if = "warp == 0", then = [{ op = "fadd", dst = "x", src = ["x"] }] },
  { op = "store", src = ["i", "x"], buffer = "a", index = "thread" },
]
"#;

#[test]
fn what_warps_do_shows_the_blocks_that_a_model_knows() {
    let model = Model::from_text("branches.toml", BRANCHES, 1, &[]).unwrap();
    let kernel = &model.kernels[0].kernel;
    let known = Phases::of_kernel(kernel, &Latencies::COMPILER_PASS, LongOps::All);
    let seen = Phases::of_program(&kernel.source.cta(CtaIndex(0)), &Latencies::COMPILER_PASS, LongOps::All);
    let at = |mnemonic: &str| model.kernels[0].mnemonics.iter().position(|known| known == mnemonic).unwrap() as u32;
    assert!(!known.starts(at("BSSY")) && known.starts(at("BSYNC")));
    assert_eq!(known, seen);
}

#[test]
fn phases_do_not_depend_on_decoded_ctas() {
    let model = builtin_model(Files::core(), "reduce", 1, &[]).unwrap();
    let kernel = &model.kernels[0].kernel;
    let before = Phases::of_kernel(kernel, &Latencies::COMPILER_PASS, LongOps::All);
    kernel.source.cta(CtaIndex(7));
    assert_eq!(before, Phases::of_kernel(kernel, &Latencies::COMPILER_PASS, LongOps::All));
    // A table that was extended by instructions of later CTAs has the same distances for the earlier instructions.
    let program = kernel.source.cta(CtaIndex(0));
    let mut code = program.code.to_vec();
    let src = [NO_REGISTER; 4];
    let registers = RegisterSets::new(3, src);
    code.push(StaticInst {
        pc: 8,
        class: OpClass::Sp,
        packed_half: false,
        flops: 0,
        dst: 3,
        src,
        mem: None,
        immediate: 0,
        control: Control::NONE,
        registers,
    });
    let grown = CtaProgram { code: Arc::from(code), ..CtaProgram::clone(&program) };
    let [small, large] = [&*program, &grown].map(|program| Phases::of_program(program, &Latencies::COMPILER_PASS, LongOps::All));
    assert_eq!(small.list(), large.list());
    assert!((0..program.code.len() as u32).all(|index| small.distance(index) == large.distance(index)));
    assert_eq!((large.distance(program.code.len() as u32), large.starts(program.code.len() as u32)), (0, true));
}
