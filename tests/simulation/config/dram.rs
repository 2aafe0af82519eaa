//! Choice of the DRAM controller: the keys that it reads, and the messages for other keys.

use insta::assert_snapshot;

use warpshard::config::dram::DramPage;
use warpshard::config::{Machine, Override, builtin_machines};
use warpshard::mem::dram::standard::{STANDARDS, Standard};

fn load(name: &str, settings: &[&str]) -> Result<Machine, String> {
    let settings: Vec<Override> = settings.iter().map(|setting| setting.parse().unwrap()).collect();
    warpshard::catalogue().machine(name, &settings).map(|loaded| loaded.machine).map_err(|errors| errors.to_string())
}

fn refusal_message(name: &str, settings: &[&str]) -> String {
    load(name, settings).expect_err("loads, but should not")
}

const STANDARD_CONTROLLER: &str = "mem.dram.controller=standard";

#[test]
fn built_in_machines_except_h100_use_gpgpusims_channel() {
    for builtin in builtin_machines(warpshard::catalogue().files()) {
        assert_eq!(load(builtin.name, &[]).unwrap().mem.dram.control.is_some(), builtin.name == "h100", "{}", builtin.name);
    }
}

#[test]
fn machines_that_name_their_device_need_one_key() {
    for (name, device) in [
        ("v100", "hbm2-2000"),
        ("p100", "hbm2-2000"),
        ("m2090", "gddr5-fermi"),
        ("gtx480", "gddr5-fermi"),
        ("hetero", "gddr5-1600"),
        ("hetero-small", "gddr5-1600"),
    ] {
        let machine = load(name, &[STANDARD_CONTROLLER]).unwrap_or_else(|error| panic!("{error}"));
        let control = machine.mem.dram.control.as_ref().unwrap();
        assert_eq!(control.standard, Standard::named(device), "{name}");
        assert_eq!((control.refresh, control.page, control.read_queue), (true, DramPage::Open, 64));
    }
}

#[test]
fn a_resolved_machine_with_a_device_loads_back_to_an_equal_one() {
    for settings in [
        &[STANDARD_CONTROLLER][..],
        &[STANDARD_CONTROLLER, "mem.dram.standard=machine", "mem.dram.refresh=false", "mem.dram.timing.tFAW=13"],
    ] {
        let overrides: Vec<Override> = settings.iter().map(|setting| setting.parse().unwrap()).collect();
        let loaded = warpshard::catalogue().machine("v100", &overrides).unwrap();
        let again = Machine::from_text_among(warpshard::catalogue().files(), "run.toml", &loaded.provenance.to_toml(), &[]).unwrap();
        assert_eq!(again.machine, loaded.machine);
    }
}

#[test]
fn every_device_of_the_dram_rig_can_be_selected() {
    for device in STANDARDS {
        let clock = format!("clocks.dram={}", device.grade());
        let named = format!("mem.dram.standard={}", device.name);
        let machine = load("v100", &[STANDARD_CONTROLLER, &named, &clock]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.mem.device(machine.clocks.dram).unwrap().as_ref(), Some(*device));
        let (bytes, per_clock) = machine.mem.dram.burst();
        assert_eq!((bytes, per_clock), (device.organisation.burst_bytes.into(), device.peak_per_clock()));
    }
}

#[test]
fn base_keys_that_the_chosen_controller_does_not_read_need_no_reset() {
    let text = "extends = \"v100\"\n[mem.dram]\ncontroller = \"standard\"\nstandard = \"gddr6-14g\"\n";
    let machine =
        Machine::from_text_among(warpshard::catalogue().files(), "mine.toml", text, &[]).unwrap_or_else(|error| panic!("{error}")).machine;
    assert_eq!(machine.mem.dram.control.unwrap().standard, Standard::named("gddr6-14g"));
}

