//! CPU cores and SMs on a mesh: the same bytes for every way of running, runs that end with the slowest core, and no lost requests.

use std::sync::Arc;

use warpshard::chip::{CpuApplication, CpuEnd, CpuLoad, RunOptions, simulate};
use warpshard::engine::Scaling;
use warpshard::protocol::{MemOp, MemPacket, Payload};
use warpshard::stats::{EndedBy, Outcome};
use warpshard::workload::Workload;

use super::files::{ResultFiles, run};
use super::in_rotation;
use crate::common::{SimulationCase, built_in, machine};

fn load(names: &[&str], end: CpuEnd) -> CpuLoad {
    let applications = names.iter().map(|name| CpuApplication::named(name).unwrap()).collect();
    CpuLoad { applications, warm: 1500, measure: 4000, gpu_waits: true, end, seed: 1 }
}

fn gather_workload() -> Arc<Workload> {
    built_in("gather", &[("cta_count", "24"), ("table", "262144"), ("rounds", "2")])
}

pub(crate) fn small_chip() -> SimulationCase {
    let overrides = [("gpu.dispatch.launch_latency", "200")];
    SimulationCase {
        name: "gather with three profiles".into(),
        machine: machine("hetero-small", &overrides),
        workload: gather_workload(),
        policy: None,
    }
}

/// Returns the small case with GDDR5 behind command-level controllers, with refresh.
pub(crate) fn small_chip_gddr5() -> SimulationCase {
    let overrides = [("gpu.dispatch.launch_latency", "200"), ("mem.dram.controller", "standard")];
    SimulationCase { name: "gather with three profiles on GDDR5".into(), machine: machine("hetero-small", &overrides), ..small_chip() }
}

const CPU_PROFILES: [&str; 3] = ["mcf", "lbm", "gcc"];

pub(crate) fn cpu_options(end: CpuEnd) -> RunOptions {
    RunOptions { interval: Some(1024), cpu: Some(load(&CPU_PROFILES, end)), ..RunOptions::default() }
}

fn assert_same_files(base: &ResultFiles, other: &ResultFiles, what: &str) {
    assert_eq!(other.stats, base.stats, "stats.json with {what}");
    assert_eq!(other.intervals, base.intervals, "intervals.csv with {what}");
}

fn counter_sum(outcome: &Outcome, kind: &str, name: &str) -> u64 {
    let of_kind = outcome.components.iter().filter(|component| component.kind == kind);
    of_kind.flat_map(|component| &component.counters).filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
}

#[test]
fn the_way_of_running_changes_nothing() {
    let cases = [(small_chip(), CpuEnd::Both), (small_chip(), CpuEnd::Cpu), (small_chip_gddr5(), CpuEnd::Cpu)];
    for (number, (case, end)) in cases.into_iter().enumerate() {
        let base = run(&case, cpu_options(end));
        for &threads in in_rotation(&[2, 3, 5], number) {
            assert_same_files(&base, &run(&case, RunOptions { threads, ..cpu_options(end) }), &format!("{end:?}, {threads} threads"));
        }
        let changing = RunOptions { threads: 5, scaling: Scaling::Random(3), ..cpu_options(end) };
        assert_same_files(&base, &run(&case, changing), &format!("{end:?}, a changing number of threads"));
        assert_same_files(&base, &run(&case, RunOptions { epoch: Some(1), threads: 2, ..cpu_options(end) }), "epochs of one cycle");
        assert_same_files(&base, &run(&case, RunOptions { skip: false, ..cpu_options(end) }), "every cycle stepped");
        let unseen = run(&case, RunOptions { interval: None, ..cpu_options(end) });
        assert_eq!(unseen.stats, base.stats, "without intervals");
    }
}

#[test]
fn controllers_of_the_memory_side_decide_the_same_for_every_way_of_running() {
    let congestion = "high = 0.02\nlow = 0.01\ninterval = 256";
    let throttled = [("gpu.dispatch.launch_latency", "200"), ("gpu.sm.ccws.enabled", "true")];
    for (number, policy) in [("cm_cpu", congestion), ("cm_bal", congestion), ("dyncta", "period = 256")].into_iter().enumerate() {
        // DYNCTA is the baseline that limits CTAs; in this case the SMs also throttle loads with CCWS.
        let machine = if policy.0 == "dyncta" { machine("hetero-small", &throttled) } else { small_chip().machine };
        let case = SimulationCase { policy: Some(policy), machine, ..small_chip() };
        let with = |options| RunOptions { controllers: case.controllers(), ..options };
        let base = run(&case, with(cpu_options(CpuEnd::Both)));
        assert!(base.timeline.contains("warp_limit"), "{}: nothing was decided", policy.0);
        for &(threads, epoch, skip) in in_rotation(&[(2, None, true), (3, Some(7), true), (2, None, false)], number) {
            let other = run(&case, with(RunOptions { threads, epoch, skip, ..cpu_options(CpuEnd::Both) }));
            assert_same_files(&base, &other, &format!("{}, {threads} threads", policy.0));
            assert_eq!(other.timeline, base.timeline, "timeline.csv of {}", policy.0);
        }
    }
}

