//! Tests of the project's programs against host computations, and of the detection of faulty programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_state::{Reader, Writer};
use warpshard_workload::{Command, WarpStream, Workload};

use super::{Execution, Program, WorkloadOptions};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("programs")
}

fn load(name: &str, arch: u32, settings: &[(&str, &str)]) -> Arc<Program> {
    let settings: Vec<(String, String)> = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Program::load(&folder().join(format!("{name}.toml")), Some(arch), &settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the contents of the buffer `name` of a program before its first launch.
fn input_values<T>(program: &Program, name: &str, read: impl Fn(&[u8]) -> T) -> Vec<T> {
    let memory = program.memory().unwrap();
    let place = program.buffers.iter().position(|buffer| buffer.name == name).unwrap();
    memory.allocations()[place].bytes.chunks_exact(program.buffers[place].element.bytes()).map(read).collect()
}

fn output_values<T>(execution: &Execution, read: impl Fn(&[u8]) -> T, size: usize) -> Vec<T> {
    execution.outputs[0].bytes.chunks_exact(size).map(read).collect()
}

fn f32_from_bytes(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes.try_into().unwrap())
}

fn u32_from_bytes(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

const ARCHS: [u32; 2] = [70, 80];

#[test]
fn vecadd_adds() {
    for arch in ARCHS {
        let done = load("vecadd", arch, &[("n", "5000")]).execute(false).unwrap();
        let got = output_values(&done, |bytes| f64::from_le_bytes(bytes.try_into().unwrap()), 8);
        assert!(got.iter().enumerate().all(|(i, value)| *value == 3.0 * i as f64 + 1.0), "sm_{arch}");
    }
}

#[test]
fn saxpy_is_fused_and_rounded_once() {
    for arch in ARCHS {
        let program = load("saxpy", arch, &[]);
        let (x, y) = (input_values(&program, "x", f32_from_bytes), input_values(&program, "y", f32_from_bytes));
        let got = output_values(&program.execute(false).unwrap(), f32_from_bytes, 4);
        assert!((0..x.len()).all(|i| got[i].to_bits() == x[i].mul_add(2.5, y[i]).to_bits()), "sm_{arch}");
    }
}

#[test]
fn the_reduction_sums_all_elements() {
    for arch in ARCHS {
        for n in ["1", "31", "1000", "100000"] {
            let program = load("reduction", arch, &[("n", n)]);
            let expected: u32 = input_values(&program, "in", u32_from_bytes).into_iter().sum();
            assert_eq!(output_values(&program.execute(false).unwrap(), u32_from_bytes, 4), [expected], "sm_{arch}, n = {n}");
        }
    }
}

#[test]
fn the_matrix_product_has_the_hosts_bits() {
    for arch in ARCHS {
        let program = load("sgemm", arch, &[("n", "64")]);
        let (a, b) = (input_values(&program, "a", f32_from_bytes), input_values(&program, "b", f32_from_bytes));
        let got = output_values(&program.execute(false).unwrap(), f32_from_bytes, 4);
        for row in 0..64 {
            for column in 0..64 {
                let expected = (0..64).fold(0.0_f32, |sum, k| a[row * 64 + k].mul_add(b[k * 64 + column], sum));
                assert_eq!(got[row * 64 + column].to_bits(), expected.to_bits(), "sm_{arch}, row {row}, column {column}");
            }
        }
    }
}

#[test]
fn the_transpose_mirrors_a_matrix_of_any_shape() {
    for arch in ARCHS {
        for (width, height) in [(200, 120), (1, 77), (33, 32)] {
            let program = load("transpose", arch, &[("width", &width.to_string()), ("height", &height.to_string())]);
            let got = output_values(&program.execute(false).unwrap(), f32_from_bytes, 4);
            assert!((0..width * height).all(|i| got[i] == (i % height * width + i / height) as f32), "sm_{arch}, {width} x {height}");
        }
    }
}

#[test]
fn the_scan_gives_the_sum_of_all_before() {
    for arch in ARCHS {
        let program = load("scan", arch, &[("n", "3001")]);
        let got = output_values(&program.execute(false).unwrap(), u32_from_bytes, 4);
        let mut sum = 0;
        for (i, value) in input_values(&program, "in", u32_from_bytes).into_iter().enumerate() {
            assert_eq!(got[i], sum, "sm_{arch}, element {i}");
            sum += value;
        }
    }
}

#[test]
fn the_search_gives_every_vertex_its_distance() {
    let (n, degree) = (4096_usize, 4_usize);
    let mut levels = vec![-1_i32; n];
    levels[0] = 0;
    let mut frontier = vec![0_usize];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for v in frontier {
            for k in 0..degree {
                let to = (v * 5 + k * 7 + 1) % n;
                if levels[to] < 0 {
                    levels[to] = levels[v] + 1;
                    next.push(to);
                }
            }
        }
        frontier = next;
    }
    for arch in ARCHS {
        let got = output_values(&load("bfs", arch, &[]).execute(false).unwrap(), |bytes| u32_from_bytes(bytes) as i32, 4);
        assert_eq!(got, levels, "sm_{arch}");
    }
}

#[test]
fn results_have_the_hashes_that_the_launch_files_expect() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") || path.ends_with("Cargo.toml") {
            continue;
        }
        for arch in ARCHS {
            let done = Program::load(&path, Some(arch), &[]).unwrap_or_else(|error| panic!("{error}")).execute(false).unwrap();
            assert!(done.outputs.iter().all(|output| output.expected.is_some()), "{}: an output without a hash", path.display());
            assert!(done.matches_expected(), "{} for sm_{arch}: {:08x}", path.display(), done.outputs[0].crc32);
            assert!(done.warnings.is_empty(), "{}: {:?}", path.display(), done.warnings);
        }
    }
}

