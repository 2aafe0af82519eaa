//! Fuzz targets: the parsers as functions of bytes, with seeds from the repository's files.

use std::path::Path;

use warpshard::base::CtaIndex;
use warpshard::config::error::SourceText;
use warpshard::config::{Machine, Override, RunFile, import};
use warpshard::configs::Kind;
use warpshard::cpu_load::{CpuMix, CpuProfile, CpuStream, CpuTrace};
use warpshard::energy::EnergySet;
use warpshard::policy::registry::Policy;
use warpshard::trace::{TraceOptions, to_native};
use warpshard::{model, workload::Workload};

use super::{folders, programs};

/// A parser under test.
pub(crate) struct FuzzTarget {
    pub(crate) name: &'static str,
    /// Inputs per round.
    pub(crate) share: usize,
    /// Keywords of the parser.
    pub(crate) words: &'static [&'static str],
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Function that parses an input; it may write files into the folder.
    pub(crate) run: fn(&Path, &[u8]),
}

pub(crate) const FUZZ_TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "trace", share: 20, words: OPCODES, seeds: traces, run: trace },
    FuzzTarget {
        name: "list",
        share: 10,
        words: &["MemcpyHtoD", "kernel-1.traceg", "../kernel-1.traceg", "kernel"],
        seeds: lists,
        run: list,
    },
    FuzzTarget { name: "native", share: 20, words: &[], seeds: natives, run: native },
    FuzzTarget { name: "machine", share: 6, words: MACHINE_SETTINGS, seeds: || files(Kind::Machine), run: machine },
    FuzzTarget { name: "model", share: 20, words: MODEL_FORMULAS, seeds: || files(Kind::Model), run: model },
    FuzzTarget { name: "set", share: 6, words: MACHINE_SETTINGS, seeds: settings, run: set },
    FuzzTarget { name: "policy", share: 40, words: &["low", "high", "ctas", "warps", "period", "waves"], seeds: policies, run: policy },
    FuzzTarget { name: "cpu-trace", share: 20, words: &["0x", "0x1000"], seeds: cpu_traces, run: cpu_trace },
    FuzzTarget { name: "cpu-profile", share: 10, words: &["mpki", "far", "writes"], seeds: || files(Kind::CpuProfile), run: cpu_profile },
    FuzzTarget { name: "mix", share: 10, words: &["@H1", "mcf", "applications"], seeds: mixes, run: mix },
    FuzzTarget { name: "run", share: 6, words: &["machine", "trace", "kernels", "epoch"], seeds: || files(Kind::Run), run: run_file },
    FuzzTarget { name: "energy", share: 10, words: &["pJ", "nJ", "W"], seeds: || files(Kind::Energy), run: energy },
    FuzzTarget { name: "listing", share: 20, words: programs::INSTRUCTION_TEXTS, seeds: programs::listings, run: programs::listing },
    FuzzTarget { name: "launch", share: 20, words: MODEL_FORMULAS, seeds: programs::launches, run: programs::launch },
    FuzzTarget { name: "checkpoint", share: 4, words: &[], seeds: folders::checkpoints, run: folders::checkpoint },
    FuzzTarget {
        name: "results",
        share: 4,
        words: &["null", "true", "kernels", "cycles", "counters"],
        seeds: folders::results,
        run: folders::result,
    },
    FuzzTarget {
        name: "plan",
        share: 10,
        words: &["machines", "grid", "zip", "run", "set", "model"],
        seeds: folders::plans,
        run: folders::plan,
    },
    FuzzTarget {
        name: "sample",
        share: 20,
        words: &["error", "confidence", "warm", "least", "on"],
        seeds: folders::samples,
        run: folders::sample,
    },
    FuzzTarget { name: "compressed", share: 20, words: &[], seeds: folders::compressed, run: folders::compressed_trace },
    FuzzTarget { name: "import", share: 10, words: IMPORT_OPTIONS, seeds: imports, run: import_text },
];

