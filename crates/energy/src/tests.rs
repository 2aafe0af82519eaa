//! Tests of the conversion from counts to joules, with values computed by hand.

use warpshard_config::Machine;
use warpshard_config::machine::Mesh;

use super::*;

/// A set with distinct values that are easy to multiply.
const TEST_SET: &str = r#"
summary = "for tests"
reference_volts = 1.0
[sm]
static_watts = 2.0
resident_watts = 0.5
clock_pj = 100.0
idle_clock_pj = 10.0
[instruction]
issue_pj = 50.0
fetch_pj = 25.0
integer_pj = 1.0
move_pj = 2.0
float_pj = 10.0
double_pj = 40.0
special_pj = 30.0
tensor_pj = 60.0
texture_pj = 5.0
uniform_pj = 3.0
control_pj = 0.25
address_pj = 1.5
[registers]
read_pj = 100.0
write_pj = 120.0
[shared]
pass_pj = 20.0
word_pj = 4.0
[constant]
access_pj = 15.0
[l1]
tag_pj = 8.0
read_pj_byte = 2.0
write_pj_byte = 3.0
[noc]
crossbar_pj_byte = 10.0
buffer_pj_byte = 1.0
switch_pj_byte = 2.0
link_pj_byte = 4.0
static_watts = 0.1
[llc]
tag_pj = 12.0
read_pj_byte = 5.0
write_pj_byte = 6.0
atomic_pj = 7.0
static_watts_mib = 1.5
[dram]
activate_pj = 1000.0
read_pj_byte = 20.0
write_pj_byte = 30.0
refresh_pj = 5000.0
background_watts = 0.2
device_burst_bytes = 32.0
controller_watts = 0.75
[board]
constant_watts = 7.0
"#;

/// Returns the model of machine tiny: four SMs at 1000 MHz, two partitions of two slices, a crossbar.
fn tiny_model() -> Model {
    let machine = Machine::load("tiny", &[]).unwrap().machine;
    Model::new(EnergySet::from_text("test", TEST_SET).unwrap(), &machine)
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected.abs() * 1e-12 + 1e-24, "{value} instead of {expected}");
}

/// Returns the counts of `cycles` idle core cycles of all four SMs, without CTAs.
fn idle_counts(cycles: u64) -> Counts {
    Counts { cycles, sms: SmTime { cycles: 4 * cycles, ..SmTime::default() }, ..Counts::default() }
}

#[test]
fn events_have_the_energies_of_the_set() {
    let model = tiny_model();
    let mut counts = idle_counts(0);
    counts.set(Event::Issue, 3);
    counts.set(Event::FloatLane, 64);
    counts.set(Event::RegisterRead, 2);
    counts.set(Event::RegisterWrite, 1);
    let energy = model.breakdown(&counts);
    assert_close(energy.get(Component::FrontEnd), 150e-12);
    assert_close(energy.get(Component::Float), 640e-12);
    assert_close(energy.get(Component::Registers), 320e-12);
    assert_close(energy.total(), 1110e-12);
    assert_eq!(energy.mean_watts(), 0.0, "no time has passed");
}

#[test]
fn caches_and_memory_cost_energy_per_byte() {
    let model = tiny_model();
    // Each access moves a sector of 32 bytes: tiny has Volta's coalescer, sectored lines and a crossbar.
    assert_close(model.joules(Event::L1Read), (8.0 + 64.0) * 1e-12);
    assert_close(model.joules(Event::L1Miss), (8.0 + 64.0 + 96.0) * 1e-12);
    assert_close(model.joules(Event::L1Write), (8.0 + 96.0) * 1e-12);
    assert_close(model.joules(Event::LlcRead), (12.0 + 160.0) * 1e-12);
    assert_close(model.joules(Event::LlcMiss), (12.0 + 160.0 + 192.0) * 1e-12);
    assert_close(model.joules(Event::Crossbar), 320e-12);
    let fermi = Model::new(model.set.clone(), &Machine::load("m2090", &[]).unwrap().machine);
    assert_close(fermi.joules(Event::L1Read), (8.0 + 256.0) * 1e-12);
    let mut mesh = Machine::load("m2090", &[]).unwrap().machine;
    mesh.noc.mesh = Some(Mesh { channel_bytes: 32, ..Mesh::default() });
    let mesh = Model::new(model.set, &mesh);
    assert_close(mesh.joules(Event::Hop), 7.0 * 32.0 * 1e-12);
}

