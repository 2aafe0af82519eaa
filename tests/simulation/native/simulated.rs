//! A native trace gives the same results as its text.

use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::report::{RunFacts, json};
use warpshard::trace::{TraceOptions, load};

use super::common::to_native_file;
use crate::common::shared;

#[test]
fn results_of_a_native_trace_equal_those_of_its_text() {
    let Some(all) = shared("sass") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let native = scratch.path().join("another-name.wst");
    for (name, machine) in [
        ("bfs-rodinia-3.1-4096", "m2090"),
        ("pytorch-pow-f32-hdrfix", "tiny"),
        ("vectoradd-100-pascal", "p100"),
        ("vecadd-f64-100k-turing-v1.2", "v100"),
        ("vecadd-f64-100k-turing-v5-lineinfo", "rtx2060"),
    ] {
        let machine = warpshard::catalogue().machine(machine, &[]).unwrap().machine;
        to_native_file(&all.join(name), &native, true);
        let mut stats = Vec::new();
        // The text is decoded while it loads; the native file is decoded while it loads and, on two threads, on demand.
        for (path, threads, eager_bytes) in [(all.join(name), 1, 128 << 20), (native.clone(), 1, 128 << 20), (native.clone(), 2, 0)] {
            let options = TraceOptions { threads, eager_bytes, ..TraceOptions::default() };
            let workload = Arc::new(load(&path, &options).unwrap());
            let result = simulate(&machine, &workload, RunOptions { threads, ..RunOptions::default() }).unwrap();
            stats.push(json::stats(&RunFacts::of(&machine, &workload.name, 1), &result.outcome));
        }
        assert!(stats[0].contains(name));
        assert!(stats[1] == stats[0], "{name}");
        assert!(stats[2] == stats[0], "{name}, streamed");
    }
}
