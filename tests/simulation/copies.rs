//! Asynchronous copies to shared memory (LDGSTS): a wait for a copy lasts until its data arrive, on cores of every style, in programs and
//! in recorded traces.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::Machine;
use warpshard::program::Program;
use warpshard::trace::{TraceOptions, load};
use warpshard::workload::Workload;

use crate::common::{machine, program};

/// Returns the cycles of the only kernel, from the start of its first CTA.
fn kernel_cycles(machine: &Machine, workload: &Arc<Workload>) -> u64 {
    let kernels = simulate(machine, workload, RunOptions::default()).unwrap().outcome.kernels;
    kernels[0].ended.unwrap() - kernels[0].started.unwrap()
}

#[test]
fn a_chain_of_copies_is_no_faster_than_a_chain_of_loads() {
    let of = |name: &str| program(&format!("{}/tests/data/programs/{name}.toml", env!("CARGO_MANIFEST_DIR")));
    let (copies, loads) = (of("chase_async"), of("chase_plain"));
    for name in ["rtx3070", "v100", "h100"] {
        let machine = machine(name, &[]);
        let (copies, loads) = (kernel_cycles(&machine, &copies), kernel_cycles(&machine, &loads));
        assert!(copies >= loads, "{name}: {copies} cycles with copies, {loads} with loads");
        // In addition to the load, a step writes the address, waits, and reads shared memory.
        assert!(copies < 2 * loads, "{name}: {copies} cycles with copies, {loads} with loads");
    }
}

/// Before Hopper, a warp waits for its copies at the fence of `arrive`; since Hopper, at the barrier.
#[test]
fn a_chain_of_copies_that_arrive_at_a_barrier_is_no_faster_than_a_chain_of_loads() {
    let of = |name: &str, arch: Option<u32>| {
        let file = format!("{}/tests/data/programs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        Arc::new(Program::load(Path::new(&file), arch, &[]).unwrap().workload().unwrap())
    };
    for (name, arch) in [("rtx3070", 80), ("h100", 90)] {
        let machine = machine(name, &[]);
        let [copies, loads] =
            [("chase_barrier", Some(arch)), ("chase_plain", None)].map(|(name, arch)| kernel_cycles(&machine, &of(name, arch)));
        assert!((loads..2 * loads).contains(&copies), "{name}: {copies} cycles with copies, {loads} with loads");
    }
}

/// Returns a recorded warp that copies `steps` distant lines from device memory, each in a separate group, and after each waits until at
/// most `left` groups are incomplete.
fn recorded_copies(steps: u64, left: Option<u32>) -> Arc<Workload> {
    let mut lines = String::new();
    for step in 0..steps {
        let address = 0x7f00_0000_0000 + step * 0x10_0000;
        writeln!(lines, "0000 ffffffff 1 R3 LDGSTS.E.BYPASS.LTC128B.128 2 R4 R5 16 1 0x{address:x} 16 0 ").unwrap();
        lines += "0010 ffffffff 0 LDGDEPBAR 0 0 0 \n";
        if let Some(left) = left {
            writeln!(lines, "0020 ffffffff 0 DEPBAR.LE 0 0 {left} ").unwrap();
        }
    }
    lines += "0030 ffffffff 0 EXIT 0 0 0 \n";
    let text = format!(
        "-kernel name = copies\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 512\n-nregs = 32\n-binary version = 80\n\
         -cuda stream id = 0\n-shmem base_addr = 0x0\n-local mem base_addr = 0x0\n-nvbit version = 1.5.5\n-accelsim tracer version = 5\n\n\
         #traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate\n\n\
         #BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = {}\n{lines}\n#END_TB\n",
        lines.lines().count()
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel-1.traceg");
    std::fs::write(&path, text).unwrap();
    Arc::new(load(&path, &TraceOptions::default()).unwrap())
}

#[test]
fn recorded_waits_for_copy_groups_end_at_their_limits() {
    for name in ["rtx3070", "h100"] {
        let machine = machine(name, &[]);
        let [all, two, free] = [Some(0), Some(1), None].map(|left| kernel_cycles(&machine, &recorded_copies(16, left)));
        assert!(all > 6 * free, "{name}: {all} cycles one after the other, {free} without waiting");
        // Two copies are in flight at a time.
        assert!((all * 4 / 10..all * 6 / 10).contains(&two), "{name}: {all} cycles one after the other, {two} in pairs");
    }
}
