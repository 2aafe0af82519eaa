//! Energy of whole runs: events equal the statistics that they are derived from, every counter is used exactly once or listed as free, and
//! intervals sum to the run, including paused and gated SMs.

use std::sync::Arc;

use warpshard::chip::{RunOptions, counter_lists, simulate};
use warpshard::config::Machine;
use warpshard::energy::{Component, Counts, EnergySet, Event, Model, TERMS};
use warpshard::stats::Outcome;
use warpshard::workload::{MixedApplication, mix};

use crate::common::{SimulationCase, built_in, cases, machine};

/// Counters of work without a separate energy, each with the reason.
const FREE_COUNTERS: &[(&str, &[&str])] = &[
    (
        "counted by class",
        &[
            "warp_instructions",
            "thread_instructions",
            "load_instructions",
            "store_instructions",
            "atomic_instructions",
            "barrier_instructions",
        ],
    ),
    ("counted when their CTA ended", &["ended_cta_instructions"]),
    ("of instructions that are paid by class", &["requested_bytes", "flops"]),
    (
        "of the network between the SMs of clusters, which no set of energies has",
        &["peer_ctas", "peer_reads", "peer_writes", "peer_sectors", "peer_arrivals", "cluster_barriers"],
    ),
    ("paid as hits and misses of the L1, or as packets past it", &["memory_accesses", "l1_bypasses"]),
    ("paid as hits and misses of the LLC", &["accesses", "misses", "fetches"]),
    ("paid as flits and hops", &["packets", "packets_sent", "packets_received"]),
    ("paid as hits and misses of the texture cache", &["texture_instructions"]),
    (
        "prefetches, which are paid as packets and in the LLC",
        &["prefetches_issued", "prefetches_useful", "prefetches_late", "prefetches_present", "prefetches_dropped"],
    ),
    ("reads that share a look-up in the LLC, which is paid", &["coalescer_reads", "coalescer_joined", "coalescer_full"]),
    ("paid as matrix instructions", &["group_products"]),
    ("of HBM3, of which no set has energies", &["bank_refreshes"]),
    ("part of the warp instructions", &["flushed_warp_instructions", "replayed_warp_instructions"]),
    ("CTAs that are taken away", &["ctas_switched", "ctas_flushed", "ctas_returned", "ctas_preempted"]),
    (
        "tries of an access that is paid when it succeeds",
        &["l1_retries", "l1_retries_line", "l1_retries_merge", "l1_retries_mshr", "l1_retries_queue"],
    ),
    ("paid with the row that was opened", &["precharges", "precharges_all", "auto_precharges", "row_hits", "row_misses", "row_conflicts"]),
    ("answered inside the memory controller", &["forwarded", "coalesced"]),
    ("fetches and accesses whose miss is a latency only", &["instruction_misses", "constant_misses"]),
    ("marks of CPU cores, which have no energies", &["loads", "stores", "trace_writebacks", "instructions", "warm_instructions"]),
    ("the same", &["l1_hits", "l1_pending_hits", "l1_misses", "l2_hits", "l2_misses", "measured_instructions", "measured_reads"]),
    ("invalidations, which the tags do at once", &["l1_flushes"]),
    ("the grid scheduler's", &["kernels_launched", "kernels_ended", "ctas_bound", "ctas_bound_ahead", "ctas_done"]),
    ("starts and ends of CTAs", &["ctas_started", "ctas_begun", "ctas_bypassing", "ctas_ended", "ctas"]),
    ("what CCWS's victim tags find, small compared with the tags of the L1", &["ccws_victim_hits"]),
    ("loads, which are paid as instructions and accesses", &["loads_answered"]),
    ("operands that wait for their bank", &["operand_conflicts"]),
    ("packets and requests that wait", &["conflicts", "credit_stalls", "blocked", "pending_stalls"]),
    ("what hubs do, which has no energies (D-024)", &["remote_reads", "remote_writes", "remote_atomics", "remote_sectors", "data_bytes"]),
    ("the same", &["served_requests", "served_sectors", "copied_lines", "copies", "signals", "page_lookups", "pages_placed"]),
    ("paid as bytes of links between GPUs or to hosts", &["bytes"]),
];