#[test]
fn a_key_of_the_other_controller_is_refused() {
    assert_snapshot!(refusal_message("v100", &["mem.dram.row_hit_cap=4"]), @r#"
    error: `mem.dram.row_hit_cap` is not read for this machine
      --> the command line
       | --set mem.dram.row_hit_cap=4
       |                            ^
       = help: GPGPU-Sim's channel has no such setting; `mem.dram.controller = "standard"` selects a controller with this setting
       = note: `mem.dram.controller` = "gpgpusim" comes from v100 (built in):166
    "#);
    assert_snapshot!(refusal_message("v100", &[STANDARD_CONTROLLER, "mem.dram.queue=32"]), @r#"
    error: `mem.dram.queue` is not read for this machine
      --> the command line
       | --set mem.dram.queue=32
       |                      ^^
       = help: the command-level controller has a queue for reads and one for writes: `mem.dram.read_queue` and `mem.dram.write_queue`
       = note: `mem.dram.controller` = "standard" comes from the command line
    "#);
    assert_snapshot!(refusal_message("v100", &[STANDARD_CONTROLLER, "mem.dram.timing.tCL=14"]), @r#"
    error: `mem.dram.timing.tCL` is not read for this machine
      --> the command line
       | --set mem.dram.timing.tCL=14
       |                           ^^
       = help: the device named in `mem.dram.standard` has its own value; `mem.dram.standard = "machine"` uses the machine's widths and timing
       = note: `mem.dram.standard` = "hbm2-2000" comes from v100 (built in):167
       = note: `mem.dram.controller` = "standard" comes from the command line
    "#);
    assert_snapshot!(refusal_message("v100", &["mem.dram.standard=gddr6-14g"]), @r#"
    error: `mem.dram.standard` is not read for this machine
      --> the command line
       | --set mem.dram.standard=gddr6-14g
       |                         ^^^^^^^^^
       = help: GPGPU-Sim's channel uses the machine's own widths and timing; `mem.dram.controller = "standard"` selects the controller that drives a named device
       = note: `mem.dram.controller` = "gpgpusim" comes from v100 (built in):166
    "#);
}

#[test]
fn a_clock_above_the_devices_is_refused() {
    assert_snapshot!(refusal_message("rtx2060", &[STANDARD_CONTROLLER, "mem.dram.standard=gddr6-14g"]), @r#"
    error: `mem.dram.standard` is "gddr6-14g" with a command clock of 3500.500 MHz, expected at most 1754 MHz
      --> the command line
       | --set mem.dram.standard=gddr6-14g
       |                         ^^^^^^^^^
       = help: clocks.dram = "1754 MHz" runs the device at its speed grade; if the machine's clock counts data instead of commands, set the command clock
       = note: `clocks.dram` = "3500.500 MHz" comes from rtx2060 (built in):11
    "#);
    assert!(load("rtx2060", &[STANDARD_CONTROLLER, "mem.dram.standard=gddr6-14g", "clocks.dram=1750 MHz"]).is_ok());
}

#[test]
fn the_machines_own_timing_table_needs_refresh_values() {
    assert_snapshot!(refusal_message("k20x", &[STANDARD_CONTROLLER]), @r#"
    error: `mem.dram.refresh` is true, but the machine's own timing table has neither a refresh interval nor a refresh duration
       = help: give mem.dram.timing.tREFI and mem.dram.timing.tRFC in cycles, or mem.dram.refresh = false, or name a device with mem.dram.standard
       = note: `mem.dram.timing.tREFI` = 0 is the default
       = note: `mem.dram.timing.tRFC` = 0 is the default
    "#);
    assert!(load("k20x", &[STANDARD_CONTROLLER, "mem.dram.refresh=false"]).is_ok());
    assert!(
        refusal_message("k20x", &[STANDARD_CONTROLLER, "mem.dram.timing.tREFI=100", "mem.dram.timing.tRFC=100"])
            .contains("tREFI = 100, less than")
    );
}

#[test]
fn invalid_marks_and_mappings_are_refused() {
    let marks = refusal_message("v100", &[STANDARD_CONTROLLER, "mem.dram.drain_low=80 %"]);
    assert!(marks.starts_with("error: `mem.dram.drain_low` is 80 %, expected less than `mem.dram.drain_high`, 80 %"), "{marks}");
    let full = refusal_message("v100", &[STANDARD_CONTROLLER, "mem.dram.drain_high=100 %"]);
    assert!(full.starts_with("error: `mem.dram.drain_high` is 100 %, expected less"), "{full}");
    let cut = refusal_message("v100", &[STANDARD_CONTROLLER, "mem.dram.mapping=RoBaCo9"]);
    assert!(cut.starts_with("error: `mem.dram.mapping` is \"RoBaCo9\": the address field `co` has 5 bits, but its parts have 9"), "{cut}");
}
