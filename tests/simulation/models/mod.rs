//! Kernel models: generated instructions, and messages about invalid input.

use warpshard::base::{CtaIndex, LaneMask};
use warpshard::catalogue;
use warpshard::model::{Model, ModelError, write_trace};
use warpshard::trace::TraceOptions;
use warpshard::workload::{Kernel, KernelInfo, MemSpace, StaticInst, WarpStream, Workload};

mod messages;

use messages::VALID_MODEL;

/// First address of a model's first buffer.
const FIRST_BUFFER_ADDRESS: u64 = 0x7f00_0000_0000;
/// Distance between buffers of up to 2 MiB.
const BUFFER_STRIDE_BYTES: u64 = 2 << 20;

/// One executed instruction: mnemonic, active lanes, addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExecutedInstruction {
    mnemonic: String,
    mask: LaneMask,
    addresses: Vec<u64>,
}

fn builtin_names() -> impl Iterator<Item = (&'static str, String)> {
    warpshard::model::builtin_names(catalogue().files()).into_iter()
}

fn builtin_model(name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, ModelError> {
    catalogue().model(name, seed, parameters)
}

fn parameter_texts(pairs: &[(&str, i64)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// Returns the instructions that each warp of a CTA executes.
fn cta_instructions(model: &Model, kernel: usize, cta: u32) -> Vec<Vec<ExecutedInstruction>> {
    let kernel = &model.kernels[kernel];
    let program = kernel.kernel.source.cta(CtaIndex(cta));
    assert_eq!(kernel.kernel.source.failure(), None);
    let warp = |stream: &WarpStream| {
        let (mut reader, mut out, mut found) = (stream.read(), [0; 32], Vec::new());
        while let Some(inst) = reader.next() {
            let lanes = reader.addresses(&inst, &mut out);
            let mnemonic = kernel.mnemonics[inst.index as usize].clone();
            found.push(ExecutedInstruction { mnemonic, mask: inst.mask, addresses: out[..lanes].to_vec() });
        }
        found
    };
    program.warps.iter().map(warp).collect()
}

#[test]
fn vecadd_executes_fourteen_instructions_per_warp_at_exact_addresses() {
    let model = builtin_model("vecadd", 1, &parameter_texts(&[("n", 1000), ("threads_per_cta", 96)])).unwrap();
    let info: &KernelInfo = &model.kernels[0].kernel.info;
    assert_eq!((info.ctas(), info.warps_per_cta()), (11, 3));
    let warps = cta_instructions(&model, 0, 2);
    assert!(warps.iter().all(|warp| warp.len() == 14));
    let loads: Vec<&ExecutedInstruction> = warps[1].iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").collect();
    let first = 2 * 96 + 32;
    let expected = |base: u64| (0..32).map(|lane| base + 4 * (first + lane)).collect::<Vec<_>>();
    assert_eq!(loads[0].addresses, expected(FIRST_BUFFER_ADDRESS));
    assert_eq!(loads[1].addresses, expected(FIRST_BUFFER_ADDRESS + BUFFER_STRIDE_BYTES));
    // Elements 1000 and above do not exist: 992..1024 is the second warp of CTA 10, and its last 24 lanes leave early.
    let last = cta_instructions(&model, 0, 10);
    assert_eq!(last[1][4].mask, LaneMask(0xffff_ff00));
    assert_eq!(last[1][13].mask, LaneMask(0xff));
    assert_eq!(last[1][12].addresses.last(), Some(&(FIRST_BUFFER_ADDRESS + 2 * BUFFER_STRIDE_BYTES + 4 * 999)));
    assert_eq!(last[2].len(), 5);
}

#[test]
fn every_builtin_loads_and_generates_its_first_middle_and_last_cta() {
    assert_eq!(builtin_names().count(), 7 + 13 + 32);
    for (name, summary) in builtin_names() {
        let model = builtin_model(name, 1, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((name.rsplit('/').next(), model.summary.as_str()), (Some(model.name.as_str()), summary.as_str()));
        let workload: Workload = model.workload();
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

fn cta_streams(model: &Model, ctas: impl Iterator<Item = u32>) -> Vec<(u32, Box<[WarpStream]>)> {
    let source = &model.kernels[0].kernel.source;
    let mut found: Vec<_> = ctas.map(|cta| (cta, source.cta(CtaIndex(cta)).warps.clone())).collect();
    found.sort_by_key(|(cta, _)| *cta);
    found
}

#[test]
fn ctas_are_the_same_for_any_order_and_number_of_requests() {
    for (name, _) in builtin_names() {
        let model = builtin_model(name, 7, &[]).unwrap();
        let ascending = cta_streams(&model, 0..40);
        assert_eq!(cta_streams(&model, (0..40).rev()), ascending, "{name}");
        let again = builtin_model(name, 7, &[]).unwrap();
        assert_eq!(cta_streams(&again, (0..20).map(|i| i * 7 % 40).chain((0..20).map(|i| (i + 20) * 7 % 40))), ascending, "{name}");
    }
}

#[test]
fn another_seed_changes_only_random_accesses() {
    let of = |name: &str, seed| cta_streams(&builtin_model(name, seed, &[]).unwrap(), 0..4);
    for name in ["gather", "divergent"] {
        assert_ne!(of(name, 1), of(name, 2), "{name}");
    }
    for name in ["gemm_tiled", "reduce", "stream", "strided", "vecadd"] {
        assert_eq!(of(name, 1), of(name, 2), "{name}");
    }
}

#[test]
fn gathers_differ_between_ctas_warps_and_rounds_and_stay_in_the_working_set() {
    let model = builtin_model("gather", 3, &parameter_texts(&[("table", 1000), ("chains", 1)])).unwrap();
    let table = FIRST_BUFFER_ADDRESS + BUFFER_STRIDE_BYTES;
    let mut seen = Vec::new();
    for cta in 0..3 {
        for warp in cta_instructions(&model, 0, cta) {
            let gathers: Vec<ExecutedInstruction> =
                warp.into_iter().filter(|inst| inst.addresses.first().is_some_and(|&a| a >= table)).collect();
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

fn total_instructions(model: &Model) -> u64 {
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
    for (m, n, k) in [(64, 64, 16), (128, 128, 48), (192, 64, 32)] {
        let model = builtin_model("gemm_tiled", 1, &parameter_texts(&[("m", m), ("n", n), ("k", k)])).unwrap();
        // Instructions: setup, accumulators; per tile 2 + 2 copies, 2 barriers, 16 x (2 + 16), 2 pointers, 3 for the loop; 1 + 4 stores,
        // EXIT.
        let warp = 9 + 16 + k / 16 * (4 + 2 + 16 * 18 + 2 + 3) + 1 + 4 + 1;
        assert_eq!(total_instructions(&model), (m * n / 4096 * 8 * warp) as u64);
    }
    for (ctas, iterations, vector) in [(2, 3, 1), (3, 1, 4)] {
        let set = parameter_texts(&[("cta_count", ctas), ("iterations", iterations), ("vector", vector)]);
        let warp = 7 + iterations * (3 + vector + 3 + 3) + 1;
        assert_eq!(total_instructions(&builtin_model("stream", 1, &set).unwrap()), (ctas * 8 * warp) as u64);
    }
    for (ctas, items) in [(2, 4), (1, 1)] {
        // A step costs 5 instructions, and 4 more in warps that still have work: 8, 2, 1, 1, 0 ... of the 8 steps.
        let cta = 8 * (6 + 2 * items + 2 + 8 * 5 + 2) + 4 * (8 + 2 + 1 + 1) + 4;
        let model = builtin_model("reduce", 1, &parameter_texts(&[("cta_count", ctas), ("items", items)])).unwrap();
        assert_eq!(total_instructions(&model), (ctas * cta) as u64);
    }
    let gather = builtin_model("gather", 1, &parameter_texts(&[("cta_count", 2), ("rounds", 5), ("chains", 3)])).unwrap();
    assert_eq!(total_instructions(&gather), 2 * 4 * (6 + 2 + 5 * (2 * 3 + 3) + 2 + 1 + 1));
}

#[test]
fn gemm_has_the_mix_of_a_hand_written_tiled_product() {
    let count = |k: i64| {
        let model = builtin_model("gemm_tiled", 1, &parameter_texts(&[("n", 64), ("k", k)])).unwrap();
        let warp = cta_instructions(&model, 0, 0).swap_remove(3);
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
    let (m, n, k) = (192, 128, 32);
    let model = builtin_model("gemm_tiled", 1, &parameter_texts(&[("m", m), ("n", n), ("k", k)])).unwrap();
    let (n, k) = (n as u64, k as u64);
    let warp = 5;
    // CTA 2 of a 2 x 3 grid computes rows 64 .. 127 and columns 0 .. 63.
    let executed = cta_instructions(&model, 0, 2).swap_remove(warp);
    let threads: Vec<u64> = (0..32).map(|lane| warp as u64 * 32 + lane).collect();
    let of = |name: &str| executed.iter().filter(|inst| inst.mnemonic == name).map(|inst| inst.addresses.clone()).collect::<Vec<_>>();
    let loads = of("LDG.E.128.SYS");
    for tile in 0..2 {
        let a = threads.iter().map(|t| FIRST_BUFFER_ADDRESS + 4 * ((64 + t / 4) * k + tile * 16 + t % 4 * 4)).collect::<Vec<_>>();
        let b = threads
            .iter()
            .map(|t| FIRST_BUFFER_ADDRESS + BUFFER_STRIDE_BYTES + 4 * ((tile * 16 + t / 16) * n + t % 16 * 4))
            .collect::<Vec<_>>();
        assert_eq!([&loads[2 * tile as usize], &loads[2 * tile as usize + 1]], [&a, &b]);
    }
    let shared = of("LDS.U.128");
    assert_eq!(shared.len(), 2 * 32);
    assert_eq!(shared[2 * 7], threads.iter().map(|t| 7 * 256 + t / 16 * 16).collect::<Vec<_>>());
    assert_eq!(shared[2 * 7 + 1], threads.iter().map(|t| 4096 + 7 * 256 + t % 16 * 16).collect::<Vec<_>>());
    let stores = of("STG.E.128.SYS");
    let row = |r: u64| {
        threads
            .iter()
            .map(|t| FIRST_BUFFER_ADDRESS + 2 * BUFFER_STRIDE_BYTES + 4 * ((64 + t / 16 * 4 + r) * n + t % 16 * 4))
            .collect::<Vec<_>>()
    };
    assert_eq!(stores, (0..4).map(row).collect::<Vec<_>>());
}

#[test]
fn streams_and_strides_are_addressed_exactly() {
    let model = builtin_model("stream", 1, &parameter_texts(&[("cta_count", 2), ("iterations", 3), ("vector", 2)])).unwrap();
    let warp = cta_instructions(&model, 0, 1).swap_remove(7);
    let loads: Vec<_> = warp.iter().filter(|inst| inst.mnemonic == "LDG.E.64.SYS").collect();
    for (i, load) in loads.iter().enumerate() {
        let (t, buffer) = (i as u64 / 2, 1 + i as u64 % 2);
        let expected: Vec<u64> =
            (0..32).map(|lane| FIRST_BUFFER_ADDRESS + buffer * BUFFER_STRIDE_BYTES + 8 * (t * 512 + 256 + 7 * 32 + lane)).collect();
        assert_eq!(load.addresses, expected);
    }
    let model = builtin_model("strided", 1, &parameter_texts(&[("cta_count", 2), ("stride", 9), ("loads", 2)])).unwrap();
    let warp = cta_instructions(&model, 0, 1).swap_remove(0);
    let second = warp.iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").nth(1).unwrap();
    assert_eq!(second.addresses, (0..32).map(|lane| FIRST_BUFFER_ADDRESS + 4 * (512 * 9 + 9 * (256 + lane))).collect::<Vec<_>>());
}

#[test]
fn loops_branch_back_for_the_remaining_lanes() {
    let model = builtin_model("stream", 1, &parameter_texts(&[("cta_count", 1), ("iterations", 3)])).unwrap();
    let warp = cta_instructions(&model, 0, 0).swap_remove(0);
    let back: Vec<u32> = warp.iter().filter(|inst| inst.mnemonic == "BRA").map(|inst| inst.mask.0).collect();
    assert_eq!(back, [u32::MAX, u32::MAX, 0]);
}

#[test]
fn a_tree_reduction_halves_its_threads_step_by_step() {
    let model = builtin_model("reduce", 1, &parameter_texts(&[("cta_count", 1), ("items", 1)])).unwrap();
    let warps = cta_instructions(&model, 0, 0);
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
fn divergent_sides_partition_the_lanes_and_reconverge() {
    let model = builtin_model("divergent", 5, &[]).unwrap();
    let (mut taken, mut lanes) = (0, 0);
    for cta in 0..20 {
        for warp in cta_instructions(&model, 0, cta) {
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
    assert_eq!(total_instructions(&model), 10 * 2 * (8 * (4 + 3) + 1));
    assert!(std::sync::Arc::ptr_eq(&source.cta(CtaIndex(0)), &source.cta(CtaIndex(9))));
    // Each chain depends only on itself.
    let code = source.cta(CtaIndex(0)).code.clone();
    assert_eq!(code[..4].iter().map(|inst| inst.src[0] == inst.dst).collect::<Vec<_>>(), [true; 4]);
    let mut destinations: Vec<u16> = code[..4].iter().map(|inst| inst.dst).collect();
    destinations.dedup();
    assert_eq!(destinations.len(), 4);
}

/// Returns all executed instructions of a kernel's CTA, independent of their storage.
fn executed_instructions(kernel: &Kernel, cta: u32) -> Vec<Vec<(StaticInst, LaneMask, Vec<u64>)>> {
    let program = kernel.source.cta(CtaIndex(cta));
    let warp = |stream: &WarpStream| {
        let (mut reader, mut out, mut found) = (stream.read(), [0; 32], Vec::new());
        while let Some(inst) = reader.next() {
            let lanes = reader.addresses(&inst, &mut out);
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
    // A corner of the grid is enough for the models of the library.
    let library = builtin_names().map(|(name, _)| name).filter(|name| name.contains('/')).map(|name| {
        let known = builtin_model(name, 1, &[]).unwrap().parameters;
        let sizes: &[(&str, i64)] = &[("cta_count", 4), ("side", 2), ("across", 2), ("words", 3), ("paths", 3), ("near", 64)];
        (
            name,
            parameter_texts(
                &sizes.iter().copied().filter(|(key, _)| known.iter().any(|(known, value)| known == key && *value > 0)).collect::<Vec<_>>(),
            ),
        )
    });
    let all: Vec<_> = small.iter().map(|(name, parameters)| (*name, parameter_texts(parameters))).chain(library).collect();
    assert_eq!(all.len(), builtin_names().count());
    for (name, parameters) in all {
        let model = builtin_model(name, 11, &parameters).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap();
        let list = write_trace(&model, folder.path()).unwrap();
        let read = warpshard::trace::load(&list, &TraceOptions::default()).unwrap();
        assert_eq!(read.commands, model.commands, "{name}");
        assert_eq!(read.notes, [], "{name}");
        for (ours, theirs) in model.workload().kernels.iter().zip(&read.kernels) {
            assert_eq!(ours.info, theirs.info);
            for cta in 0..ours.info.ctas() {
                // Traces cannot contain texture loads with addresses, so the writer replaces them by loads of global memory.
                let mut written = executed_instructions(ours, cta);
                for mem in written.iter_mut().flatten().filter_map(|(inst, ..)| inst.mem.as_mut()) {
                    mem.space = if mem.space == MemSpace::Texture { MemSpace::Global } else { mem.space };
                }
                assert_eq!(written, executed_instructions(theirs, cta), "{name}, cta {cta}");
            }
        }
    }
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
        let warps = cta_instructions(&model, launch, 0);
        // A branch that depends only on the warp needs no convergence barrier; the last warp has 8 threads.
        let other: Vec<_> = warps[1].iter().map(|inst| (inst.mnemonic.as_str(), inst.mask.0)).collect();
        assert_eq!(other, [("BRA", 0xff), ("NOP", 0xff), ("EXIT", 0xff)]);
        let loads = warps[0].iter().filter(|inst| inst.mnemonic == "LDG.E.64.SYS");
        loads.map(|inst| inst.addresses.iter().map(|&a| (a - FIRST_BUFFER_ADDRESS) / 8).collect::<Vec<_>>()).collect::<Vec<_>>()
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
fn accesses_have_memory_spaces_and_shared_rows_can_be_padded() {
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
  { op = "load", dst = "z", buffer = "bins", index = "lane", cache = "texture" },
]
"#;
    let model = Model::from_text("transpose.toml", text, 9, &[]).unwrap();
    let warps = cta_instructions(&model, 0, 0);
    assert_eq!(warps[1][0].addresses, (0..32).map(|lane| 4 * (lane * 33 + 1)).collect::<Vec<u64>>());
    assert_eq!((warps[1][1].mask, &warps[1][1].addresses[..]), (LaneMask(0xf), &[32 * 33 * 4 + 1; 4][..]));
    let names: Vec<&str> = warps[0].iter().map(|inst| inst.mnemonic.as_str()).collect();
    assert_eq!(names, ["LDS.U", "LDS.U.U8", "ATOMG.E.MAX.STRONG.GPU", "LDG.E.STRONG.GPU", "LDG.E.SYS", "EXIT"]);
    // The mnemonic of a texture load does not mention textures, but its memory space does.
    let code = model.kernels[0].kernel.source.cta(CtaIndex(0)).code.clone();
    let spaces: Vec<MemSpace> = code.iter().filter_map(|inst| inst.mem.map(|mem| mem.space)).collect();
    assert_eq!(spaces, [MemSpace::Shared, MemSpace::Shared, MemSpace::Global, MemSpace::Global, MemSpace::Texture]);
    assert_eq!(model.kernels[0].kernel.info.shared_bytes, 32 * 33 * 4 + 8);
}

#[test]
fn the_example_in_the_documentation_behaves_as_described() {
    let page = include_str!("../../../docs/models.md");
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let model = Model::from_text("models.md", text, 1, &parameter_texts(&[("n", 64)])).unwrap();
    assert_eq!(model.kernels.len(), 2);
    let warps = cta_instructions(&model, 1, 0);
    assert!(warps.iter().all(|warp| warp.len() == 22));
    let loads: Vec<&ExecutedInstruction> = warps[0].iter().filter(|inst| inst.mnemonic == "LDG.E.SYS").collect();
    let point = |x: u64, y: u64| FIRST_BUFFER_ADDRESS + 4 * (y % 64 * 64 + x % 64);
    for (load, (dx, dy)) in loads.iter().zip([(0, 0), (1, 0), (63, 0), (0, 1), (0, 63)]) {
        assert_eq!(load.addresses, (0..32).map(|lane| point(lane + dx, dy)).collect::<Vec<_>>());
    }
    // The page describes every built-in model.
    for (name, _) in builtin_names() {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// Returns the valid model with other steps in its body.
fn model_with_body(body: &str) -> Model {
    let (head, _) = VALID_MODEL.split_once("body = [").unwrap();
    Model::from_text("steps.toml", &format!("{head}body = [\n{body}\n]\n"), 1, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn predicates_hold_lane_by_lane_for_every_comparison() {
    let left = |thread: i64, cta: i64| 3 * (thread % 40) - 7 * cta;
    type ComparisonFn = fn(&i64, &i64) -> bool;
    let all: [(&str, ComparisonFn); 6] =
        [("<", i64::lt), ("<=", i64::le), (">", i64::gt), (">=", i64::ge), ("==", i64::eq), ("!=", i64::ne)];
    for (symbol, holds) in all {
        for right in [-30, 0, 21, 60, 117, 200] {
            let model = model_with_body(&format!("{{ op = \"nop\", when = \"3 * (thread % 40) {symbol} {right} + cta * 7\" }}"));
            for cta in 0..4 {
                for (warp, stream) in cta_instructions(&model, 0, cta).iter().enumerate() {
                    let lanes = (0..32).filter(|lane| holds(&left(warp as i64 * 32 + lane, i64::from(cta)), &right));
                    let expected = lanes.fold(0, |bits, lane| bits | 1 << lane);
                    assert_eq!(stream[0].mask.0, expected, "{symbol} {right}, cta {cta}, warp {warp}");
                }
            }
        }
    }
}

#[test]
fn random_draws_per_warp_are_equal_for_all_lanes() {
    let model = model_with_body(r#"{ let = "r", value = "random_warp(n)" }, { op = "load", dst = "x", buffer = "a", index = "r" }"#);
    let mut addresses: Vec<u64> = Vec::new();
    for warp in (0..4).flat_map(|cta| cta_instructions(&model, 0, cta)) {
        assert!(warp[0].addresses.iter().all(|&address| address == warp[0].addresses[0]));
        addresses.push(warp[0].addresses[0]);
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() > 28, "32 draws below 1024 are nearly all different");
}

/// Model of a private array per thread, and of a gather by a fixed hash.
const PRIVATE_ARRAY_MODEL: &str = r#"
name = "private"
fitted_to = ["a table", "another"]
[buffers]
table = { elements = 4096 }
[[kernel]]
name = "k"
grid = 2
block = 64
local = { stack = { elements = 16 }, wide = { elements = 4, element_bytes = 16 } }
body = [
  { op = "load", dst = "x", src = ["a"], buffer = "table", index = "hash(thread / 2, 4096)" },
  { op = "store", src = ["a", "x"], buffer = "stack", index = "thread % 16" },
  { op = "load", dst = "y", src = ["a"], buffer = "wide", index = 3 },
]
"#;

#[test]
fn local_arrays_are_offsets_of_a_thread_and_hashes_are_the_same_everywhere() {
    let model = Model::from_text("private.toml", PRIVATE_ARRAY_MODEL, 1, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.fitted_to, ["a table", "another"]);
    let code = model.kernels[0].kernel.source.cta(CtaIndex(0)).code.clone();
    let spaces: Vec<MemSpace> = code.iter().filter_map(|inst| inst.mem).map(|mem| mem.space).collect();
    assert_eq!(spaces, [MemSpace::Global, MemSpace::Local, MemSpace::Local]);
    let [first, other] = [0, 1].map(|cta| cta_instructions(&model, 0, cta));
    assert_eq!(first[0][0].addresses, other[0][0].addresses);
    assert_eq!(first[0][0].addresses[4], first[0][0].addresses[5]);
    assert_eq!(first[1][1].addresses[..17], (0..17).map(|lane| 4 * (lane % 16)).collect::<Vec<u64>>());
    assert_eq!(first[1][2].addresses[7], 64 + 3 * 16);
    assert_eq!((first[0][1].mnemonic.as_str(), first[0][2].mnemonic.as_str()), ("STL", "LDL.128"));
}

#[test]
fn the_editor_schema_matches_the_parsers_keys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema/model.schema.json");
    let ours = warpshard::model::json_schema();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &ours).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), ours, "UPDATE_DOCS=1 cargo test --test simulation models:: schema writes it anew");
}
