//! Checks of the network: a credit loop that is too small for its round trip runs below full rate.

use super::super::machine::{Arbiter, Crossbar, Machine, Mesh};
use super::super::placement::Placement;
use super::checker::Checker;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    if let Some(mesh) = &machine.noc.mesh {
        routers(machine, mesh, checker);
        return;
    }
    crossbar(machine, checker);
    let link = machine.noc.link_latency;
    // The pipe before the slices lies on the link from the network, and so inside that link's credit loop.
    let rop = machine.mem.rop_latency.saturating_mul(machine.clocks.noc.0).div_ceil(machine.clocks.llc.0.max(1));
    loop_rate(&["noc.input_queue", "noc.link_latency"], machine.noc.input_queue, 2 * link, checker);
    loop_rate(
        &["noc.output_queue", "noc.link_latency", "mem.rop_latency"],
        machine.noc.output_queue,
        (2 * link).saturating_add(rop),
        checker,
    );
}

/// A `vc` crossbar has virtual channels of some width and at most 128 ports; the others have none.
fn crossbar(machine: &Machine, checker: &mut Checker<'_>) {
    let (kind, vc) = (machine.noc.crossbar, machine.noc.vc);
    let is_vc = kind == Crossbar::Vc;
    let help = || "`noc.crossbar = \"vc\"` takes at least one virtual channel of one flit and 1 B, the others take none".to_owned();
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
        || "`noc.arbiter` sees packets on a crossbar that is not `fifo`, expected \"round-robin\" or \"islip\"".to_owned(),
        || "a `fifo` crossbar alone has arbiters; set `noc.crossbar = \"fifo\"`".to_owned(),
    );
    let cores = machine.gpu.sms.saturating_add(machine.cpu.as_ref().map_or(0, |cpu| cpu.count));
    let ports = cores.max(machine.mem.map.partitions.saturating_mul(machine.mem.map.slices_per_partition));
    checker.require(
        !is_vc || ports <= 128,
        &["noc.crossbar", "gpu.sms"],
        || format!("a `vc` crossbar has at most 128 ports, and this machine needs {ports}"),
        || "take fewer cores or slices, or another crossbar".to_owned(),
    );
}

/// The mesh: everything sits somewhere, and traffic classes leave each other something.
fn routers(machine: &Machine, mesh: &Mesh, checker: &mut Checker<'_>) {
    let seated = Placement::of(machine, mesh);
    checker.require(
        seated.is_ok(),
        &["noc.mesh.placement", "noc.mesh.columns", "noc.mesh.rows"],
        || format!("`noc.mesh.placement` {}", seated.as_ref().err().map_or_else(String::new, ToString::to_string)),
        || "every core and partition sits at exactly one router; a text \"gpu\" without a number takes an even share".to_owned(),
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
                "`noc.mesh.cpu_channel_bytes` is {}, expected less than the {} of a channel, and virtual channels to go with it",
                mesh.cpu_channel_bytes, mesh.channel_bytes
            )
        },
        || "a part of the channel's width belongs to a part of the virtual channels".to_owned(),
    );
}

/// Cycles from a packet's departure to its credit's return: the links, a cycle in the queue, the wait for a full batch.
fn round_trip(capacity: u64, links: u64) -> u64 {
    links.saturating_add((capacity / 32).max(1))
}

/// The least capacity that covers its own round trip: of 32 places, one waits for its batch.
fn enough(links: u64) -> u64 {
    let below = links.saturating_sub(1);
    (below / 31).saturating_mul(32).saturating_add(below % 31 + 1).max(links.saturating_add(1))
}

/// A queue that receives one packet per cycle needs a place for every packet and credit under way.
fn loop_rate(keys: &[&str], capacity: u32, links: u64, checker: &mut Checker<'_>) {
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
        || format!("{} places or more carry one packet per cycle", enough(links)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_places_cover_the_round_trip_and_one_less_does_not() {
        for links in 0..500 {
            let places = enough(links);
            assert!(places >= round_trip(places, links), "{links}");
            assert!(places - 1 < round_trip(places - 1, links), "{links}");
        }
        assert_eq!(enough(u64::MAX), u64::MAX);
    }
}