/// Returns all streams of a program as comparable words.
fn streams(program: &Arc<Program>) -> Vec<(u32, u32, Vec<u64>)> {
    let workload = program.workload().unwrap();
    let mut all = Vec::new();
    for number in 0..workload.kernels.len() {
        let kernel = workload.kernel(KernelIndex(number as u32));
        for cta in 0..kernel.info.ctas() {
            let program = kernel.source.cta(CtaIndex(cta));
            for warp in &program.warps {
                let (mut reader, mut buffer) = (warp.read(), [0; 32]);
                while let Some(inst) = reader.next() {
                    let count = reader.addresses(&inst, &mut buffer);
                    all.push((program.code[inst.index as usize].pc, inst.mask.0, buffer[..count].to_vec()));
                }
            }
        }
        assert_eq!(kernel.source.failure(), None);
    }
    all
}

#[test]
fn workloads_run_again_and_accept_requests_in_any_order() {
    let program = load("scan", 70, &[("n", "3000")]);
    let expected = streams(&program);
    assert_eq!(streams(&program), expected);
    for workload in [program.workload().unwrap(), workload_ahead(&program)] {
        let kernel = &workload.kernels[2];
        for cta in (0..kernel.info.ctas()).rev() {
            assert!(!kernel.source.cta(CtaIndex(cta)).warps[0].is_empty(), "CTA {cta}");
        }
    }
}

/// Returns the workload of a program with an execution thread.
fn workload_ahead(program: &Arc<Program>) -> Workload {
    program.workload_with(WorkloadOptions { ahead: true, ..WorkloadOptions::default() }).unwrap()
}

/// Requests all CTAs of `kernels` in order, divided among threads; returns the first stream of each CTA.
fn requested_streams(workload: &Workload, kernels: &[usize], threads: usize) -> Vec<WarpStream> {
    let all: Vec<(usize, u32)> =
        kernels.iter().flat_map(|kernel| (0..workload.kernels[*kernel].info.ctas()).map(|cta| (*kernel, cta))).collect();
    let one = |(kernel, cta): &(usize, u32)| workload.kernels[*kernel].source.cta(CtaIndex(*cta)).warps[0].clone();
    let mut streams = vec![WarpStream::default(); all.len()];
    std::thread::scope(|scope| {
        for (places, streams) in all.chunks(all.len().div_ceil(threads)).zip(streams.chunks_mut(all.len().div_ceil(threads))) {
            scope.spawn(|| places.iter().zip(streams).for_each(|(place, stream)| *stream = one(place)));
        }
    });
    streams
}

#[test]
fn execution_ahead_gives_the_same_streams() {
    let program = load("scan", 70, &[("n", "200000")]);
    let launches: Vec<usize> = (0..program.workload().unwrap().kernels.len()).collect();
    // The cases are all launches, all without the second one, and the first launch after the last.
    for kernels in [&launches[..], &[0, 2], &[2, 0]] {
        let expected = requested_streams(&program.workload().unwrap(), kernels, 1);
        assert!(
            expected.iter().all(|stream| !stream.is_empty()),
            "{kernels:?} {:?}",
            expected.iter().enumerate().filter(|(_, s)| s.is_empty()).map(|(at, _)| at).collect::<Vec<_>>()
        );
        for threads in [1, 3] {
            let workload = workload_ahead(&program);
            assert_eq!(requested_streams(&workload, kernels, threads), expected, "{kernels:?}, {threads} threads");
        }
    }
}

