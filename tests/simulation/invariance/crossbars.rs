//! Machines with each kind of crossbar: refused settings, and the cost of head-of-line blocking.

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::Override;
use warpshard::stats::EndedBy;

use crate::common::{OUTPUT_QUEUED_CROSSBAR, VC_CROSSBAR, built_in, machine};

/// Returns the cycles of a model that saturates a slow network, from SMs without an L1.
fn crossbar_cycles(kind: &[(&str, &str)]) -> u64 {
    let slow = [("noc.input_queue", "64"), ("noc.output_queue", "64"), ("clocks.noc", "125 MHz"), ("gpu.sm.l1.cache.present", "false")];
    let overrides: Vec<_> = slow.iter().chain(kind).copied().collect();
    let workload = built_in("stream", &[("cta_count", "16")]);
    let outcome = simulate(&machine("tiny", &overrides), &workload, RunOptions::default()).unwrap().outcome;
    assert_eq!(outcome.ended_by, EndedBy::Completed);
    outcome.cycles
}

#[test]
fn head_of_line_blocking_makes_nothing_faster() {
    let (fifo, queued, vc) = (crossbar_cycles(&[]), crossbar_cycles(OUTPUT_QUEUED_CROSSBAR), crossbar_cycles(VC_CROSSBAR));
    assert!(10 * queued < 9 * fifo, "{queued} cycles with a queue per output, {fifo} with one per input");
    // A port carries one flit per cycle, so packets of several flits need more cycles.
    assert!(vc > queued, "{vc} cycles with packets of flits, {queued} with whole packets");
}

#[test]
fn a_wider_channel_makes_packets_of_fewer_flits() {
    let of_width = |bytes| crossbar_cycles(&[VC_CROSSBAR, &[("noc.vc.channel_bytes", bytes)]].concat());
    let (narrow, wide) = (of_width("8 B"), of_width("64 B"));
    assert!(wide < narrow, "{wide} cycles with 64 B, {narrow} with 8 B");
}

#[test]
fn keys_of_virtual_channels_are_refused_without_and_required_with_a_vc_crossbar() {
    let refusal = |overrides: &[(&str, &str)]| {
        let overrides: Vec<Override> = overrides.iter().map(|(key, value)| Override::new(*key, *value)).collect();
        warpshard::catalogue().machine("tiny", &overrides).unwrap_err().to_string()
    };
    assert!(refusal(&[("noc.vc.vcs", "4")]).contains("`noc.vc.vcs` is 4 virtual channels, expected 0"));
    assert!(refusal(&[("noc.crossbar", "output_queued"), ("noc.vc.channel_bytes", "32 B")]).contains("`noc.vc.channel_bytes` is 32 bytes"));
    let missing = refusal(&[("noc.crossbar", "vc"), ("noc.vc.vcs", "4")]);
    assert!(missing.contains("`noc.vc.buffers` is 0 flits, expected at least 1") && missing.contains("noc.vc.channel_bytes"), "{missing}");
    let large = refusal(&[VC_CROSSBAR, &[("gpu.sms", "129")]].concat());
    assert!(large.contains("a `vc` crossbar has at most 128 ports, and this machine needs 129"), "{large}");
}
