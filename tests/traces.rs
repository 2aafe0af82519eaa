//! The trace front end against real traces, the reference's counts, and broken files.

use std::path::{Path, PathBuf};

use warpshard::frontend::sass::{TraceOptions, check, load};

/// A folder of the shared references; says so and returns nothing where they are absent.
fn shared(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference").join(path);
    if folder.exists() {
        return Some(folder);
    }
    use std::io::Write;
    writeln!(std::io::stderr(), "SKIPPED: {} is not there", folder.display()).unwrap();
    None
}

/// The names of the folders in `folder`, sorted.
fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Warp and thread instructions of a real trace by the reference's results on one configuration.
fn reference_counts(trace: &str) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(shared("accel-sim/results.csv")?).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|c| *c == name).unwrap();
    let (name, config, rc) = (column("trace"), column("config"), column("rc"));
    let (warp, thread) = (column("warp_insn"), column("gpu_tot_sim_insn"));
    let row = lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .find(|row| row[name] == format!("real-{trace}") && row[config] == "SM7_QV100" && row[rc] == "0")?;
    Some((row[warp].parse().unwrap(), row[thread].parse().unwrap()))
}

#[test]
fn instruction_counts_equal_the_references() {
    let Some(folder) = shared("sass") else { return };
    let mut compared = 0;
    for name in folders(&folder) {
        let report = check(&folder.join(&name), &TraceOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ctas: u64 = report.kernels.iter().map(|k| k.info.grid.count()).sum();
        assert_eq!(report.ctas(), ctas, "{name}");
        assert_eq!(report.kernels.iter().flat_map(|k| k.classes).sum::<u64>(), report.warp_instructions(), "{name}");
        match reference_counts(&name) {
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
    let names = folders(&folder);
    assert_eq!(names.len(), 10);
    for name in names {
        let workload = load(&folder.join(&name), &TraceOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(workload.name, name);
        assert!(!workload.kernels.is_empty(), "{name}");
    }
}