#[test]
fn a_cycle_limit_gives_the_same_for_every_way_of_running() {
    let case = small_chip();
    let whole = run(&case, cpu_options(CpuEnd::Both));
    for limit in [1, 777, whole.cycles / 2, whole.counted_until - 1] {
        let limited = |threads, skip| run(&case, RunOptions { max_cycles: Some(limit), threads, skip, ..cpu_options(CpuEnd::Both) });
        let base = limited(1, true);
        assert_eq!(base.counted_until, limit);
        assert_same_files(&base, &limited(3, false), &format!("a limit of {limit}"));
    }
}

#[test]
fn a_run_ends_when_the_slowest_core_has_reached_its_count() {
    let case = small_chip();
    let result = simulate(&case.machine, &case.workload, cpu_options(CpuEnd::Cpu)).unwrap();
    let outcome = result.outcome;
    assert_eq!(outcome.ended_by, EndedBy::Completed);
    for core in outcome.components.iter().filter(|component| component.kind == "cpu") {
        let get = |name: &str| core.counters.iter().find(|counted| counted.info.name == name).unwrap().value;
        assert!((4000..4003).contains(&(get("warm_instructions") + get("measured_instructions") - 1500)), "{core:?}");
        assert!(get("measured_cycles") >= 4000 / 3 && get("measured_cycles") <= get("cycles"), "{core:?}");
        assert!(get("instructions") >= get("measured_instructions") + get("warm_instructions"));
    }
    let cycles = (outcome.counted_until * 2000).div_ceil(1400);
    assert_eq!(counter_sum(&outcome, "cpu", "cycles"), 3 * cycles, "all cores count up to the same cut");
}

#[test]
fn kernels_wait_until_the_slowest_core_is_warm() {
    let case = small_chip();
    let outcome = simulate(&case.machine, &case.workload, cpu_options(CpuEnd::Both)).unwrap().outcome;
    let warm = |component: &&warpshard::stats::ComponentStats| component.kind == "cpu";
    let slowest =
        outcome.components.iter().filter(warm).map(|core| core.counters.iter().find(|c| c.info.name == "warm_cycles").unwrap().value);
    let slowest = slowest.max().unwrap() * 1400 / 2000;
    let launched = outcome.kernels[0].launched.unwrap();
    assert!(launched >= slowest && launched < slowest + 200, "launched at {launched}, warm at {slowest}");
    let mut eager = cpu_options(CpuEnd::Both);
    eager.cpu.as_mut().unwrap().gpu_waits = false;
    assert_eq!(simulate(&case.machine, &case.workload, eager).unwrap().outcome.kernels[0].launched, Some(0));
}

#[test]
fn every_read_of_a_core_has_one_reply_from_the_owning_partition() {
    let case = SimulationCase {
        machine: machine(
            "hetero-small",
            &[("mem.map.cpu_partitions", "1"), ("noc.mesh.cpu_vcs", "1"), ("noc.mesh.cpu_channel_bytes", "8 B")],
        ),
        ..small_chip()
    };
    let result = simulate(&case.machine, &case.workload, RunOptions { log: true, threads: 2, ..cpu_options(CpuEnd::Both) }).unwrap();
    let name = |link: warpshard::base::LinkId| result.link_names[link.index()].as_str();
    let packets = |wanted: &str| -> Vec<(&str, MemPacket)> {
        let packet = |logged: &warpshard::engine::LoggedMessage<Payload>| match logged.payload {
            Payload::Mem(packet) => Some((name(logged.link), packet)),
            _ => None,
        };
        result.log.delivered.iter().filter_map(packet).filter(|(link, _)| link.contains(wanted)).collect()
    };
    let mut asked: Vec<(u16, u32, u64)> = Vec::new();
    for (link, packet) in packets("-> request network").into_iter().filter(|(link, _)| link.starts_with("cpu")) {
        assert_eq!(packet.slice.0, 0, "{link} asks the partition of the SMs");
        if packet.op == MemOp::Read {
            asked.push((packet.port.0, packet.token, packet.addr.0));
        }
    }
    let mut answered = 0;
    for (link, packet) in packets("reply network -> cpu").into_iter().filter(|(_, packet)| packet.op == MemOp::Read) {
        let key = (packet.port.0, packet.token, packet.addr.0);
        let at =
            asked.iter().position(|known| *known == key).unwrap_or_else(|| panic!("{link}: an answer that nobody waits for: {packet:?}"));
        asked.swap_remove(at);
        answered += 1;
    }
    assert!(answered > 100 && asked.len() < 3 * 64, "{answered} answered, {} still asked", asked.len());
    assert!(packets("-> request network").iter().filter(|(link, _)| link.starts_with("sm")).all(|(_, packet)| packet.slice.0 == 1));
}

