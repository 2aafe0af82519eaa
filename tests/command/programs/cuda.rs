//! Unmodified CUDA sources with host code, launched through options.

use std::fs;
use std::path::{Path, PathBuf};

use super::warpshard;

const KERNEL_ARGUMENTS: [&str; 8] = ["--arg", "n=1000", "--arg", "x=f32[n]:constant=3", "--arg", "y=f32[n]", "--arg", "a=2"];

/// Copies the sources to a folder, into which listings are written.
fn copied_sources() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs/cuda");
    for file in fs::read_dir(data).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let source = folder.path().join("mixed.cu");
    (folder, source)
}

/// Returns exit code, output and messages; prints a message and returns `None` if NVRTC is not available.
#[expect(clippy::print_stderr, reason = "the gate looks for skipped tests")]
fn compile_source(arguments: &[&str]) -> Option<(i32, String, String)> {
    let done = warpshard(arguments);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if said.contains("was not found. Install it with") || said.contains("cannot start python3") {
        eprintln!("SKIPPED: CUDA sources: {}", said.lines().next().unwrap_or_default());
        return None;
    }
    Some((done.status.code().unwrap(), String::from_utf8_lossy(&done.stdout).into_owned(), said))
}

#[test]
fn a_source_with_host_code_runs_without_a_launch_file() {
    let (folder, source) = copied_sources();
    let path = source.to_str().unwrap();
    let mut exec = vec!["exec", path, "--entry", "scale<float>", "--grid", "(n + 255) / 256", "-D", "OFFSET=1.0f"];
    exec.extend(KERNEL_ARGUMENTS);
    let Some((code, out, said)) = compile_source(&exec) else { return };
    assert_eq!(code, 0, "{said}");
    assert!(out.contains("scale") && out.contains("STG.E"), "{out}");
    assert!(said.contains("note: host code is left out: 2 functions") && said.contains("mixed.cu:12: left out as host code"), "{said}");
    let out = folder.path().join("out").display().to_string();
    let mut run = vec!["run", path, "--machine", "v100", "--entry", "scale<float>", "--grid", "4", "-D", "OFFSET=0", "--out", &out];
    run.extend(KERNEL_ARGUMENTS);
    let (code, report, said) = compile_source(&run).unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(report.contains("scale"), "{report}");
    assert!(folder.path().join("mixed.run.sm_70.toml").is_file() && Path::new(&out).join("stats.json").is_file());
}

#[test]
fn wrong_device_code_is_an_error_with_its_line() {
    let (folder, _) = copied_sources();
    let path = folder.path().join("wrong.cu").display().to_string();
    let Some((code, _, said)) = compile_source(&["compile", &path, "--arch", "sm_80"]) else { return };
    assert_eq!(code, 4);
    assert!(said.contains("wrong.cu(3): error: identifier \"nothing\" is undefined") && said.contains("help: "), "{said}");
}

#[test]
fn an_incomplete_launch_is_reported_before_compilation() {
    let (_folder, source) = copied_sources();
    let path = source.to_str().unwrap();
    for (arguments, code, wanted) in [
        (vec![], 4, "such as scale<float>, which the host code launches"),
        (vec!["--entry", "scale<float>", "--arg", "n=4"], 4, "lacks 3 of its arguments"),
        (vec!["--entry", "shift"], 4, "the source has no kernel `shift`"),
        (vec!["--entry", "scale<float>", "--fill", "0"], 2, "--fill"),
    ] {
        let done = warpshard(&[&["exec", path, "--python", "/nonexistent/python"], arguments.as_slice()].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let done = warpshard(&["exec", "programs/saxpy.toml", "--entry", "saxpy"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("are options of CUDA sources"));
}