#[test]
fn a_burst_costs_energy_per_byte_and_a_row_per_device() {
    let mut machine = Machine::load("m2090", &[]).unwrap().machine;
    machine.mem.dram.control = None;
    (machine.mem.dram.bus_bytes, machine.mem.dram.burst) = (8, 8);
    let model = Model::new(EnergySet::from_text("test", TEST_SET).unwrap(), &machine);
    assert_close(model.joules(Event::DramRead), 64.0 * 20e-12);
    assert_close(model.joules(Event::DramWrite), 64.0 * 30e-12);
    assert_close(model.joules(Event::Activate), 2000e-12);
    assert_close(model.joules(Event::Refresh), 10_000e-12);
}

#[test]
fn static_energy_depends_on_the_state_of_an_sm() {
    let model = tiny_model();
    let sm = |sms: SmTime| {
        let energy = model.breakdown(&Counts { cycles: 1000, sms, ..Counts::default() });
        (energy.get(Component::SmStatic), energy.get(Component::SmClock))
    };
    // 1000 cycles of a clock of 1000 MHz are one microsecond.
    let all = SmTime { cycles: 1000, ..SmTime::default() };
    let (leak, clock) = sm(all);
    assert_close(leak, 2e-6);
    assert_close(clock, 10_000e-12);
    let (leak, clock) = sm(SmTime { resident: 1000, ..all });
    assert_close(leak, 2.5e-6);
    assert_close(clock, 100_000e-12);
    let (leak, clock) = sm(SmTime { resident: 1000, paused: 1000, paused_resident: 1000, ..all });
    assert_close(leak, 2.5e-6);
    assert_close(clock, 0.0);
    assert_eq!(sm(SmTime { gated: 1000, ..all }), (0.0, 0.0), "an SM that is gated all the time leaks nothing");
    let (leak, clock) = sm(SmTime { cycles: 1000, resident: 600, paused: 300, paused_resident: 200, gated: 50 });
    assert_close(leak, (950.0 * 2.0 + 600.0 * 0.5) * 1e-9);
    assert_close(clock, (400.0 * 100.0 + (1000.0 - 50.0 - 300.0 - 400.0) * 10.0) * 1e-12);
}

#[test]
fn static_energy_scales_with_the_size_of_the_machine() {
    let model = tiny_model();
    let energy = model.breakdown(&idle_counts(2000));
    let machine = Machine::load("tiny", &[]).unwrap().machine;
    let llc_bytes = 4.0 * f64::from(machine.mem.llc.sets * machine.mem.llc.ways * 128);
    assert_close(energy.seconds, 2e-6);
    assert_close(energy.get(Component::Board), 14e-6);
    assert_close(energy.get(Component::NocStatic), 0.1 * 8.0 * 2e-6);
    assert_close(energy.get(Component::LlcStatic), 1.5 * llc_bytes / 1_048_576.0 * 2e-6);
    assert_close(energy.get(Component::ControllerStatic), 0.75 * 2.0 * 2e-6);
    assert_close(energy.mean_watts(), energy.total() / 2e-6);
    assert_close(energy.at_rest() + energy.get(Component::SmClock), energy.total());
}