#[test]
fn runs_resume_from_checkpoints_with_and_without_execution_thread() {
    let program = load("scan", 70, &[("n", "200000")]);
    let expected = requested_streams(&program.workload().unwrap(), &[0], 1);
    let first = |workload: &Workload, ctas: std::ops::Range<u32>| -> Vec<WarpStream> {
        ctas.map(|cta| workload.kernels[0].source.cta(CtaIndex(cta)).warps[0].clone()).collect()
    };
    for (before, after) in [(false, true), (true, false), (true, true)] {
        let made = |is_ahead: bool| if is_ahead { workload_ahead(&program) } else { program.workload().unwrap() };
        let saved = || {
            let workload = made(before);
            first(&workload, 0..40);
            let mut to = Writer::after(Vec::new());
            workload.kernels.iter().for_each(|kernel| kernel.source.save(&mut to));
            to.finish()
        };
        let bytes = saved();
        let again = saved();
        assert!(bytes == again, "{before}: a checkpoint depends on how fast CTAs execute: {} and {} bytes", bytes.len(), again.len());
        let workload = made(after);
        let mut from = Reader::new(&bytes);
        workload.kernels.iter().for_each(|kernel| kernel.source.load(&mut from).unwrap());
        assert!(first(&workload, 40..expected.len() as u32) == expected[40..], "from {before} to {after}");
    }
}

#[test]
fn errors_ahead_are_reported_only_when_requested() {
    // All CTAs but the first read beyond the buffer.
    let code = [
        "S2R R0, SR_CTAID.X",
        "IMAD.SHL R0, R0, 0x400, RZ",
        "MOV R3, c[0x0][0x164]",
        "IADD3 R2, R0, c[0x0][0x160], RZ",
        "LDG.E.SYS R4, [R2]",
        "EXIT",
    ];
    let program = program_of(&code, "grid = [9]\n").unwrap();
    let workload = workload_ahead(&program);
    let source = &workload.kernels[0].source;
    assert!(!source.cta(CtaIndex(0)).warps[0].is_empty());
    // Saving a checkpoint waits until the execution thread pauses.
    let mut to = Writer::after(Vec::new());
    source.save(&mut to);
    assert_eq!(source.failure(), None);
    assert!(source.cta(CtaIndex(1)).warps[0].is_empty());
    assert!(source.failure().unwrap().contains("outside of every buffer"));
}

/// Loads a program with one kernel that consists of `code`, with a buffer `data` of 64 words as its only argument.
fn program_of(code: &[&str], extra: &str) -> Result<Arc<Program>, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut text =
        "warpshard listing 1\narch sm_70\nkernel test\nregisters 32\nshared 256\nlocal 16\nparameters 0x160 8 0:8\ncode\n".to_owned();
    for (number, line) in code.iter().enumerate() {
        text += &format!("{:04x}: {line} ; 0000000000000000 0000000000000000\n", 16 * number);
    }
    std::fs::write(folder.path().join("test.sass"), text + "end\n").unwrap();
    let grid = if extra.contains("grid = ") { "" } else { "grid = [1]\n" };
    let launch = format!(
        "modules = {{ sm_70 = \"test.sass\" }}\nlimit = 100000\n[buffers]\ndata = {{ type = \"u32\", count = 64, contents = {{ constant = 0 }} }}\n\
         [[launches]]\nkernel = \"test\"\n{grid}block = [64]\narguments = [\"&data\"]\n{extra}[[outputs]]\nbuffer = \"data\"\n"
    );
    let file = folder.path().join("test.toml");
    std::fs::write(&file, launch).unwrap();
    Program::load(&file, None, &[]).map_err(|error| error.to_string())
}

fn error_of(code: &[&str]) -> String {
    match program_of(code, "").and_then(|program| program.execute(false).map_err(|error| error.to_string())) {
        Ok(_) => panic!("the program runs"),
        Err(error) => error,
    }
}

#[test]
fn errors_state_problem_and_location() {
    const LOAD_ADDRESS_LOW: &str = "MOV R2, c[0x0][0x160]";
    const LOAD_ADDRESS_HIGH: &str = "MOV R3, c[0x0][0x164]";
    for (code, words) in [
        (
            vec![LOAD_ADDRESS_LOW, LOAD_ADDRESS_HIGH, "LDG.E.SYS R4, [R2+0x100]", "EXIT"],
            vec!["outside of every buffer", "`data`", "byte 256", "0x0020", "thread 0"],
        ),
        (vec![LOAD_ADDRESS_LOW, LOAD_ADDRESS_HIGH, "STG.E.64.SYS [R2+0x4], R4", "EXIT"], vec!["8 bytes", "multiple of 8"]),
        (vec!["MOV R2, 0x100", "STS [R2], R2", "EXIT"], vec!["shared memory", "256 bytes", "kernel test"]),
        (vec!["BRA ->0x0", "EXIT"], vec!["executed 100000 instructions"]),
        (
            vec!["S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0x20, PT", "BSSY B0, ->0x50", "@P0 BAR.SYNC 0x1", "BAR.SYNC 0x0", "EXIT"],
            vec!["wait for each other", "barrier 0", "barrier 1"],
        ),
        (vec!["BPT.TRAP 0x1", "EXIT"], vec!["trapped"]),
        (vec!["NOP"], vec!["without an instruction"]),
        (vec!["FROB R1, R2", "EXIT"], vec!["not implemented", "FROB", "test.sass:9", "kernel test"]),
        (vec!["FADD.ODD R1, R2, R3", "EXIT"], vec!["`.ODD`"]),
        (vec!["FADD R1, R2", "EXIT"], vec!["operands"]),
        (vec!["MOV R1, c[0x0][0x400]", "EXIT"], vec!["constant"]),
    ] {
        let error = error_of(&code);
        for word in words {
            assert!(error.contains(word), "{code:?}: `{word}` is missing in\n{error}");
        }
    }
}

