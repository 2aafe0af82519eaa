//! The same bytes on systems of several GPUs: remote reads, writes and atomics, copies, events between GPUs, controllers and intervals.

use std::sync::Arc;

use warpshard::chip::{RunOptions, ShardCut};
use warpshard::engine::Scaling;
use warpshard::workload::Workload;

use super::files::{ResultFiles, run};
use super::small_systems::{OTHER_GPU_KIND, in_turn, system};
use super::{assert_same_files, in_rotation, with_interval};
use crate::common::{SimulationCase, built_in};

pub(crate) fn system_cases() -> Vec<SimulationCase> {
    let case = |name: &str, machine, workload: &Arc<Workload>, policy| SimulationCase {
        name: name.into(),
        machine,
        workload: Arc::clone(workload),
        policy,
    };
    let gather = built_in("gather", &[("cta_count", "32"), ("table", "16384"), ("rounds", "2")]);
    let reduce = built_in("reduce", &[("cta_count", "48")]);
    let histogram = built_in("reduce", &[("cta_count", "16")]);
    let spread = |memory| [("system.launch", "spread"), ("system.memory", memory)];
    let eight = [
        ("system.launch", "spread"),
        ("system.memory", "interleaved"),
        ("system.peer.topology", "ring"),
        ("system.forward", "true"),
        ("system.peer.count", "2"),
    ];
    let switched = [("system.launch", "spread"), ("system.memory", "first-touch"), ("system.peer.topology", "switch")];
    let kinds = |memory| [&OTHER_GPU_KIND[..], &spread(memory)].concat();
    // Controllers need SMs of one kind and clock; the number of SMs and the memory may differ.
    let unequal = [&OTHER_GPU_KIND[..4], &spread("interleaved")].concat();
    let alternate = Some(("alternate", "low = 1\nhigh = 3\nctas = 4"));
    vec![
        case("interleaved", system("2", &spread("interleaved")), &gather, None),
        case("first touch", system("2", &spread("first-touch")), &gather, alternate),
        case("atomics", system("3", &spread("interleaved")), &histogram, None),
        case("eight in a ring", system("8", &eight), &reduce, alternate),
        case("eight at a switch", system("8", &switched), &gather, None),
        case("two kinds, interleaved", system("4", &kinds("interleaved")), &gather, None),
        case("two kinds, first touch", system("4", &kinds("first-touch")), &histogram, None),
        case("two kinds, controlled", system("4", &unequal), &gather, alternate),
        case("two kinds, copies and events", system("4", &OTHER_GPU_KIND), &in_turn(&reduce, 4), None),
        case("copies and events", system("2", &[]), &in_turn(&reduce, 2), None),
        case("copies and events of eight", system("8", &eight[2..]), &in_turn(&reduce, 8), alternate),
    ]
}

fn base_files(case: &SimulationCase) -> ResultFiles {
    let base = run(case, with_interval(case));
    let remote = ["remote_reads", "copied_lines"].iter().any(|name| {
        let at = base.stats.find(&format!("\"{name}\": ")).unwrap_or_else(|| panic!("{}: no {name}", case.name));
        !base.stats[at..].starts_with(&format!("\"{name}\": 0"))
    });
    assert!(remote, "{}: nothing crosses GPUs", case.name);
    base
}

#[test]
fn threads_epochs_shards_and_skipping_change_nothing_in_systems() {
    for (number, case) in system_cases().into_iter().enumerate() {
        let base = base_files(&case);
        let ways = [
            (2, None, ShardCut::default()),
            (3, Some(1), ShardCut { sms: 4, partitions: 2 }),
            (5, Some(7), ShardCut { sms: 2, partitions: 1 }),
        ];
        for &(threads, epoch, cut) in in_rotation(&ways, number) {
            let options = RunOptions { threads, epoch, cut, ..with_interval(&case) };
            assert_same_files(&case, &base, options, &format!("{threads} threads, epochs of {epoch:?}, {cut:?}"));
        }
        assert_same_files(&case, &base, RunOptions { skip: false, threads: 2, ..with_interval(&case) }, "every cycle stepped");
        assert_same_files(
            &case,
            &base,
            RunOptions { threads: 3, scaling: Scaling::Random(3), ..with_interval(&case) },
            "a changing number of threads",
        );
    }
}

#[test]
fn a_limit_gives_the_same_for_every_way_of_running_in_systems() {
    let case = &system_cases()[0];
    let whole = run(case, RunOptions::default());
    for step in 1..8 {
        let limit = whole.cycles * step / 8;
        let limited = |threads, epoch| RunOptions { max_cycles: Some(limit), threads, epoch, ..with_interval(case) };
        let base = run(case, limited(1, None));
        assert_same_files(case, &base, limited(3, Some(7)), &format!("a limit of {limit}"));
    }
}