const OPCODES: &[&str] = &[
    "insts",
    "warp",
    "BEGIN_TB",
    "END_TB",
    "EXIT",
    "LDG.E.SYS",
    "STG.E.128.SYS",
    "BAR.SYNC",
    "ATOM.E.ADD",
    "LDS.U.128",
    "HMMA.884.F32",
    "R255",
    "RZ",
    "UR4",
    "ffffffff",
    "00000000",
    "7fffffffffffffff",
];
const MACHINE_SETTINGS: &[&str] =
    &["extends", "sms", "latency", "true", "false", "mesh", "standard", "ipoly", "linear", "GiB", "MHz", "cycles", "sets", "ways"];
const MODEL_FORMULAS: &[&str] = &[
    "for",
    "in",
    "if",
    "else",
    "cta",
    "lane",
    "warp",
    "grid",
    "block",
    "min",
    "max",
    "hash",
    "random",
    "repeat",
    "load",
    "store",
    "ctas",
    "threads",
    "parameters",
];
const IMPORT_OPTIONS: &[&str] = &["gpgpu_n_clusters", "gpgpu_cache", "S:4:128:64,L:T:m:L:L,A:512:8,16:0,32", "nbk=16:CCD=1", "none"];

const TRACE_HEADER: &str = "-kernel name = add\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 0\n-nregs = 16\n\
-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f73cb000000\n-local mem base_addr = 0x00007f73c9000000\n\
-nvbit version = 1.5.5\n-accelsim tracer version = 4\n-enable lineinfo = 0\n\n";

/// Returns the built-in files of a kind, including the papers' files.
fn files(kind: Kind) -> Vec<Vec<u8>> {
    warpshard::catalogue().files().files_of_kind(kind).map(|file| file.text.as_bytes().to_vec()).collect()
}

fn options() -> TraceOptions {
    TraceOptions { chunk_bytes: 1 << 12, ..TraceOptions::default() }
}

/// Builds some CTAs of every kernel and reads their instructions.
fn execute(workload: &Workload) {
    for kernel in &workload.kernels {
        let ctas = kernel.info.ctas();
        for cta in [0, 1, ctas / 2, ctas - 1] {
            let program = kernel.source.cta(CtaIndex(cta.min(ctas - 1)));
            for stream in program.warps.iter().take(2) {
                let mut cursor = Default::default();
                let mut read = 0;
                while read < 10_000 && stream.next(&mut cursor).is_some() {
                    read += 1;
                }
            }
        }
        let _ = kernel.source.failure();
    }
}

pub(crate) fn traces() -> Vec<Vec<u8>> {
    let mut trace = TRACE_HEADER.to_owned();
    for cta in 0..2 {
        trace += &format!("#BEGIN_TB\n\nthread block = {cta},0,0\n\n");
        for warp in 0..2 {
            trace += &format!(
                "warp = {warp}\ninsts = 6\n\
                 0000 ffffffff 1 R1 MOV 1 R2 0 \n\
                 0010 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x7f73a0000000 4 \n\
                 0020 0000000f 1 R5 LDG.E.64.SYS 1 R2 8 0 0x7f73a0000000 0x7f73a0000040 0x7f73a0000080 0x7f73a00000c0 \n\
                 0030 00000003 0 STG.E.SYS 2 R2 R4 4 2 0x7f73a0001000 128 \n\
                 0040 ffffffff 0 BAR.SYNC 0 0 \n\
                 0050 ffffffff 0 EXIT 0 0 \n\n"
            );
        }
        trace += "#END_TB\n\n";
    }
    // Older tracers write coordinates before each program counter; newer ones write immediates; some write the source line.
    let old = trace.replace("version = 4", "version = 2").replace("\n00", "\n0 0 0 0 00");
    let new = trace.replace("version = 4", "version = 5").replace(" 0 \n", " 0 0 \n");
    let newest = new.replace("version = 5", "version = 6");
    let lines = trace.replace("lineinfo = 0", "lineinfo = 1").replace("\n00", "\n12 00");
    [trace, old, new, newest, lines].map(String::into_bytes).into()
}

fn trace(folder: &Path, input: &[u8]) {
    let file = folder.join("kernel-1.traceg");
    std::fs::write(&file, input).unwrap();
    load(&file);
}