#[test]
fn races_on_shared_memory_are_found_and_barriers_order_accesses() {
    // Each thread writes its word and reads the word of the thread 32 further on, so that both warps access the same words.
    let own = ["S2R R0, SR_TID.X", "IMAD.SHL.U32 R2, R0, 0x4, RZ", "LOP3.LUT R3, R2, 0x80, RZ, 0x3c, !PT", "STS [R2], R0"];
    let check = |middle: &[&str], last: &str| {
        let code: Vec<&str> = own.iter().chain(middle).copied().chain([last, "EXIT"]).collect();
        program_of(&code, "").unwrap().check(true).map(|done| done.warnings).map_err(|error| error.to_string())
    };
    assert_eq!(check(&["BAR.SYNC 0x0"], "LDS R4, [R3]"), Ok(Vec::new()));
    let error = check(&[], "LDS R4, [R3]").unwrap_err();
    for word in ["two warps race", "byte 128 ", "`STS` at pc 0x0030", "`LDS` at pc 0x0040", "by warp 0", "warp 1"] {
        assert!(error.contains(word), "`{word}` is missing in\n{error}");
    }
    // A write after a read by another warp is also a race; atomics race only with other kinds of accesses.
    assert!(check(&["BAR.SYNC 0x0", "LDS R4, [R3]"], "STS [R2], R0").unwrap_err().contains("race"));
    assert!(check(&["BAR.SYNC 0x0", "LDS R4, [R3]", "BAR.SYNC 0x0"], "STS [R2], R0").is_ok());
    assert_eq!(check(&["BAR.SYNC 0x0"], "ATOMS.ADD RZ, [RZ], R0"), Ok(Vec::new()));
    assert!(check(&[], "ATOMS.ADD RZ, [RZ], R0").unwrap_err().contains("race"));
    // The race is no error if execution is not checked.
    assert!(program_of(&["S2R R0, SR_TID.X", "STS [RZ], R0", "EXIT"], "").unwrap().execute(false).is_ok());
}

#[test]
fn warps_that_arrive_without_waiting_are_ordered_before_those_that_wait() {
    // Warp 0 writes and arrives; warp 1 waits and reads.
    let code = |order: [&'static str; 2]| {
        let head = ["S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0x20, PT", "LOP3.LUT R2, R0, 0x1f, RZ, 0xc0, !PT"];
        let rest = ["IMAD.SHL.U32 R2, R2, 0x4, RZ", order[0], order[1], "@P0 BAR.SYNC 0x1, 0x40", "@P0 LDS R4, [R2]", "EXIT"];
        let code: Vec<&str> = head.into_iter().chain(rest).collect();
        program_of(&code, "").unwrap().check(false).map(|done| done.warnings).map_err(|error| error.to_string())
    };
    let (store, arrive) = ("@!P0 STS [R2], R0", "@!P0 BAR.ARV 0x1, 0x40");
    assert_eq!(code([store, arrive]), Ok(Vec::new()));
    assert!(code([arrive, store]).unwrap_err().contains("race"));
}

#[test]
fn checked_programs_report_reads_of_unwritten_private_memory() {
    let warnings = |code: &[&str]| program_of(code, "").unwrap().check(false).unwrap().warnings;
    let found = warnings(&["LDS R4, [0x10]", "LDS R5, [0x20]", "EXIT"]);
    assert_eq!(found.len(), 1);
    assert!(found[0].0.contains("shared memory is read where nothing was written, at pc 0x0000 of kernel test"), "{found:?}");
    // Two warps of 32 lanes read two words each.
    assert_eq!(found[0].1, 128);
    let found = warnings(&["MOV R1, 0x8", "STL [R1], R4", "LDL R5, [R1]", "LDL R5, [R1+0x4]", "EXIT"]);
    assert!(found.len() == 1 && found[0].0.contains("local memory") && found[0].0.contains("pc 0x0030") && found[0].1 == 64, "{found:?}");
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("Cargo.toml") {
            let done = Program::load(&path, None, &[]).unwrap().check(true).unwrap_or_else(|error| panic!("{error}"));
            assert!(done.matches_expected() && done.warnings.is_empty(), "{}: {:?}", path.display(), done.warnings);
        }
    }
}

