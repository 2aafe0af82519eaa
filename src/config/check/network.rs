//! Checks of the network: a credit loop that is too small for its round trip runs below full rate.

use super::super::machine::Machine;
use super::Checker;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    let link = machine.noc.link_latency;
    // The pipe before the slices lies on the link from the network, and so inside that link's credit loop.
    let rop = (machine.mem.rop_latency * machine.clocks.noc.0).div_ceil(machine.clocks.llc.0.max(1));
    loop_rate("noc.input_queue", machine.noc.input_queue, 2 * link, checker);
    loop_rate("noc.output_queue", machine.noc.output_queue, 2 * link + rop, checker);
}

/// A queue that receives one packet per cycle needs a place for every packet and credit under way.
fn loop_rate(key: &str, capacity: u32, links: u64, checker: &mut Checker<'_>) {
    let batch = u64::from((capacity / 32).max(1));
    // One cycle is spent in the queue itself, and credits wait until a batch is full.
    let round_trip = links + 1 + (batch - 1);
    let capacity = u64::from(capacity);
    checker.advise(
        capacity >= round_trip,
        key,
        || {
            let percent = 100 * capacity / round_trip;
            format!("`{key}` holds {capacity} packets for a credit round trip of {round_trip} noc cycles: at most {percent} % of a packet per cycle")
        },
        || format!("{round_trip} places or more carry one packet per cycle"),
    );
}