/// Returns `true` for units of time and waiting.
fn is_time(unit: &str) -> bool {
    unit.contains("cycles")
}

#[test]
fn bytes_on_links_take_the_energy_of_the_link_kind() {
    let gather = built_in("gather", &[("cta_count", "32"), ("table", "16384"), ("rounds", "1")]);
    let spread = [("system.launch", "spread"), ("system.memory", "interleaved"), ("system.page_bytes", "4 KiB")];
    for (name, more) in [
        ("v100x2", &[][..]),
        ("chiplet2", &[][..]),
        (
            "dgx1-v100",
            &[
                ("system.gpus", "6"),
                ("system.peer.links", "[\"gpu0-gpu1\"]"),
                ("system.host.topology", "host"),
                ("system.host.links", "[]"),
            ],
        ),
    ] {
        let machine = machine(name, &[&spread[..], more].concat());
        let outcome = simulate(&machine, &gather, RunOptions::default()).unwrap().outcome;
        let bytes = |name: &str| -> u64 {
            let links = outcome.components.iter().filter(|component| component.kind == "link").flat_map(|link| &link.counters);
            links.filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
        };
        let (peer, host) = (bytes("peer_bytes"), bytes("host_bytes"));
        assert_eq!((bytes("bytes"), host > 0), (peer + host, name == "dgx1-v100"));
        assert!(peer > 0, "{name}");
        let energy = Model::of(&machine).unwrap().unwrap().of_run(&outcome);
        let system = machine.system.as_ref().unwrap();
        let expected = 8e-15 * (peer as f64 * f64::from(system.peer.energy) + host as f64 * f64::from(system.host.energy));
        assert!(
            (energy.get(Component::Links) / expected - 1.0).abs() < 1e-9,
            "{name}: {} J and {expected} J",
            energy.get(Component::Links)
        );
        let alone = Machine { system: None, ..machine.clone() };
        let one = Model::of(&alone).unwrap().unwrap().of_run(&outcome);
        let gpus = f64::from(system.gpus);
        for (component, times) in [
            (Component::Board, if name == "chiplet2" { 1.0 } else { gpus }),
            (Component::DramBackground, gpus),
            (Component::LlcStatic, gpus),
        ] {
            let (all, expected) = (energy.get(component), times * one.get(component));
            assert!((all - expected).abs() <= 1e-9 * expected, "{name}: {component:?}: {all} J and {expected} J");
        }
        assert!(energy.components().any(|(name, _)| name == "links") && one.components().all(|(name, _)| name != "links"));
    }
}

#[test]
fn every_work_counter_has_one_energy_term_or_is_listed_as_free() {
    let free = |name: &str| FREE_COUNTERS.iter().any(|(_, names)| names.contains(&name));
    let paid = |name: &str| TERMS.iter().any(|term| term.counter == name);
    let mut known: Vec<&str> = Vec::new();
    for (list, infos) in counter_lists() {
        for info in infos {
            known.push(info.name);
            // Counters of DRAM banks, applications and per-kernel LLC slices repeat other counters; counters of CPU cores share names with
            // DRAM.
            let repeated = ["dram_bank", "cpu", "sm_application", "llc_application", "kernels[], each kernel, over all"]
                .iter()
                .any(|kind| list.starts_with(kind));
            if repeated || is_time(info.unit) && !paid(info.name) {
                continue;
            }
            assert!(paid(info.name) != free(info.name), "{list}: {} ({}): an event, or free?", info.name, info.unit);
        }
    }
    for name in TERMS.iter().map(|term| term.counter).chain(FREE_COUNTERS.iter().flat_map(|(_, names)| names.iter().copied())) {
        assert!(known.contains(&name), "there is no counter {name}");
    }
}

fn run_outcome(case: &SimulationCase, interval: Option<u64>) -> Outcome {
    let options = RunOptions { interval, controllers: case.controllers(), ..RunOptions::default() };
    simulate(&case.machine, &case.workload, options).unwrap_or_else(|error| panic!("{}: {error}", case.name)).outcome
}

