//! Broken traces: refused files and their messages, and files that are accepted with a note.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use warpshard::trace::{TraceOptions, check, load};

use crate::common::shared;

const LENIENT_OPTIONS: fn() -> TraceOptions = || TraceOptions { lenient: true, ..TraceOptions::default() };

/// Returns a folder of the shared broken traces, if they are available.
fn broken_reference_trace(name: &str) -> Option<PathBuf> {
    shared(&format!("sass-broken/{name}"))
}

/// Returns the message with which both load and check refuse `path`; paths in it are relative.
fn refusal(path: &Path, options: &TraceOptions) -> String {
    let error = load(path, options).expect_err("a refusal").to_string();
    assert_eq!(check(path, options).expect_err("a refusal").to_string(), error);
    error.replace(&format!("{}/", path.display()), "")
}

/// Writes a trace of files, given by name and content, into a new folder.
fn write_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Returns the message with which a kernel's text is refused.
fn refusal_message(text: &str) -> String {
    let folder = write_folder(&[("kernelslist.g", "kernel-1.traceg\n"), ("kernel-1.traceg", text)]);
    refusal(folder.path(), &TraceOptions::default())
}

const TRACE_HEADER: &str = "-kernel name = k
-kernel id = 1
-grid dim = (2,1,1)
-block dim = (64,1,1)
-shmem = 0
-nregs = 16
-binary version = 70
-accelsim tracer version = 4

";
const CTA_TEXT: &str = "#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 2
0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 0x100 4 
0010 ffffffff 0 EXIT 0 0 
warp = 1
insts = 1
0010 ffffffff 0 EXIT 0 0 
#END_TB
";

fn complete_trace() -> String {
    format!("{TRACE_HEADER}{CTA_TEXT}{CTA_TEXT}")
}

#[test]
fn every_broken_reference_trace_is_refused_with_a_helpful_message() {
    let Some(all) = broken_reference_trace("") else { return };
    let mut seen = 0;
    for (name, message) in EXPECTED_MESSAGES {
        let Some(path) = broken_reference_trace(name) else { return };
        assert_eq!(refusal(&path, &TraceOptions::default()), *message, "{name}");
        seen += 1;
    }
    // This one trace is accepted with a note.
    let path = broken_reference_trace("memcpy-four-fields").unwrap();
    let workload = load(&path, &TraceOptions::default()).unwrap();
    assert_eq!(workload.notes, [("MemcpyHtoD lines with more than three fields: the further fields were ignored".to_string(), 1)]);
    assert_eq!(workload.commands.len(), 2);
    assert_eq!(std::fs::read_dir(all).unwrap().count(), seen + 1, "a broken trace is not tested");
}

