//! Tests of barriers in shared memory, clusters and cooperative launches in `tests/data/programs/hopper.cu`.

use std::path::Path;
use std::sync::Arc;

use super::Program;
use super::error::ProgramError;

/// Returns a program with one launch of a kernel; `keys` are further keys of the launch.
fn program(folder: &Path, arch: u32, (kernel, grid, block): (&str, u32, u32), keys: &str) -> Result<Arc<Program>, ProgramError> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    let listing = data.join(format!("hopper.sm_{arch}.sass")).canonicalize().unwrap();
    let text = format!(
        "modules = {{ sm_{arch} = {listing:?} }}\nlimit = 1000000\n[buffers]\n\
         a = {{ type = \"i32\", count = 512, contents = {{ sequence = [0, 1] }} }}\n\
         o = {{ type = \"i32\", count = 512, contents = {{ constant = 0 }} }}\n\
         [[launches]]\nkernel = \"{kernel}\"\ngrid = [{grid}]\nblock = [{block}]\n{keys}\n[[outputs]]\nbuffer = \"o\"\n"
    );
    let file = folder.join(format!("{kernel}.toml"));
    std::fs::write(&file, text).unwrap();
    Program::load(&file, None, &[])
}

fn output(program: &Arc<Program>) -> Result<Vec<i32>, ProgramError> {
    // The checks of shared memory do not recognise polling loops, which precede Hopper, as ordering.
    let done = if program.arch < 90 { program.execute(false)? } else { program.check(false)? };
    Ok(done.outputs[0].bytes.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect())
}

#[test]
fn copies_complete_at_barriers_in_shared_memory() {
    let folder = tempfile::tempdir().unwrap();
    for arch in [80, 90] {
        let program = program(folder.path(), arch, ("copies", 1, 128), "arguments = [\"&a\", \"&o\"]").unwrap();
        assert_eq!(output(&program).unwrap(), (0..512).map(|i| 511 - i).collect::<Vec<i32>>(), "sm_{arch}");
    }
}

#[test]
fn asynchronous_copies_bring_the_address_of_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    for arch in [80, 90] {
        let program = program(folder.path(), arch, ("chase", 1, 32), "arguments = [\"&a\", \"&o\"]").unwrap();
        // Each word holds its index.
        let expected: Vec<i32> = (0..32).map(|i| (0..20).fold(i, |at, _| 7 * at % 512)).collect();
        assert_eq!(output(&program).unwrap()[..32], expected, "sm_{arch}");
    }
}

#[test]
fn waits_for_incomplete_phases_report_missing_arrivals() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), 90, ("stuck", 1, 64), "arguments = [\"&o\"]").unwrap();
    let error = output(&program).unwrap_err().to_string();
    assert!(error.contains("lacks 1 arrivals and 0 bytes") && error.contains("warp 1"), "{error}");
}

#[test]
fn ctas_of_a_cooperative_launch_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for arch in [80, 90] {
        let with = |keys: &str| {
            let keys = format!("arguments = [\"&a\", \"&o\"]\n{keys}");
            program(folder.path(), arch, ("two_phases", 6, 32), &keys).and_then(|program| output(&program))
        };
        assert_eq!(with("cooperative = true").unwrap()[0], 21, "sm_{arch}");
        // Without the key the runtime's own check traps.
        assert!(with("").unwrap_err().to_string().contains("cooperative = true"));
    }
}

#[test]
fn ctas_of_a_cluster_share_their_memory() {
    let folder = tempfile::tempdir().unwrap();
    let launch = |grid, keys: &str| program(folder.path(), 90, ("neighbours", grid, 32), &format!("arguments = [\"&o\"]\n{keys}"));
    let got = output(&launch(4, "").unwrap()).unwrap();
    let other = |i: i32| 100 * ((i / 32) ^ 1) + 31 - i % 32;
    assert_eq!(got[..128], (0..128).map(other).collect::<Vec<i32>>());
    assert_eq!(got[128..256], (0..128).map(|i| 1000 + 100 * (i / 32) + i % 32).collect::<Vec<i32>>());
    assert!(launch(3, "").unwrap_err().to_string().contains("does not divide the grid"));
    assert!(launch(4, "cluster = [4]").unwrap_err().to_string().contains("was compiled"));
}

#[test]
fn warps_wait_for_each_others_copies_in_a_pipeline() {
    // All 128 threads arrive at the barriers of three stages; each thread reads a value that another thread copied.
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    for arch in [80, 90] {
        let listing = data.join(format!("pipeline.sm_{arch}.sass")).canonicalize().unwrap();
        let file = folder.path().join("pipeline.toml");
        let text = format!(
            "modules = {{ sm_{arch} = {listing:?} }}\n[buffers]\n\
             a = {{ type = \"i32\", count = 2560, contents = {{ formula = \"i * 7919 % 1009\" }} }}\no = {{ type = \"i32\", count = 128 }}\n\
             [[launches]]\nkernel = \"pipeline_of_copies\"\ngrid = [1]\nblock = [128]\narguments = [\"&a\", \"&o\", 20]\n[[outputs]]\nbuffer = \"o\"\n"
        );
        std::fs::write(&file, text).unwrap();
        let done = Program::load(&file, None, &[]).and_then(|program| program.execute(false)).unwrap_or_else(|error| panic!("{error}"));
        let got: Vec<i32> = done.outputs[0].bytes.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect();
        let sum = |thread: i32| {
            let element = |batch: i32| (128 * batch + 127 - thread) * 7919 % 1009;
            (0..20).fold(0_i32, |sum, batch| sum.wrapping_mul(3).wrapping_add(element(batch)))
        };
        assert_eq!(got, (0..128).map(sum).collect::<Vec<_>>(), "sm_{arch}");
        // A warp that polls an incomplete barrier gives the other warps a turn.
        assert!(done.warp_instructions() < 20_000, "{} instructions for sm_{arch}", done.warp_instructions());
    }
}