/// Returns the shared test cases, and one on a mesh.
fn all_cases() -> Vec<SimulationCase> {
    let mesh = machine("hetero-small", &[]);
    let reduce = built_in("reduce", &[("cta_count", "16")]);
    let on_mesh = SimulationCase { name: "reduce on a mesh".into(), machine: mesh, workload: reduce, policy: None };
    cases().into_iter().chain([on_mesh]).collect()
}

#[test]
fn events_equal_their_statistics() {
    for case in all_cases() {
        let outcome = run_outcome(&case, None);
        let counts = Counts::of(&outcome);
        let kernels = |names: &[&str]| -> u64 {
            let counters = outcome.kernels.iter().flat_map(|kernel| kernel.counters.iter());
            counters.filter(|counted| names.contains(&counted.info.name)).map(|counted| counted.value).sum()
        };
        let components = |kinds: &[&str], name: &str| -> u64 {
            let of_kind = outcome.components.iter().filter(|component| kinds.contains(&component.kind));
            of_kind.flat_map(|component| &component.counters).filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
        };
        let events = |events: &[Event]| events.iter().map(|event| counts.get(*event)).sum::<u64>();
        let lanes = [
            Event::IntegerLane,
            Event::MoveLane,
            Event::FloatLane,
            Event::DoubleLane,
            Event::SpecialLane,
            Event::TensorLane,
            Event::TextureLane,
            Event::UniformLane,
            Event::ControlLane,
            Event::AddressLane,
        ];
        let name = &case.name;
        assert!(counts.get(Event::Issue) > 0, "{name}");
        assert_eq!(counts.get(Event::Issue), kernels(&["warp_instructions"]), "{name}");
        assert_eq!(events(&lanes), kernels(&["thread_instructions"]), "{name}");
        assert_eq!(counts.get(Event::SharedPass), kernels(&["shared_instructions", "shared_conflict_cycles"]), "{name}");
        let l1 = events(&[Event::L1Read, Event::L1Miss, Event::L1Write]);
        let textures = components(&["sm"], "texture_hits") + components(&["sm"], "texture_misses");
        assert_eq!(l1 + kernels(&["l1_bypasses"]), kernels(&["memory_accesses"]) + textures, "{name}");
        assert_eq!(events(&[Event::LlcRead, Event::LlcMiss, Event::LlcWrite]), components(&["llc"], "accesses"), "{name}");
        assert_eq!(counts.get(Event::LlcWriteBack), components(&["llc"], "write_backs"), "{name}");
        for (event, counter) in
            [(Event::DramRead, "reads"), (Event::DramWrite, "writes"), (Event::Activate, "activates"), (Event::Refresh, "refreshes")]
        {
            assert_eq!(counts.get(event), components(&["dram"], counter), "{name}: {counter}");
        }
        let nets = ["request_net", "reply_net"];
        assert_eq!(counts.get(Event::Hop), components(&nets, "hops"), "{name}");
        let crossed = counts.get(Event::Crossbar);
        assert_eq!(crossed, if counts.get(Event::Hop) > 0 { 0 } else { components(&nets, "flits") }, "{name}");
        assert!(crossed == 0 || crossed > components(&nets, "packets"), "{name}: packets carry data");
        assert_eq!(counts.sms.cycles, u64::from(case.machine.gpu.sms) * outcome.counted_until, "{name}");
        assert!(counts.sms.resident > 0 && counts.sms.resident <= counts.sms.cycles, "{name}");
    }
}

