//! Verdicts on CUDA kernels with two faults each (`tests/data/planted`), on machine `h100`: the verdict names the fault whose removal saves
//! more cycles.
//!
//! docs/validation/programs.md, "Verdicts", has the results of these and of larger launches on three machines.

use std::path::Path;

use warpshard::program::Program;
use warpshard::report::verdict::{Limiter, Verdict};

use super::common::machine;
use super::verdicts::judge_workload;

/// Parameters of a launch file. If a parameter occurs twice, the later value is used.
type LaunchParameters = &'static [(&'static str, u32)];

/// A fault: its limiter, and the parameters that remove it.
type Fault = (Limiter, LaunchParameters);

/// Pseudo-parameter that selects another launch file: `few_registers.toml` instead of `many_registers.toml`.
const FEW_REGISTERS: &str = "few registers";

/// Runs a kernel; returns its cycles and the verdict.
fn run(file: &str, settings: &[LaunchParameters]) -> (u64, Verdict) {
    let settings: Vec<(&str, u32)> = settings.iter().copied().flatten().copied().collect();
    let file = if settings.iter().any(|(name, _)| *name == FEW_REGISTERS) { "few_registers" } else { file };
    let own = settings.iter().filter(|(name, _)| *name != FEW_REGISTERS);
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (name, value) in own {
        parameters.retain(|(other, _)| other != name);
        parameters.push(((*name).to_owned(), value.to_string()));
    }
    // The LLC starts with the data that the host wrote, unless DRAM is one of the faults.
    let cold = file == "stream_and_chain" && !parameters.iter().any(|(name, value)| name == "past" && value == "1");
    let machine = machine("h100", &[("mem.memcpy_warms_llc", if cold { "off" } else { "full" })]);
    let path = format!("tests/data/planted/{file}.toml");
    let program = Program::load(Path::new(&path), Some(90), &parameters).unwrap_or_else(|error| panic!("{error}"));
    judge_workload(&machine, program.workload().unwrap_or_else(|error| panic!("{error}")))
}

/// Runs a kernel with both faults and without each; the first fault costs more cycles.
fn check_larger_fault(file: &str, both: LaunchParameters, [larger, smaller]: [Fault; 2]) {
    let (cycles, verdict) = run(file, &[both]);
    let [without_larger, without_smaller] = [larger.1, smaller.1].map(|removed| run(file, &[both, removed]).0);
    let charges: Vec<(Limiter, f64)> = verdict.charges.iter().map(|charge| (charge.limiter, charge.share)).collect();
    let found = format!(
        "{file} {both:?}: {cycles} cycles, {without_larger} without {:?}, {without_smaller} without {:?}; {charges:?} {:?}",
        larger.0, smaller.0, verdict.roofs
    );
    assert!(without_larger < without_smaller && without_larger < cycles, "the larger fault is not the one that was planted: {found}");
    assert_eq!(verdict.limiter, larger.0, "{found}");
}

const UNCOALESCED_ACCESSES: Fault = (Limiter::L1, &[("stride", 1)]);
const BANK_CONFLICTS: Fault = (Limiter::SharedMemory, &[("bank", 1)]);
const DIVERGENT_PATHS: Fault = (Limiter::Divergence, &[("ways", 1)]);
const DEPENDENCY_CHAIN: Fault = (Limiter::Dependency, &[("chains", 4)]);
const FREQUENT_BARRIERS: Fault = (Limiter::Barrier, &[("barriers", 0)]);

#[test]
fn of_two_faults_in_the_load_store_unit_of_an_h100_the_larger_one_is_named() {
    check_larger_fault("apart_and_banks", &[("rounds", 6)], [UNCOALESCED_ACCESSES, BANK_CONFLICTS]);
    check_larger_fault(
        "apart_and_banks",
        &[("ctas", 264), ("reads", 8), ("stride", 8), ("bank", 16)],
        [BANK_CONFLICTS, UNCOALESCED_ACCESSES],
    );
    check_larger_fault("jacobi", &[("n", 256)], [(Limiter::L1, &[("swap", 0)]), (Limiter::Occupancy, &[("shared", 0)])]);
}

#[test]
fn of_two_faults_in_the_code_of_an_h100_the_larger_one_is_named() {
    check_larger_fault("paths_and_chain", &[("rounds", 2)], [DEPENDENCY_CHAIN, DIVERGENT_PATHS]);
    check_larger_fault("paths_and_chain", &[("rounds", 1), ("ways", 16), ("each", 16), ("links", 64)], [DIVERGENT_PATHS, DEPENDENCY_CHAIN]);
    check_larger_fault("special_and_paths", &[("rounds", 2)], [(Limiter::Pipe, &[("special", 0)]), DIVERGENT_PATHS]);
    check_larger_fault("late_and_chain", &[], [(Limiter::Barrier, &[("late", 0)]), DEPENDENCY_CHAIN]);
    check_larger_fault("code_and_apart", &[], [(Limiter::Fetch, &[("far", 0)]), UNCOALESCED_ACCESSES]);
}

#[test]
fn of_two_faults_in_the_launch_on_an_h100_the_larger_one_is_named() {
    let more_registers: Fault = (Limiter::Occupancy, &[(FEW_REGISTERS, 1)]);
    check_larger_fault("many_registers", &[("ctas", 264)], [more_registers, FREQUENT_BARRIERS]);
    check_larger_fault("many_registers", &[("ctas", 264), ("rounds", 2), ("barriers", 32)], [more_registers, FREQUENT_BARRIERS]);
    check_larger_fault(
        "loads",
        &[("shared", 60_000), ("ctas", 792), ("rounds", 3), ("reads", 1), ("bank", 2)],
        [(Limiter::Occupancy, &[("shared", 4096)]), BANK_CONFLICTS],
    );
    check_larger_fault(
        "loads",
        &[("block", 32), ("ctas", 4224), ("rounds", 8), ("reads", 1), ("bank", 2)],
        [(Limiter::Occupancy, &[("block", 256), ("ctas", 528)]), BANK_CONFLICTS],
    );
    check_larger_fault(
        "loads",
        &[("block", 1024), ("ctas", 265), ("rounds", 4), ("shared", 0), ("barriers", 1)],
        [(Limiter::Tail, &[("ctas", 264)]), FREQUENT_BARRIERS],
    );
}

#[test]
fn of_two_faults_in_memory_of_an_h100_the_larger_one_is_named() {
    check_larger_fault("stream_and_chain", &[], [(Limiter::Dram, &[("kept", 1024)]), DEPENDENCY_CHAIN]);
    check_larger_fault(
        "stream_and_chain",
        &[("size", 1 << 20), ("kept", 1 << 17), ("past", 1), ("ctas", 1056)],
        [(Limiter::Llc, &[("kept", 1024), ("past", 0)]), DEPENDENCY_CHAIN],
    );
    check_larger_fault("atomics_and_paths", &[], [(Limiter::Atomics, &[("spread", 1 << 20)]), DIVERGENT_PATHS]);
    check_larger_fault("uneven_and_apart", &[], [(Limiter::Tail, &[("longer", 1)]), UNCOALESCED_ACCESSES]);
}
