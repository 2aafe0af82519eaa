//! Non-default policies of the simulator and of an embedding program: the same bytes on any number of threads, in epochs of any length and
//! through checkpoints, and other results than with the default policies.

use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::{Machine, Override};

use super::checkpoints::stopped_and_resumed;
use super::files::run;
use super::{assert_same_files, in_rotation, with_interval};
use crate::common::{SimulationCase, built_in};

#[path = "../../embedding/src/policies.rs"]
mod policies;
#[path = "../../embedding/src/workload.rs"]
mod workload;

type MachineOverrides = &'static [(&'static str, &'static str)];

/// Overrides that give the test machine a mesh of two rows.
const MESH_OVERRIDES: MachineOverrides = &[
    ("noc.topology", "mesh"),
    ("noc.mesh.columns", "4"),
    ("noc.mesh.rows", "2"),
    ("noc.mesh.vcs", "2"),
    ("noc.mesh.buffers", "4"),
    ("noc.mesh.channel_bytes", "20 B"),
    ("noc.mesh.placement", r#"["gpu0", "mem0", "gpu1", "mem1", "gpu2", "-", "gpu3", "-"]"#),
];
const FIXED_L1_SIZE: MachineOverrides = &[("gpu.sm.l1.unified.adaptive", "false")];
const STANDARD_CONTROLLER: MachineOverrides = &[
    ("mem.dram.controller", "standard"),
    ("mem.dram.timing.tREFI", "1500"),
    ("mem.dram.timing.tRFC", "100"),
    ("mem.dram.timing.tFAW", "14"),
];

/// Settings that the default shares with a policy, and the settings that select the policy.
const POLICIES: &[(MachineOverrides, MachineOverrides)] = &[
    (FIXED_L1_SIZE, &[("gpu.sm.l1.cache.replacement", "ship")]),
    (&[], &[("mem.llc.replacement", "ship")]),
    (&[], &[("mem.llc.replacement", "ta-drrip")]),
    (&[], &[("mem.dram.scheduler", "par-bs")]),
    (STANDARD_CONTROLLER, &[("mem.dram.scheduler", "par-bs")]),
    (STANDARD_CONTROLLER, &[("mem.dram.page", "predicted")]),
    (STANDARD_CONTROLLER, &[("mem.dram.refresh_when", "elastic")]),
    (STANDARD_CONTROLLER, &[("mem.dram.page", "own")]),
    (STANDARD_CONTROLLER, &[("mem.dram.refresh_when", "own")]),
    (&[], &[("gpu.sm.l1.prefetch", "ghb"), ("gpu.sm.l1.prefetch_degree", "2")]),
    (&[], &[("mem.llc.prefetch", "ghb"), ("mem.llc.prefetch_degree", "2")]),
    (&[], &[("mem.llc.prefetch", "next-line")]),
    (&[], &[("noc.arbiter", "age")]),
    (MESH_OVERRIDES, &[("noc.topology", "torus")]),
    (&[("gpu.sm.l1.cache.allocate", "on-fill"), ("gpu.sm.l1.cache.write_miss", "no-allocate")], &[("gpu.sm.l1.cache.replacement", "own")]),
    (&[], &[("mem.llc.replacement", "own")]),
    (&[], &[("mem.dram.scheduler", "own")]),
    (STANDARD_CONTROLLER, &[("mem.dram.scheduler", "own")]),
    (&[], &[("gpu.sm.l1.prefetch", "own"), ("gpu.sm.l1.prefetch_degree", "4")]),
    (&[], &[("mem.llc.prefetch", "own"), ("mem.llc.prefetch_degree", "2")]),
    (&[], &[("noc.arbiter", "own")]),
    (MESH_OVERRIDES, &[("noc.topology", "own")]),
    (&[], &[("gpu.sm.order", "own")]),
    (&[], &[("gpu.dispatch.cta_order", "pairs")]),
    (&[], &[("gpu.dispatch.cta_order", "own")]),
    (&[], &[("mem.map.hash", "own")]),
];

fn machine(settings: &[&[(&str, &str)]]) -> Machine {
    let overrides: Vec<Override> = settings.concat().iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let catalogue = warpshard::catalogue().with_policies(policies::own_policies());
    catalogue.machine("tiny", &overrides).unwrap_or_else(|error| panic!("{error}")).machine
}

fn policy_cases(with: MachineOverrides, policy: MachineOverrides) -> [SimulationCase; 2] {
    let name = format!("{policy:?}");
    let machine = machine(&[with, policy]);
    let gather = built_in("gather", &[("cta_count", "8"), ("table", "8192"), ("rounds", "2")]);
    let gathered = SimulationCase { name: format!("gather, {name}"), machine: machine.clone(), workload: gather, policy: None };
    [gathered, SimulationCase { name: format!("walk, {name}"), machine, workload: workload::walk_workload(), policy: None }]
}

#[test]
fn non_default_policies_change_results_and_ways_of_running_do_not() {
    for (seed, (with, policy)) in (400..).zip(POLICIES) {
        let differs = policy_cases(with, policy).iter().any(|case| {
            let default =
                SimulationCase { machine: machine(&[with]), workload: Arc::clone(&case.workload), name: case.name.clone(), policy: None };
            run(&default, with_interval(&default)).stats != run(case, with_interval(case)).stats
        });
        assert!(differs, "{policy:?} has no effect");
        // The seed selects one of the two workloads.
        let fresh = || {
            let [gather, walk] = policy_cases(with, policy);
            if seed % 2 == 0 { walk } else { gather }
        };
        let case = fresh();
        let base = run(&case, with_interval(&case));
        for &(threads, epoch) in in_rotation(&[(2, Some(1)), (5, Some(7))], seed as usize / 2) {
            assert_same_files(
                &case,
                &base,
                RunOptions { threads, epoch, ..with_interval(&case) },
                &format!("{threads} threads and epochs of {epoch:?}"),
            );
        }
        assert_same_files(&case, &base, RunOptions { skip: false, ..with_interval(&case) }, "every cycle stepped");
        stopped_and_resumed(&fresh, &with_interval, seed);
    }
}

#[test]
fn a_machine_with_own_policies_is_refused_if_the_program_defines_none() {
    for (with, policy) in POLICIES.iter().filter(|(_, policy)| policy.iter().any(|(_, word)| *word == "own")) {
        let overrides: Vec<Override> = [*with, *policy].concat().iter().map(|(key, value)| Override::new(*key, *value)).collect();
        let machine = warpshard::catalogue().machine("tiny", &overrides).unwrap_or_else(|error| panic!("{error}")).machine;
        let error = simulate(&machine, &workload::walk_workload(), RunOptions::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{}` is \"own\"", policy[0].0)) && error.contains("Catalogue::with_policies"), "{error}");
    }
}