const EXPECTED_MESSAGES: &[(&str, &str)] = &[
    (
        "bad-address",
        "error: kernel-1.traceg:35: an address cannot be read
  found: `0x7f58zzce400` in cta 0, warp 0
  expected: a hexadecimal number of at most 16 digits
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
    ),
    (
        "cut-in-warp",
        "error: kernel-1.traceg:120: the file ends inside a CTA
  found: the end of the file in cta 0, after 24 of the 33 instructions of warp 2
  expected: all instructions of the warp, and `#END_TB`
  help: the tracer was stopped or the copy is incomplete: trace or copy it again",
    ),
    (
        "empty",
        "error: kernel-1.traceg: the file is empty
  found: no text
  expected: the header of a kernel trace
  help: the tracer was stopped or the copy is incomplete: trace or copy it again",
    ),
    (
        "header-rubbish",
        "error: kernel-1.traceg:6: the registers per thread exceed the limit of every machine
  found: `-nregs = 21955`
  expected: at most 255
  help: write the number the compiler reports, or pass --lenient to take the highest register used
error: kernel-1.traceg:7: no opcode table has this binary version
  found: `-binary version = 0`
  expected: one of 35 (Kepler), 60, 61 (Pascal), 70 (Volta), 75 (Turing), 80, 86, 87, 89 (Ampere), 90 (Hopper)
  help: write the version of the traced GPU, or pass --lenient to guess it from the opcodes",
    ),
    (
        "mask-without-addresses",
        "error: kernel-1.traceg:35: an access has fewer addresses than active lanes
  found: 1 address in cta 0, warp 0
  expected: 32, one for each active lane (address mode 0)
  help: the file is damaged: trace or copy it again",
    ),
    (
        "missing-kernel",
        "error: kernelslist.g:2: the kernel's file does not exist
  found: `kernel-7.traceg`
  expected: kernel-7.traceg, plain or with .xz, .gz or .zst
  help: copy the whole folder of the trace, or correct the line",
    ),
    (
        "not-a-trace",
        "error: kernel-1.traceg:1: this is not the header of a kernel trace
  found: `PK\\u{3}\\u{4} this is a zip`
  expected: lines `-key = value`, the first of them `-kernel name = ...`
  help: give a .traceg file of the Accel-Sim tracer, or a kernelslist.g that names some",
    ),
    (
        "too-big-cta",
        "error: kernel-1.traceg:4: no SM holds a CTA of this size
  found: (4096,1,1), which is 4096 threads or 128 warps; the first CTA lists 4 warps
  expected: 1 to 1024 threads
  help: correct the line: its product is 32 times the warps that each CTA lists",
    ),
    (
        "unknown-isa",
        "error: kernel-1.traceg:7: no opcode table has this binary version
  found: `-binary version = 123`
  expected: one of 35 (Kepler), 60, 61 (Pascal), 70 (Volta), 75 (Turing), 80, 86, 87, 89 (Ampere), 90 (Hopper)
  help: write the version of the traced GPU, or pass --lenient to guess it from the opcodes",
    ),
    (
        "unknown-opcode",
        "error: kernel-1.traceg:39: the opcode is in no table of this binary version
  found: `FROBNICATE` at pc 0x00e0 in cta 0, warp 0
  expected: an opcode of Volta (binary version 70)
  help: check the header's binary version, or pass --lenient to treat it as an ALU operation and count it",
    ),
    (
        "wrong-count",
        "error: kernel-1.traceg:59: a warp lists fewer instructions than it declares
  found: 33 instructions in cta 0, warp 0
  expected: 34, by the line `insts = 34`
  help: the file is damaged: trace or copy it again",
    ),
];

#[test]
fn leniency_guesses_the_isa_and_the_registers_with_a_note() {
    let Some(path) = broken_reference_trace("header-rubbish") else { return };
    let workload = load(&path, &LENIENT_OPTIONS()).unwrap();
    assert_eq!(workload.kernels[0].info.registers, 18);
    let notes: Vec<&str> = workload.notes.iter().map(|(note, _)| note.as_str()).collect();
    assert_eq!(
        notes,
        [
            "binary version 0 is in no table: Volta (70) guessed from the opcodes",
            "21955 registers per thread are impossible: 18 assumed, from the highest register used",
        ]
    );
}

#[test]
fn leniency_counts_unknown_opcodes_and_runs_them_as_alu_operations() {
    let Some(path) = broken_reference_trace("unknown-opcode") else { return };
    let workload = load(&path, &LENIENT_OPTIONS()).unwrap();
    let note = "the opcode FROBNICATE is unknown in binary version 70 and runs as an ALU operation".to_string();
    assert_eq!(workload.notes, [(note, 1)]);
    // Every execution counts; here each of the four warps executes one.
    let text = format!("{TRACE_HEADER}{CTA_TEXT}{CTA_TEXT}").replace("0 EXIT", "0 FOO.BAR");
    let folder = write_folder(&[("kernel-1.traceg", &text)]);
    let report = check(&folder.path().join("kernel-1.traceg"), &LENIENT_OPTIONS()).unwrap();
    assert_eq!(report.notes[0].1, 4);
}

#[test]
fn leniency_does_not_guess_instructions() {
    for name in ["bad-address", "cut-in-warp", "mask-without-addresses", "wrong-count", "too-big-cta", "empty", "not-a-trace"] {
        let Some(path) = broken_reference_trace(name) else { return };
        load(&path, &LENIENT_OPTIONS()).expect_err(name);
    }
}

#[test]
fn a_whole_trace_is_accepted() {
    let folder = write_folder(&[("kernelslist.g", "kernel-1.traceg\n"), ("kernel-1.traceg", &complete_trace())]);
    let report = check(folder.path(), &TraceOptions::default()).unwrap();
    assert_eq!((report.ctas(), report.warp_instructions(), report.notes.len()), (2, 6, 0));
}

