//! The trace front end on real traces, compared with the reference's counts, and on broken files.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use warpshard::base::{Addr, CtaIndex, StreamId};
use warpshard::lab::reference::References;
use warpshard::trace::{ProblemKind, SyntheticKernel, TraceOptions, check, load, write_kernel};
use warpshard::workload::{
    CachePolicy, CtaProgram, Kernel, KernelInfo, MemKind, MemSpace, NO_REGISTER, OpClass, StaticInst, WarpStream, Workload,
};

use crate::common::shared;

/// Returns the names of the folders in `folder`, sorted.
fn folder_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the warp and thread instructions of a trace in the reference's results.
fn reference_row(trace: &str) -> Option<(u64, u64)> {
    let results = warpshard::validate::accel_sim_results(&References::default(), "SM7_QV100").unwrap();
    let row = results.rows.into_iter().find(|row| row.trace == trace)?;
    Some((row.warp_instructions, row.thread_instructions))
}

#[test]
fn instruction_counts_equal_the_references() {
    let Some(folder) = shared("sass") else { return };
    let mut compared = 0;
    for name in folder_names(&folder) {
        let report = check(&folder.join(&name), &TraceOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ctas: u64 = report.kernels.iter().map(|k| k.info.grid.count()).sum();
        assert_eq!(report.ctas(), ctas, "{name}");
        assert_eq!(report.kernels.iter().flat_map(|k| k.classes).sum::<u64>(), report.warp_instructions(), "{name}");
        match reference_row(&format!("real-{name}")) {
            Some(counts) => {
                assert_eq!((report.warp_instructions(), report.thread_instructions()), counts, "{name}");
                compared += 1;
            }
            None => assert!(report.warp_instructions() > 0, "{name}"),
        }
    }
    assert!(compared >= 5, "only {compared} traces have a row of the reference");
}

#[test]
fn every_real_trace_loads() {
    let Some(folder) = shared("sass") else { return };
    let names = folder_names(&folder);
    assert_eq!(names.len(), 10);
    for name in names {
        let workload = load(&folder.join(&name), &TraceOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(workload.name, name);
        assert!(!workload.kernels.is_empty(), "{name}");
    }
}

/// Returns everything that an SM sees of a workload: each kernel's resources, and each warp's instructions with their addresses.
fn workload_instructions(workload: &Workload) -> Vec<(KernelInfo, Vec<Vec<Vec<DecodedInstruction>>>)> {
    let kernel = |kernel: &Kernel| {
        let ctas = (0..kernel.info.ctas()).map(|cta| cta_instructions(&kernel.source.cta(CtaIndex(cta)))).collect();
        assert_eq!(kernel.source.failure(), None);
        (kernel.info.clone(), ctas)
    };
    workload.kernels.iter().map(kernel).collect()
}

type DecodedInstruction = (StaticInst, u32, u32, Vec<u64>);

fn cta_instructions(program: &CtaProgram) -> Vec<Vec<DecodedInstruction>> {
    let warp = |stream: &WarpStream| {
        let mut reader = stream.read();
        let mut addresses = [0; 32];
        std::iter::from_fn(|| {
            let inst = reader.next()?;
            let lanes = reader.addresses(&inst, &mut addresses);
            Some((program.code[inst.index as usize], inst.index, inst.mask.0, addresses[..lanes].to_vec()))
        })
        .collect()
    };
    program.warps.iter().map(warp).collect()
}

/// Returns options with which all CTAs are decoded on demand.
fn on_demand_options(threads: usize, window_bytes: usize, chunk_bytes: usize) -> TraceOptions {
    TraceOptions { threads, window_bytes, chunk_bytes, eager_bytes: 0, ..TraceOptions::default() }
}

#[test]
fn programs_do_not_depend_on_window_chunk_or_threads() {
    let Some(folder) = shared("sass") else { return };
    for name in ["bfs-rodinia-3.1-4096", "vecadd-f64-100k-turing-v5-lineinfo", "vecadd-f64-100k-turing-v1.2"] {
        let path = folder.join(name);
        let whole = workload_instructions(&load(&path, &TraceOptions::default()).unwrap());
        for threads in [1, 3] {
            for (window, chunk) in [(1, 1 << 14), (1 << 16, 1 << 18), (1 << 30, 1 << 24)] {
                let streamed = workload_instructions(&load(&path, &on_demand_options(threads, window, chunk)).unwrap());
                assert!(streamed == whole, "{name}: {threads} threads, window {window}, chunk {chunk}");
            }
        }
    }
}

#[test]
fn ctas_can_be_requested_out_of_order_and_repeatedly() {
    let Some(folder) = shared("sass") else { return };
    let path = folder.join("pytorch-pow-f32-hdrfix");
    let whole = workload_instructions(&load(&path, &TraceOptions::default()).unwrap());
    let workload = load(&path, &on_demand_options(2, 1000, 1 << 12)).unwrap();
    let source = &workload.kernels[0].source;
    for cta in [3, 0, 1, 54, 2, 20, 3, 3, 54] {
        assert!(cta_instructions(&source.cta(CtaIndex(cta))) == whole[0].1[cta as usize], "cta {cta}");
    }
    assert_eq!(source.failure(), None);
}

#[test]
fn equal_warps_share_their_memory() {
    let text = small_kernel(2, 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel-1.traceg");
    std::fs::write(&path, text).unwrap();
    let workload = load(&path, &TraceOptions::default()).unwrap();
    let (first, last) = (workload.kernels[0].source.cta(CtaIndex(0)), workload.kernels[0].source.cta(CtaIndex(1)));
    assert!(Arc::ptr_eq(&first.code, &last.code));
    assert_eq!(first.warps[0], last.warps[2]);
    assert!(first.warps[0].shares_memory_with(&last.warps[2]));
    assert!(!first.warps[0].is_empty());
}

/// Returns a hand-written kernel of `ctas` CTAs with `warps` equal warps.
fn small_kernel(ctas: u32, warps: u32) -> String {
    let mut text = format!(
        "-kernel name = small\n-kernel id = 7\n-grid dim = ({ctas},1,1)\n-block dim = ({},1,1)\n-shmem = 64\n-nregs = 16\n\
         -binary version = 80\n-cuda stream id = 3\n-shmem base_addr = 0x00007f0000000000\n\
         -local mem base_addr = 0x00007f0002000000\n-nvbit version = 1.7.4\n-accelsim tracer version = 5\n\
         -enable lineinfo = 0\n\n#traces format = ...\n\n",
        warps * 32
    );
    for cta in 0..ctas {
        text += &format!("#BEGIN_TB\n\nthread block = {cta},0,0\n\n");
        for warp in 0..warps {
            text += &format!("warp = {warp}\ninsts = 10\n");
            text += "0000 ffffffff 1 R1 MOV 0 0 0 \n\
                     0010 0000000f 1 R8 LDG.E.64.STRONG.GPU 1 R4 8 2 0x100 8 8 16 77 \n\
                     0020 00000005 1 R9 LDG.E 1 R4 4 0 0x100 0x7f0000000100 0 \n\
                     0030 ffffffff 1 R3 LDGSTS.E.BYPASS.LTC128B.128 2 R4 R5 16 1 0x1000 16 0 \n\
                     0040 ffffffff 0 LDGDEPBAR 0 0 0 \n\
                     0050 ffffffff 0 DEPBAR.LE 0 0 2 \n\
                     0060 00000000 0 STG.E 2 R2 R9 4 1 0x0 0 0 \n\
                     0070 ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R9 4 1 0x2000 0 0 \n\
                     0080 00000011 0 STS 2 R2 R9 4 1 0x10 4 0 STORE_DATA I32 1 REG0:T0:0 \n\
                     0090 ffffffff 0 EXIT 0 0 0 \n\n";
        }
        text += "#END_TB\n\n";
    }
    text
}

/// Loads a text as a single kernel file with `options`.
fn load_text(text: &str, options: &TraceOptions) -> Result<Workload, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel-1.traceg");
    std::fs::write(&path, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    load(&path, options).map_err(|error| error.to_string().replace(&prefix, ""))
}

#[test]
fn each_line_means_what_the_grammar_says() {
    let workload = load_text(&small_kernel(1, 1), &TraceOptions::default()).unwrap();
    let info = &workload.kernels[0].info;
    assert_eq!((info.name.as_str(), info.id, info.stream, info.registers), ("small", 7, StreamId(3), 16));
    assert_eq!((info.shared_base, info.local_base), (Addr(0x7f00_0000_0000), Addr(0x7f00_0200_0000)));
    let cta = &workload_instructions(&workload)[0].1[0];
    let warp = &cta[0];
    let classes: Vec<OpClass> = warp.iter().map(|(inst, ..)| inst.class).collect();
    use OpClass::{Alu, Exit, Load, Store};
    assert_eq!(classes, [Alu, Load, Load, Load, Alu, Alu, Store, Store, Store, Exit]);
    // Mode 2 has one difference per lane after the first; the next number is the immediate.
    assert_eq!(warp[1].3, [0x100, 0x108, 0x110, 0x120]);
    assert_eq!(warp[1].0.mem.unwrap().cache, CachePolicy::Global);
    assert_eq!(warp[1].0.mem.unwrap().width, 8);
    assert_eq!(warp[2].3, [0x100, 0x7f00_0000_0100]);
    assert_eq!((warp[3].0.dst, warp[3].0.mem.unwrap().width), (NO_REGISTER, 16));
    assert_eq!(warp[5].0.immediate, 2);
    assert!(warp[6].3.is_empty());
    assert_eq!(warp[7].0.mem.unwrap().kind, MemKind::Reduction);
    assert_eq!(warp[7].3, [0x2000; 32]);
    // For lanes with gaps, each active lane adds one step.
    assert_eq!((warp[8].0.mem.unwrap().space, warp[8].3.as_slice()), (MemSpace::Shared, &[0x10, 0x14][..]));
    let notes: Vec<&str> = workload.notes.iter().map(|(note, _)| note.as_str()).collect();
    assert_eq!(
        notes,
        [
            "base and stride written for lanes with gaps: treated as one step per active lane",
            "LDGSTS: a copy completes when its data arrive; its writes take no shared-memory cycles",
        ]
    );
}

#[test]
fn accesses_keep_their_addresses_whether_their_differences_repeat_or_not() {
    let (rows, columns, steps) = (vec![16; 31], vec![4096; 31], (0..31).map(|i| i * 7 % 5 - 2).collect::<Vec<i64>>());
    // One list of differences occurs more than three times in a row, then others, and later the first again.
    let chosen = [&rows, &rows, &rows, &rows, &steps, &steps, &steps, &columns, &steps, &rows, &rows, &rows, &steps];
    let base = |round: usize| 0x7f00_0000_0000 + 0x1_0000 * round as u64;
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for (round, differences) in chosen.iter().enumerate() {
        let written: Vec<String> = differences.iter().map(i64::to_string).collect();
        // One line lacks the last lanes, and another has a different immediate.
        let (mask, count, immediate) = match round {
            2 => ("0000ffff", 15, 0),
            10 => ("ffffffff", 31, 8),
            _ => ("ffffffff", 31, 0),
        };
        lines += &format!("0010 {mask} 1 R8 LDG.E 1 R4 4 2 0x{:x} {} {immediate} \n", base(round), written[..count].join(" "));
        lines += "0020 ffffffff 1 R1 MOV 0 0 0 \n";
        let mut address = base(round);
        let others = differences[..count].iter().map(|difference| {
            address = address.wrapping_add_signed(*difference);
            address
        });
        expected.push([base(round)].into_iter().chain(others).collect::<Vec<u64>>());
    }
    let text = small_kernel(1, 1);
    let (head, _) = text.split_once("insts = 10").unwrap();
    let text = format!("{head}insts = {}\n{lines}0090 ffffffff 0 EXIT 0 0 0 \n\n#END_TB\n\n", 2 * chosen.len() + 1);
    let workload = load_text(&text, &TraceOptions::default()).unwrap();
    let warp = &workload_instructions(&workload)[0].1[0][0];
    let read: Vec<Vec<u64>> = warp.iter().filter(|(inst, ..)| inst.class == OpClass::Load).map(|access| access.3.clone()).collect();
    assert_eq!(read, expected);
}

#[test]
fn compressed_files_hold_the_same_programs() {
    let text = small_kernel(3, 2);
    let plain = workload_instructions(&load_text(&text, &TraceOptions::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("kernelslist.g");
    // The list names kernel-1.traceg, but only the compressed file exists.
    std::fs::write(&list, "MemcpyHtoD,0x100,64\nkernel-1.traceg\nsome other line\n").unwrap();
    for suffix in ["xz", "gz", "zst"] {
        let path = folder.path().join(format!("kernel-1.traceg.{suffix}"));
        let mut file = std::fs::File::create(&path).unwrap();
        match suffix {
            "xz" => {
                let mut writer = liblzma::write::XzEncoder::new(&mut file, 1);
                writer.write_all(text.as_bytes()).unwrap();
                writer.finish().unwrap();
            }
            "gz" => {
                let mut writer = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
                writer.write_all(text.as_bytes()).unwrap();
                writer.finish().unwrap();
            }
            _ => file.write_all(&zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap(),
        }
        drop(file);
        for threads in [1, 2] {
            let workload = load(folder.path(), &TraceOptions { threads, ..TraceOptions::default() }).unwrap();
            assert!(workload_instructions(&workload) == plain, "{suffix}, {threads} threads");
            assert_eq!(workload.commands.len(), 2);
            assert!(workload.notes[0].0.starts_with("lines of the kernel list"));
        }
        // A truncated compressed file is an error and not a shorter trace.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = load(folder.path(), &TraceOptions::default()).unwrap_err();
        assert_eq!(error.problems[0].kind, ProblemKind::Unreadable, "{suffix}: {error}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_written_kernel_reads_back_unchanged() {
    let workload = load_text(&small_kernel(3, 2).replace(" 0 0 2 \n", " 0 0 0 \n"), &TraceOptions::default()).unwrap();
    let kernel = &workload.kernels[0];
    let before = workload_instructions(&workload);
    let code = kernel.source.cta(CtaIndex(0)).code.to_vec();
    let mnemonics = [
        "MOV",
        "LDG.E.64.STRONG.GPU",
        "LDG.E",
        "LDGSTS.E.BYPASS.LTC128B.128",
        "LDGDEPBAR",
        "DEPBAR.LE",
        "STG.E",
        "RED.E.ADD.STRONG.GPU",
        "STS",
        "EXIT",
    ];
    let mnemonics = mnemonics.map(String::from);
    let mut written = Vec::new();
    let mut ctas = (0..kernel.info.ctas()).map(|cta| kernel.source.cta(CtaIndex(cta)));
    write_kernel(&mut written, &kernel.info, 80, &code, &mnemonics, &mut ctas).unwrap();
    let written = String::from_utf8(written).unwrap();
    assert!(written.contains("0070 ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R9 4 1 0x2000 0 \n"), "{written}");
    assert!(written.contains("0080 00000011 0 STS 2 R2 R9 4 2 0x10 4 \n"), "{written}");
    let again = load_text(&written, &TraceOptions::default()).unwrap();
    assert!(workload_instructions(&again) == before);
}

#[test]
fn a_missing_final_newline_is_accepted() {
    let text = small_kernel(2, 1);
    let workload = load_text(text.trim_end(), &TraceOptions::default()).unwrap();
    assert_eq!(workload_instructions(&workload), workload_instructions(&load_text(&text, &TraceOptions::default()).unwrap()));
}

#[test]
fn a_failure_later_in_the_stream_is_reported_when_its_cta_is_requested() {
    let text = small_kernel(4, 1);
    let (head, tail) = text.split_at(text.find("thread block = 2").unwrap());
    let broken = format!("{head}{}", tail.replacen("R9 LDG.E 1", "R9 LDG.E x", 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel-1.traceg");
    std::fs::write(&path, broken).unwrap();
    for options in [on_demand_options(1, 1, 100), on_demand_options(2, 1 << 20, 1 << 20)] {
        let workload = load(&path, &options).unwrap();
        let source = &workload.kernels[0].source;
        assert_eq!(source.cta(CtaIndex(0)).warps[0].len(), 10);
        assert_eq!(source.cta(CtaIndex(1)).warps[0].len(), 10);
        assert_eq!(source.failure(), None);
        assert!(source.cta(CtaIndex(2)).warps.iter().all(WarpStream::is_empty));
        assert_eq!(source.cta(CtaIndex(3)).warps.len(), 1);
        let failure = source.failure().unwrap();
        assert!(failure.contains("the number of sources cannot be read") && failure.contains("cta 2, warp 0"), "{failure}");
    }
}

#[test]
fn notes_of_later_decoding_are_found_too() {
    let text = small_kernel(3, 2).replace("0 EXIT", "0 FOO.BAR");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel-1.traceg");
    std::fs::write(&path, text).unwrap();
    let options = TraceOptions { lenient: true, ..on_demand_options(1, 1, 64) };
    let workload = load(&path, &options).unwrap();
    assert_eq!(workload.notes, []);
    workload_instructions(&workload);
    let counts: Vec<u64> = workload.all_notes().iter().map(|&(_, times)| times).collect();
    // Each of the three notes (gaps, LDGSTS, FOO) occurs once per warp in six warps.
    assert_eq!(counts, [6, 6, 6]);
    assert!(options.clock.seconds() > 0.0);
}

#[test]
fn several_streams_and_kernels_keep_their_order() {
    let Some(folder) = shared("sass") else { return };
    let workload = load(&folder.join("vecadd-vecsub-f32-1M-turing"), &TraceOptions::default()).unwrap();
    let streams: Vec<u64> = workload.kernels.iter().map(|kernel| kernel.info.stream.0).collect();
    assert_eq!(streams.len(), 2);
    assert!(streams.iter().all(|&stream| stream != 0), "{streams:?}");
    let workload = load(&folder.join("bfs-rodinia-3.1-4096"), &TraceOptions::default()).unwrap();
    let ids: Vec<u64> = workload.kernels.iter().map(|kernel| kernel.info.id).collect();
    assert_eq!(ids, (1..=16).collect::<Vec<u64>>());
    assert_eq!(workload.commands.len(), 16 + 14);
}

#[test]
fn generated_traces_have_the_references_counts() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["atomic_same", "gather_delta", "pchase_l1_1024", "smem_conflict1", "stride2"] {
        let trace = folder.path().join(name);
        SyntheticKernel::named(name).unwrap().write_to(&trace).unwrap();
        let report = check(&trace, &TraceOptions { threads: 2, ..TraceOptions::default() }).unwrap();
        let counts = reference_row(&format!("gen-{name}")).expect("the reference ran it");
        assert_eq!((report.warp_instructions(), report.thread_instructions()), counts, "{name}");
        assert_eq!(report.notes, [], "{name}");
    }
}
