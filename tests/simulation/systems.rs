//! Systems of several GPUs: conservation, copies, events between GPUs, random topologies, and refused settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use small::{OTHER_GPU_KIND, copy, in_turn, launches, memory, system};

use warpshard::chip::{RunError, RunOptions, RunResult, simulate};
use warpshard::config::{Machine, Override};
use warpshard::protocol::Payload;
use warpshard::stats::{EndedBy, Outcome};
use warpshard::workload::Workload;

use crate::common::systems as small;

fn built_in(name: &str, parameters: &[(&str, &str)]) -> Arc<Workload> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(warpshard::catalogue().model(name, 1, &parameters).unwrap_or_else(|error| panic!("{error}")).workload())
}

fn run(machine: &Machine, workload: &Arc<Workload>) -> RunResult {
    simulate(machine, workload, RunOptions { log: true, ..RunOptions::default() }).unwrap_or_else(|error| panic!("{error}"))
}

fn counter_sum(outcome: &Outcome, kind: &str, name: &str) -> u64 {
    let of_kind = outcome.components.iter().filter(|component| component.kind == kind);
    of_kind.flat_map(|component| &component.counters).filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
}

/// Checks that each SM receives the sectors that it requested, and that the logged packets between nodes match the counters.
fn check_log(result: &RunResult) {
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    let mut lanes: BTreeMap<u16, u64> = BTreeMap::new();
    for sent in &result.log.sent {
        let name = &result.link_names[sent.link.index()];
        let (from, to) = name.split_once(" -> ").unwrap();
        let Payload::Mem(packet) = sent.payload else { continue };
        if from.contains(" sm") {
            *open.entry(from.to_owned()).or_default() += i64::from(packet.sectors().count());
        } else if to.contains(" sm") {
            *open.entry(to.to_owned()).or_default() -= i64::from(packet.sectors().count());
        } else if !from.contains("network") && !to.contains("network") {
            *lanes.entry(sent.link.0).or_default() += 1;
        }
    }
    assert!(open.values().all(|left| *left == 0), "sectors that were not answered, or twice: {open:?}");
    assert_eq!(lanes.values().sum::<u64>(), counter_sum(&result.outcome, "link", "packets"));
}

