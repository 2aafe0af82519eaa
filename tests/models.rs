//! Kernel models: what they generate, and what they say about bad input.

use warpshard::base::{CtaIndex, LaneMask};
use warpshard::frontend::model::{Model, builtin, builtin_model, builtin_names, write_trace};
use warpshard::frontend::sass::{self, TraceOptions};
use warpshard::frontend::{Cursor, Kernel, KernelInfo, StaticInst, WarpStream, Workload};

/// First address of a model's first buffer.
const A: u64 = 0x7f00_0000_0000;
/// Distance between buffers of up to 2 MiB.
const BUFFER: u64 = 2 << 20;

/// One executed instruction: mnemonic, active lanes, addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Executed {
    mnemonic: String,
    mask: LaneMask,
    addresses: Vec<u64>,
}

fn set(pairs: &[(&str, i64)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// What every warp of a CTA executes.
fn executed(model: &Model, kernel: usize, cta: u32) -> Vec<Vec<Executed>> {
    let kernel = &model.kernels[kernel];
    let program = kernel.kernel.source.cta(CtaIndex(cta));
    assert_eq!(kernel.kernel.source.failure(), None);
    let warp = |stream: &WarpStream| {
        let (mut cursor, mut out, mut found) = (Cursor::default(), [0; 32], Vec::new());
        while let Some(inst) = stream.next(&mut cursor) {
            let lanes = stream.addresses(&inst, &mut out);
            let mnemonic = kernel.mnemonics[inst.index as usize].clone();
            found.push(Executed { mnemonic, mask: inst.mask, addresses: out[..lanes].to_vec() });
        }
        found
    };
    program.warps.iter().map(warp).collect()
}

#[test]
fn vecadd_executes_fourteen_instructions_per_warp_at_exact_addresses() {
    let model = builtin_model("vecadd", 1, &set(&[("n", 1000), ("threads_per_cta", 96)])).unwrap();
    let info: &KernelInfo = &model.kernels[0].kernel.info;
    assert_eq!((info.ctas(), info.warps_per_cta()), (11, 3));
    let warps = executed(&model, 0, 2);
    assert!(warps.iter().all(|warp| warp.len() == 14));
    let loads: Vec<&Executed> = warps[1].iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").collect();
    let first = 2 * 96 + 32;
    let expected = |base: u64| (0..32).map(|lane| base + 4 * (first + lane)).collect::<Vec<_>>();
    assert_eq!(loads[0].addresses, expected(A));
    assert_eq!(loads[1].addresses, expected(A + BUFFER));
    // Element 1000 and later do not exist: 992..1024 is the second warp of CTA 10, and its last 24 lanes leave early.
    let last = executed(&model, 0, 10);
    assert_eq!(last[1][4].mask, LaneMask(0xffff_ff00));
    assert_eq!(last[1][13].mask, LaneMask(0xff));
    assert_eq!(last[1][12].addresses.last(), Some(&(A + 2 * BUFFER + 4 * 999)));
    assert_eq!(last[2].len(), 5);
}

#[test]
fn every_builtin_loads_and_generates_its_first_middle_and_last_cta() {
    assert_eq!(builtin_names().count(), 7);
    for (name, summary) in builtin_names() {
        let model = builtin_model(name, 1, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((model.name.as_str(), model.summary.as_str()), (name, summary));
        let workload: Workload = builtin(name, 1, &[]).unwrap();
        for kernel in &workload.kernels {
            let ctas = kernel.info.ctas();
            for cta in [0, ctas / 2, ctas - 1] {
                let program = kernel.source.cta(CtaIndex(cta));
                assert_eq!(program.warps.len(), kernel.info.warps_per_cta() as usize);
                assert!(program.warps.iter().all(|warp| !warp.is_empty()));
            }
            assert_eq!(kernel.source.failure(), None);
        }
    }
}

fn streams(model: &Model, ctas: impl Iterator<Item = u32>) -> Vec<(u32, Box<[WarpStream]>)> {
    let source = &model.kernels[0].kernel.source;
    let mut found: Vec<_> = ctas.map(|cta| (cta, source.cta(CtaIndex(cta)).warps.clone())).collect();
    found.sort_by_key(|(cta, _)| *cta);
    found
}

#[test]
fn ctas_are_the_same_in_any_order_and_however_often_they_are_asked_for() {
    for (name, _) in builtin_names() {
        let model = builtin_model(name, 7, &[]).unwrap();
        let ascending = streams(&model, 0..40);
        assert_eq!(streams(&model, (0..40).rev()), ascending, "{name}");
        let again = builtin_model(name, 7, &[]).unwrap();
        assert_eq!(streams(&again, (0..20).map(|i| i * 7 % 40).chain((0..20).map(|i| (i + 20) * 7 % 40))), ascending, "{name}");
    }
}

#[test]
fn another_seed_gathers_elsewhere_and_changes_nothing_that_is_not_random() {
    let of = |name: &str, seed| streams(&builtin_model(name, seed, &[]).unwrap(), 0..4);
    for name in ["gather", "divergent"] {
        assert_ne!(of(name, 1), of(name, 2), "{name}");
    }
    for name in ["gemm_tiled", "reduce", "stream", "strided", "vecadd"] {
        assert_eq!(of(name, 1), of(name, 2), "{name}");
    }
}

#[test]
fn gathers_differ_between_ctas_warps_and_rounds_and_stay_in_the_working_set() {
    let model = builtin_model("gather", 3, &set(&[("table", 1000), ("chains", 1)])).unwrap();
    let table = A + BUFFER;
    let mut seen = Vec::new();
    for cta in 0..3 {
        for warp in executed(&model, 0, cta) {
            let gathers: Vec<Executed> = warp.into_iter().filter(|inst| inst.addresses.first().is_some_and(|&a| a >= table)).collect();
            for gather in &gathers[..8] {
                assert!(gather.addresses.iter().all(|&a| a < table + 4000 && a % 4 == 0));
                assert!(!seen.contains(&gather.addresses));
                seen.push(gather.addresses.clone());
            }
        }
    }
    assert_eq!(seen.len(), 3 * 4 * 8);
    let mean = seen.iter().flatten().map(|a| a - table).sum::<u64>() / (32 * seen.len() as u64);
    assert!((1900..2100).contains(&mean), "the mean offset of uniform draws below 4000 is {mean}");
}

fn total(model: &Model) -> u64 {
    let mut total = 0;
    for kernel in &model.kernels {
        for cta in 0..kernel.kernel.info.ctas() {
            total += kernel.kernel.source.cta(CtaIndex(cta)).warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>();
        }
    }
    total
}

#[test]
fn instruction_counts_equal_closed_forms() {
    for (n, k) in [(64, 16), (128, 48)] {
        let model = builtin_model("gemm_tiled", 1, &set(&[("n", n), ("k", k)])).unwrap();
        // Setup, accumulators; per tile 2 + 2 copies, 2 barriers, 16 x (2 + 16), 2 pointers, 3 for the loop; 1 + 4 stores, EXIT.
        let warp = 9 + 16 + k / 16 * (4 + 2 + 16 * 18 + 2 + 3) + 1 + 4 + 1;
        assert_eq!(total(&model), (n * n / 4096 * 8 * warp) as u64);
    }
    for (ctas, iterations, vector) in [(2, 3, 1), (3, 1, 4)] {
        let set = set(&[("cta_count", ctas), ("iterations", iterations), ("vector", vector)]);
        let warp = 7 + iterations * (3 + vector + 3 + 3) + 1;
        assert_eq!(total(&builtin_model("stream", 1, &set).unwrap()), (ctas * 8 * warp) as u64);
    }
    for (ctas, items) in [(2, 4), (1, 1)] {
        // A step costs 5 instructions, and 4 more in warps that still have work: 8, 2, 1, 1, 0 ... of the 8 steps.
        let cta = 8 * (6 + 2 * items + 2 + 8 * 5 + 2) + 4 * (8 + 2 + 1 + 1) + 4;
        let model = builtin_model("reduce", 1, &set(&[("cta_count", ctas), ("items", items)])).unwrap();
        assert_eq!(total(&model), (ctas * cta) as u64);
    }
    let gather = builtin_model("gather", 1, &set(&[("cta_count", 2), ("rounds", 5), ("chains", 3)])).unwrap();
    assert_eq!(total(&gather), 2 * 4 * (6 + 2 + 5 * (2 * 3 + 3) + 2 + 1 + 1));
}

#[test]
fn gemm_has_the_mix_of_a_hand_written_tiled_product() {
    let count = |k: i64| {
        let model = builtin_model("gemm_tiled", 1, &set(&[("n", 64), ("k", k)])).unwrap();
        let warp = executed(&model, 0, 0).swap_remove(3);
        move |name: &str| warp.iter().filter(|inst| inst.mnemonic == name).count()
    };
    let (one, three) = (count(16), count(48));
    for (name, per_tile) in
        [("FFMA", 256), ("LDS.U.128", 32), ("LDG.E.128.SYS", 2), ("STS.128", 2), ("BAR.SYNC", 2), ("BRA", 1), ("ISETP.GE.AND", 1)]
    {
        assert_eq!((three(name) - one(name)) / 2, per_tile, "{name}");
    }
    assert_eq!((one("STG.E.128.SYS"), one("MOV"), one("EXIT")), (4, 16, 1));
}

#[test]
fn tiles_are_addressed_exactly() {
    let (n, k) = (128, 32);
    let model = builtin_model("gemm_tiled", 1, &set(&[("n", n), ("k", k)])).unwrap();
    let (n, k) = (n as u64, k as u64);
    let warp = 5;
    // CTA 2 of a 2 x 2 grid computes rows 64 .. 127 and columns 0 .. 63.
    let executed = executed(&model, 0, 2).swap_remove(warp);
    let threads: Vec<u64> = (0..32).map(|lane| warp as u64 * 32 + lane).collect();
    let of = |name: &str| executed.iter().filter(|inst| inst.mnemonic == name).map(|inst| inst.addresses.clone()).collect::<Vec<_>>();
    let loads = of("LDG.E.128.SYS");
    for tile in 0..2 {
        let a = threads.iter().map(|t| A + 4 * ((64 + t / 4) * k + tile * 16 + t % 4 * 4)).collect::<Vec<_>>();
        let b = threads.iter().map(|t| A + BUFFER + 4 * ((tile * 16 + t / 16) * n + t % 16 * 4)).collect::<Vec<_>>();
        assert_eq!([&loads[2 * tile as usize], &loads[2 * tile as usize + 1]], [&a, &b]);
    }
    let shared = of("LDS.U.128");
    assert_eq!(shared.len(), 2 * 32);
    assert_eq!(shared[2 * 7], threads.iter().map(|t| 7 * 256 + t / 16 * 16).collect::<Vec<_>>());
    assert_eq!(shared[2 * 7 + 1], threads.iter().map(|t| 4096 + 7 * 256 + t % 16 * 16).collect::<Vec<_>>());
    let stores = of("STG.E.128.SYS");
    let row = |r: u64| threads.iter().map(|t| A + 2 * BUFFER + 4 * ((64 + t / 16 * 4 + r) * n + t % 16 * 4)).collect::<Vec<_>>();
    assert_eq!(stores, (0..4).map(row).collect::<Vec<_>>());
}

#[test]
fn streams_and_strides_are_addressed_exactly() {
    let model = builtin_model("stream", 1, &set(&[("cta_count", 2), ("iterations", 3), ("vector", 2)])).unwrap();
    let warp = executed(&model, 0, 1).swap_remove(7);
    let loads: Vec<_> = warp.iter().filter(|inst| inst.mnemonic == "LDG.E.64.SYS").collect();
    for (i, load) in loads.iter().enumerate() {
        let (t, buffer) = (i as u64 / 2, 1 + i as u64 % 2);
        let expected: Vec<u64> = (0..32).map(|lane| A + buffer * BUFFER + 8 * (t * 512 + 256 + 7 * 32 + lane)).collect();
        assert_eq!(load.addresses, expected);
    }
    let model = builtin_model("strided", 1, &set(&[("cta_count", 2), ("stride", 9), ("loads", 2)])).unwrap();
    let warp = executed(&model, 0, 1).swap_remove(0);
    let second = warp.iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").nth(1).unwrap();
    assert_eq!(second.addresses, (0..32).map(|lane| A + 4 * (512 * 9 + 9 * (256 + lane))).collect::<Vec<_>>());
}

#[test]
fn loops_branch_back_for_the_lanes_that_go_on() {
    let model = builtin_model("stream", 1, &set(&[("cta_count", 1), ("iterations", 3)])).unwrap();
    let warp = executed(&model, 0, 0).swap_remove(0);
    let back: Vec<u32> = warp.iter().filter(|inst| inst.mnemonic == "BRA").map(|inst| inst.mask.0).collect();
    assert_eq!(back, [u32::MAX, u32::MAX, 0]);
}

#[test]
fn a_tree_reduction_halves_its_threads_step_by_step() {
    let model = builtin_model("reduce", 1, &set(&[("cta_count", 1), ("items", 1)])).unwrap();
    let warps = executed(&model, 0, 0);
    let masks =
        |warp: usize, name: &str| warps[warp].iter().filter(|inst| inst.mnemonic == name).map(|inst| inst.mask.0).collect::<Vec<_>>();
    let full = u32::MAX;
    let expected = [full, full, full, 0xffff, 0xff, 0xf, 0x3, 0x1].map(|mask| [mask, mask]).concat();
    assert_eq!(masks(0, "LDS.U"), [expected, vec![1]].concat());
    assert_eq!(masks(1, "LDS.U"), [full; 4]);
    assert_eq!(masks(3, "LDS.U"), [full; 2]);
    assert_eq!(masks(4, "LDS.U"), [0; 0]);
    // The branch is taken by the lanes that skip the addition.
    assert_eq!(masks(0, "BRA"), [0, 0, 0, 0xffff_0000, 0xffff_ff00, 0xffff_fff0, 0xffff_fffc, 0xffff_fffe]);
    assert_eq!(masks(1, "BRA"), [0, 0, full, full, full, full, full, full]);
    assert_eq!(masks(5, "BAR.SYNC"), [full; 9]);
    assert_eq!(masks(0, "EXIT"), [!1, 1]);
    assert_eq!(masks(0, "RED.E.ADD.STRONG.GPU"), [1]);
    assert_eq!(masks(2, "EXIT"), [full]);
    // Step 2 adds elements 32 .. 63 to elements 0 .. 31.
    let loads: Vec<_> = warps[0].iter().filter(|inst| inst.mnemonic == "LDS.U").collect();
    assert_eq!(loads[4].addresses, (0..32).map(|lane| 4 * (lane + 32)).collect::<Vec<u64>>());
}

#[test]
fn divergent_sides_partition_the_lanes_and_meet_again() {
    let model = builtin_model("divergent", 5, &[]).unwrap();
    let (mut taken, mut lanes) = (0, 0);
    for cta in 0..20 {
        for warp in executed(&model, 0, cta) {
            assert_eq!(warp.last().map(|inst| (inst.mnemonic.as_str(), inst.mask)), Some(("EXIT", LaneMask::FULL)));
            let work: Vec<u32> = warp.iter().filter(|inst| inst.mnemonic == "FFMA").map(|inst| inst.mask.0).collect();
            let sides: Vec<u32> = work.chunks(4).map(|four| four[0]).collect();
            assert_eq!(sides.iter().fold(0, |seen, side| seen ^ side), u32::MAX, "each lane works once");
            assert_eq!(sides.last(), Some(&0xaaaa_aaaa));
            let chance = warp.iter().find(|inst| inst.mnemonic == "MUFU.RCP").map_or(0, |inst| inst.mask.count());
            (taken, lanes) = (taken + chance, lanes + 16);
            // Lanes leave the last loop one after another and never return.
            let list: Vec<u32> = warp.iter().filter(|inst| inst.mnemonic == "FADD").map(|inst| inst.mask.0).collect();
            assert!(list.windows(2).all(|pair| pair[0] & pair[1] == pair[1]) && (1..=12).contains(&list.len()));
            assert_eq!(list[0], u32::MAX);
        }
    }
    let percent = taken * 100 / lanes;
    assert!((20..=30).contains(&percent), "{percent} % of the lanes took a branch of 25 %");
}

#[test]
fn warps_with_one_stream_share_it() {
    let text = r#"
name = "chains"
[parameters]
chains = 4
[[kernel]]
name = "ffma"
grid = 10
block = 64
body = [
  { loop = "i", count = 8, body = [
    { loop = "c", count = "chains", unroll = true, body = [{ op = "ffma", dst = "x[c]", src = ["x[c]", "a", "b"] }] },
  ] },
]
"#;
    let model = Model::from_text("chains.toml", text, 1, &[]).unwrap();
    let source = &model.kernels[0].kernel.source;
    assert_eq!(total(&model), 10 * 2 * (8 * (4 + 3) + 1));
    assert!(std::sync::Arc::ptr_eq(&source.cta(CtaIndex(0)), &source.cta(CtaIndex(9))));
    // Each chain depends on itself alone.
    let code = source.cta(CtaIndex(0)).code.clone();
    assert_eq!(code[..4].iter().map(|inst| inst.src[0] == inst.dst).collect::<Vec<_>>(), [true; 4]);
    let mut destinations: Vec<u16> = code[..4].iter().map(|inst| inst.dst).collect();
    destinations.dedup();
    assert_eq!(destinations.len(), 4);
}

/// Everything that a kernel executes, independent of how it is stored.
fn dynamic(kernel: &Kernel, cta: u32) -> Vec<Vec<(StaticInst, LaneMask, Vec<u64>)>> {
    let program = kernel.source.cta(CtaIndex(cta));
    let warp = |stream: &WarpStream| {
        let (mut cursor, mut out, mut found) = (Cursor::default(), [0; 32], Vec::new());
        while let Some(inst) = stream.next(&mut cursor) {
            let lanes = stream.addresses(&inst, &mut out);
            found.push((program.code[inst.index as usize], inst.mask, out[..lanes].to_vec()));
        }
        found
    };
    program.warps.iter().map(warp).collect()
}

#[test]
fn a_written_trace_loads_back_to_the_same_programs() {
    let small: [(&str, &[(&str, i64)]); 7] = [
        ("vecadd", &[("n", 1000), ("threads_per_cta", 96)]),
        ("stream", &[("cta_count", 3), ("vector", 4)]),
        ("strided", &[("cta_count", 2)]),
        ("gemm_tiled", &[("n", 128), ("k", 32)]),
        ("reduce", &[("cta_count", 3)]),
        ("gather", &[("cta_count", 3)]),
        ("divergent", &[("cta_count", 3)]),
    ];
    assert_eq!(small.len(), builtin_names().count());
    for (name, parameters) in small {
        let model = builtin_model(name, 11, &set(parameters)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let list = write_trace(&model, folder.path()).unwrap();
        let read = sass::load(&list, &TraceOptions::default()).unwrap();
        assert_eq!(read.commands, model.commands, "{name}");
        assert_eq!(read.notes, [], "{name}");
        for (ours, theirs) in model.workload().kernels.iter().zip(&read.kernels) {
            assert_eq!(ours.info, theirs.info);
            for cta in 0..ours.info.ctas() {
                assert_eq!(dynamic(ours, cta), dynamic(theirs, cta), "{name}, cta {cta}");
            }
        }
    }
}

/// A model without mistakes; tests of messages change one thing in it.
const GOOD: &str = r#"name = "bad"
[parameters]
n = 1024
[buffers]
a = { elements = "n" }
[[kernel]]
name = "k"
grid = "n / 256"
block = 256
body = [
  { op = "load", dst = "x", buffer = "a", index = "global_thread" },
]
"#;

/// What loading says when parts of the good model are replaced.
fn complaint(replaced: &[(&str, &str)], overrides: &[(&str, i64)]) -> String {
    assert!(Model::from_text("good.toml", GOOD, 1, &[]).is_ok());
    let mut text = GOOD.to_owned();
    for (old, new) in replaced {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    Model::from_text("bad.toml", &text, 1, &set(overrides)).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_the_nearest() {
    insta::assert_snapshot!(complaint(&[("grid =", "gird =")], &[]), @r#"
    bad.toml:6: `grid`: a kernel needs this key
      help: add `grid = ...`
    bad.toml:8: `gird`: not a key of a kernel
      allowed: name, launches, grid, block, registers, shared_bytes, stream, shared, body
      help: did you mean `grid`?
    
"#);
}

#[test]
fn an_unknown_operation_lists_them() {
    insta::assert_snapshot!(complaint(&[(r#"op = "load", dst"#, r#"op = "ffmma", dst"#)], &[]), @r#"
    bad.toml:11: `op`: not an operation
      given: "ffmma"
      allowed: fadd, fmul, ffma, fmnmx, fsel, fsetp, hadd2, hmul2, hfma2, iadd, imad, imad_wide, imnmx, isetp, lea, lop, shf, popc, mov, sel, prmt, s2r, shfl, vote, i2f, f2i, ldc, nop, mufu, dadd, dmul, dfma, dsetp, hmma, bar, membar, bssy, bra, bsync, load, store, atomic, reduction, exit
      help: did you mean `ffma`?
    
"#);
}

#[test]
fn a_malformed_formula_says_where() {
    insta::assert_snapshot!(complaint(&[(r#""n / 256""#, r#""n / ""#)], &[]), @r#"
    bad.toml:8: `grid`: the formula ends where a number or a name is expected
      given: n / 
      help: write an integer, or a formula such as "n / 256" over + - * / % and parentheses
    
"#);
}

#[test]
fn an_unknown_name_lists_what_is_known() {
    insta::assert_snapshot!(complaint(&[(r#""global_thread""#, r#""global_tread""#)], &[]), @r#"
    bad.toml:11: `index`: `global_tread` has no value here
      given: global_tread
      allowed: block_x, block_y, block_z, cta, cta_x, cta_y, cta_z, ctas, global_thread, grid_x, grid_y, grid_z, lane, launch, n, thread, thread_x, thread_y, thread_z, threads, warp, warps
      help: did you mean `global_thread`?
    
"#);
}

#[test]
fn an_unknown_buffer_names_the_nearest() {
    insta::assert_snapshot!(complaint(&[(r#"buffer = "a""#, r#"buffer = "b""#)], &[]), @r#"
    bad.toml:11: `buffer`: there is no such buffer
      given: "b"
      allowed: a
      help: declare it under [buffers], or under `shared` of the kernel
    
"#);
}

#[test]
fn an_index_beyond_its_buffer_names_cta_and_warp() {
    insta::assert_snapshot!(complaint(&[(r#""global_thread""#, r#""global_thread + 1""#)], &[]), @r#"
    bad.toml:11: `index`: element 1024 lies outside of the buffer, whose last element for this width is 1023
      given: global_thread + 1
      help: this happens in kernel k (launch 0), cta 3, warp 7
    
"#);
}

#[test]
fn division_by_zero_while_generating_is_told() {
    insta::assert_snapshot!(complaint(&[(r#""global_thread""#, r#""global_thread % lane""#)], &[]), @r#"
    bad.toml:11: `index`: 0 is divided by zero
      given: global_thread % lane
      help: this happens in kernel k (launch 0), cta 0, warp 0
    
"#);
}

#[test]
fn overflow_is_an_error() {
    insta::assert_snapshot!(complaint(&[(r#"elements = "n""#, r#"elements = "n * 9007199254740993""#)], &[]), @r#"
    bad.toml:5: `elements`: 1024 * 9007199254740993 does not fit 64 bits
      given: n * 9007199254740993
      help: change the formula, or the parameters that it follows from
    
"#);
}

#[test]
fn a_block_of_more_than_1024_threads_is_refused() {
    insta::assert_snapshot!(complaint(&[("block = 256", r#"block = [64, "n"]"#)], &[]), @r#"
    bad.toml:9: `block`: too many in all
      given: (64,1024,1)
      allowed: at most 1024 in all
      help: make a dimension smaller
    
"#);
}

#[test]
fn a_value_of_the_wrong_type_is_shown() {
    insta::assert_snapshot!(complaint(&[("block = 256", "block = 2.5")], &[]), @r#"
    bad.toml:9: `block`: an integer or a formula in quotes is expected
      given: 2.5 (a floating-point number)
      help: docs/models.md describes every key
    
"#);
}

#[test]
fn a_missing_key_is_asked_for() {
    insta::assert_snapshot!(complaint(&[(r#"block = 256
"#, "")], &[]), @r#"
    bad.toml:6: `block`: a kernel needs this key
      help: add `block = ...`
    
"#);
}

#[test]
fn an_unknown_parameter_names_the_nearest() {
    insta::assert_snapshot!(complaint(&[], &[("m", 5)]), @r#"
    bad.toml: `m`: the model has no such parameter
      given: 5
      allowed: n
      help: set one of the parameters above
    
"#);
}

#[test]
fn a_broken_requirement_shows_its_parameters() {
    insta::assert_snapshot!(complaint(&[("[parameters]", r#"require = ["n % 256 == 0"]
[parameters]"#)], &[("n", 1000)]), @r#"
    bad.toml:2: `require`: `n % 256 == 0` does not hold
      given: n = 1000
      help: change the parameters so that it holds
    
"#);
}

#[test]
fn a_step_of_two_kinds_is_refused() {
    insta::assert_snapshot!(complaint(&[(r#"{ op = "load","#, r#"{ op = "load", loop = "i","#)], &[]), @r#"
    bad.toml:11: `op`: a step has exactly one of the leading keys
      allowed: op, loop, if, let, use
      help: see "Steps" in docs/models.md
    
"#);
}

#[test]
fn a_register_index_must_be_known() {
    insta::assert_snapshot!(complaint(&[(r#"dst = "x""#, r#"dst = "x[lane]""#)], &[]), @r#"
    bad.toml:11: `dst`: `lane` has no value here
      given: x[lane]
      allowed: block_x, block_y, block_z, ctas, grid_x, grid_y, grid_z, launch, n, threads, warps
      help: use one of the names above, or declare it under [parameters]
    
"#);
}

#[test]
fn a_result_of_an_operation_without_one_is_refused() {
    insta::assert_snapshot!(complaint(&[(r#"{ op = "load""#, r#"{ op = "bar", dst = "x" },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `dst`: `bar` writes no register
      help: remove `dst`
    
"#);
}

#[test]
fn a_width_that_no_lane_has_is_refused() {
    insta::assert_snapshot!(complaint(&[("index =", "width = 3, index =")], &[]), @r#"
    bad.toml:11: `width`: not a width in bytes that a lane can access
      given: 3
      allowed: 1, 2, 4, 8, 16
      help: set `width` of the access
    
"#);
}

#[test]
fn too_many_registers_are_counted() {
    insta::assert_snapshot!(complaint(&[("block = 256", r#"block = 256
registers = 2"#)], &[]), @r#"
    bad.toml:10: `registers`: the body needs 3 registers of a thread's 2
      help: raise `registers` (at most 255), or reuse register names
    
"#);
}

#[test]
fn a_block_that_uses_itself_is_refused() {
    insta::assert_snapshot!(complaint(&[("[buffers]", r#"[blocks]
b = [{ use = "b" }]
[buffers]"#), ("body = [", r#"body = [ { use = "b" },"#)], &[]), @r#"
    bad.toml:5: the steps nest too deeply
      help: at most 32 levels and 262144 instructions; does a block use itself, or an `unroll` too much?
    
"#);
}

#[test]
fn a_counter_may_not_hide_a_name() {
    insta::assert_snapshot!(complaint(&[(r#"{ op = "load""#, r#"{ loop = "n", count = 2, body = [] },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `loop`: the name already means something here
      given: "n"
      help: choose another name
    
"#);
}

#[test]
fn a_negative_trip_count_is_refused() {
    insta::assert_snapshot!(complaint(&[(r#"{ op = "load""#, r#"{ loop = "i", count = "1 - cta", body = [] },
  { op = "load""#)], &[]), @r#"
    bad.toml:11: `count`: a trip count of -2
      given: 1 - cta
      help: this happens in kernel k (launch 0), cta 3, warp 0
    
"#);
}

#[test]
fn text_that_is_not_toml_is_told_with_its_line() {
    insta::assert_snapshot!(complaint(&[(r#""n" }"#, r#""n" "#)], &[]), @r#"
    bad.toml:6: not TOML: missing key for inline table element, expected `,`
      help: check brackets, quotes and commas here and above
    
"#);
}

#[test]
fn several_problems_are_reported_together() {
    insta::assert_snapshot!(complaint(&[("grid =", "gird ="), (r#""load""#, r#""laod""#)], &[]), @r#"
    bad.toml:6: `grid`: a kernel needs this key
      help: add `grid = ...`
    bad.toml:8: `gird`: not a key of a kernel
      allowed: name, launches, grid, block, registers, shared_bytes, stream, shared, body
      help: did you mean `grid`?
    bad.toml:11: `op`: not an operation
      given: "laod"
      allowed: fadd, fmul, ffma, fmnmx, fsel, fsetp, hadd2, hmul2, hfma2, iadd, imad, imad_wide, imnmx, isetp, lea, lop, shf, popc, mov, sel, prmt, s2r, shfl, vote, i2f, f2i, ldc, nop, mufu, dadd, dmul, dfma, dsetp, hmma, bar, membar, bssy, bra, bsync, load, store, atomic, reduction, exit
      help: did you mean `load`?
    
"#);
}

#[test]
fn steps_compose_into_walks_that_carry_state_from_step_to_step() {
    let text = r#"
name = "walk"
[parameters]
levels = 6
[buffers]
tree = { elements = "1 << levels", element_bytes = 8 }
[blocks]
visit = [
  { op = "load", dst = "node", src = ["node"], buffer = "tree", index = "at" },
  { let = "at", value = "2 * at + 1 + random(2)" },
]
[[kernel]]
name = "walk"
launches = 2
grid = "1 + launch"
block = 40
stream = "launch"
body = [
  { let = "at", value = 0 },
  { if = "warp == 0", then = [{ loop = "level", count = "levels", body = [{ use = "visit" }] }], else = [{ op = "nop" }] },
]
"#;
    let model = Model::from_text("walk.toml", text, 9, &[]).unwrap();
    assert_eq!(model.kernels.iter().map(|kernel| kernel.kernel.info.grid.x).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(model.kernels[1].kernel.info.stream.0, 1);
    let walk = |launch: usize| {
        let warps = executed(&model, launch, 0);
        // A branch that depends on the warp alone needs no convergence barrier; the last warp has 8 threads.
        let other: Vec<_> = warps[1].iter().map(|inst| (inst.mnemonic.as_str(), inst.mask.0)).collect();
        assert_eq!(other, [("BRA", 0xff), ("NOP", 0xff), ("EXIT", 0xff)]);
        let loads = warps[0].iter().filter(|inst| inst.mnemonic == "LDG.E.64.SYS");
        loads.map(|inst| inst.addresses.iter().map(|&a| (a - A) / 8).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let nodes = walk(0);
    assert_eq!(nodes.len(), 6);
    assert_eq!(nodes[0], [0; 32]);
    for pair in nodes.windows(2) {
        assert!(pair[0].iter().zip(&pair[1]).all(|(parent, child)| [2 * parent + 1, 2 * parent + 2].contains(child)));
    }
    assert_ne!(walk(1), nodes, "each launch draws its own numbers");
}

#[test]
fn atomics_skip_the_l1_and_shared_rows_may_be_padded_against_bank_conflicts() {
    let text = r#"
name = "transpose"
[buffers]
bins = { elements = 256 }
[[kernel]]
name = "transpose"
grid = 1
block = [32, 2]
shared = { tile = { elements = "32 * 33" }, flags = { elements = 8, element_bytes = 1 } }
body = [
  { op = "load", dst = "x", buffer = "tile", index = "thread_x * 33 + thread_y" },
  { op = "load", dst = "f", buffer = "flags", index = "thread_y", when = "thread_x < 4" },
  { op = "atomic", dst = "rz", src = ["p", "x"], buffer = "bins", index = "random(256)", function = "max" },
  { op = "load", dst = "y", buffer = "bins", index = "lane", cache = "llc" },
]
"#;
    let model = Model::from_text("transpose.toml", text, 9, &[]).unwrap();
    let warps = executed(&model, 0, 0);
    assert_eq!(warps[1][0].addresses, (0..32).map(|lane| 4 * (lane * 33 + 1)).collect::<Vec<u64>>());
    assert_eq!((warps[1][1].mask, &warps[1][1].addresses[..]), (LaneMask(0xf), &[32 * 33 * 4 + 1; 4][..]));
    let names: Vec<&str> = warps[0].iter().map(|inst| inst.mnemonic.as_str()).collect();
    assert_eq!(names, ["LDS.U", "LDS.U.U8", "ATOMG.E.MAX.STRONG.GPU", "LDG.E.STRONG.GPU", "EXIT"]);
    assert_eq!(model.kernels[0].kernel.info.shared_bytes, 32 * 33 * 4 + 8);
}

#[test]
fn the_example_in_the_documentation_does_what_is_said_there() {
    let page = include_str!("../docs/models.md");
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let model = Model::from_text("models.md", text, 1, &set(&[("n", 64)])).unwrap();
    assert_eq!(model.kernels.len(), 2);
    let warps = executed(&model, 1, 0);
    assert!(warps.iter().all(|warp| warp.len() == 22));
    let loads: Vec<&Executed> = warps[0].iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").collect();
    let point = |x: u64, y: u64| A + 4 * (y % 64 * 64 + x % 64);
    for (load, (dx, dy)) in loads.iter().zip([(0, 0), (1, 0), (63, 0), (0, 1), (0, 63)]) {
        assert_eq!(load.addresses, (0..32).map(|lane| point(lane + dx, dy)).collect::<Vec<_>>());
    }
    // Every operation and every built-in model is described.
    for (name, _) in builtin_names() {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}
