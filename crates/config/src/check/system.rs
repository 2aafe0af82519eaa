//! Checks of a system of several GPUs.

use super::super::machine::Machine;
use super::super::routes::Routes;
use super::super::system::{LinkSet, LinkTopology, System};
use super::checker::Checker;

/// Maximum number of links of a path: a packet stores its position on the path in three bits.
const MAX_HOPS: u32 = 8;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    let Some(system) = &machine.system else { return };
    checker.require(
        system.gpus >= 2,
        &["system.gpus"],
        || "`system.gpus` is 1, expected at least 2".to_owned(),
        || "omit the key for a single GPU".to_owned(),
    );
    checker.power_of_two("system.page_bytes", u64::from(system.page_bytes), "page numbers are computed by shifting addresses");
    checker.require(
        machine.cpu.is_none(),
        &["system.gpus", "cpu.count"],
        || "a machine with CPU cores has several GPUs".to_owned(),
        || "CPU cores are modelled on chips of one GPU; set `cpu.count = 0`".to_owned(),
    );
    checker.require(
        machine.mem.map.reserved == 0,
        &["system.gpus"],
        || "a machine with partitions reserved for CPU cores has several GPUs".to_owned(),
        || "reserve none".to_owned(),
    );
    check_gpu(machine, checker);
    check_link_sets(system, checker);
    check_links(system, checker);
}

/// Checks the restrictions that hold for each GPU of a system.
pub(super) fn check_gpu(machine: &Machine, checker: &mut Checker<'_>) {
    let Some(system) = &machine.system else { return };
    checker.require(
        machine.noc.mesh.is_none(),
        &["system.gpus", "noc.topology"],
        || "a machine with a mesh has several GPUs".to_owned(),
        || "the hub of a GPU is a port of a crossbar; set `noc.topology = \"crossbar\"`".to_owned(),
    );
    let cores = machine.gpu.sms + system.hub.ports;
    let slices = machine.mem.map.partitions * machine.mem.map.slices_per_partition + system.hub.ports;
    checker.require(
        machine.noc.crossbar != super::super::machine::Crossbar::Vc || cores.max(slices) <= 128,
        &["system.hub.ports", "noc.crossbar"],
        || format!("a `vc` crossbar has at most 128 ports, and this machine with its hub needs {}", cores.max(slices)),
        || "use fewer ports, cores or slices, or another crossbar".to_owned(),
    );
}

fn check_link_sets(system: &System, checker: &mut Checker<'_>) {
    let mut set = |name: &str, links: &LinkSet| {
        let [topology, list] = ["topology", "links"].map(|key| format!("system.{name}.{key}"));
        if links.topology == LinkTopology::None {
            return;
        }
        checker.require(
            (links.topology == LinkTopology::List) != links.wires.is_empty(),
            &[&list, &topology],
            || format!("`{list}` has {} entries with this `{topology}`", links.wires.len()),
            || format!("list links only with `{topology} = \"list\"`"),
        );
    };
    set("peer", &system.peer);
    set("host", &system.host);
}

fn check_links(system: &System, checker: &mut Checker<'_>) {
    let key = if system.peer.topology == LinkTopology::List {
        "system.peer.links"
    } else if system.host.topology == LinkTopology::List {
        "system.host.links"
    } else {
        "system.peer.topology"
    };
    match Routes::of(system) {
        Err(error) => checker.require(
            false,
            &[key],
            || error.to_string(),
            || "the nodes are gpuN, switchN and hostN; every GPU needs a path to every other GPU, and `system.forward = true` lets packets pass through GPUs".to_owned(),
        ),
        Ok(routes) => {
            let most = MAX_HOPS;
            checker.require(
                routes.max_path_links <= most,
                &[key],
                || format!("the longest path between two GPUs has {} links, expected at most {most}", routes.max_path_links),
                || "packets have a virtual channel for each link of their path; add links or a switch".to_owned(),
            );
        }
    }
}
