//! Reading of CPU traces: the recorded ones, wrapping, and the messages for refused files.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use warpshard::base::Addr;
use warpshard::cpu_load::{CpuInst, CpuOp, CpuStream, CpuTrace};

fn write(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_trace_is_the_same_plain_and_compressed_and_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"3 64 0x1000\n0 128\n";
    for path in [write(folder.path(), "a", text), write(folder.path(), "a.gz", &gzip(text))] {
        let trace = CpuTrace::open(&path).unwrap();
        assert_eq!((trace.instructions(), trace.reads(), trace.writebacks()), (5, 2, 1));
        let mut stream = CpuStream::Trace(trace.stream(true).unwrap());
        let read = |bubbles, addr| CpuInst { bubbles, addr: Addr(addr), op: CpuOp::Load, dependent: true };
        let back = CpuInst { bubbles: 0, addr: Addr(0x1000), op: CpuOp::WriteBack, dependent: false };
        for _ in 0..3 {
            assert_eq!([(); 3].map(|()| stream.next_inst()), [read(3, 64), back, read(0, 128)]);
        }
    }
}

#[test]
fn lines_across_chunks_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..40_000u64).map(|i| format!("{} {} {}\n", i % 17, i * 64, i)).collect();
    let trace = CpuTrace::open(&write(folder.path(), "long.gz", &gzip(lines.as_bytes()))).unwrap();
    assert_eq!((trace.reads(), trace.writebacks()), (40_000, 40_000));
    let mut stream = CpuStream::Trace(trace.stream(false).unwrap());
    for i in 0..40_000u64 {
        let (read, back) = (stream.next_inst(), stream.next_inst());
        assert_eq!((read.bubbles, read.addr, back.addr), (i % 17, Addr(i * 64), Addr(i)));
    }
    assert_eq!(stream.next_inst().addr, Addr(0));
}

#[test]
fn broken_traces_are_refused_with_file_line_and_advice() {
    let folder = tempfile::tempdir().unwrap();
    let good = gzip(&b"12 64\n".repeat(100_000));
    let mut long = b"1 64\n".to_vec();
    long.extend(std::iter::repeat_n(b'7', 200_000));
    let cases: [(&str, &[u8], &str); 12] = [
        ("empty", b"", "empty: the trace is empty"),
        ("blank", b"1 64\n\n2 64\n", "blank:2: the line is empty"),
        ("short", b"1 64\n12\n", "short:2: the line has one field"),
        ("fields", b"1 64 64 64\n", "fields:1: the line has more than three fields"),
        ("dram", b"0x1000 R\n", "dram:1: the first field is not a number of instructions"),
        ("negative", b"-1 64\n", "negative:1: the first field"),
        ("address", b"1 64\n1 64\n1 hello\n", "address:3: the second field is not a read address"),
        ("high", b"1 281474976710656\n", "high:1: the second field"),
        ("back", b"1 64 6x\n", "back:1: the third field is not a writeback address"),
        ("cut.gz", &good[..good.len() / 2], "cut.gz:"),
        ("plain.gz", b"1 64\n", "plain.gz:1: the file cannot be read"),
        ("endless", &long, "endless:2: the file cannot be read"),
    ];
    for (name, content, begins) in cases {
        let path = write(folder.path(), name, content);
        let message = CpuTrace::open(&path).unwrap_err().to_string();
        let begins = format!("error: {}/{begins}", folder.path().display());
        assert!(message.starts_with(&begins), "{name}: {message}");
        for part in ["\n  found: ", "\n  expected: ", "\n  help: "] {
            assert!(message.contains(part), "{name}: {message}");
        }
    }
    let missing = CpuTrace::open(&folder.path().join("missing.gz")).unwrap_err().to_string();
    assert!(missing.contains("there is no such file"), "{missing}");
    assert!(CpuTrace::open(folder.path()).unwrap_err().to_string().contains("it is a folder"));
}

/// Records of ChampSim's format: the instruction pointer, flags and registers, two store addresses and four load addresses.
#[test]
fn a_champsim_trace_is_recognised_and_the_documented_script_converts_it() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<u8> = (0..100_u64)
        .flat_map(|i| {
            let registers = [0, 0, 1, 0, 2, 0, 0, 0];
            let memory = [0, 0, 0x10000 + 64 * i, 0, 0, 0].map(u64::to_le_bytes);
            [(0x40_0000 + 4 * i).to_le_bytes(), registers].into_iter().chain(memory).flatten().collect::<Vec<u8>>()
        })
        .collect();
    assert_eq!(records.len(), 6400);
    for (name, content) in [("hundred.champsimtrace", records.clone()), ("hundred.champsimtrace.gz", gzip(&records))] {
        let said = CpuTrace::open(&write(folder.path(), name, &content)).unwrap_err().to_string();
        assert!(said.contains("binary, like ChampSim traces") && said.contains("docs/cpu.md") && !said.contains("DRAM"), "{said}");
    }
    // The converter is the Python program in docs/cpu.md.
    let page = std::fs::read_to_string("docs/cpu.md").unwrap();
    let program = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    write(folder.path(), "convert.py", program.as_bytes());
    let mut child = std::process::Command::new("python3")
        .arg(folder.path().join("convert.py"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&records).unwrap();
    let text = child.wait_with_output().unwrap().stdout;
    let trace = CpuTrace::open(&write(folder.path(), "hundred.txt", &text)).unwrap();
    assert_eq!((trace.instructions(), trace.reads(), trace.writebacks()), (100, 100, 0));
}
