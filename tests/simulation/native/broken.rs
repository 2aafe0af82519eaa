//! Damaged, truncated, newer and foreign files are refused with messages that name the position.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use warpshard::base::CtaIndex;
use warpshard::trace::{ConvertError, TraceOptions, check, load, to_native, to_text};

use super::common::to_native_file;

/// Returns a kernel of a few CTAs. One line of each warp has a suffix of a tracer fork, so that all kinds of blocks occur.
fn kernel_text(ctas: u32) -> String {
    let mut text = format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = ({ctas},1,1)\n-block dim = (64,1,1)\n-shmem = 0\n-nregs = 16\n\
         -binary version = 70\n-accelsim tracer version = 5\n\n"
    );
    for cta in 0..ctas {
        text += &format!("#BEGIN_TB\n\nthread block = {cta},0,0\n\n");
        for warp in 0..2 {
            text +=
                &format!("warp = {warp}\ninsts = 3\n0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 {:#x} 4 0 \n", 0x1000 + cta * 256 + warp * 128);
            text +=
                &format!("0010 0000ffff 1 R3 IMAD 2 R1 R2 0 0 data {} that vary and are long\n0020 ffffffff 0 EXIT 0 0 0 \n\n", cta * 77);
        }
        text += "#END_TB\n\n";
    }
    text
}

/// Writes the kernel as a native file.
fn native_file(scratch: &Path, ctas: u32, compress: bool) -> PathBuf {
    let folder = scratch.join("trace");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kernelslist.g"), "MemcpyHtoD,0x1000,4096\nkernel-1.traceg\nkernel-1.traceg\n").unwrap();
    std::fs::write(folder.join("kernel-1.traceg"), kernel_text(ctas)).unwrap();
    let path = scratch.join("trace.wst");
    to_native_file(&folder, &path, compress);
    path
}

/// Returns the result of loading, checking and converting a file; either all three refuse it or none.
fn load_check_convert(path: &Path) -> Result<(), String> {
    let out = path.with_extension("text");
    std::fs::create_dir_all(&out).unwrap();
    let text = match to_text(path, &out, &out, false, &mut |_| true) {
        Ok(_) => Ok(()),
        Err(ConvertError::Trace(error)) => Err(error.to_string()),
        Err(other) => panic!("{other}"),
    };
    let checked = check(path, &TraceOptions::default()).map(drop).map_err(|error| error.to_string());
    let loaded = load(path, &TraceOptions::default()).map(drop).map_err(|error| error.to_string());
    assert_eq!(checked, loaded);
    // If only text blocks are damaged, the programs still load.
    assert!(checked.is_ok() || text.is_err(), "{checked:?}");
    text
}

fn refusal_message(path: &Path) -> String {
    load_check_convert(path).expect_err("a refusal").replace(&format!("{}/", path.parent().unwrap().display()), "")
}

#[test]
fn messages_name_file_block_and_offset() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 3, false);
    let whole = std::fs::read(&path).unwrap();
    load_check_convert(&path).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        std::fs::write(&path, bytes).unwrap();
        refusal_message(&path)
    };
    let at = |mark: &[u8]| whole.windows(4).position(|window| window == mark).unwrap();
    for (mark, name) in [(b"CTAS", "CTAs"), (b"TEXT", "text"), (b"CODE", "instructions"), (b"LINE", "lines")] {
        let offset = at(mark);
        let message = with(offset + 25, 0xa5);
        let expected = format!("error: trace.wst: the {name} block of kernel-1.traceg at byte {offset} is damaged\n  found: checksum ");
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains("\n  help: copy the file again, or convert the trace again from its text"), "{message}");
    }
    assert!(with(at(b"INDX") + 25, 0xa5).starts_with(&format!("error: trace.wst: the index at byte {} is damaged", at(b"INDX"))));
    assert!(with(9, 1).starts_with("error: trace.wst: the file's header at byte 0 is damaged"));
    let end = whole.len() - 24;
    assert!(with(end + 2, 1).starts_with(&format!("error: trace.wst: the trailer at byte {end} is damaged")));
    assert!(with(whole.len() - 1, b' ').starts_with("error: trace.wst: the file is cut off"));
}

#[test]
fn a_newer_version_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 1, true);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8..12].copy_from_slice(&3u32.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let expected = "error: trace.wst: the file has a version that this program cannot read\n  found: version 3 at byte 8\n  \
                    expected: version 2 or older\n  help: use a newer warpshard, or convert the trace again from its text";
    assert_eq!(refusal_message(&path), expected);
}

#[test]
fn every_cut_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 2, true);
    let whole = std::fs::read(&path).unwrap();
    for length in 8..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let message = refusal_message(&path);
        assert!(message.starts_with("error: trace.wst: the file is cut off"), "{length}: {message}");
    }
    // Extra bytes after the end of a native file are also refused.
    std::fs::write(&path, [&whole[..], b"\n"].concat()).unwrap();
    assert!(refusal_message(&path).starts_with("error: trace.wst: the file is cut off"));
}

