//! Verdicts on a kernel with two faults: the limiter is the fault whose removal saves more cycles.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::Machine;
use warpshard::model::Model;
use warpshard::report::RunFacts;
use warpshard::report::verdict::{Limiter, Verdict, VerdictBuilder};
use warpshard::workload::Workload;

use super::common::machine;

/// Text of a kernel model whose parameters add faults.
const PLANTED_MODEL: &str = include_str!("../data/planted.toml");

/// Keys of the machine, and parameters of the model with the prefix `workload.`.
type PlantedSettings = &'static [(&'static str, &'static str)];

/// A fault: its limiter, and the settings that remove it.
type Fault = (Limiter, PlantedSettings);

/// Runs the planted kernel; returns its cycles and the verdict. If a key occurs twice, the later value is used.
fn run(settings: &[PlantedSettings]) -> (u64, Verdict) {
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    values.extend(settings.iter().copied().flatten().copied());
    let (of_model, of_machine): (Vec<_>, Vec<_>) = values.into_iter().partition(|(key, _)| key.starts_with("workload."));
    let parameter = |(key, value): (&str, &str)| (key.trim_start_matches("workload.").to_owned(), value.to_owned());
    let parameters: Vec<(String, String)> = of_model.into_iter().map(parameter).collect();
    let workload = Model::from_text("planted.toml", PLANTED_MODEL, 1, &parameters).unwrap_or_else(|error| panic!("{error}")).workload();
    judge_workload(&machine("tiny", &of_machine), workload)
}

/// Returns the cycles of the first kernel of a workload, and the verdict on it.
pub(super) fn judge_workload(machine: &Machine, workload: Workload) -> (u64, Verdict) {
    let facts = RunFacts { launches: warpshard::chip::launches(machine, &workload), ..RunFacts::of(machine, "planted", 1) };
    let outcome = simulate(machine, &Arc::new(workload), RunOptions::default()).unwrap_or_else(|error| panic!("{error}")).outcome;
    let kernel = &outcome.kernels[0];
    (kernel.ended.unwrap() - kernel.started.unwrap(), VerdictBuilder::new(&facts, &outcome).verdict(kernel).expect("a kernel that ran"))
}

