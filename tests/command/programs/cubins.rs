//! Triton cubins launched from a JSON file: `add.cubin` of `programs/triton/kernels.py`, with 12 CTAs of 128 threads and 3000 elements.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use warpshard::program::Program;

use super::{data, ok, simulated, warpshard};

/// Returns a folder with the cubin, its JSON file and nvdisasm's listing of it.
fn cubin_files() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["add.cubin", "add.json", "add.sass"] {
        fs::copy(data(&format!("triton/{name}")), folder.path().join(name)).unwrap();
    }
    let (cubin, meta) = (folder.path().join("add.cubin"), folder.path().join("add.json"));
    (folder, cubin, meta)
}

/// Writes a fake interpreter that behaves like the real one with nvdisasm installed: called with `-c PROGRAM CUBIN ARCHITECTURE LISTING`,
/// it writes the listing.
fn fake_interpreter(folder: &Path) -> PathBuf {
    let path = folder.join("interpreter");
    let script =
        "#!/bin/sh\ntest \"$1\" = -c && test \"$4\" = sm_90 && cmp -s \"$3\" \"${0%/*}/add.cubin\" && cp \"${0%/*}/add.sass\" \"$5\"\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn read_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn a_cubin_with_json_and_the_launch_file_made_from_it_execute_and_run() {
    let (folder, cubin, meta) = cubin_files();
    let python = fake_interpreter(folder.path());
    let [cubin, meta, python] = [&cubin, &meta, &python].map(|path| path.to_str().unwrap());
    let said = ok(&["exec", cubin, "--meta", meta, "--python", python]);
    assert!(said.contains("add for sm_90: 1,486 warp instructions") && said.contains("FADD"), "{said}");
    // The launch file next to the cubin computes the sums of the initial buffer contents.
    let launch = folder.path().join("add.sm_90.toml");
    let program = Program::load(&launch, None, &[]).unwrap();
    let done = program.execute(false).unwrap();
    let [x, y] = ["x_ptr", "y_ptr"].map(|name| read_floats(&program.input(name).unwrap()));
    let sums: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    assert_eq!((read_floats(&done.outputs[0].bytes), x.len()), (sums, 3000));
    assert!(x != y && x.iter().any(|x| *x != 0.0));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (direct, again) = (path("direct"), path("again"));
    ok(&["run", cubin, "--meta", meta, "--python", python, "--machine", "h100", "--out", &direct]);
    // The launch file also runs after the cubin is removed.
    fs::remove_file(cubin).unwrap();
    ok(&["run", "--program", launch.to_str().unwrap(), "--machine", "h100", "--out", &again]);
    let direct = simulated(Path::new(&direct));
    assert!(direct.contains("\"warp_instructions\":1486"), "{direct}");
    assert_eq!(direct, simulated(Path::new(&again)));
}

#[test]
fn errors_in_a_cubin_or_its_json_are_reported_and_nothing_is_overwritten() {
    let (folder, cubin, meta) = cubin_files();
    let python = fake_interpreter(folder.path());
    let listing = folder.path().join("add.sm_90.sass");
    let launch = folder.path().join("add.sm_90.toml");
    let check = |meta: Option<&Path>, code: i32, words: &[&str]| {
        let mut exec = vec!["exec", cubin.to_str().unwrap(), "--python", python.to_str().unwrap()];
        exec.extend(meta.iter().flat_map(|meta| ["--meta", meta.to_str().unwrap()]));
        for arguments in [exec.clone(), [&["run", "--machine", "h100", "--program"], &exec[1..]].concat()] {
            let done = warpshard(&arguments);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(code), "{arguments:?}: {said}");
            words.iter().for_each(|word| assert!(said.contains(word), "`{word}` is missing for {arguments:?} in\n{said}"));
        }
    };
    check(None, 2, &["add.cubin is a cubin", "--meta"]);
    check(Some(&folder.path().join("other.json")), 4, &["other.json", "cannot be read"]);
    let text = fs::read_to_string(&meta).unwrap();
    let wrong = folder.path().join("wrong.json");
    for (from, to, words) in [
        ("\"grid\": [12, 1, 1],", "", &["wrong.json", "missing field `grid`", "docs/programs.md"][..]),
        ("[12, 1, 1]", "[12, 1, 1, 1]", &["`grid` has 4 numbers"]),
        (
            "[\"n\", 3000]",
            "[\"n\", 3000], [\"m\", 1], [\"k\", 1], [\"l\", 1]",
            &["do not match kernel `add`", "found: 7 values", "expected: 6"],
        ),
        ("torch.float32", "torch.complex64", &["`x_ptr` is of an unknown type", "torch.complex64"]),
        ("\"sm90\"", "\"new\"", &["metadata.arch is no architecture", "found: new"]),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&wrong, text.replacen(from, to, 1)).unwrap();
        check(Some(&wrong), 4, words);
        assert!(!launch.exists(), "{to}");
    }
    // The interpreter refuses another architecture.
    fs::write(&wrong, text.replacen("\"sm90\"", "\"sm80\"", 1)).unwrap();
    check(Some(&wrong), 4, &["add.cubin does not compile for sm_80"]);
    // A launch file written by the user stays unchanged.
    fs::write(&launch, "# mine\n").unwrap();
    check(Some(&meta), 6, &["add.sm_90.toml already exists", "compile --out"]);
    assert_eq!(fs::read_to_string(&launch).unwrap(), "# mine\n");
    assert!(listing.exists());
}

#[test]
#[expect(clippy::print_stderr, reason = "the gate looks for skipped tests")]
fn nvdisasm_makes_the_listing_of_a_cubin() {
    let (folder, cubin, meta) = cubin_files();
    let out = folder.path().join("made.sass");
    let done = warpshard(&["compile", cubin.to_str().unwrap(), "--meta", meta.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if said.contains("was not found. Install it with") || said.contains("cannot start python3") {
        eprintln!("SKIPPED: CUDA sources: {}", said.lines().next().unwrap_or_default());
        return;
    }
    assert!(done.status.success(), "{said}");
    let without_tool = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter(|line| !line.starts_with("disassembler ")).map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(without_tool(&out), without_tool(&folder.path().join("add.sass")));
    assert!(folder.path().join("made.toml").is_file());
}