#[test]
fn contradictions_between_header_and_body_are_refused() {
    let cases: [(String, &str); 8] = [
        (
            complete_trace().replace("(2,1,1)", "(3,1,1)"),
            "error: kernel-1.traceg:29: the file has fewer CTAs than its grid
  found: 2 CTAs
  expected: 3, as `-grid dim = (3,1,1)` says
  help: the tracer was stopped or the copy is incomplete: trace or copy it again",
        ),
        (
            complete_trace().replace("(2,1,1)", "(1,1,1)"),
            "error: kernel-1.traceg:20: the file continues after the last CTA of the grid
  found: `#BEGIN_TB`
  expected: the end of the file, as `-grid dim = (1,1,1)` says
  help: the header's grid dim or the file is wrong: trace the kernel again",
        ),
        (
            complete_trace().replace("(64,1,1)", "(32,1,1)"),
            "error: kernel-1.traceg:16: the warp lies outside of its block
  found: warp 1 in cta 0
  expected: a number below 1, the warps of a block by the header
  help: the header's block dim or the file is wrong: trace the kernel again",
        ),
        (
            complete_trace().replacen("warp = 1", "warp = 0", 1),
            "error: kernel-1.traceg:16: the warp is listed twice
  found: warp 0 in cta 0
  expected: each warp once
  help: the header's block dim or the file is wrong: trace the kernel again",
        ),
        (
            complete_trace().replacen("insts = 2", "insts = 1", 1),
            "error: kernel-1.traceg:15: a warp lists more instructions than it declares
  found: `0010 ffffffff 0 EXIT 0 0` in cta 0
  expected: `warp = N` or `#END_TB`
  help: the file is damaged: trace or copy it again",
        ),
        (
            complete_trace().trim_end().trim_end_matches("#END_TB").to_string(),
            "error: kernel-1.traceg:28: the file ends inside a CTA
  found: the end of the file in cta 1, after the warps that it lists
  expected: all instructions of the warp, and `#END_TB`
  help: the tracer was stopped or the copy is incomplete: trace or copy it again",
        ),
        (
            complete_trace().replace("-nregs = 16", "-nregs = 256"),
            "error: kernel-1.traceg:6: the registers per thread exceed the limit of every machine
  found: `-nregs = 256`
  expected: at most 255
  help: write the number the compiler reports, or pass --lenient to take the highest register used",
        ),
        (
            complete_trace().replace("-nregs = 16\n", "").replace("(64,1,1)", "(64;1)"),
            "error: kernel-1.traceg:4: the value of `-block dim` cannot be read
  found: `(64;1)`
  expected: three numbers, as in (8,1,1)
  help: trace the kernel again, or write the line by hand
error: kernel-1.traceg:9: the header has no line `-nregs = ...`
  found: the end of the header
  expected: a line `-nregs = ...`
  help: trace the kernel again, or write the line by hand",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refusal_message(&text), message);
    }
}

#[test]
fn instructions_that_cannot_be_read_are_refused() {
    let cases: [(&str, &str, &str); 6] = [
        (
            "1 R1 LDG",
            "1 R256 LDG",
            "error: kernel-1.traceg:14: a register cannot be read
  found: `R256` in cta 0, warp 0
  expected: R0 to R255
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
        ),
        (
            "4 1 0x100 4",
            "4 3 0x100 4",
            "error: kernel-1.traceg:14: the address mode cannot be read
  found: `3` in cta 0, warp 0
  expected: 0 (list), 1 (base and stride) or 2 (base and differences)
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
        ),
        (
            "4 1 0x100 4",
            "4 2 0x100 4 8",
            "error: kernel-1.traceg:14: an access has fewer addresses than active lanes
  found: 3 addresses in cta 0, warp 0
  expected: 32, one for each active lane (address mode 2)
  help: the file is damaged: trace or copy it again",
        ),
        (
            "4 1 0x100 4",
            "4 1 0x100",
            "error: kernel-1.traceg:14: the stride cannot be read
  found: the end of the line in cta 0, warp 0
  expected: a decimal number
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
        ),
        (
            "4 1 0x100 4",
            "0",
            "error: kernel-1.traceg:14: the memory width of LDG.E.SYS cannot be read
  found: `0` in cta 0, warp 0
  expected: a width in bytes, and addresses
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
        ),
        (
            "ffffffff 1 R1",
            "fffffffff 1 R1",
            "error: kernel-1.traceg:14: the mask of active lanes cannot be read
  found: `fffffffff` in cta 0, warp 0
  expected: 8 hexadecimal digits
  help: the file is damaged or of another tracer version than its header says: trace or copy it again",
        ),
    ];
    for (from, to, message) in cases {
        assert_eq!(refusal_message(&complete_trace().replacen(from, to, 1)), message);
    }
}

#[test]
fn lists_without_kernels_and_folders_without_lists_are_refused() {
    let empty = write_folder(&[("kernelslist.g", "")]);
    assert_eq!(
        refusal(empty.path(), &TraceOptions::default()),
        "error: kernelslist.g: the kernel list names no kernel
  found: an empty file
  expected: at least one line with the file name of a kernel, as in kernel-1.traceg
  help: give a kernelslist.g of the Accel-Sim tracer, or a .traceg file"
    );
    let none = write_folder(&[]);
    let message = refusal(none.path(), &TraceOptions::default()).replace(&none.path().display().to_string(), "FOLDER");
    assert_eq!(
        message,
        "error: FOLDER: the folder contains no kernel list
  found: a folder without `kernelslist.g`
  expected: `kernelslist.g`, as the tracer's post-traces-processing tool writes it
  help: give the folder of the list, the list itself or one .traceg file"
    );
    let bad_copy = write_folder(&[("kernelslist.g", "MemcpyHtoD,0xzz,4\nkernel-1.traceg\n")]);
    assert_eq!(
        refusal(bad_copy.path(), &TraceOptions::default()),
        "error: kernelslist.g:1: the copy cannot be read
  found: `MemcpyHtoD,0xzz,4`
  expected: `MemcpyHtoD,0xADDRESS,BYTES`
  help: correct the line; without it the copy is not simulated"
    );
    let absent = Path::new("no/such/kernel-1.traceg");
    assert_eq!(
        load(absent, &TraceOptions::default()).unwrap_err().to_string(),
        "error: no/such/kernel-1.traceg: there is no such file
  found: No such file or directory (os error 2)
  expected: a readable trace, plain or compressed as .xz, .gz or .zst
  help: check the path, and that the whole folder of the trace was copied"
    );
}

/// A list with too many kernels or copies is refused by its length, before its files are opened.
#[test]
fn a_list_of_two_million_kernels_or_copies_is_refused_at_once() {
    let folder = write_folder(&[("kernel-1.traceg", &complete_trace())]);
    let list = folder.path().join("kernelslist.g");
    std::fs::write(&list, "kernel-missing.traceg\n".repeat(2_000_000)).unwrap();
    let message = refusal(folder.path(), &TraceOptions::default());
    assert!(message.contains("found: 2000000 kernels\n  expected: at most 1048575"), "{message}");
    std::fs::write(&list, "MemcpyHtoD,0x100,32\n".repeat(2_000_000) + "kernel-1.traceg\n").unwrap();
    let message = refusal(folder.path(), &TraceOptions::default());
    assert!(message.contains("found: 2000000 copies\n  expected: at most 1048576"), "{message}");
    // The largest accepted list.
    std::fs::write(&list, "MemcpyHtoD,0x100,32\n".repeat(1 << 20) + "kernel-1.traceg\n").unwrap();
    assert_eq!(load(folder.path(), &TraceOptions::default()).unwrap().commands.len(), (1 << 20) + 1);
}

/// A CTA without `#END_TB` is read only up to its declared number of instructions; a compressed one could otherwise fill the memory.
#[test]
fn a_cta_without_an_end_is_refused_at_its_declared_length() {
    let begun = format!("{TRACE_HEADER}#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 2\n");
    let line = "0000 ffffffff 1 R1 MOV 1 R2 0 \n";
    let endless: [(&str, String, &str); 4] = [
        ("more instructions than promised", line.repeat(1 << 20), "of 2 instructions in 1 warps"),
        ("blank lines", "\n".repeat(1 << 20), "of 2 instructions in 1 warps"),
        ("comments", "# comment\n".repeat(1 << 20), "of 2 instructions in 1 warps"),
        ("a line without end", "f".repeat(4 << 20), "a line of more than 1048576 bytes"),
    ];
    for (name, text, found) in endless {
        let folder = tempfile::tempdir().unwrap();
        let packed = zstd::encode_all(format!("{begun}{text}").as_bytes(), 3).unwrap();
        assert!(packed.len() < 1 << 16, "{name}");
        std::fs::write(folder.path().join("kernel-1.traceg.zst"), packed).unwrap();
        std::fs::write(folder.path().join("kernelslist.g"), "kernel-1.traceg\n").unwrap();
        let options = TraceOptions { chunk_bytes: 1 << 16, ..TraceOptions::default() };
        let message = refusal(folder.path(), &options);
        assert!(message.contains("a CTA is longer than it declares") && message.contains(found), "{name}: {message}");
    }
}

#[test]
fn control_characters_are_shown_as_escapes_in_messages_and_notes() {
    let named = write_folder(&[("kernelslist.g", "kernel-\u{1b}[2J.traceg\n")]);
    let message = refusal(named.path(), &TraceOptions::default());
    assert!(message.contains("found: `kernel-\\u{1b}[2J.traceg`"), "{message}");
    let text = complete_trace().replace("-kernel id = 1", "-\u{1b}[2J = 1");
    let folder = write_folder(&[("kernelslist.g", "kernel-1.traceg\n"), ("kernel-1.traceg", &text)]);
    let workload = load(folder.path(), &TraceOptions::default()).unwrap();
    assert!(workload.notes.iter().all(|(note, _)| !note.contains(char::is_control)), "{:?}", workload.notes);
    assert!(workload.notes.iter().any(|(note, _)| note.contains("-\\u{1b}[2J")), "{:?}", workload.notes);
}

#[test]
fn files_that_cannot_be_decompressed_or_read_are_refused() {
    let corrupt = write_folder(&[("kernelslist.g", "kernel-1.traceg\n"), ("kernel-1.traceg.xz", "this is no xz stream")]);
    let message = refusal(corrupt.path(), &TraceOptions::default());
    assert!(message.starts_with("error: kernel-1.traceg.xz: the file cannot be read\n  found: "), "{message}");
    assert!(message.ends_with("check its permissions, and with `xz -t`, `gzip -t` or `zstd -t` whether it is intact"), "{message}");
    let nested = write_folder(&[("kernelslist.g", "kernel-1.traceg\n")]);
    std::fs::create_dir(nested.path().join("kernel-1.traceg")).unwrap();
    let message = refusal(nested.path(), &TraceOptions::default());
    assert!(message.contains("kernel-1.traceg: the file cannot be read\n  found: it is a folder, expected a regular file"), "{message}");
}

#[test]
fn a_raw_trace_is_refused_until_it_is_grouped() {
    let raw = format!("{TRACE_HEADER}#traces format = x\n\n0 0 0 0 0000 ffffffff 1 R1 MOV 0 0 \n");
    assert_eq!(
        refusal_message(&raw),
        "error: kernel-1.traceg:12: instructions are outside of a CTA's block
  found: `0 0 0 0 0000 ffffffff 1 R1 MOV 0 0`
  expected: `#BEGIN_TB`, which opens cta 0
  help: a raw .trace must pass through the tracer's post-traces-processing tool first"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A trace with changed bytes is read or refused, with the same result for every batch size.
    #[test]
    fn damaged_bytes_never_crash_the_reader(at in 0usize..600, byte in any::<u8>(), cut in 0usize..700, lenient in any::<bool>()) {
        let mut bytes = complete_trace().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut.max(1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel-1.traceg");
        std::fs::write(&path, &bytes).unwrap();
        let of = |chunk_bytes| {
            let options = TraceOptions { lenient, chunk_bytes, ..TraceOptions::default() };
            check(&path, &options).map(|r| (r.warp_instructions(), r.notes)).map_err(|error| error.to_string())
        };
        prop_assert_eq!(of(7), of(1 << 20));
    }
}
