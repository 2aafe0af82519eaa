//! Consistency checks between the values of a machine. Each key checks its own range itself.

mod caches;
mod checker;
mod cpu;
mod dram;
mod kinds;
mod memory;
mod network;
mod size;
mod sm;
mod system;

use warpshard_base::{Frequency, TimeBase};

use super::error::Problem;
use super::machine::Machine;
use super::resolve::Setting;
use checker::Checker;

/// Checks the consistency of a machine whose keys all have valid values.
pub(super) fn check(machine: &Machine, settings: &[Setting], problems: &mut Vec<Problem>, warnings: &mut Vec<Problem>) {
    let mut checker = Checker { settings, problems, warnings };
    check_clocks(machine, &mut checker);
    check_dispatch(machine, &mut checker);
    sm::check(&machine.gpu.sm, &mut checker);
    caches::check(machine, &mut checker);
    cpu::check(machine, &mut checker);
    network::check(machine, &mut checker);
    memory::check(&machine.mem, &mut checker);
    dram::check(machine, &mut checker);
    system::check(machine, &mut checker);
    size::check_gpu(machine, &mut checker);
}

/// Checks one kind of GPU of `machine`, and its compatibility with the other kinds; each machine comes with its settings.
pub(super) fn check_kind(
    name: &str,
    machine: (&Machine, &[Setting]),
    (kind, settings): (&Machine, &[Setting]),
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    let mut checker = Checker { settings, problems, warnings };
    check_clocks(kind, &mut checker);
    check_dispatch(kind, &mut checker);
    sm::check(&kind.gpu.sm, &mut checker);
    caches::check(kind, &mut checker);
    network::check(kind, &mut checker);
    memory::check(&kind.mem, &mut checker);
    dram::check(kind, &mut checker);
    system::check_gpu(kind, &mut checker);
    size::check_gpu(kind, &mut checker);
    kinds::check(name, machine, kind, &mut checker);
}

/// Checks the total size of all GPUs against the limits of the simulator.
pub(super) fn check_sizes(machine: &Machine, settings: &[Setting], problems: &mut Vec<Problem>) {
    size::check_all_gpus(machine, &mut Checker { settings, problems, warnings: &mut Vec::new() });
}

fn check_clocks(machine: &Machine, checker: &mut Checker<'_>) {
    let clocks = &machine.clocks;
    let named = [("clocks.core", clocks.core), ("clocks.noc", clocks.noc), ("clocks.llc", clocks.llc), ("clocks.dram", clocks.dram)];
    let named: Vec<(&str, Frequency)> = named.into_iter().chain(machine.cpu.as_ref().map(|cpu| ("cpu.clock", cpu.clock))).collect();
    let (keys, frequencies): (Vec<&str>, Vec<Frequency>) = named.iter().copied().unzip();
    let list: Vec<String> = named.iter().map(|(_, frequency)| frequency.to_string()).collect();
    checker.require(
        TimeBase::of(&frequencies).is_some(),
        &keys,
        || format!("the clocks {} have no common base tick of a femtosecond or more", list.join(", ")),
        || {
            "time is an integer count of a tick that divides every period; use frequencies with a larger common divisor, such as whole MHz"
                .to_owned()
        },
    );
}

fn check_dispatch(machine: &Machine, checker: &mut Checker<'_>) {
    let dispatch = &machine.gpu.dispatch;
    let mut order = dispatch.order.clone();
    order.sort_unstable();
    let sms = machine.gpu.sms;
    checker.require(
        order.is_empty() || order.iter().map(|&sm| u32::from(sm)).eq(0..sms),
        &["gpu.dispatch.order", "gpu.sms"],
        || format!("`gpu.dispatch.order` has {} numbers, expected each from 0 to {} once", order.len(), sms.saturating_sub(1)),
        || "every SM occurs once in the dispatch order; [] is the ascending order".to_owned(),
    );
    checker.require(
        machine.gpu.tensor_clocks.iter().all(|mhz| *mhz > 0),
        &["clocks.tensor_load"],
        || "`clocks.tensor_load` has a clock of 0 MHz, expected clocks above 0".to_owned(),
        || "the clocks are for 0, 20, 40, .. % utilisation of the matrix units".to_owned(),
    );
    let gpcs = &machine.gpu.cluster.gpcs;
    checker.require(
        gpcs.is_empty() || gpcs.len() == sms as usize && gpcs.iter().all(|gpc| u32::from(*gpc) < sms),
        &["gpu.cluster.gpcs", "gpu.sms"],
        || format!("`gpu.cluster.gpcs` has {} numbers, expected {sms}, each from 0 to {}", gpcs.len(), sms.saturating_sub(1)),
        || "every SM is part of a GPC; with [] one GPC has all SMs".to_owned(),
    );
    let round_trip = 2 * dispatch.latency;
    checker.advise(
        dispatch.launch_latency >= round_trip,
        &["gpu.dispatch.launch_latency", "gpu.dispatch.latency"],
        || {
            format!(
                "`gpu.dispatch.launch_latency` is {} cycles, less than {round_trip}: twice `gpu.dispatch.latency`; kernels start as early as messages allow",
                dispatch.launch_latency
            )
        },
        || "the notification of a kernel's end and the first CTA of the next kernel cross the dispatch links within the launch latency".to_owned(),
    );
}