#[test]
fn the_energy_of_the_intervals_is_the_energy_of_the_run() {
    let mut gated = 0;
    for case in all_cases() {
        let outcome = run_outcome(&case, Some(777));
        let set = EnergySet::named("fermi-40nm").unwrap();
        let model = Model::new(set.clone(), &case.machine);
        let whole = set.breakdown(&outcome, &case.machine);
        let parts: Vec<_> = model.intervals(&outcome.intervals).collect();
        assert!(parts.len() > 1 && parts.last().unwrap().0 == outcome.counted_until, "{}", case.name);
        let close = |what: &str, sum: f64, all: f64| {
            assert!((sum - all).abs() <= all.abs() * 1e-9, "{}: {what}: {sum} J in intervals, {all} J in all", case.name);
        };
        for component in Component::ALL {
            let sum: f64 = parts.iter().map(|(_, part)| part.get(component)).sum();
            close(component.name(), sum, whole.get(component));
        }
        close("all", parts.iter().map(|(_, part)| part.total()).sum(), whole.total());
        assert!(parts.iter().all(|(_, part)| part.get(Component::SmStatic) >= 0.0 && part.get(Component::SmClock) >= 0.0), "{}", case.name);
        assert!(whole.total() > 0.0 && whole.mean_watts() > 0.0);
        gated += Counts::of(&outcome).sms.gated;
    }
    assert!(gated > 0, "no case has gated an SM");
}

#[test]
fn a_gated_or_paused_sm_saves_the_energy_of_its_state() {
    let case = all_cases().into_iter().find(|case| case.name.starts_with("gated")).unwrap();
    let outcome = run_outcome(&case, None);
    let counts = Counts::of(&outcome);
    assert!(counts.sms.gated > 0 && counts.sms.paused > 0 && counts.sms.paused_resident > 0, "{:?}", counts.sms);
    let mut powered = counts.clone();
    (powered.sms.gated, powered.sms.paused, powered.sms.paused_resident) = (0, 0, 0);
    let set = EnergySet::named("fermi-40nm").unwrap();
    let (with, without) = (set.breakdown_of(&counts, &case.machine), set.breakdown_of(&powered, &case.machine));
    let seconds = |cycles: u64| cycles as f64 / (case.machine.clocks.core.0 as f64 * 1000.0);
    let leaked = without.get(Component::SmStatic) - with.get(Component::SmStatic);
    let clocked = without.get(Component::SmClock) - with.get(Component::SmClock);
    assert!((leaked / (seconds(counts.sms.gated) * set.sm.static_watts) - 1.0).abs() < 1e-9);
    assert!((clocked / (counts.sms.paused_resident as f64 * set.sm.clock_pj * 1e-12) - 1.0).abs() < 1e-9);
}

#[test]
fn energies_do_not_change_the_simulation() {
    let workload = built_in("reduce", &[("cta_count", "32")]);
    let run = |overrides: &[(&str, &str)]| {
        let machine: Machine = machine("tiny", overrides);
        simulate(&machine, &workload, RunOptions::default()).unwrap().outcome
    };
    assert_eq!(run(&[]), run(&[("energy.set", "volta-12nm"), ("energy.voltage", "0.8 V")]));
}

#[test]
fn event_energies_of_applications_sum_to_the_total() {
    let machine = machine("m2090", &[("gpu.dispatch.sharing", "spatial"), ("gpu.dispatch.launch_latency", "0")]);
    let part = |name: &str| MixedApplication { workload: (*built_in(name, &[("cta_count", "24")])).clone(), priority: 0 };
    let workload = Arc::new(mix(vec![part("stream"), part("reduce")], true).unwrap());
    let outcome = simulate(&machine, &workload, RunOptions::default()).unwrap().outcome;
    let model = Model::of(&machine).unwrap().unwrap();
    let parts = model.by_application(&outcome);
    let events: f64 = model.of_run(&outcome).events().map(|(_, _, joules)| joules).sum();
    assert!(parts.len() == 2 && parts.iter().all(|joules| *joules > 0.0), "{parts:?}");
    assert!((parts.iter().sum::<f64>() / events - 1.0).abs() < 1e-9, "{parts:?} of {events}");
    let kernels = model.by_kernel(&outcome);
    assert!(kernels.len() == outcome.kernels.len() && (kernels.iter().sum::<f64>() / events - 1.0).abs() < 1e-9, "{kernels:?} of {events}");
    let lone = simulate(&machine, &built_in("stream", &[("cta_count", "24")]), RunOptions::default()).unwrap().outcome;
    assert_eq!(model.by_application(&lone), [0.0; 0]);
}