#[test]
fn stores_after_reads_of_the_same_cta_are_overwrites() {
    let code = [
        "MOV R2, c[0x0][0x160]",
        "MOV R3, c[0x0][0x164]",
        "LDG.E.SYS R4, [R2]",
        "STG.E.SYS [R2+0x80], R4",
        "LDG.E.SYS R5, [R2+0x80]",
        "STG.E.SYS [R2+0x80], R5",
        "STG.E.SYS [R2], R5",
        "RED.E.ADD.STRONG.GPU [R2+0x40], R5",
        "STG.E.SYS [R2+0x7c], R5",
        "EXIT",
    ];
    let mut program = program_of(&code, "").unwrap();
    let overwrites = program.overwrites().unwrap();
    // Instruction 6 stores to the word that instruction 2 has loaded; instruction 7 is an atomic.
    assert_eq!(overwrites, BTreeMap::from([("test".to_owned(), BTreeSet::from([6, 7]))]));
    let repeatable = |program: &Arc<Program>| program.workload().unwrap().kernels[0].source.cta(CtaIndex(0)).repeatable.to_vec();
    assert_eq!(repeatable(&program), [] as [u32; 0], "nothing is known of a program that nobody asked");
    Arc::get_mut(&mut program).unwrap().set_overwrites(&overwrites);
    assert_eq!(repeatable(&program), [3, 5, 8]);
    // In a cooperative launch another CTA may have read a word that this CTA stored.
    let mut program = program_of(&code, "grid = [2]\ncooperative = true\n").unwrap();
    let overwrites = program.overwrites().unwrap();
    assert_eq!(overwrites["test"], BTreeSet::from([3, 5, 6, 7, 8]));
    Arc::get_mut(&mut program).unwrap().set_overwrites(&overwrites);
    assert_eq!(repeatable(&program), [] as [u32; 0]);
}

#[test]
fn stores_of_a_kernel_with_tensor_copies_may_overwrite() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/tensor/wgmma_gemm.toml");
    let sets = ["m", "n", "k"].map(|name| (name.to_owned(), "64".to_owned()));
    let program = Program::load(&file, None, &sets).unwrap();
    let stores = program.launches[0].kernel.lines.iter().filter(|(_, text)| text.contains("STG")).count();
    // The result includes the stores of the product to a buffer that no kernel reads.
    assert!(stores > 0 && program.overwrites().unwrap()["wgmma_gemm"].len() >= stores);
}

#[test]
fn waiting_ctas_are_reported_with_their_last_load() {
    // CTA 0 loads a word until it is not zero.
    let error = error_of(&[
        "MOV R2, c[0x0][0x160]",
        "MOV R3, c[0x0][0x164]",
        "LDG.E.SYS R4, [R2+0x8]",
        "ISETP.EQ.AND P0, PT, R4, RZ, PT",
        "@P0 BRA ->0x20",
        "EXIT",
    ]);
    for word in ["has not ended", "last load was at pc 0x0020", "byte 8 of `data`", "wait for another CTA"] {
        assert!(error.contains(word), "`{word}` is missing in\n{error}");
    }
}

#[test]
fn reads_of_unwritten_memory_are_warnings() {
    let program = load("bfs", 70, &[]);
    assert!(program.execute(false).unwrap().warnings.is_empty());
    let programs = folder();
    let text = std::fs::read_to_string(programs.join("saxpy.toml")).unwrap();
    let made = tempfile::tempdir().unwrap();
    let listing = programs.join("saxpy.sm_70.sass").display().to_string();
    let text = text
        .replace("\"saxpy.sm_70.sass\"", &format!("{listing:?}"))
        .replace(", contents = { uniform = { low = -1, high = 1, seed = 1 } }", "");
    std::fs::write(made.path().join("saxpy.toml"), text).unwrap();
    let done = Program::load(&made.path().join("saxpy.toml"), None, &[]).unwrap().execute(false).unwrap();
    assert_eq!(done.warnings, [("`x` is read where nothing was written".to_owned(), 50_000)]);
}

#[test]
fn mistakes_of_a_launch_file_are_explained() {
    let good = std::fs::read_to_string(folder().join("saxpy.toml")).unwrap();
    let made = tempfile::tempdir().unwrap();
    std::fs::copy(folder().join("saxpy.sm_70.sass"), made.path().join("saxpy.sm_70.sass")).unwrap();
    for (from, to, word) in [
        ("kernel = \"saxpy\"", "kernel = \"axpy\"", "no kernel `axpy`"),
        ("grid = [40]", "grid = [0]", "grid is out of range"),
        ("block = [256]", "block = [2048]", "block is out of range"),
        ("\"&x\"", "\"&z\"", "no buffer or texture `z`"),
        ("\"n\", 2.5", "2.5", "takes 4 arguments"),
        ("\"f32\"", "\"float\"", "unknown variant `float`"),
        ("count = \"n\"", "count = \"m\"", "no parameter is called `m`"),
        ("count = \"n\"", "count = \"n * 100000000\"", "impossible count"),
        ("saxpy.sm_70.sass", "absent.sass", "the listing cannot be read"),
        ("[[launches]]", "[[launches]]\ncolour = 1", "colour"),
        ("arguments = [\"n\"", "arguments = [\"n * 1000000\"", "does not fit its 4 bytes"),
        ("buffer = \"y\"", "buffer = \"q\"", "no buffer `q`"),
        ("seed = 1", "seeds = 1", "seeds"),
        (
            "[buffers]",
            "[buffers]\nk = { type = \"u32\", count = 1, contents = { values = [-1] } }",
            "-1 is out of range of u32, which is from 0",
        ),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let file = made.path().join("saxpy.toml");
        std::fs::write(&file, text).unwrap();
        let error = Program::load(&file, Some(70), &[]).expect_err(from).to_string();
        assert!(error.contains(word), "{to}: {error}");
    }
}

