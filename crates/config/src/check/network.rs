//! Checks of the network. A credit loop whose capacity is below its round trip limits the throughput.

use super::super::machine::{Arbiter, Crossbar, Machine, Mesh};
use super::super::placement::Placement;
use super::checker::Checker;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    if let Some(mesh) = &machine.noc.mesh {
        check_routers(machine, mesh, checker);
        return;
    }
    check_crossbar(machine, checker);
    let link = machine.noc.link_latency;
    // The ROP pipe in front of the slices is part of the link from the network, and therefore of its credit loop.
    let rop = machine.mem.rop_latency.saturating_mul(machine.clocks.noc.0).div_ceil(machine.clocks.llc.0.max(1));
    check_loop_rate(&["noc.input_queue", "noc.link_latency"], machine.noc.input_queue, 2 * link, checker);
    check_loop_rate(
        &["noc.output_queue", "noc.link_latency", "mem.rop_latency"],
        machine.noc.output_queue,
        (2 * link).saturating_add(rop),
        checker,
    );
}

/// Checks that a `vc` crossbar has virtual channels of some width and at most 128 ports, and that other crossbars have no virtual channels.
fn check_crossbar(machine: &Machine, checker: &mut Checker<'_>) {
    let (kind, vc) = (machine.noc.crossbar, machine.noc.vc);
    let is_vc = kind == Crossbar::Vc;
    let help = || "`noc.crossbar = \"vc\"` needs at least one virtual channel with one flit of 1 B; other crossbars need 0".to_owned();
    for (key, unit, value) in [
        ("noc.vc.vcs", "virtual channels", vc.vcs),
        ("noc.vc.buffers", "flits", vc.buffers),
        ("noc.vc.channel_bytes", "bytes", vc.channel_bytes),
    ] {
        let expected = if is_vc { "at least 1" } else { "0, as the crossbar is not `vc`" };
        let complaint = || format!("`{key}` is {value} {unit}, expected {expected}");
        checker.require(is_vc == (value > 0), &[key, "noc.crossbar"], complaint, help);
    }
    let sees = matches!(machine.noc.arbiter, Arbiter::Age | Arbiter::Own);
    checker.require(
        !sees || kind == Crossbar::Fifo,
        &["noc.arbiter", "noc.crossbar"],
        || "`noc.arbiter` inspects packets, but the crossbar is not `fifo`; expected \"round-robin\" or \"islip\"".to_owned(),
        || "only a `fifo` crossbar has such an arbiter; set `noc.crossbar = \"fifo\"`".to_owned(),
    );
    let cores = machine.gpu.sms.saturating_add(machine.cpu.as_ref().map_or(0, |cpu| cpu.count));
    let ports = cores.max(machine.mem.map.partitions.saturating_mul(machine.mem.map.slices_per_partition));
    checker.require(
        !is_vc || ports <= 128,
        &["noc.crossbar", "gpu.sms"],
        || format!("a `vc` crossbar has at most 128 ports, and this machine needs {ports}"),
        || "use fewer cores or slices, or another crossbar".to_owned(),
    );
}

/// Checks a mesh: every core and partition has a router, and each traffic class has virtual channels and bandwidth.
fn check_routers(machine: &Machine, mesh: &Mesh, checker: &mut Checker<'_>) {
    let seated = Placement::of(machine, mesh);
    checker.require(
        seated.is_ok(),
        &["noc.mesh.placement", "noc.mesh.columns", "noc.mesh.rows"],
        || format!("`noc.mesh.placement` {}", seated.as_ref().err().map_or_else(String::new, ToString::to_string)),
        || "every core and partition has exactly one router; \"gpu\" without a number is an equal share of all SMs".to_owned(),
    );
    checker.require(
        mesh.cpu_vcs < mesh.vcs,
        &["noc.mesh.cpu_vcs", "noc.mesh.vcs"],
        || format!("`noc.mesh.cpu_vcs` is {}, expected fewer than the {} of a port", mesh.cpu_vcs, mesh.vcs),
        || "SMs need a virtual channel too".to_owned(),
    );
    checker.require(
        mesh.cpu_channel_bytes < mesh.channel_bytes && (mesh.cpu_channel_bytes == 0 || mesh.cpu_vcs > 0),
        &["noc.mesh.cpu_channel_bytes", "noc.mesh.channel_bytes", "noc.mesh.cpu_vcs"],
        || {
            format!(
                "`noc.mesh.cpu_channel_bytes` is {}, expected less than the {} of a channel, and reserved virtual channels",
                mesh.cpu_channel_bytes, mesh.channel_bytes
            )
        },
        || "the reserved width serves the virtual channels that are reserved for CPU cores".to_owned(),
    );
}

/// Returns the cycles from a packet's departure to the return of its credit: the links, one cycle in the queue, and the wait for a full
/// batch of credits.
fn round_trip(capacity: u64, links: u64) -> u64 {
    links.saturating_add((capacity / 32).max(1))
}

/// Returns the least capacity that covers its own credit round trip: one slot in 32 waits for its batch of credits.
fn min_full_rate_capacity(links: u64) -> u64 {
    let below = links.saturating_sub(1);
    (below / 31).saturating_mul(32).saturating_add(below % 31 + 1).max(links.saturating_add(1))
}

/// Warns if a queue has fewer slots than packets and credits in flight at one packet per cycle.
fn check_loop_rate(keys: &[&str], capacity: u32, links: u64, checker: &mut Checker<'_>) {
    let capacity = u64::from(capacity);
    let round_trip = round_trip(capacity, links);
    checker.advise(
        capacity >= round_trip,
        keys,
        || {
            let key = keys[0];
            let percent = 100 * capacity / round_trip;
            format!("`{key}` holds {capacity} packets for a credit round trip of {round_trip} noc cycles: at most {percent} % of a packet per cycle")
        },
        || format!("{} slots or more sustain one packet per cycle", min_full_rate_capacity(links)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_capacity_covers_the_round_trip_and_one_less_does_not() {
        for links in 0..500 {
            let capacity = min_full_rate_capacity(links);
            assert!(capacity >= round_trip(capacity, links), "{links}");
            assert!(capacity - 1 < round_trip(capacity - 1, links), "{links}");
        }
        assert_eq!(min_full_rate_capacity(u64::MAX), u64::MAX);
    }
}
