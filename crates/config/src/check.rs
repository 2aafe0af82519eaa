//! What must hold between the values of a machine, beyond what each key checks alone.

mod caches;
mod cpu;
mod dram;
mod kinds;
mod memory;
mod network;
mod size;
mod sm;
mod system;

use super::error::Problem;
use super::machine::Machine;
use super::resolve::{Origin, Setting};
use super::value::Value;
use warpshard_base::{Frequency, TimeBase};

/// Collects problems, each with the place of the key that the user most likely has to change.
struct Checker<'a> {
    settings: &'a [Setting],
    problems: &'a mut Vec<Problem>,
    warnings: &'a mut Vec<Problem>,
}

/// Checks a machine whose keys all have values of their kinds.
pub(super) fn check(machine: &Machine, settings: &[Setting], problems: &mut Vec<Problem>, warnings: &mut Vec<Problem>) {
    let mut checker = Checker { settings, problems, warnings };
    clocks(machine, &mut checker);
    dispatch(machine, &mut checker);
    sm::check(&machine.gpu.sm, &mut checker);
    caches::check(machine, &mut checker);
    cpu::check(machine, &mut checker);
    network::check(machine, &mut checker);
    memory::check(&machine.mem, &mut checker);
    dram::check(machine, &mut checker);
    system::check(machine, &mut checker);
    size::of_gpu(machine, &mut checker);
}

/// Checks a kind of GPU of `machine`, and that it goes with the others; each machine comes with its settings.
pub(super) fn check_kind(
    name: &str,
    machine: (&Machine, &[Setting]),
    (kind, settings): (&Machine, &[Setting]),
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    let mut checker = Checker { settings, problems, warnings };
    clocks(kind, &mut checker);
    dispatch(kind, &mut checker);
    sm::check(&kind.gpu.sm, &mut checker);
    caches::check(kind, &mut checker);
    network::check(kind, &mut checker);
    memory::check(&kind.mem, &mut checker);
    dram::check(kind, &mut checker);
    system::of_gpu(kind, &mut checker);
    size::of_gpu(kind, &mut checker);
    kinds::check(name, machine, kind, &mut checker);
}

/// Checks how much there is of everything over all GPUs.
pub(super) fn check_sizes(machine: &Machine, settings: &[Setting], problems: &mut Vec<Problem>) {
    size::of_all(machine, &mut Checker { settings, problems, warnings: &mut Vec::new() });
}

impl Checker<'_> {
    /// Reports `message` unless `holds`; `keys` are those that the rule is about.
    fn require(&mut self, holds: bool, keys: &[&str], message: impl FnOnce() -> String, help: impl FnOnce() -> String) {
        if !holds {
            let problem = self.problem(keys, message(), help());
            self.problems.push(problem);
        }
    }

    /// Warns of `message` unless `holds`.
    fn advise(&mut self, holds: bool, keys: &[&str], message: impl FnOnce() -> String, help: impl FnOnce() -> String) {
        if !holds {
            let warning = self.problem(keys, message(), help());
            self.warnings.push(warning);
        }
    }

    fn power_of_two(&mut self, key: &str, value: u64, why: &str) {
        let below = if value == 0 { 1 } else { 1u64 << value.ilog2() };
        self.require(
            value.is_power_of_two(),
            &[key],
            || format!("`{key}` is {value}, expected a power of two"),
            || format!("{why}; the nearest are {below} and {}", 2 * below),
        );
    }

    /// The problem, shown at the key of the highest layer, which is the one that the user wrote; the others are listed.
    fn problem(&self, keys: &[&str], message: String, help: String) -> Problem {
        let mut settings: Vec<&Setting> = keys.iter().map(|key| self.setting(key)).collect();
        settings.sort_by_key(|setting| std::cmp::Reverse(setting.layer));
        let mut problem = match &settings[0].origin {
            Origin::Given(place) => Problem::at(place, message),
            Origin::Default => Problem::nowhere(message),
        };
        problem = problem.help(help);
        for setting in &settings[1..] {
            let key = setting.key;
            let origin = match &setting.origin {
                Origin::Given(place) => format!("comes from {place}"),
                Origin::Default => "is the default".to_owned(),
            };
            problem.notes.push(format!("`{}` = {} {origin}", key.path, key.kind.write(&setting.value)));
        }
        problem
    }

    fn setting(&self, key: &str) -> &Setting {
        let setting = self.settings.iter().find(|setting| setting.key.path == key);
        setting.unwrap_or_else(|| panic!("a check names the key {key}, which was not read"))
    }

    fn value(&self, key: &str) -> &Value {
        &self.setting(key).value
    }
}

fn clocks(machine: &Machine, checker: &mut Checker<'_>) {
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

fn dispatch(machine: &Machine, checker: &mut Checker<'_>) {
    let dispatch = &machine.gpu.dispatch;
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
        || "the notice of a kernel's end and the next kernel's first CTA cross the dispatch links within the launch latency".to_owned(),
    );
}
