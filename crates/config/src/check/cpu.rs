//! Checks of the CPU cores.

use super::super::machine::Machine;
use super::checker::Checker;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    let Some(cpu) = &machine.cpu else {
        let reserved = machine.mem.map.reserved;
        checker.require(
            reserved == 0,
            &["mem.map.cpu_partitions", "cpu.count"],
            || format!("`mem.map.cpu_partitions` is {reserved} on a chip without CPU cores"),
            || "0 lets SMs use all partitions".to_owned(),
        );
        return;
    };
    let spec = &cpu.spec;
    checker.require(
        spec.window >= spec.width,
        &["cpu.window", "cpu.width"],
        || format!("`cpu.window` is {}, expected at least `cpu.width`, {}", spec.window, spec.width),
        || "the window must hold the instructions of one cycle".to_owned(),
    );
    checker.require(
        spec.memory_per_cycle <= spec.width,
        &["cpu.memory_per_cycle", "cpu.width"],
        || format!("`cpu.memory_per_cycle` is {}, expected at most `cpu.width`, {}", spec.memory_per_cycle, spec.width),
        || "memory instructions are among the instructions of a cycle".to_owned(),
    );
    let lines: &[u32] = if spec.caches.is_some() { &[128] } else { &[32, 64, 128] };
    checker.require(
        lines.contains(&spec.line_bytes),
        &["cpu.line_bytes", "cpu.private_caches"],
        || format!("`cpu.line_bytes` is {} B, expected one of {lines:?}", spec.line_bytes),
        || "private caches have lines of 128 B".to_owned(),
    );
    if let Some(caches) = spec.caches {
        checker.power_of_two("cpu.l1.sets", caches.l1.sets.into(), "an address picks its set by its low bits");
        checker.power_of_two("cpu.l2.sets", caches.l2.sets.into(), "an address picks its set by its low bits");
    }
}
