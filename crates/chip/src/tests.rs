//! Tests of the engine's plans for real machines: the units whose halves take turns.

use std::sync::Arc;

use warpshard_base::{LinkId, UnitId};
use warpshard_config::{Machine, Override};
use warpshard_engine::{Latency, Plan, Unit, UnitGroups, retime};
use warpshard_model::builtin;

use super::{BuiltChip, ChipUnit, ShardCut, build};

fn chip_plan(machine: &str) -> Plan<ChipUnit> {
    changed_plan(machine, &[])
}

fn changed_plan(machine: &str, changes: &[(&str, &str)]) -> Plan<ChipUnit> {
    let workload = Arc::new(builtin("gather", 1, &[]).unwrap());
    let changes: Vec<Override> = changes.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let machine = Machine::load(machine, &changes).unwrap().machine;
    let BuiltChip { plan, .. } = build(&machine, &workload, None, ShardCut::default()).unwrap();
    plan
}

/// The settings that place the SMs of `m2090`, two per router, and two CPU cores on a mesh.
const MESH_KEYS: [(&str, &str); 16] = [
    ("noc.topology", "mesh"),
    ("noc.mesh.columns", "4"),
    ("noc.mesh.rows", "4"),
    ("noc.mesh.stages", "3"),
    ("noc.mesh.vcs", "4"),
    ("noc.mesh.buffers", "4"),
    ("noc.mesh.channel_bytes", "32 B"),
    ("noc.mesh.header_bytes", "8 B"),
    (
        "noc.mesh.placement",
        r#"["gpu", "gpu", "gpu", "gpu", "mem", "mem", "mem", "cpu", "cpu", "mem", "mem", "mem", "gpu", "gpu", "gpu", "gpu"]"#,
    ),
    ("cpu.count", "2"),
    ("cpu.private_caches", "false"),
    ("cpu.clock", "2600 MHz"),
    ("cpu.width", "3"),
    ("cpu.memory_per_cycle", "1"),
    ("cpu.window", "128"),
    ("cpu.line_bytes", "128 B"),
];

#[test]
fn networks_and_the_grid_scheduler_alternate_with_all_other_units() {
    for (machine, changes) in [("v100", &[] as &[(&str, &str)]), ("m2090", &[]), ("m2090", &MESH_KEYS)] {
        let plan = changed_plan(machine, changes);
        let retiming = retime(&plan).unwrap();
        let turns = UnitGroups::in_halves(&plan, &retiming, 2).unwrap();
        for (unit, group) in plan.units.iter().zip(&turns.group_of) {
            assert_eq!(*group, u8::from(matches!(unit.kind, "network" | "grid")), "{} of {machine}, a {}", unit.name, unit.kind);
        }
        assert!(turns.stride <= retiming.lookahead && turns.epoch_cycles() > retiming.lookahead, "{machine}: {turns:?}");
    }
}

#[test]
fn more_workers_than_the_networks_can_keep_busy_step_all_units_together() {
    let plan = chip_plan("v100");
    let retiming = retime(&plan).unwrap();
    assert!(UnitGroups::in_halves(&plan, &retiming, 3).is_some());
    assert_eq!(UnitGroups::in_halves(&plan, &retiming, 4), None);
}

#[test]
fn an_event_takes_effect_ahead_of_the_half_that_reported_it() {
    let plan = chip_plan("v100");
    let retiming = retime(&plan).unwrap();
    let turns = UnitGroups::in_halves(&plan, &retiming, 1).unwrap();
    let reports_events = |unit: &usize| plan.units[*unit].unit.sends_events();
    for unit in (0..plan.units.len()).filter(reports_events) {
        for other in (0..plan.units.len()).filter(|&other| turns.group_of[other] == turns.group_of[unit]) {
            let effect = retiming.event_latency(plan.reference.period) + retiming.offsets[other];
            assert!(retiming.offsets[unit] + turns.epoch_cycles() * plan.reference.period <= effect);
        }
    }
}

#[test]
fn units_linked_to_their_kind_do_not_alternate() {
    let mut plan = chip_plan("v100");
    let (first, second) = (UnitId(0), UnitId(1));
    assert_eq!(plan.units[first.index()].kind, plan.units[second.index()].kind);
    let _: LinkId = plan.add_link(first, second, Latency::Slack);
    let retiming = retime(&plan).unwrap();
    assert_eq!(UnitGroups::in_halves(&plan, &retiming, 1), None);
}