#[test]
fn every_request_has_one_reply_for_any_memory_placement() {
    let gather = built_in("gather", &[("cta_count", "32"), ("table", "16384"), ("rounds", "2")]);
    let reduce = built_in("reduce", &[("cta_count", "24")]);
    for memory in ["interleaved", "first-touch"] {
        for (gpus, topology, forward) in [("2", "pairs", "false"), ("5", "ring", "true"), ("4", "switch", "false"), ("6", "mesh", "true")] {
            let more =
                [("system.memory", memory), ("system.launch", "spread"), ("system.peer.topology", topology), ("system.forward", forward)];
            for workload in [&gather, &reduce] {
                let result = run(&system(gpus, &more), workload);
                let outcome = &result.outcome;
                assert_eq!(outcome.ended_by, EndedBy::Completed);
                check_log(&result);
                assert!(counter_sum(outcome, "hub", "remote_reads") > 0, "{memory}, {topology}");
                assert_eq!(
                    counter_sum(outcome, "hub", "remote_sectors"),
                    counter_sum(outcome, "hub", "served_sectors") + locally_held_sectors(&result)
                );
                let (ctas, done): (u32, u32) =
                    outcome.kernels.iter().map(|k| (k.ctas, k.ctas_done)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
                assert_eq!((ctas, done), (workload.kernels[0].info.ctas(), ctas));
            }
        }
    }
}

/// Returns the sectors that SMs requested through their hub but that their own GPU holds, because the pages' homes were unknown.
fn locally_held_sectors(result: &RunResult) -> u64 {
    let mut sectors = 0;
    for sent in &result.log.sent {
        let (from, to) = result.link_names[sent.link.index()].split_once(" -> ").unwrap();
        if let Payload::Mem(packet) = sent.payload
            && from.contains("hub")
            && to.contains("request network")
        {
            sectors += u64::from(packet.sectors().count());
        }
    }
    sectors - counter_sum(&result.outcome, "hub", "served_sectors")
}

#[test]
fn a_system_executes_the_instructions_of_one_gpu() {
    let gather = built_in("gather", &[("cta_count", "32"), ("table", "16384"), ("rounds", "2")]);
    let alone = run(&warpshard::catalogue().machine("tiny", &[]).unwrap().machine, &gather).outcome;
    for launch in ["bound", "spread"] {
        let system = run(&system("2", &[("system.memory", "interleaved"), ("system.launch", launch)]), &gather).outcome;
        for name in ["warp_instructions", "thread_instructions"] {
            assert_eq!(counter_sum(&system, "sm", name), counter_sum(&alone, "sm", name), "{launch}");
        }
        assert_eq!(
            system.components.iter().filter(|component| component.kind == "sm").map(|sm| sm.id).collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_gpu_that_shares_nothing_runs_as_if_it_were_alone() {
    let reduce = built_in("reduce", &[("cta_count", "48")]);
    let alone = run(&warpshard::catalogue().machine("tiny", &[]).unwrap().machine, &reduce).outcome;
    let result = run(&system("2", &[]), &reduce).outcome;
    assert_eq!((result.cycles, result.kernels[0].started), (alone.cycles, alone.kernels[0].started));
    assert_eq!(counter_sum(&result, "hub", "remote_reads"), 0);
}

#[test]
fn gpus_of_two_kinds_reply_to_every_request_and_share_ctas_by_sms() {
    let gather = built_in("gather", &[("cta_count", "36"), ("table", "16384"), ("rounds", "2")]);
    let alone = run(&warpshard::catalogue().machine("tiny", &[]).unwrap().machine, &gather).outcome;
    for memory in ["interleaved", "first-touch"] {
        let settings = [&OTHER_GPU_KIND[..], &[("system.launch", "spread"), ("system.memory", memory)]].concat();
        let result = run(&system("4", &settings), &gather);
        check_log(&result);
        let outcome = &result.outcome;
        assert_eq!(outcome.kernels.iter().map(|kernel| kernel.ctas).collect::<Vec<_>>(), [12, 6, 12, 6]);
        assert_eq!(counter_sum(outcome, "sm", "warp_instructions"), counter_sum(&alone, "sm", "warp_instructions"));
        let ids = |kind| outcome.components.iter().filter(|c| c.kind == kind).map(|c| c.id).collect::<Vec<_>>();
        assert_eq!((ids("sm"), ids("dram")), ((0..12).collect(), (0..10).collect()));
        let totals = |gpu: usize, kind: &str, name: &str| {
            let of_kind = outcome.system.as_ref().unwrap().gpus[gpu].totals.iter().find(|(known, _)| *known == kind).unwrap();
            of_kind.1.iter().find(|counted| counted.info.name == name).unwrap().value
        };
        let issued: Vec<u64> = (0..4).map(|gpu| totals(gpu, "sm", "warp_instructions")).collect();
        assert_eq!(issued, [2 * issued[1], issued[1], 2 * issued[1], issued[1]], "{memory}: as many as CTAs");
        let cycles: Vec<u64> = (0..4).map(|gpu| totals(gpu, "sm", "cycles")).collect();
        // Four SMs run at 1000 MHz and two at 750 MHz, until the cut that ends the run.
        assert_eq!((cycles[0], cycles[1]), (4 * outcome.counted_until, 2 * (3 * outcome.counted_until).div_ceil(4)), "{memory}");
    }
}

#[test]
fn a_kernel_runs_the_same_on_a_gpu_of_another_kind_as_on_that_gpu_alone() {
    let reduce = built_in("reduce", &[("cta_count", "30")]);
    let own: Vec<Override> =
        OTHER_GPU_KIND[1..].iter().map(|(key, value)| Override::new(key.replace("system.kinds.other.", ""), *value)).collect();
    let cold = Override::new("mem.memcpy_warms_llc", "off");
    let alone = run(&warpshard::catalogue().machine("tiny", &[own, vec![cold]].concat()).unwrap().machine, &reduce).outcome;
    let mut there = (*reduce).clone();
    there.kernels[0].info.gpu = Some(warpshard::base::GpuId(3));
    there.homes = vec![(0..u64::MAX, warpshard::base::GpuId(3))];
    let settings = [&OTHER_GPU_KIND[..], &[("mem.memcpy_warms_llc", "off")]].concat();
    let outcome = run(&system("4", &settings), &Arc::new(there)).outcome;
    assert_eq!(
        (counter_sum(&outcome, "hub", "remote_reads"), counter_sum(&outcome, "dram", "reads")),
        (0, counter_sum(&alone, "dram", "reads"))
    );
    let times = |outcome: &Outcome| [outcome.kernels[0].started, outcome.kernels[0].ended].map(Option::unwrap);
    // The system counts cycles of GPU 0 at 1000 MHz; the single machine counts cycles at 750 MHz.
    assert_eq!(times(&outcome), times(&alone).map(|cycle| cycle * 4 / 3));
    assert_eq!(outcome.cycles, alone.cycles * 4 / 3);
}

#[test]
fn controllers_need_sms_of_one_kind_and_recording_needs_gpus_of_one_kind() {
    let gather = built_in("gather", &[("cta_count", "4")]);
    let refused = |machine: &Machine, options| match simulate(machine, &gather, options) {
        Err(RunError::Config(text)) => text,
        other => panic!("{other:?}"),
    };
    let machine = system("4", &OTHER_GPU_KIND);
    let row = warpshard::catalogue().policies().find("static_limit").unwrap();
    let policy = (row.build)(toml::from_str("ctas = 1").unwrap()).unwrap();
    let error = refused(&machine, RunOptions { controllers: vec![policy], ..RunOptions::default() });
    assert!(error.starts_with("controller `static_limit`: the GPUs of kind `other` have SMs, a sharing or a core clock unlike"), "{error}");
    let recording =
        Some(warpshard::stats::activity::RecordingSelection { sms: Default::default(), partitions: Default::default(), from: 0, most: 1 });
    assert!(refused(&machine, RunOptions { recording, ..RunOptions::default() }).contains("only if all GPUs are of one kind"));
}

#[test]
fn a_wait_for_a_kernel_on_another_gpu_takes_the_message_latency() {
    let reduce = built_in("reduce", &[("cta_count", "8")]);
    let on = |gpu, after: &[u32]| {
        let mut kernel = reduce.kernels[0].clone();
        kernel.info.gpu = Some(warpshard::base::GpuId(gpu));
        kernel.info.after = after.iter().copied().map(warpshard::base::KernelIndex).collect();
        kernel
    };
    let launched = |nanoseconds: &str| {
        let outcome = run(&system("2", &[("system.peer.latency_ns", nanoseconds)]), &launches(2, vec![on(0, &[]), on(1, &[0])])).outcome;
        outcome.kernels[1].launched.unwrap() - outcome.kernels[0].ended.unwrap()
    };
    // The path takes 9 cycles to the grid scheduler, 39 to the hub, one in the hub, one for the header, the link, and 9 to the other grid
    // scheduler. A launch counts from one latency before its cause reaches the scheduler.
    assert_eq!((launched("20"), launched("300")), (39 + 1 + 1 + 20 + 9, 39 + 1 + 1 + 300 + 9));
}

#[test]
fn copies_take_the_bandwidth_of_the_link_and_the_order_of_their_stream() {
    let cycles = |lines: u64, mbs: &str| {
        let machine = system(
            "2",
            &[
                ("system.peer.bandwidth_mbs", mbs),
                ("system.hub.copy_lines", "256"),
                ("system.peer.buffer", "256"),
                ("system.hub.pending", "256"),
            ],
        );
        let workload =
            launches(2, vec![copy(0, 0, &[], (memory(0), memory(1), 128 * lines)), copy(1, 0, &[0], (memory(1), memory(0), 128))]);
        let result = run(&machine, &workload);
        check_log(&result);
        let outcome = result.outcome;
        assert_eq!(counter_sum(&outcome, "hub", "copied_lines"), lines + 1);
        assert_eq!(counter_sum(&outcome, "hub", "copies"), 2);
        let [first, second] = [0, 1].map(|kernel| &outcome.kernels[kernel]);
        assert!(second.launched > first.ended && first.ctas_done == 1);
        first.ended.unwrap() - first.started.unwrap()
    };
    // 144 bytes take 144 cycles at 1 GB/s.
    assert_eq!(cycles(400, "1000") - cycles(200, "1000"), 200 * 144);
    assert_eq!(cycles(400, "2000") - cycles(200, "2000"), 200 * 72);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_topologies_end_without_deadlock(
        gpus in 2u32..7,
        extra in prop::collection::vec((0u32..6, 0u32..8, 1u32..3), 0..6),
        seed in 0u32..1000,
        first_touch in any::<bool>(),
    ) {
        // A random tree connects all GPUs; further random links are added, some to switches.
        let mut links: Vec<String> = (1..gpus).map(|gpu| format!("\"gpu{gpu}-gpu{}\"", (seed / gpu) % gpu)).collect();
        for (a, b, count) in extra {
            let b = if b < gpus { format!("gpu{b}") } else { format!("switch{}", b - gpus) };
            if format!("gpu{}", a % gpus) != b {
                links.push(format!("\"gpu{}-{b} x{count}\"", a % gpus));
            }
        }
        let list = format!("[{}]", links.join(", "));
        let count = gpus.to_string();
        let machine = system(&count, &[
            ("system.peer.topology", "list"),
            ("system.peer.links", &list),
            ("system.forward", "true"),
            ("system.launch", "spread"),
            ("system.memory", if first_touch { "first-touch" } else { "interleaved" }),
            ("system.peer.buffer", "1"),
            ("system.hub.pending", "1"),
            ("system.hub.copy_lines", "1"),
            ("system.hub.ports", "1"),
        ]);
        let once = built_in("gather", &[("cta_count", "6"), ("table", "8192"), ("rounds", "1")]);
        for workload in [&once, &in_turn(&once, gpus as u8)] {
            let result = run(&machine, workload);
            prop_assert_eq!(result.outcome.ended_by, EndedBy::Completed);
            check_log(&result);
        }
    }
}

fn refusal_message(settings: &[(&str, &str)]) -> String {
    let settings: Vec<Override> = settings.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine("v100x2", &settings).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn invalid_systems_are_refused_with_the_reason() {
    let cases = [
        (vec![("system.peer.links", "[\"gpu0-gpu0\"]")], "leads from gpu0 to itself"),
        (vec![("system.peer.links", "[\"gpu0-gpu2\"]")], "ends at gpu2, but the system has 2 GPUs, counted from 0"),
        (vec![("system.peer.links", "[\"gpu0-switch0\"]")], "there is no path of links from gpu1 to gpu0"),
        (vec![("system.peer.links", "[\"gpu0-gpu\"]")], "a list of links, such as"),
        (vec![("system.gpus", "3")], "there is no path of links from gpu2 to gpu0"),
        (vec![("system.gpus", "1"), ("system.peer.topology", "none")], "`system.gpus` is 1, expected at least 2"),
        (
            vec![("system.gpus", "64"), ("system.peer.topology", "pairs"), ("system.peer.count", "2"), ("system.peer.links", "[]")],
            "links, expected at most 65535",
        ),
        (vec![("system.peer.topology", "ring")], "has 1 entries with this"),
        (vec![("system.page_bytes", "5000 B")], "expected a power of two"),
        (
            vec![
                ("system.gpus", "20"),
                ("system.peer.topology", "ring"),
                ("system.peer.links", "[]"),
                ("system.forward", "true"),
                ("gpu.sms", "1"),
                ("mem.map.partitions", "1"),
            ],
            "the longest path between two GPUs has 10 links, expected at most 8",
        ),
    ];
    for (settings, expected) in cases {
        let error = refusal_message(&settings);
        assert!(error.contains(expected), "{settings:?}: {error}");
    }
}

#[test]
fn workloads_with_missing_gpus_are_refused() {
    let error = |machine: &Machine, workload| match simulate(machine, &workload, RunOptions::default()) {
        Err(RunError::Config(text)) => text,
        other => panic!("{other:?}"),
    };
    let copies = || launches(3, vec![copy(2, 0, &[], (memory(0), memory(1), 128))]);
    assert_eq!(error(&system("2", &[]), copies()), "kernel `copy` runs on gpu2, but the machine has 2 GPUs, counted from 0");
    let alone = warpshard::catalogue().machine("tiny", &[]).unwrap().machine;
    assert_eq!(error(&alone, copies()), "kernel `copy` runs on gpu2, but the machine has one GPU, gpu0");
    let here = launches(1, vec![copy(0, 0, &[], (memory(0), memory(0) + 4096, 128))]);
    assert_eq!(error(&alone, here), "`copy` copies between GPUs, but the machine has one GPU, gpu0");
}
