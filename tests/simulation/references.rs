//! Reference data: generated traces, and the built-in results of other simulators.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpshard::trace::{SYNTHETIC_KERNELS, SyntheticKernel};
use warpshard::{lab::reference::References, validate::MeasuredTable};

/// Writer that counts and checksums the bytes.
#[derive(Default)]
struct ChecksumWriter {
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl Write for ChecksumWriter {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.bytes += text.len() as u64;
        self.crc.update(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn generated_traces_have_the_bytes_on_record() {
    let recorded: Vec<&str> = include_str!("../data/synthetic-traces.csv").lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    let mut generated: Vec<String> = SYNTHETIC_KERNELS
        .iter()
        .map(|kernel| {
            let mut sum = ChecksumWriter::default();
            kernel.write_kernel(&mut sum).unwrap();
            format!("{},{},{:08x},{:08x}", kernel.name, sum.bytes, sum.crc.finalize(), crc32fast::hash(kernel.list().as_bytes()))
        })
        .collect();
    generated.sort();
    assert_eq!(generated, recorded);
}

#[test]
fn the_reference_generator_writes_the_same_bytes() {
    let Some(generator) = References::default().recorded("sass/generate.py") else { return };
    let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let names = ["atomic_hist", "gather_list", "pchase_dram_64", "ffma_dep_1warp", "stride8"];
    let run = Command::new("python3").arg(&generator).arg(theirs.path()).args(names).output().expect("python3 is at hand");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for name in names {
        SyntheticKernel::named(name).unwrap().write_to(&ours.path().join(name)).unwrap();
        for file in ["kernelslist.g", "kernel-1.traceg"] {
            let read = |folder: &tempfile::TempDir| std::fs::read(folder.path().join(name).join(file)).unwrap();
            assert!(read(&theirs) == read(&ours), "{name}/{file}");
        }
    }
}

#[test]
fn an_existing_trace_is_kept_and_a_failed_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = SyntheticKernel::named("pchase_l2_128").unwrap();
    let path = folder.path().join("trace");
    kernel.write_to(&path).unwrap();
    std::fs::write(path.join("kernel-1.traceg"), "kept").unwrap();
    kernel.write_to(&path).unwrap();
    assert_eq!(std::fs::read_to_string(path.join("kernel-1.traceg")).unwrap(), "kept");
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(kernel.write_to(&folder.path().join("file/trace")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Returns the rows of a table as maps from column to cell.
fn table_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn the_built_in_figures_equal_the_references() {
    for measured in MeasuredTable::ALL {
        let (name, ours) = measured.built_in();
        let Some(path) = References::default().recorded(measured.path()) else { continue };
        let (ours, theirs) = (table_rows(ours), table_rows(&std::fs::read_to_string(path).unwrap()));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            for (column, cell) in ours {
                assert_eq!(theirs.get(column), Some(cell), "{name}: {column} of {theirs:?}");
            }
        }
    }
}

/// Files that may name the folder of recorded traces: the module that finds it, the help text, and this test.
const ALLOWED_FILES: [&str; 3] = ["crates/lab/src/reference/mod.rs", "src/cli/args/shared.rs", "tests/simulation/references.rs"];

fn collect_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_one_module_names_the_folder_of_recorded_traces() {
    let mut files = Vec::new();
    ["src", "crates", "papers/src", "validate/src", "tests", "benches", "examples"]
        .iter()
        .for_each(|folder| collect_sources(Path::new(folder), &mut files));
    assert!(files.len() > 600);
    let allowed = ALLOWED_FILES.map(Path::new);
    let others = files.iter().filter(|file| !allowed.contains(&file.as_path()));
    let wrong: Vec<_> = others.filter(|file| std::fs::read_to_string(file).unwrap().contains("../shared")).collect();
    assert!(wrong.is_empty(), "use `References::default()`, which the gate can hide, instead of a path: {wrong:?}");
}
