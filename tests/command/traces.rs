//! Traces of other GPUs and formats from the command line, and runs that end early.

use std::path::Path;
use std::process::{Command, Output};

fn warpshard(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpshard")).current_dir(folder).args(arguments).output().unwrap()
}

/// Writes a trace of four warp instructions in the tracer's format for binary version `version`.
fn write_trace(folder: &Path, version: u32) {
    let text = format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n-binary version = {version}\n\
         -cuda stream id = 0\n-shmem base_addr = 0x0000700000000000\n-local mem base_addr = 0x0000710000000000\n-nvbit version = 1.7.6\n\
         -accelsim tracer version = 5\n-enable lineinfo = 0\n\n\
         #traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate\n\n\
         #BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 4\n\
         0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7f0000000000 4 0\n0010 ffffffff 1 R3 IADD3 2 R2 R2 0 0\n\
         0020 ffffffff 0 STG.E 2 R6 R3 4 1 0x7f0000001000 4 0\n0030 ffffffff 0 EXIT 0 0 0\n\n#END_TB\n"
    );
    std::fs::write(folder.join("kernel-1.traceg"), text).unwrap();
    std::fs::write(folder.join("kernelslist.g"), "kernel-1.traceg\n").unwrap();
}

#[test]
fn traces_of_ada_and_orin_are_read_as_those_of_ampere() {
    let folder = tempfile::tempdir().unwrap();
    for version in [87, 89] {
        write_trace(folder.path(), version);
        let done = warpshard(folder.path(), &["run", "--trace", ".", "--machine", "rtx3070", "--out", "out", "--force"]);
        assert!(done.status.success(), "{version}: {}", String::from_utf8_lossy(&done.stderr));
        let stats: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.path().join("out/stats.json")).unwrap()).unwrap();
        assert_eq!(
            (stats["total"]["warp_instructions"].as_u64(), stats["notes"].to_string().contains("guess")),
            (Some(4), false),
            "{stats}"
        );
    }
    write_trace(folder.path(), 120);
    let done = warpshard(folder.path(), &["run", "--trace", ".", "--machine", "rtx3070", "--out", "out", "--force"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(4) && said.contains("no opcode table has this binary version") && said.contains("89 (Ampere)"),
        "{said}"
    );
}

#[test]
fn binary_kernels_of_accel_sim_2_are_refused_with_their_decoder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel-1.tracez"), [0x28, 0xb5, 0x2f, 0xfd, 0]).unwrap();
    std::fs::write(folder.path().join("kernelslist.g"), "kernel-1.tracez\n").unwrap();
    for (path, place) in [(".", "kernelslist.g:1:"), ("kernel-1.tracez", "kernel-1.tracez:")] {
        let done = warpshard(folder.path(), &["run", "--trace", path, "--machine", "tiny", "--out", "out"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(4), "{said}");
        for word in [place, "Accel-Sim 2.0", "traceDsm", ".traceg"] {
            assert!(said.contains(word), "`{word}` is missing in\n{said}");
        }
    }
}

#[test]
fn a_run_with_an_instruction_limit_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "--machine", "tiny", "--workload", "vecadd", "--max-instructions", "100000", "--out", "out"];
    let done = warpshard(folder.path(), &arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&read("stats.json")).unwrap();
    let count = stats["total"]["thread_instructions"].as_u64().unwrap();
    assert_eq!(stats["ended_by"], "max_instructions");
    assert!(count >= 100_000 && stats["total"]["kernels_ended"] == 0, "{count}");
    assert!(read("summary.txt").contains("--max-instructions"), "{}", read("summary.txt"));
    // The roofline needs the operation count.
    assert!(stats["total"]["counters"]["flops"].as_u64().unwrap() > 0);
}
