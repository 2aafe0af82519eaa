//! Decoding speed of traces on one thread, per kind of line: text, and the native format with and without compression.
//!
//! The benchmark calls [`check`], which reads, decodes and walks all streams of a file in the page cache. Rates count the bytes of the text
//! form for both formats, so that they can be compared; `decode-ns` counts instructions decoded while a trace is loaded instead.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::trace::{TraceOptions, check, load, to_native};

const CTAS: u64 = 256;
const WARPS: u64 = 8;

/// Returns a kernel whose warps all list `lines`, with addresses that depend on the warp.
fn trace_text(lines: impl Fn(u64, &mut String) -> u64) -> String {
    let mut text = format!(
        "-kernel name = bench\n-kernel id = 1\n-grid dim = ({CTAS},1,1)\n-block dim = ({},1,1)\n-shmem = 0\n-nregs = 32\n\
         -binary version = 70\n-cuda stream id = 0\n-accelsim tracer version = 4\n-enable lineinfo = 0\n\n#traces format\n\n",
        WARPS * 32
    );
    for cta in 0..CTAS {
        write!(text, "#BEGIN_TB\n\nthread block = {cta},0,0\n\n").unwrap();
        for warp in 0..WARPS {
            let mut body = String::new();
            let count = lines(cta * WARPS + warp, &mut body);
            write!(text, "warp = {warp}\ninsts = {count}\n{body}\n").unwrap();
        }
        text.push_str("#END_TB\n\n");
    }
    text
}

/// Writes arithmetic only: the shortest lines, and so the most lines per byte.
fn arithmetic_lines(_: u64, out: &mut String) -> u64 {
    for i in 0..256u64 {
        writeln!(out, "{:04x} ffffffff 1 R{} FFMA 3 R{} R4 R5 0 ", 16 * (i % 64), 16 + i % 8, 16 + i % 8).unwrap();
    }
    256
}

/// Writes one access with base and stride among seven other instructions, as in streaming kernels.
fn strided_lines(warp: u64, out: &mut String) -> u64 {
    for i in 0..256u64 {
        if i % 8 == 0 {
            let address = 0x7f00_0000_0000 + warp * 128 + i * 65536;
            writeln!(out, "{:04x} ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 {address:#018x} 4 ", 16 * (i % 64)).unwrap();
        } else {
            writeln!(out, "{:04x} ffffffff 1 R6 IMAD.WIDE 2 R6 R7 0 ", 16 * (i % 64)).unwrap();
        }
    }
    256
}

/// Writes gathers with one address per lane.
fn gather_lines(warp: u64, out: &mut String) -> u64 {
    for i in 0..32u64 {
        write!(out, "{:04x} ffffffff 1 R2 LDG.E.SYS 1 R4 4 0 ", 16 * i).unwrap();
        for lane in 0..32 {
            let address = 0x7f00_0000_0000 + (warp * 977 + i * 31 + lane * lane * 7919) % (1 << 24) * 4;
            write!(out, "{address:#018x} ").unwrap();
        }
        out.push('\n');
    }
    32
}

fn decode(criterion: &mut Criterion) {
    let options = TraceOptions::default();
    for (name, text) in
        [("arithmetic", trace_text(arithmetic_lines)), ("strided", trace_text(strided_lines)), ("lists", trace_text(gather_lines))]
    {
        let folder = tempfile::tempdir().unwrap();
        let of_text = folder.path().join("kernel-1.traceg");
        std::fs::write(&of_text, &text).unwrap();
        let mut files = vec![("text", of_text.clone())];
        for (form, compress) in [("native", false), ("native+zstd", true)] {
            let path = folder.path().join(form).with_extension("wst");
            to_native(&of_text, &mut std::fs::File::create(&path).unwrap(), compress, &options, &mut |_| true).unwrap();
            files.push((form, path));
        }
        let instructions = check(&of_text, &options).unwrap().warp_instructions();
        let mut group = criterion.benchmark_group("decode");
        group.sample_size(10).throughput(Throughput::Bytes(text.len() as u64));
        for (form, path) in &files {
            group.bench_function(format!("{name}/{form}"), |bencher| {
                bencher.iter(|| black_box(check(path, &options).unwrap().warp_instructions()));
            });
        }
        group.finish();
        let mut group = criterion.benchmark_group("decode-ns");
        group.sample_size(10).throughput(Throughput::Elements(instructions));
        for (form, path) in &files {
            group.bench_function(format!("{name}/{form}"), |bencher| {
                bencher.iter(|| black_box(load(path, &options).unwrap().kernels.len()))
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    // The plots' text backend has no font to draw with.
    config = Criterion::default().without_plots();
    targets = decode
}
criterion_main!(benches);
