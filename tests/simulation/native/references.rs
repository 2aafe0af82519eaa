//! Round trips of recorded and generated traces through the native format.

use std::path::Path;

use warpshard::trace::{SyntheticKernel, TraceOptions, check, load};

use super::common::{decompress_file, round_trip, to_native_file, to_text_files, workload_instructions};
use crate::common::shared;

#[test]
fn every_recorded_trace_round_trips_and_executes_the_same() {
    let Some(all) = shared("sass") else { return };
    let mut names: Vec<_> = std::fs::read_dir(&all).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    names.sort();
    assert_eq!(names.len(), 10);
    for folder in names {
        let scratch = tempfile::tempdir().unwrap();
        let done = round_trip(&folder, scratch.path());
        let native = scratch.path().join("one.wst");
        let (text, packed) = (check(&folder, &TraceOptions::default()).unwrap(), check(&native, &TraceOptions::default()).unwrap());
        assert_eq!(text.warp_instructions(), done.warp_instructions);
        assert_eq!(text.notes, packed.notes);
        for (one, two) in text.kernels.iter().zip(&packed.kernels) {
            assert_eq!((&one.info, one.classes, one.static_instructions), (&two.info, two.classes, two.static_instructions));
            assert_eq!((one.ctas, one.warps, one.decoded_bytes), (two.ctas, two.warps, two.decoded_bytes));
            assert!(one.text_bytes.abs_diff(two.text_bytes) < 16, "the blank lines after the last CTA");
        }
        // Programs are compared only if both fit in memory easily.
        if done.text_bytes < 64 << 20 {
            let of = |path: &Path| workload_instructions(&load(path, &TraceOptions::default()).unwrap());
            assert!(of(&folder) == of(&native), "{}", folder.display());
        }
    }
}

#[test]
fn generated_traces_round_trip_and_execute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["atomic_same", "atomic_hist", "gather_delta", "gather_list", "pchase_l1_1024", "smem_conflict8", "divergent", "bigcode"] {
        let scratch = tempfile::tempdir().unwrap();
        let trace = folder.path().join(name);
        SyntheticKernel::named(name).unwrap().write_to(&trace).unwrap();
        round_trip(&trace, scratch.path());
        let of = |path: &Path| workload_instructions(&load(path, &TraceOptions::default()).unwrap());
        assert!(of(&trace) == of(&scratch.path().join("one.wst")), "{name}");
    }
}

#[test]
fn programs_do_not_depend_on_window_threads_or_compression() {
    let Some(folder) = shared("sass") else { return };
    let scratch = tempfile::tempdir().unwrap();
    for name in ["bfs-rodinia-3.1-4096", "vecadd-f64-100k-turing-v1.2"] {
        let whole = workload_instructions(&load(&folder.join(name), &TraceOptions::default()).unwrap());
        for compress in [false, true] {
            let native = scratch.path().join("trace.wst");
            to_native_file(&folder.join(name), &native, compress);
            for (threads, window_bytes) in [(1, 1), (1, 1 << 24), (3, 1 << 16), (3, 1 << 30)] {
                let options = TraceOptions { threads, window_bytes, eager_bytes: 0, ..TraceOptions::default() };
                assert!(
                    workload_instructions(&load(&native, &options).unwrap()) == whole,
                    "{name}: {threads} threads, window {window_bytes}"
                );
            }
        }
    }
}

#[test]
fn a_cta_is_found_without_decoding_earlier_ctas() {
    let Some(folder) = shared("sass/vecadd-vecsub-f32-1M-turing") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let native = scratch.path().join("trace.wst");
    to_native_file(&folder, &native, true);
    let whole = load(&folder, &TraceOptions::default()).unwrap();
    let options = TraceOptions { eager_bytes: 0, window_bytes: 1, ..TraceOptions::default() };
    let streamed = load(&native, &options).unwrap();
    for cta in [4000, 17, 4095, 4000, 0, 2048] {
        let cta = warpshard::base::CtaIndex(cta);
        for (one, two) in whole.kernels.iter().zip(&streamed.kernels) {
            assert_eq!(one.source.cta(cta).warps, two.source.cta(cta).warps, "{cta:?}");
        }
    }
}

#[test]
fn text_is_recompressed_by_file_name_and_keeps_the_traces_name() {
    let Some(folder) = shared("sass/vecadd-f64-100k-volta") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (native, text) = (scratch.path().join("trace.wst"), scratch.path().join("elsewhere"));
    to_native_file(&folder, &native, true);
    to_text_files(&native, &text, true);
    let kernel = "kernel-1.traceg.xz";
    assert!(std::fs::read(text.join(kernel)).unwrap().starts_with(b"\xfd7zXZ"));
    assert!(decompress_file(&text.join(kernel)) == decompress_file(&folder.join(kernel)));
    assert_eq!(load(&text, &TraceOptions::default()).unwrap().name, "vecadd-f64-100k-volta");
    // The name needs no extra file if the folder already has it.
    let own = scratch.path().join("vecadd-f64-100k-volta");
    to_text_files(&native, &own, false);
    assert!(!own.join("trace.name").exists());
}