#[test]
fn clock_notes_state_the_dependence() {
    let notes = |name: &str| load(name, 90, &[]).workload().unwrap().notes;
    let found = notes("micro/shared_lat");
    let [(note, 1)] = &found[..] else { panic!("one launch of one kernel: {found:?}") };
    assert!(note.starts_with("kernel latency reads a clock (CS2R") && note.contains(" of shared.sm_90.sass), which counts"), "{note}");
    assert!(note.contains("no address, branch or barrier depends on the clock"), "{note}");
    assert!(notes("saxpy").is_empty());
    let of = |code: &[&str]| {
        let code: Vec<&str> =
            ["CS2R R4, SR_CLOCKLO", "MOV R2, c[0x0][0x160]", "MOV R3, c[0x0][0x164]"].iter().chain(code).copied().collect();
        let notes = program_of(&code, "").unwrap().workload().unwrap().notes;
        let [(note, 1)] = &notes[..] else { panic!("{notes:?}") };
        note.clone()
    };
    for code in [&["STG.E.SYS [R2], R4", "EXIT"][..], &["S2R R6, SR_CLOCKHI", "IADD3 R6, R6, -R4, RZ", "STG.E.SYS [R2], R6", "EXIT"]] {
        assert!(of(code).contains("no address, branch or barrier depends on the clock"), "{code:?}");
    }
    for (code, what) in [
        (&["ISETP.GT.AND P0, PT, R4, 0x64, PT", "@P0 BRA ->0x50", "EXIT"][..], "BRA in line 13 has a condition"),
        (&["IADD3 R2, R2, R4, RZ", "LDG.E.SYS R8, [R2]", "EXIT"], "LDG.E.SYS in line 13 has an address"),
        (&["STS [RZ], R4", "LDS R8, [RZ]", "BAR.SYNC R8", "EXIT"], "BAR.SYNC in line 14 has an operand"),
    ] {
        let note = of(code);
        assert!(note.contains(what) && note.contains("a GPU may execute other instructions"), "{code:?}: {note}");
    }
}

#[test]
fn setup_output_is_copied_after_host_contents() {
    let copies = |name: &str| -> Vec<u64> {
        let commands = load(name, 90, &[]).workload().unwrap().commands;
        commands.iter().filter_map(|command| if let Command::CopyToDevice { bytes, .. } = command { Some(*bytes) } else { None }).collect()
    };
    assert_eq!(copies("rodinia/bfs"), [4096, 1, 8 * 4096, 40 * 4096, 4096, 4096, 4 * 4096]);
    assert_eq!(copies("transpose").len(), 1, "nobody wrote the result");
}

#[test]
fn launches_that_could_overlap_and_are_not_marked_are_noted() {
    let next = "[[launches]]\nkernel = \"test\"\ngrid = [1]\nblock = [64]\narguments = [\"&data\"]\n";
    let second = format!("grid = [1]\n{next}");
    let notes = |code: &[&str], extra: &str| program_of(code, extra).unwrap().workload().unwrap().notes;
    for code in [&["PREEXIT", "EXIT"][..], &["ACQBULK", "EXIT"]] {
        assert!(notes(code, "").is_empty(), "one launch");
        for (launches, unmarked) in
            [(second.clone(), 1), (format!("{second}{next}"), 2), (format!("{second}programmatic = true\n{next}"), 1)]
        {
            let found = notes(code, &launches);
            let [(note, count)] = &found[..] else { panic!("{found:?}") };
            assert!(note.contains("griddepcontrol (ACQBULK, or PREEXIT") && note.contains("not marked `programmatic`"), "{note}");
            assert_eq!(*count, unmarked, "{launches}");
        }
        assert!(notes(code, &format!("{second}programmatic = true\n")).is_empty(), "all are marked");
        assert!(notes(code, &format!("{second}stream = 1\n")).is_empty(), "each is the first of its stream");
    }
    assert!(notes(&["EXIT"], &second).is_empty());
}

