//! Programs of very many launches: memory per launch, and the largest number of launches.

use std::path::Path;

use super::{ok, program, warpshard};

/// Bytes of memory per launch of saxpy; its counters, row and description remain until the end of a run.
const BYTES_PER_LAUNCH: u64 = 2_500;

/// Writes a launch file that launches saxpy `count` times, for 32 elements, with `alpha` as the bits of its factor.
fn write_launch_file(folder: &Path, count: u64, alpha: &str) -> String {
    let listing = Path::new(&program("saxpy")).with_file_name("saxpy.sm_70.sass");
    let text = format!(
        r#"
name = "many"
modules = {{ sm_70 = "{}" }}
[buffers]
x = {{ type = "f32", count = 32 }}
y = {{ type = "f32", count = 32 }}
[[launches]]
kernel = "saxpy"
grid = [1]
block = [32]
arguments = [32, {alpha}, "&x", "&y"]
repeat = {count}
"#,
        listing.display()
    );
    let file = folder.join(format!("{count}.toml"));
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Returns the peak memory in bytes of a run of `count` launches; `None` if the operating system does not report it.
fn peak_memory(count: u64, alpha: &str) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (write_launch_file(folder.path(), count, alpha), folder.path().join("out"));
    ok(&["run", "--machine", "tiny", "--threads", "1", "--program", &file, "--out", &out.display().to_string()]);
    let host: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(out.join("host.json")).unwrap()).unwrap();
    host["peak_memory_bytes"].as_u64()
}

#[test]
fn a_launch_takes_little_memory_even_with_distinct_arguments() {
    let (few, many) = (1_000, 4_000);
    for alpha in ["2.5", "\"i\""] {
        let (Some(least), Some(most)) = (peak_memory(few, alpha), peak_memory(many, alpha)) else { return };
        let bytes = most.saturating_sub(least) / (many - few);
        assert!(bytes <= BYTES_PER_LAUNCH, "{bytes} bytes for each launch with alpha = {alpha}");
    }
}

#[test]
fn a_hundred_thousand_launches_take_less_than_200_mb() {
    if !std::env::var("WARPSHARD_AT_LENGTH").is_ok_and(|value| value == "1") {
        return;
    }
    for alpha in ["2.5", "\"i\""] {
        let Some(bytes) = peak_memory(100_000, alpha) else { return };
        assert!(bytes < 200_000_000, "{bytes} bytes with alpha = {alpha}");
    }
}

#[test]
fn more_launches_than_can_be_numbered_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_launch_file(folder.path(), 1 << 20, "2.5");
    let done = warpshard(&["exec", &file]);
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success());
    assert!(message.contains("the program launches too many kernels") && message.contains("at most 1048575"), "{message}");
}
