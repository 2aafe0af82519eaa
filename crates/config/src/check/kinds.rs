//! Checks of one kind of GPU against the other kinds of its system.

use warpshard_base::{Frequency, TimeBase};

use super::super::machine::Machine;
use super::super::resolve::Setting;
use super::checker::Checker;

/// Keys that determine the format of packets between GPUs. Hubs forward packets without conversion.
const PACKET_KEYS: [&str; 3] = ["gpu.sm.lsu.sector_requests", "mem.llc.sectored", "mem.llc.line_bytes"];

pub(super) fn check(name: &str, (machine, settings): (&Machine, &[Setting]), kind: &Machine, checker: &mut Checker<'_>) {
    for key in PACKET_KEYS {
        let shown = |settings: &[Setting]| {
            let setting = settings.iter().find(|setting| setting.key.path == key);
            setting.map_or_else(|| "not there".to_owned(), |setting| setting.key.kind.write(&setting.value))
        };
        let (own, others) = (shown(checker.settings), shown(settings));
        checker.require(
            own == others,
            &[key],
            || format!("`{key}` of kind `{name}` is {own}, but {others} on GPU 0"),
            || "packets between GPUs have one format; use the same value for all GPUs".to_owned(),
        );
    }
    let bursts = [kind, machine].map(|machine| machine.mem.dram.burst().0);
    checker.require(
        bursts[0] == bursts[1],
        &["mem.map.partitions"],
        || format!("a DRAM burst of kind `{name}` has {} bytes, but {} on GPU 0", bursts[0], bursts[1]),
        || "results count bursts over all GPUs; choose devices with equal bursts".to_owned(),
    );
    check_clocks(name, machine, kind, checker);
    check_energy(name, machine, kind, checker);
}

/// Checks that the clocks of all GPUs have a common base tick.
fn check_clocks(name: &str, machine: &Machine, kind: &Machine, checker: &mut Checker<'_>) {
    let of = |machine: &Machine| [machine.clocks.core, machine.clocks.noc, machine.clocks.llc, machine.clocks.dram];
    let all: Vec<Frequency> = machine.each_kind().chain([kind]).flat_map(of).collect();
    checker.require(
        TimeBase::of(&all).is_some(),
        &["clocks.core", "clocks.noc", "clocks.llc", "clocks.dram"],
        || {
            let list: Vec<String> = of(kind).iter().map(ToString::to_string).collect();
            format!(
                "the clocks {} of kind `{name}` have no common base tick of a femtosecond or more with those of the other GPUs",
                list.join(", ")
            )
        },
        || "time is an integer count of a tick that divides every period; use frequencies with a larger common divisor".to_owned(),
    );
}

/// Checks that all GPUs have the same core clock and flit size: energy is computed from one set of event energies.
fn check_energy(name: &str, machine: &Machine, kind: &Machine, checker: &mut Checker<'_>) {
    let of = |machine: &Machine| (machine.clocks.core, machine.noc.vc.channel_bytes);
    checker.require(
        machine.energy.set == "none" || of(kind) == of(machine),
        &["energy.set", "clocks.core"],
        || format!("energy is computed with one core clock and one flit size, but kind `{name}` differs from GPU 0"),
        || "set `energy.set = \"none\"`, which reports no energy".to_owned(),
    );
}