#[test]
fn programmatic_dependent_launches_are_marked_where_they_follow_a_kernel_and_refused_elsewhere() {
    let launch = |keys: &str| format!("[[launches]]\nkernel = \"test\"\ngrid = [1]\nblock = [64]\narguments = [\"&data\"]\n{keys}\n");
    let load = |first: &str, rest: &[String]| program_of(&["EXIT"], &format!("grid = [1]\n{first}\n{}", rest.concat()));
    let marked = launch("programmatic = true");
    let program =
        load("", &[marked.clone(), launch(""), launch("stream = 3"), launch("stream = 3\nprogrammatic = true\nrepeat = 2")]).unwrap();
    let kernels = program.workload().unwrap().kernels;
    let before: Vec<Option<u32>> = kernels.iter().map(|kernel| kernel.info.programmatic.map(|before| before.0)).collect();
    assert_eq!(before, [None, Some(0), None, None, Some(3), Some(4)]);
    let copy = "[[launches]]\ncopy = { from = \"&data\", to = \"&data\", bytes = 4 }\n";
    let sequence =
        "[[launches]]\nprogrammatic = true\n[[launches.sequence]]\nkernel = \"test\"\ngrid = [1]\nblock = [64]\narguments = [\"&data\"]\n";
    for (first, rest, what) in [
        ("programmatic = true", vec![], "the first launch of stream 0 on gpu0"),
        ("", vec![launch("stream = 2\nprogrammatic = true")], "the first launch of stream 2 on gpu0"),
        ("", vec![launch("gpu = 1\nprogrammatic = true")], "the first launch of stream 0 on gpu1"),
        ("", vec![launch("setup = true\nprogrammatic = true")], "a launch of the setup is a programmatic dependent launch"),
        ("", vec![copy.to_owned(), marked.clone()], "follows a copy, which triggers nothing"),
        ("", vec![format!("{copy}programmatic = true\n")], "a copy is a programmatic dependent launch"),
        ("", vec![sequence.to_owned()], "a sequence is a programmatic dependent launch"),
        ("", vec![launch("programmatic = \"yes\"")], "invalid type: string \"yes\", expected a boolean"),
    ] {
        let error = load(first, &rest).unwrap_err();
        assert!(error.contains(what) && error.contains("test.toml:"), "{what}: {error}");
    }
}

#[test]
fn races_of_ctas_on_device_memory_are_found() {
    // Each thread of both CTAs accesses the word of its index in the CTA, or in the grid.
    let head = ["S2R R0, SR_TID.X", "S2R R6, SR_CTAID.X", "MOV R1, 0x4"];
    let check = |code: &[&str]| {
        let code: Vec<&str> = head.iter().chain(code).copied().chain(["EXIT"]).collect();
        program_of(&code, "grid = [2]\n").unwrap().check(true).map(|_| ()).map_err(|error| error.to_string())
    };
    let address = "IMAD.WIDE.U32 R2, R0, R1, c[0x0][0x160]";
    let error = check(&[address, "STG.E.SYS [R2], R6"]).unwrap_err();
    for word in ["two CTAs race for byte 0 of `data`", "`STG.E.SYS` at pc 0x0040", "the access of CTA 0", "CTA 1"] {
        assert!(error.contains(word), "`{word}` is missing in\n{error}");
    }
    // Equal values, atomics, and separate words are not races.
    assert_eq!(check(&[address, "STG.E.SYS [R2], R1"]), Ok(()));
    assert_eq!(check(&[address, "RED.E.ADD.STRONG.GPU [R2], R6"]), Ok(()));
    assert_eq!(check(&["LOP3.LUT R0, R0, 0x1f, RZ, 0xc0, !PT", "IMAD R0, R6, 0x20, R0", address, "STG.E.SYS [R2], R6"]), Ok(()));
    // A read of a word that another CTA has written is a race; a fence after the write orders both.
    let after = |middle: &[&'static str]| {
        let write = ["ISETP.NE.AND P0, PT, R6, RZ, PT", address, "@!P0 STG.E.SYS [R2], R1"];
        check(&write.iter().chain(middle).copied().chain(["@P0 LDG.E.SYS R5, [R2]"]).collect::<Vec<_>>())
    };
    assert!(after(&[]).unwrap_err().contains("`LDG.E.SYS`"));
    assert_eq!(after(&["MEMBAR.SC.GPU"]), Ok(()));
}

