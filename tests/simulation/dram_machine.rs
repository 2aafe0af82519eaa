//! Whole machines with command-level DRAM controllers: every command is legal, no request is lost, and policies affect the run time in the
//! expected direction.

use std::sync::Arc;

use warpshard::chip::{RunOptions, RunResult, simulate};
use warpshard::config::{Machine, Override};
use warpshard::mem::dram::control::IssuedCommand;
use warpshard::mem::dram::standard::Command;
use warpshard::model::{Model, builtin};
use warpshard::rig::audit::audit;
use warpshard::workload::Workload;

const STANDARD_CONTROLLER: (&str, &str) = ("mem.dram.controller", "standard");

struct DramCase {
    name: String,
    machine: Machine,
    workload: Arc<Workload>,
}

fn machine(name: &str, overrides: &[(&str, &str)]) -> Machine {
    let overrides: Vec<Override> = overrides.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine(name, &overrides).unwrap_or_else(|error| panic!("{error}")).machine
}

fn built_in(name: &str, parameters: &[(&str, &str)]) -> Arc<Workload> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(builtin(name, 1, &parameters).unwrap_or_else(|error| panic!("{error}")))
}

fn run(case: &DramCase, log: bool) -> RunResult {
    simulate(&case.machine, &case.workload, RunOptions { log, ..RunOptions::default() })
        .unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn counter_sum(result: &RunResult, kind: &str, name: &str) -> u64 {
    let of_kind = result.outcome.components.iter().filter(|component| component.kind == kind);
    of_kind.flat_map(|component| &component.counters).filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
}

/// Returns workloads that read and write, on machines with every kind of device and every policy.
fn dram_cases() -> Vec<DramCase> {
    let short = ("gpu.dispatch.launch_latency", "6000");
    let gather = ("gather", &[("cta_count", "48"), ("table", "1048576"), ("rounds", "3")][..]);
    let stream = ("stream", &[("cta_count", "48"), ("iterations", "16")][..]);
    let own = [("mem.dram.timing.tREFI", "1500"), ("mem.dram.timing.tRFC", "100"), ("mem.dram.timing.tFAW", "14")];
    let closed = [("mem.dram.page", "closed"), ("mem.dram.write_queue", "8"), ("mem.dram.drain_low", "40 %")];
    let capped = [("mem.dram.row_hit_cap", "4"), ("mem.dram.age_cap", "300"), ("mem.dram.read_queue", "8")];
    let strict = [("mem.dram.scheduler", "fcfs"), ("mem.dram.mapping", "RoCoBaBgPc")];
    let plans: [(&str, &[(&str, &str)], _); 6] = [
        ("v100", &[], gather),
        ("v100", &closed, stream),
        ("hetero-small", &[], stream),
        ("m2090", &capped, gather),
        ("tiny", &own, gather),
        ("m2090", &strict, stream),
    ];
    plans
        .into_iter()
        .map(|(name, overrides, (workload, parameters))| {
            let overrides = [&[STANDARD_CONTROLLER, short], overrides].concat();
            DramCase {
                name: format!("{workload} on {name} with {overrides:?}"),
                machine: machine(name, &overrides),
                workload: built_in(workload, parameters),
            }
        })
        .collect()
}

#[test]
fn every_command_of_a_whole_machine_is_legal_and_counted() {
    let mut written = 0;
    for case in dram_cases() {
        let result = run(&case, true);
        let standard = case.machine.mem.device(case.machine.clocks.dram).unwrap().unwrap();
        let count = |of: fn(Command) -> bool| -> u64 {
            result.dram_commands.iter().flatten().filter(|issued: &&IssuedCommand| of(issued.command)).count() as u64
        };
        for commands in &result.dram_commands {
            audit(&standard, commands).unwrap_or_else(|violation| panic!("{}: {violation}", case.name));
        }
        let reads = count(|command| matches!(command, Command::Read | Command::ReadPrecharge));
        let writes = count(|command| matches!(command, Command::Write | Command::WritePrecharge));
        let closing = count(|command| matches!(command, Command::ReadPrecharge | Command::WritePrecharge));
        written += writes;
        let some = [reads, closing].map(|number| number > 0);
        assert_eq!(some, [true, case.name.contains("closed")], "{}: reads, commands that close their row", case.name);
        for (name, number) in [
            ("reads", reads),
            ("writes", writes),
            ("auto_precharges", closing),
            ("activates", count(|command| command == Command::Activate)),
            ("precharges", count(|command| command == Command::Precharge)),
            ("precharges_all", count(|command| command == Command::PrechargeAll)),
            ("refreshes", count(|command| command == Command::Refresh)),
        ] {
            assert_eq!(counter_sum(&result, "dram", name), number, "{}: {name}", case.name);
        }
        for name in ["reads", "writes", "activates", "precharges", "row_hits", "row_misses", "row_conflicts"] {
            assert_eq!(counter_sum(&result, "dram_bank", name), counter_sum(&result, "dram", name), "{}: {name} of the banks", case.name);
        }
        assert_eq!(counter_sum(&result, "dram", "data_cycles"), (reads + writes) * u64::from(standard.timing.tBL), "{}", case.name);
        // Every pseudo channel of every channel becomes due for a refresh once per interval, busy or not; the last refresh may still be
        // pending.
        let seconds = result.outcome.counted_until as f64 / case.machine.clocks.core.0 as f64;
        let cycles = (seconds * case.machine.clocks.dram.0 as f64) as u64;
        let parts = u64::from(case.machine.mem.map.partitions * standard.organisation.pseudo_channels);
        let due = cycles / u64::from(standard.timing.tREFI) * parts;
        let refreshed = counter_sum(&result, "dram", "refreshes");
        assert!(refreshed <= due && refreshed + parts >= due && refreshed > 0, "{}: {refreshed} refreshes of {due}", case.name);
    }
    assert!(written > 0, "no case writes");
}

/// Returns the core cycles of a workload on a machine with a command-level controller and these overrides.
fn run_cycles(name: &str, workload: &Arc<Workload>, overrides: &[(&str, &str)]) -> u64 {
    let overrides = [&[STANDARD_CONTROLLER, ("gpu.dispatch.launch_latency", "100")], overrides].concat();
    let machine = machine(name, &overrides);
    let case = DramCase { name: format!("{} on {name} with {overrides:?}", workload.name), machine, workload: Arc::clone(workload) };
    run(&case, false).outcome.cycles
}

/// Returns a workload with random accesses to a working set larger than any cache.
fn random_accesses() -> Arc<Workload> {
    built_in("gather", &[("cta_count", "48"), ("table", "16777216"), ("rounds", "4")])
}

/// Returns a workload of one warp that reads line after line; each read waits for the previous one.
fn dependent_reads() -> Arc<Workload> {
    let text = r#"
        name = "walk"
        summary = "One warp reads line after line, each once it has the one before"
        [parameters]
        lines = 1024
        [buffers]
        data = { elements = "lines * 32" }
        [[kernel]]
        name = "walk"
        grid = "1"
        block = 32
        body = [
          { op = "s2r", dst = "i" },
          { op = "imad_wide", dst = "p", src = ["i"] },
          { loop = "t", count = "lines", body = [
            { op = "load", dst = "x", src = ["p"], buffer = "data", index = "t * 32 + global_thread" },
            { op = "iadd", dst = "p", src = ["x"] },
          ] },
        ]
    "#;
    Arc::new(Model::from_text("walk.toml", text, 1, &[]).unwrap_or_else(|error| panic!("{error}")).workload())
}

#[test]
fn refresh_costs_time() {
    for name in ["hetero-small", "m2090"] {
        let [on, off] = ["true", "false"].map(|refresh| run_cycles(name, &random_accesses(), &[("mem.dram.refresh", refresh)]));
        assert!(on > off, "{name}: {on} cycles with refresh, {off} without");
    }
}

#[test]
fn closing_rows_helps_random_accesses_and_hurts_streams() {
    let time = |workload: &Arc<Workload>, page| run_cycles("hetero-small", workload, &[("mem.dram.page", page)]);
    let (open, closed) = (time(&random_accesses(), "open"), time(&random_accesses(), "closed"));
    assert!(closed < open, "random: {closed} cycles with closed pages, {open} with open ones");
    let (open, closed) = (time(&dependent_reads(), "open"), time(&dependent_reads(), "closed"));
    assert!(open < closed, "line after line: {open} cycles with open pages, {closed} with closed ones");
}

#[test]
fn host_copies_do_not_warm_the_llc_of_the_cpu_gpu_chip() {
    // Every warp reads one line of each of two host-copied vectors, and each line is read only once.
    let read_hits = |overrides: &[(&str, &str)]| {
        let case =
            DramCase { name: "copies".to_owned(), machine: machine("hetero", overrides), workload: built_in("vecadd", &[("n", "16384")]) };
        counter_sum(&run(&case, false), "llc", "read_hits")
    };
    assert_eq!(read_hits(&[]), 0);
    assert_eq!(read_hits(&[("mem.memcpy_warms_llc", "full")]), 1024);
}
