//! Speed of functional execution on one thread, in warp instructions per second: the project's kernels, and a loop of arithmetic.
//! `-measured` counts sectors and bank conflicts, as `exec` does; `-streams` produces the instruction streams of a run. Matrix products are
//! measured in floating-point operations per second of the whole program.
//!
//! `cargo bench --bench programs`. The budget of arithmetic is 50 ns per warp instruction.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::base::CtaIndex;
use warpshard::program::Program;

/// Writes a program of 64 CTAs whose warps iterate 1000 times over a loop of fused multiply-adds, integer arithmetic and a comparison.
fn write_compute_program(folder: &Path) -> PathBuf {
    let mut code = vec!["S2R R0, SR_TID.X".to_owned(), "I2F R4, R0".to_owned(), "MOV R3, RZ".to_owned()];
    let start = 16 * code.len();
    code.extend((0..8).map(|i| format!("FFMA R{}, R{}, 0.5, R4", 8 + i, 8 + (i + 1) % 8)));
    code.extend(["FADD R5, R8, -R9", "IMAD R6, R6, 0x5, R0", "IADD3 R3, R3, 0x1, RZ"].map(str::to_owned));
    code.extend(["ISETP.GE.AND P0, PT, R3, 0x3e8, PT".to_owned(), format!("@!P0 BRA ->{start:#x}"), "EXIT".to_owned()]);
    let mut text = "warpshard listing 1\narch sm_70\nkernel compute\nregisters 32\nparameters 0x160 0\ncode\n".to_owned();
    for (number, line) in code.iter().enumerate() {
        let _ = writeln!(text, "{:04x}: {line} ; 3f00000000000000 0", 16 * number);
    }
    std::fs::write(folder.join("compute.sass"), text + "end\n").unwrap();
    let launch = "modules = { sm_70 = \"compute.sass\" }\n[[launches]]\nkernel = \"compute\"\ngrid = [64]\nblock = [256]\n";
    std::fs::write(folder.join("compute.toml"), launch).unwrap();
    folder.join("compute.toml")
}

/// Executes a program CTA by CTA, as a run does, and counts the instructions of its streams.
fn count_instructions(program: &Arc<Program>) -> u64 {
    let workload = program.workload().unwrap();
    let one = |kernel: &warpshard::workload::Kernel| {
        let ctas = (0..kernel.info.ctas()).map(|cta| kernel.source.cta(CtaIndex(cta)));
        ctas.map(|cta| cta.warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>()).sum::<u64>()
    };
    workload.kernels.iter().map(one).sum()
}

fn programs(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut group = criterion.benchmark_group("programs");
    group.sample_size(10);
    for name in ["compute", "sgemm", "reduction", "saxpy", "scan"] {
        let path = if name == "compute" { write_compute_program(folder.path()) } else { own.join(format!("{name}.toml")) };
        let program = Program::load(&path, None, &[]).unwrap();
        let instructions = program.execute(false).unwrap().warp_instructions();
        group.throughput(Throughput::Elements(instructions));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(program.execute(false).unwrap())));
        group.bench_function(format!("{name}-measured"), |bencher| bencher.iter(|| black_box(program.execute(true).unwrap())));
        assert_eq!(count_instructions(&program), instructions);
        group.bench_function(format!("{name}-streams"), |bencher| bencher.iter(|| black_box(count_instructions(&program))));
    }
    group.finish();
}

/// Measures matrix products of bfloats by warp groups (wgmma) and of halves by warps (mma).
fn products(criterion: &mut Criterion) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/tensor");
    let mut group = criterion.benchmark_group("products");
    group.sample_size(10);
    for (name, sizes) in [("wgmma_gemm", &[("m", 512), ("n", 512), ("k", 1024)][..]), ("hgemm", &[("n", 256), ("k", 512)])] {
        let size = |wanted: &str| sizes.iter().find(|(name, _)| *name == wanted).map_or(sizes[0].1, |(_, size)| *size);
        let settings: Vec<_> = sizes.iter().map(|(name, size): &(&str, u64)| ((*name).to_owned(), size.to_string())).collect();
        let program = Program::load(&own.join(format!("{name}.toml")), None, &settings).unwrap();
        group.throughput(Throughput::Elements(2 * size("m") * size("n") * size("k")));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(program.execute(false).unwrap())));
    }
    group.finish();
}

criterion_group!(benches, programs, products);
criterion_main!(benches);