/// Loads a trace strictly and leniently.
pub(crate) fn load(file: &Path) {
    for lenient in [false, true] {
        let options = TraceOptions { lenient, ..options() };
        let _ = warpshard::trace::check(file, &options).map_err(|error| error.to_string());
        // CTAs are decoded while the trace loads, or on demand.
        for eager_bytes in [0, 1 << 20] {
            if let Ok(workload) = warpshard::trace::load(file, &TraceOptions { eager_bytes, ..options.clone() }) {
                execute(&workload);
            }
        }
    }
}

fn lists() -> Vec<Vec<u8>> {
    vec![b"MemcpyHtoD,0x7f73a0000000,4096\nkernel-1.traceg\nMemcpyHtoD,0x7f73a0001000,64\nkernel-1.traceg\n".to_vec()]
}

fn list(folder: &Path, input: &[u8]) {
    let folder = folder.join("list");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kernel-1.traceg"), &traces()[0]).unwrap();
    std::fs::write(folder.join("kernelslist.g"), input).unwrap();
    if let Ok(workload) = warpshard::trace::load(&folder, &options()) {
        execute(&workload);
    }
}

fn natives() -> Vec<Vec<u8>> {
    let scratch = tempfile::tempdir().unwrap();
    let mut seeds = Vec::new();
    for (i, text) in traces().iter().enumerate() {
        let file = scratch.path().join(format!("kernel-{i}.traceg"));
        std::fs::write(&file, text).unwrap();
        for compress in [false, true] {
            let mut out = Vec::new();
            if to_native(&file, &mut out, compress, &options(), &mut |_| true).is_ok() {
                seeds.push(out);
            }
        }
    }
    seeds
}

fn native(folder: &Path, input: &[u8]) {
    let file = folder.join("trace.wst");
    for input in [input, &with_valid_checksums(input)] {
        std::fs::write(&file, input).unwrap();
        if let Ok(workload) = warpshard::trace::load(&file, &options()) {
            execute(&workload);
        }
        let _ = warpshard::trace::check(&file, &options()).map_err(|error| error.to_string());
    }
}

/// Recomputes the checksums of the blocks of a native file, as far as blocks are found, so that mutations reach the parsers behind the
/// checksums.
fn with_valid_checksums(input: &[u8]) -> Vec<u8> {
    let mut file = input.to_vec();
    for mark in [b"CODE", b"CTAS", b"TEXT", b"INDX"] {
        let places: Vec<usize> = file.windows(4).enumerate().filter(|(_, window)| window == mark).map(|(at, _)| at).collect();
        for at in places {
            let stored = file.get(at + 8..at + 12).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()) as usize);
            let Some(end) = stored.map(|stored| (at + 20).saturating_add(stored)).filter(|end| *end <= file.len()) else { continue };
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&file[at..at + 16]);
            hasher.update(&file[at + 20..end]);
            let old: [u8; 4] = file[at + 16..at + 20].try_into().unwrap();
            let new = hasher.finalize().to_le_bytes();
            // References to the block repeat its checksum.
            let references: Vec<usize> = file.windows(4).enumerate().filter(|(_, window)| *window == old).map(|(at, _)| at).collect();
            references.into_iter().for_each(|at| file[at..at + 4].copy_from_slice(&new));
        }
    }
    if let Some(trailer) = file.len().checked_sub(24) {
        let crc = crc32fast::hash(&file[trailer..trailer + 12]);
        file[trailer + 12..trailer + 16].copy_from_slice(&crc.to_le_bytes());
    }
    file
}

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

fn machine(_: &Path, input: &[u8]) {
    match Machine::from_text_among(warpshard::catalogue().files(), "fuzz.toml", &text(input), &[]) {
        Ok(loaded) => {
            let again = Machine::from_text_among(warpshard::catalogue().files(), "fuzz.toml", &loaded.provenance.to_toml(), &[])
                .map(|again| again.machine);
            assert_eq!(again, Ok(loaded.machine));
        }
        Err(errors) => assert!(errors.to_string().starts_with("error: ")),
    }
}