#[test]
fn stalls_are_bounded_by_the_cycles_of_all_partitions() {
    let case = small_chip();
    let outcome = simulate(
        &case.machine,
        &case.workload,
        RunOptions { cpu: Some(load(&["mcf", "lbm", "mcf"], CpuEnd::Both)), ..cpu_options(CpuEnd::Both) },
    )
    .unwrap()
    .outcome;
    for row in outcome.intervals.iter() {
        for name in ["stall_mc", "stall_net"] {
            let (_, counted) = row.counters.iter().find(|(kind, counted)| *kind == "stall" && counted.info.name == name).unwrap();
            assert!(counted.value <= 2 * 1024, "{name} {}", counted.value);
        }
    }
    assert_eq!(
        outcome.intervals.iter().flat_map(|row| row.counters).filter(|(_, c)| c.info.name == "stall_mc").map(|(_, c)| c.value).sum::<u64>(),
        counter_sum(&outcome, "stall", "stall_mc")
    );
}

#[test]
fn the_whole_chip_runs_fourteen_profiles_and_a_kernel() {
    let names = ["mcf", "lbm", "milc", "Gems", "soplex", "gcc", "astar", "namd", "povray", "tpcw", "sjbb", "swim", "art", "ocean"];
    let case = SimulationCase { machine: machine("hetero", &[]), ..small_chip() };
    let options = |threads| RunOptions {
        cpu: Some(CpuLoad { warm: 300, measure: 700, ..load(&names, CpuEnd::Cpu) }),
        threads,
        ..cpu_options(CpuEnd::Cpu)
    };
    let base = run(&case, options(1));
    assert_same_files(&base, &run(&case, options(3)), "three threads");
}

#[test]
fn tiles_with_two_and_six_sms_run_a_kernel_and_fourteen_cores() {
    for (name, sms) in [("hetero-2", 14), ("hetero-6", 42)] {
        let case = SimulationCase { machine: machine(name, &[("gpu.dispatch.launch_latency", "200")]), ..small_chip() };
        assert_eq!(case.machine.gpu.sms, sms);
        let options = |threads| RunOptions {
            cpu: Some(CpuLoad {
                applications: CpuApplication::all(&["@M1".to_owned()], 14).unwrap(),
                warm: 200,
                measure: 400,
                ..load(&[], CpuEnd::Both)
            }),
            threads,
            ..cpu_options(CpuEnd::Both)
        };
        let base = run(&case, options(1));
        assert_same_files(&base, &run(&case, options(3)), &format!("three threads on {name}"));
        let outcome = simulate(&case.machine, &case.workload, options(2)).unwrap().outcome;
        assert_eq!((outcome.kernels[0].ctas_done, outcome.cpu_applications.len()), (24, 14), "{name}");
        let busy = outcome
            .components
            .iter()
            .filter(|component| component.kind == "sm")
            .filter(|sm| sm.counters.iter().any(|counted| counted.info.name == "ctas_started" && counted.value > 0));
        assert_eq!(busy.count() as u32, sms.min(24), "{name}: 24 CTAs spread over all SMs");
    }
}

#[test]
fn cpu_loads_that_do_not_fit_are_refused_with_a_message() {
    let case = small_chip();
    let error = |machine: &str, names: &[&str]| {
        let machine = crate::common::machine(machine, &[]);
        simulate(&machine, &case.workload, RunOptions { cpu: Some(load(names, CpuEnd::Both)), ..RunOptions::default() })
            .unwrap_err()
            .to_string()
    };
    assert!(error("tiny", &["mcf"]).contains("tiny has no CPU cores"));
    assert!(error("hetero-small", &["mcf"; 4]).contains("4 applications for the 3 CPU cores"));
    assert!(CpuApplication::named("mfc").unwrap_err().to_string().contains("did you mean mcf"));
}