#[test]
fn a_message_names_the_line_of_the_source_where_the_listing_knows_it() {
    let program = |line: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "warpshard listing 1\narch sm_70\nkernel test\nregisters 32\nshared 0\nlocal 0\nparameters 0x160 8 0:8\ncode\n\
             0000: LDG.E.SYS R4, [RZ] ; 0 0 {line}\n0010: EXIT ; 0 0\nend\n"
        );
        std::fs::write(folder.path().join("test.sass"), text).unwrap();
        let launch = "modules = { sm_70 = \"test.sass\" }\n[buffers]\ndata = { type = \"u32\", count = 64, contents = { constant = 0 } }\n\
             [[launches]]\nkernel = \"test\"\ngrid = [1]\nblock = [32]\narguments = [\"&data\"]\n";
        let file = folder.path().join("test.toml");
        std::fs::write(&file, launch).unwrap();
        Program::load(&file, None, &[]).and_then(|program| program.execute(false).map(|_| ())).unwrap_err().to_string()
    };
    let error = program("@17");
    assert!(error.contains("outside of every buffer") && error.contains("pc 0x0000, source line 17, of kernel test"), "{error}");
    assert!(!program("").contains("source line"));
    assert!(program("x").contains("not a source line"));
}

/// Returns the workload of a kernel that computes a product into R10 and then executes `code`; R2 and R3 hold the address of a buffer.
fn with_product(code: &[&str]) -> Result<Workload, String> {
    let product =
        ["MOV R2, c[0x0][0x160]", "MOV R3, c[0x0][0x164]", "HMMA.884.F32.F32.STEP0 R8, R4.reuse.ROW, R6.reuse.COL, R8", "FADD R10, R8, 1"];
    let program = program_of(&product.iter().chain(code).copied().collect::<Vec<_>>(), "")?;
    program.workload_with(WorkloadOptions { skip_products: true, ..WorkloadOptions::default() }).map_err(|error| error.to_string())
}

#[test]
fn products_are_skipped_only_if_timing_does_not_depend_on_them() {
    for code in [
        &["STG.E.SYS [R2], R10", "EXIT"][..],
        // The product selects the stored value, but not the address.
        &["FSETP.GT.AND P0, PT, R10, RZ, PT", "SEL R11, R10, R4, P0", "STG.E.SYS [R2], R11", "EXIT"],
        // R10 is overwritten before it becomes part of an address.
        &["MOV R10, 0x4", "IADD3 R2, R2, R10, RZ", "LDG.E.SYS R4, [R2]", "EXIT"],
        &["STS [RZ], R10", "BAR.SYNC 0x0", "LDS R12, [RZ]", "STG.E.SYS [R2], R12", "EXIT"],
    ] {
        let workload = with_product(code).unwrap_or_else(|error| panic!("{code:?}: {error}"));
        assert!(workload.notes.iter().any(|(note, count)| note.contains("--matrix-values skip") && *count == 1), "{:?}", workload.notes);
        assert!(!workload.kernels[0].source.cta(CtaIndex(0)).warps[0].is_empty());
    }
    for (code, what) in [
        (&["IADD3 R2, R2, R10, RZ", "LDG.E.SYS R4, [R2]", "EXIT"][..], "`LDG.E.SYS` at pc 0x0050, which has an address"),
        (&["FSETP.GT.AND P0, PT, R10, RZ, PT", "@P0 BRA ->0x60", "EXIT", "EXIT"], "`BRA` at pc 0x0050, which has a condition"),
        (&["FSETP.GT.AND P0, PT, R10, RZ, PT", "@P0 STG.E.SYS [R2], R4", "EXIT"], "`STG.E.SYS` at pc 0x0050, which has a condition"),
        // The taint passes through shared memory, and around a loop.
        (&["STS [RZ], R10", "BAR.SYNC 0x0", "LDS R12, [RZ]", "LDS R13, [R12]", "EXIT"], "`LDS` at pc 0x0070"),
        (&["LDS R13, [R12]", "MOV R12, R10", "ISETP.GE.AND P0, PT, R4, 0x3, PT", "@!P0 BRA ->0x40", "EXIT"], "`LDS` at pc 0x0040"),
        (&["R2UR UR4, R10", "BRX R4 -0x50", "EXIT"], "`BRX` at pc 0x0050"),
    ] {
        let error = with_product(code).map(|_| ()).unwrap_err();
        assert!(
            error.contains(what) && error.contains("kernel test") && error.contains("leave out --matrix-values skip"),
            "{code:?}: {error}"
        );
    }
}

#[test]
fn streams_do_not_depend_on_skipped_products() {
    let skipping = |program: &Arc<Program>| program.workload_with(WorkloadOptions { skip_products: true, ..WorkloadOptions::default() });
    for (name, arch) in [("tensor/wgmma_gemm", 90), ("tensor/wgmma_gemm_pairs", 90), ("tensor/hgemm", 80)] {
        let program = load(name, arch, &[]);
        let without = skipping(&program).unwrap_or_else(|error| panic!("{error}"));
        assert!(requested_streams(&program.workload().unwrap(), &[0], 1) == requested_streams(&without, &[0], 1), "{name}");
    }
    // This kernel divides by a sum of products, and a division branches for very small and very large numbers.
    let error = skipping(&load("tensor/wgmma_attention", 90, &[])).unwrap_err().to_string();
    assert!(error.contains("wgmma_attention.sm_90a.sass:") && error.contains("`BRA`"), "{error}");
}