#[test]
fn blocks_of_another_position_are_found_by_their_checksums() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 2, false);
    let other = native_file(&scratch.path().join("other"), 2, false);
    let (mut whole, strange) = (std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap());
    assert_eq!(whole, strange);
    // The block is replaced by a valid block at the same position with another address.
    let at = whole.windows(4).position(|window| window == b"CTAS").unwrap();
    let length = u32::from_le_bytes(whole[at + 8..at + 12].try_into().unwrap()) as usize;
    whole[at + 20 + length - 1] ^= 1;
    let crc = crc32fast::hash(&[&whole[at..at + 16], &whole[at + 20..at + 20 + length]].concat());
    whole[at + 16..at + 20].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, whole).unwrap();
    assert!(refusal_message(&path).contains("found: checksum"), "{}", refusal_message(&path));
}

#[test]
fn files_of_other_formats_are_not_read_as_native_traces() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 1, true);
    let options = TraceOptions::default();
    let error = to_native(&path, &mut Vec::new(), true, &options, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("the trace is already native"), "{error}");
    let foreign = scratch.path().join("foreign.wst");
    std::fs::write(&foreign, b"PK\x03\x04 something else").unwrap();
    assert!(load(&foreign, &options).unwrap_err().to_string().contains("the file is cut off"));
    let error = to_text(&foreign, &scratch.path().join("x"), Path::new("x"), false, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("the file is cut off"), "{error}");
    std::fs::write(&foreign, [b'x'; 200]).unwrap();
    let error = to_text(&foreign, &scratch.path().join("x"), Path::new("x"), false, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("this is not a native trace") && error.contains("`xxxxxxxx` at byte 0"), "{error}");
}

#[test]
fn kernels_outside_of_the_folder_are_not_written() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("trace");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kernelslist.g"), "../kernel-1.traceg\n").unwrap();
    std::fs::write(scratch.path().join("kernel-1.traceg"), kernel_text(1)).unwrap();
    let path = scratch.path().join("trace.wst");
    to_native_file(&folder, &path, true);
    assert_eq!(load(&path, &TraceOptions::default()).unwrap().kernels.len(), 1);
    let out = scratch.path().join("out");
    let error = to_text(&path, &out, &out, false, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("`../kernel-1.traceg`"), "{error}");
    assert!(!out.exists());
}

#[test]
fn broken_text_is_refused_as_check_refuses_it() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("kernel-1.traceg");
    let whole = kernel_text(3);
    for broken in [&whole[..whole.len() / 2], &whole.replace("IMAD 2", "FROBNICATE 2"), &whole.replace("(3,1,1)", "(2,1,1)"), ""] {
        std::fs::write(&path, broken).unwrap();
        let expected = check(&path, &TraceOptions::default()).unwrap_err().to_string();
        let error = to_native(&path, &mut Vec::new(), true, &TraceOptions::default(), &mut |_| true).unwrap_err();
        assert!(matches!(error, ConvertError::Trace(_)), "{error}");
        assert_eq!(error.to_string(), expected);
    }
    // Lenient loading of the native file accepts the same lines as of the text, with the same notes.
    std::fs::write(&path, whole.replace("IMAD 2", "FROBNICATE 2")).unwrap();
    let lenient = TraceOptions { lenient: true, ..TraceOptions::default() };
    let mut out = Vec::new();
    to_native(&path, &mut out, true, &lenient, &mut |_| true).unwrap();
    let native = scratch.path().join("a.wst");
    std::fs::write(&native, out).unwrap();
    assert_eq!(load(&native, &lenient).unwrap().notes, load(&path, &lenient).unwrap().notes);
    assert!(load(&native, &TraceOptions::default()).unwrap_err().to_string().contains("`FROBNICATE`"));
}

#[test]
fn a_late_damaged_block_ends_the_run_when_its_ctas_are_requested() {
    let scratch = tempfile::tempdir().unwrap();
    let path = native_file(scratch.path(), 40_000, true);
    let mut bytes = std::fs::read(&path).unwrap();
    let blocks: Vec<usize> = bytes.windows(4).enumerate().filter(|(_, window)| window == b"CTAS").map(|(at, _)| at).collect();
    assert!(blocks.len() > 2, "{blocks:?}");
    let last = blocks[blocks.len() - 1];
    bytes[last + 30] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    for threads in [1, 3] {
        let options = TraceOptions { threads, eager_bytes: 0, window_bytes: 1 << 30, ..TraceOptions::default() };
        let source = load(&path, &options).unwrap().kernels.remove(0).source;
        assert_eq!((source.cta(CtaIndex(0)).warps[0].len(), source.failure()), (3, None));
        assert_eq!(source.cta(CtaIndex(39_999)).warps[0].len(), 0);
        let failure = source.failure().unwrap();
        assert!(failure.contains(&format!("the CTAs block of kernel-1.traceg at byte {last} is damaged")), "{failure}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn flipped_bits_are_never_accepted(places in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..4), compress: bool) {
        let scratch = tempfile::tempdir().unwrap();
        let path = native_file(scratch.path(), 3, compress);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        for (place, bit) in &places {
            bytes[place.index(whole.len())] ^= 1 << bit;
        }
        prop_assume!(bytes != whole);
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(load_check_convert(&path).is_err());
    }
}