/// Runs the kernel with both faults and without each; the first fault costs more cycles.
fn check_larger_fault(name: &str, both: PlantedSettings, [larger, smaller]: [Fault; 2]) {
    let (cycles, verdict) = run(&[both]);
    let [without_larger, without_smaller] = [larger.1, smaller.1].map(|removed| run(&[both, removed]).0);
    let charges: Vec<(Limiter, f64)> = verdict.charges.iter().map(|charge| (charge.limiter, charge.share)).collect();
    let found = format!(
        "{name}: {cycles} cycles, {without_larger} without {:?}, {without_smaller} without {:?}; {charges:?} {:?}",
        larger.0, smaller.0, verdict.roofs
    );
    assert!(without_larger < without_smaller && without_larger < cycles, "the larger fault is not the one that was planted: {found}");
    assert_eq!(verdict.limiter, larger.0, "{found}");
    let lines = verdict.lines("planted");
    assert!(lines.len() <= 6 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
}

/// Overrides for an L1 that tracks many misses, so that the levels behind it reach their limits before it is full.
const MANY_MISSES_OVERRIDES: [(&str, &str); 6] = [
    ("gpu.sm.l1.cache.mshrs", "64"),
    ("gpu.sm.l1.cache.mshr_merge", "16"),
    ("gpu.sm.l1.cache.miss_queue", "64"),
    ("gpu.sm.lsu.response_queue", "16"),
    ("gpu.sm.l1.unified.adaptive", "false"),
    ("mem.llc.sets", "128"),
];

/// Settings that remove faults: a fast DRAM (`FAST_DRAM`), no dependent arithmetic (`NO_CHAIN`), no bank conflicts, coalesced accesses.
const FAST_DRAM: PlantedSettings = &[("clocks.dram", "2000 MHz")];
const NO_CHAIN: PlantedSettings = &[("workload.chain", "0")];
const NO_CONFLICTS: PlantedSettings = &[("workload.bank", "1")];
const COALESCED_ACCESSES: PlantedSettings = &[("workload.stride", "1")];

/// Expands to `MANY_MISSES_OVERRIDES` with further settings.
macro_rules! with_misses {
    ($($key:literal = $value:literal),+ $(,)?) => {
        const { &[MANY_MISSES_OVERRIDES[0], MANY_MISSES_OVERRIDES[1], MANY_MISSES_OVERRIDES[2], MANY_MISSES_OVERRIDES[3], MANY_MISSES_OVERRIDES[4], MANY_MISSES_OVERRIDES[5], $(($key, $value)),+] }
    };
}

#[test]
fn of_two_faults_in_the_sm_the_larger_one_is_named() {
    check_larger_fault(
        "addresses far apart, and bank conflicts",
        &[("workload.loads", "2"), ("workload.stride", "8"), ("workload.n", "1024"), ("workload.tiles", "1"), ("workload.bank", "2")],
        [(Limiter::L1, COALESCED_ACCESSES), (Limiter::SharedMemory, NO_CONFLICTS)],
    );
    check_larger_fault(
        "bank conflicts, and addresses far apart",
        &[("workload.loads", "1"), ("workload.stride", "4"), ("workload.n", "1024"), ("workload.tiles", "4"), ("workload.bank", "16")],
        [(Limiter::SharedMemory, NO_CONFLICTS), (Limiter::L1, COALESCED_ACCESSES)],
    );
    check_larger_fault(
        "divergence, and special functions",
        &[("workload.special", "2"), ("workload.alone", "40")],
        [(Limiter::Divergence, &[("workload.alone", "0")]), (Limiter::Pipe, &[("workload.special", "0")])],
    );
    check_larger_fault(
        "special functions, and divergence",
        &[("workload.special", "16"), ("workload.alone", "6")],
        [(Limiter::Pipe, &[("workload.special", "0")]), (Limiter::Divergence, &[("workload.alone", "0")])],
    );
    check_larger_fault(
        "a warp that is late at a barrier, and a chain",
        &[("workload.late", "40"), ("workload.barriers", "1"), ("workload.chain", "4")],
        [(Limiter::Barrier, &[("workload.late", "0"), ("workload.barriers", "0")]), (Limiter::Dependency, NO_CHAIN)],
    );
    check_larger_fault(
        "a chain, and DRAM",
        &[
            ("workload.loads", "1"),
            ("workload.chain", "80"),
            ("workload.block", "32"),
            ("workload.cta_count", "8"),
            ("gpu.sm.timing.sp.latency", "12"),
        ],
        [(Limiter::Dependency, NO_CHAIN), (Limiter::Dram, FAST_DRAM)],
    );
    check_larger_fault(
        "code beyond the instruction cache, and DRAM",
        &[
            ("workload.code", "300"),
            ("workload.loads", "1"),
            ("workload.block", "64"),
            ("workload.cta_count", "4"),
            ("gpu.sm.fetch.icache.perfect", "false"),
        ],
        [(Limiter::Fetch, &[("gpu.sm.fetch.icache.perfect", "true")]), (Limiter::Dram, FAST_DRAM)],
    );
}

#[test]
fn of_two_faults_in_memory_the_larger_one_is_named() {
    check_larger_fault(
        "DRAM, and a chain",
        with_misses!("workload.loads" = "4", "workload.chain" = "4", "mem.llc.sets" = "8"),
        [(Limiter::Dram, FAST_DRAM), (Limiter::Dependency, NO_CHAIN)],
    );
    check_larger_fault(
        "DRAM, and bank conflicts",
        with_misses!("workload.loads" = "4", "workload.tiles" = "1", "workload.bank" = "4", "mem.llc.sets" = "8"),
        [(Limiter::Dram, FAST_DRAM), (Limiter::SharedMemory, NO_CONFLICTS)],
    );
    check_larger_fault(
        "the LLC, and the network",
        with_misses!(
            "workload.loads" = "4",
            "workload.n" = "8192",
            "workload.stride" = "4",
            "clocks.llc" = "100 MHz",
            "clocks.noc" = "600 MHz"
        ),
        [(Limiter::Llc, &[("clocks.llc", "3200 MHz")]), (Limiter::Network, &[("clocks.noc", "4000 MHz")])],
    );
    check_larger_fault(
        "the network, and the LLC",
        with_misses!(
            "workload.loads" = "4",
            "workload.n" = "8192",
            "workload.stride" = "4",
            "clocks.noc" = "200 MHz",
            "clocks.llc" = "400 MHz"
        ),
        [(Limiter::Network, &[("clocks.noc", "4000 MHz")]), (Limiter::Llc, &[("clocks.llc", "3200 MHz")])],
    );
    check_larger_fault(
        "atomics on one address, and a chain",
        &[("workload.atomics", "2"), ("workload.chain", "8")],
        [(Limiter::Atomics, &[("workload.spread", "8192")]), (Limiter::Dependency, NO_CHAIN)],
    );
}

#[test]
fn of_two_faults_of_a_launch_the_larger_one_is_named() {
    let barriers: Fault = (Limiter::Barrier, &[("workload.barriers", "0")]);
    check_larger_fault(
        "registers that leave few warps, and barriers",
        &[
            ("workload.loads", "1"),
            ("workload.barriers", "1"),
            ("workload.registers", "250"),
            ("workload.n", "8192"),
            ("mem.llc.sets", "128"),
        ],
        [(Limiter::Occupancy, &[("gpu.sm.registers", "262144")]), barriers],
    );
    check_larger_fault(
        "shared memory that leaves few warps, and bank conflicts",
        &[
            ("workload.loads", "1"),
            ("workload.shared_words", "4000"),
            ("workload.n", "8192"),
            ("workload.tiles", "1"),
            ("workload.bank", "2"),
            ("mem.llc.sets", "128"),
            ("gpu.sm.l1.unified.adaptive", "false"),
        ],
        [(Limiter::Occupancy, &[("gpu.sm.shared_bytes", "64 KiB")]), (Limiter::SharedMemory, NO_CONFLICTS)],
    );
    check_larger_fault(
        "a grid of few warps, and a chain",
        &[
            ("workload.loads", "2"),
            ("workload.chain", "6"),
            ("workload.block", "32"),
            ("workload.cta_count", "4"),
            ("workload.rounds", "64"),
        ],
        [(Limiter::Occupancy, &[("workload.block", "256"), ("workload.rounds", "8")]), (Limiter::Dependency, NO_CHAIN)],
    );
    check_larger_fault(
        "a CTA more than the SMs hold, and barriers",
        &[
            ("workload.cta_count", "5"),
            ("workload.block", "512"),
            ("workload.rounds", "64"),
            ("workload.barriers", "2"),
            ("workload.late", "10"),
        ],
        [(Limiter::Tail, &[("workload.cta_count", "4")]), barriers],
    );
}