fn model(_: &Path, input: &[u8]) {
    match model::Model::from_text("fuzz.toml", &text(input), 1, &[]) {
        Ok(model) => execute(&model.workload()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn settings() -> Vec<Vec<u8>> {
    warpshard::config::keys::all().map(|key| format!("{}={}", key.path, key.default.unwrap_or("4")).into_bytes()).collect()
}

fn set(_: &Path, input: &[u8]) {
    match text(input).parse::<Override>() {
        Ok(setting) => {
            let _ = warpshard::catalogue().machine("tiny", &[setting]).map_err(|errors| errors.to_string());
        }
        Err(errors) => assert!(errors.to_string().starts_with("error: ")),
    }
}

fn policies() -> Vec<Vec<u8>> {
    let all = |policy: &Policy| {
        let list: Vec<String> = policy.parameters.iter().map(|(name, _)| format!("{name}=1")).collect();
        format!("{}:{}", policy.name, list.join(",")).into_bytes()
    };
    warpshard::catalogue().policies().all().into_iter().flat_map(|policy| [all(policy), policy.name.as_bytes().to_vec()]).collect()
}

fn policy(_: &Path, input: &[u8]) {
    if let Err(message) = warpshard::catalogue().controller(&text(input)) {
        assert!(!message.to_string().is_empty());
    }
}

fn cpu_traces() -> Vec<Vec<u8>> {
    vec![b"12 95812032\n3 4096 8192\n0 0x1000\n1099511627775 64 0x40\n".to_vec()]
}

fn cpu_trace(folder: &Path, input: &[u8]) {
    let file = folder.join("core.trace");
    std::fs::write(&file, input).unwrap();
    match CpuTrace::open(&file) {
        Ok(trace) => {
            let mut stream = CpuStream::Trace(trace.stream(true).unwrap());
            (0..200).for_each(|_| {
                let _ = stream.next_inst();
            });
            assert!(trace.instructions() >= trace.reads());
        }
        Err(error) => assert!(error.to_string().starts_with("error: ")),
    }
}

fn cpu_profile(_: &Path, input: &[u8]) {
    let _ = CpuProfile::from_text("fuzz.toml", &text(input)).map_err(|error| error.to_string());
}

fn mixes() -> Vec<Vec<u8>> {
    vec![b"name = \"m\"\nsummary = \"\"\napplications = [\"mcf\", \"gcc\", \"art\"]\n".to_vec()]
}

fn mix(_: &Path, input: &[u8]) {
    if let Ok(mix) = CpuMix::from_text("fuzz.toml", &text(input)) {
        assert_eq!(mix.per_core(14).count(), 14);
    }
}

fn run_file(_: &Path, input: &[u8]) {
    match RunFile::from_text("fuzz.toml", &text(input)) {
        Ok(file) => drop(format!("{file:?}")),
        Err(errors) => assert!(errors.to_string().starts_with("error: ")),
    }
}

fn energy(_: &Path, input: &[u8]) {
    let _ = EnergySet::from_text("fuzz.toml", &text(input));
}

fn imports() -> Vec<Vec<u8>> {
    let text = "-gpgpu_n_clusters 80\n-gpgpu_n_cores_per_cluster 1\n-gpgpu_n_mem 32\n-gpgpu_n_sub_partition_per_mchannel 2\n\
        -gpgpu_clock_domains 1132.0:1132.0:1132.0:850.0\n-gpgpu_shader_core_pipeline 2048:32\n-gpgpu_shader_registers 65536\n\
        -gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32\n-gpgpu_cache:dl2 S:32:128:24,L:B:m:L:P,A:192:4,32:0,32\n\
        -gpgpu_dram_timing_opt \"nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10:nbkgrp=4:CCDL=2:RTPL=3\"\n\
        -gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS\n\
        -gpgpu_scheduler gto\n-gpgpu_shmem_size 98304\n-specialized_unit_1 1,4,4,4,4,BRA\n-trace_opcode_latency_initiation_int 2,2\n";
    vec![text.as_bytes().to_vec()]
}

fn import_text(_: &Path, input: &[u8]) {
    let (first, second) = (SourceText::file("gpgpusim.config", text(input)), SourceText::file("trace.config", String::new()));
    match import::import(&first, Some(&second), "fuzz") {
        Ok(imported) => assert!(!imported.toml.is_empty()),
        Err(errors) => assert!(errors.to_string().starts_with("error: ")),
    }
}