#[test]
fn twice_the_voltage_gives_four_times_the_dynamic_and_twice_the_leakage_energy() {
    let mut counts = idle_counts(1000);
    Event::ALL.iter().enumerate().for_each(|(i, event)| counts.set(*event, 1 + i as u64));
    counts.sms.resident = 1700;
    let (one, two) = (tiny_model().breakdown(&counts), tiny_model().at_volts(2.0).breakdown(&counts));
    for component in Component::ALL {
        let factor = match component {
            Component::Dram | Component::DramBackground | Component::Board => 1.0,
            component if component.is_static() => 2.0,
            _ => 4.0,
        };
        assert_close(two.get(component), factor * one.get(component));
    }
}

#[test]
fn half_the_frequency_doubles_only_the_static_energy() {
    let mut machine = Machine::load("tiny", &[]).unwrap().machine;
    machine.clocks.core.0 /= 2;
    let slow = Model::new(EnergySet::from_text("test", TEST_SET).unwrap(), &machine);
    let mut counts = idle_counts(1000);
    counts.set(Event::Issue, 77);
    let (fast, slow) = (tiny_model().breakdown(&counts), slow.breakdown(&counts));
    assert_close(slow.at_rest(), 2.0 * fast.at_rest());
    assert_close(slow.total() - slow.at_rest(), fast.total() - fast.at_rest());
}

#[test]
fn differences_and_sums_of_counts_cost_the_differences_and_sums() {
    let model = tiny_model();
    let mut early = idle_counts(300);
    early.set(Event::DramRead, 5);
    let mut late = early.clone();
    late.add(&idle_counts(700));
    late.set(Event::DramRead, 9);
    let part = late.since(&early);
    assert_eq!((part.cycles, part.get(Event::DramRead)), (700, 4));
    assert_close(model.breakdown(&early).total() + model.breakdown(&part).total(), model.breakdown(&late).total());
}

#[test]
fn the_machine_names_set_and_voltage() {
    let mut machine = Machine::load("v100", &[]).unwrap().machine;
    let model = Model::of(&machine).unwrap().unwrap();
    assert_eq!((model.name.as_str(), model.volts), ("volta-12nm", model.set.reference_volts));
    machine.energy.millivolts = 800;
    assert_eq!(Model::of(&machine).unwrap().unwrap().volts, 0.8);
    machine.energy.set = "none".to_owned();
    assert!(Model::of(&machine).unwrap().is_none());
    machine.energy.set = "volta".to_owned();
    assert!(Model::of(&machine).unwrap_err().to_string().contains("built-in sets: fermi-40nm, volta-12nm"));
}

#[test]
fn built_in_sets_are_complete_and_errors_are_named() {
    for name in builtin_sets() {
        assert!(!EnergySet::named(name).unwrap().summary.is_empty());
    }
    let wrong = |from: &str, to: &str| EnergySet::from_text("x.toml", &TEST_SET.replace(from, to)).unwrap_err().to_string();
    assert!(wrong("issue_pj = 50.0\n", "").contains("issue_pj"));
    assert!(wrong("issue_pj = 50.0", "issue_pj = 50.0\nspeed = 1").contains("speed"));
    assert!(wrong("issue_pj = 50.0", "issue_pj = -1").contains("`instruction.issue_pj` is -1"));
    assert!(wrong("issue_pj = 50.0", "issue_pj = inf").contains("`instruction.issue_pj` is inf"));
    assert!(wrong("reference_volts = 1.0", "reference_volts = 0").contains("above 0"));
    assert!(EnergySet::named("no/such.toml").unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn built_in_machines_name_existing_energy_sets() {
    for machine in warpshard_config::builtin_machines(warpshard_configs::Files::core()) {
        let loaded = Machine::load(machine.name, &[]).unwrap().machine;
        let model = Model::of(&loaded).unwrap();
        // GPUs with different core clocks have no energy model, and there is no set for the process of h100.
        assert_eq!(model.is_none(), ["tiny", "v100-p100", "h100", "a100", "rtx3080"].contains(&machine.name), "{}", machine.name);
    }
}
