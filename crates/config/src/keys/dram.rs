//! Keys of the DRAM channels: GPGPU-Sim's channel, and the command-level controller that may take its place.

use warpshard_device::standard::{STANDARDS, Standard};

use super::super::choices::Words;
use super::super::dram::{BankHash, DramControl, DramPage, DramRefresh, RefreshWhen};
use super::super::machine::{DramScheduler, Machine};
use super::super::value::{Choice, Kind, Value};
use super::declaration::{Field, Key, key};

const CONTROLLER: &str = "mem.dram.controller";
const STANDARD: &str = "mem.dram.standard";

/// What to do about a key that the command-level controller alone has.
const CHOOSE_STANDARD: &str =
    "GPGPU-Sim's channel has no such setting; `mem.dram.controller = \"standard\"` chooses the controller that has";
/// What to do about a key that describes the device of a machine which takes a named one.
const NAMED: &str =
    "the device that `mem.dram.standard` names has its own; `mem.dram.standard = \"machine\"` takes the machine's widths and timing";

const CONTROLLERS: &[Choice] = &[
    Choice { name: "gpgpusim", doc: "GPGPU-Sim's: each bank takes a request and keeps it until its last burst; no refresh" },
    Choice { name: "standard", doc: "command by command after a device's data sheet, with read and write queues and refresh" },
];

/// The machine's own table, then the devices of `warpshard dram`.
const DEVICES: [Choice; STANDARDS.len() + 1] = {
    let mut devices = [Choice { name: "machine", doc: "the widths and timing of this table" }; STANDARDS.len() + 1];
    let mut i = 0;
    while i < STANDARDS.len() {
        devices[i + 1] = Choice { name: STANDARDS[i].name, doc: STANDARDS[i].summary };
        i += 1;
    }
    devices
};

impl Field for Option<&'static Standard> {
    fn of(value: &Value) -> Self {
        match value {
            Value::Choice(0) => None,
            Value::Choice(position) => Some(STANDARDS[*position - 1]),
            other => panic!("{other:?} for a device"),
        }
    }
}

fn control(machine: &mut Machine) -> &mut DramControl {
    machine.mem.dram.control.get_or_insert_default()
}

/// A key that only the command-level controller has.
macro_rules! control_key {
    ($name:literal, $kind:expr, $doc:literal, $field:ident) => {
        Key::new(concat!("mem.dram.", $name), $kind, $doc, |m, value| control(m).$field = Field::of(value))
            .when(CONTROLLER, true)
            .refused(CHOOSE_STANDARD)
    };
}

/// A key of the machine's own device, and of GPGPU-Sim's channel.
macro_rules! device_key {
    ($name:literal, $kind:expr, $doc:literal, $option:literal, $($field:ident).+) => {
        Key::new(concat!("mem.dram.", $name), $kind, $doc, |m, value| m.mem.dram.$($field).+ = Field::of(value))
            .when(STANDARD, false)
            .refused(NAMED)
            .option($option)
    };
}

/// Timing of the machine's own device that GPGPU-Sim's channel has not.
macro_rules! own_key {
    ($name:literal, $doc:literal, $field:ident) => {
        Key::new(concat!("mem.dram.timing.", $name), LONG, $doc, |m, value| control(m).own.$field = Field::of(value))
            .when(STANDARD, false)
            .and(CONTROLLER, true)
            .refused("only `mem.dram.controller = \"standard\"` with `mem.dram.standard = \"machine\"` reads it; a named device has its own, and GPGPU-Sim's channel none")
            .default("0")
    };
}

/// A timing of a device.
const DRAM: Kind = Kind::Cycles("dram", 0, 4096);
/// Spans around refreshes, and others that may be longer.
const LONG: Kind = Kind::Cycles("dram", 0, 1 << 20);

pub(super) const KEYS: &[Key] = &[
    Key::new(CONTROLLER, Kind::Choice(CONTROLLERS), "What schedules the commands of a channel.", |m, value| {
        m.mem.dram.control = value.is_set().then(DramControl::default);
    })
    .default("\"gpgpusim\""),
    Key::new(STANDARD, Kind::Choice(&DEVICES), "The device that a channel drives, at `clocks.dram`: spans of the data sheet keep their time, rounded up to cycles; a clock above the device's is refused. A machine may name its device whatever its controller.", |m, value| {
        control(m).standard = Field::of(value);
    })
    .when(CONTROLLER, true)
    .refused_above("GPGPU-Sim's channel drives the machine's own widths and timing; `mem.dram.controller = \"standard\"` chooses the controller that drives a device")
    .default("\"machine\""),
    control_key!("mapping", Kind::Text, "The bits of an address without its partition bits, as fields of the device from the highest to the lowest: Ro (row), Ba (bank), Bg (bank group), Pc (pseudo channel), Co (column); a number behind a field takes so many of its bits.", mapping)
        .default("\"RoBaCoBgPcCo1\""),
    control_key!("bank_hash", Kind::Choice(BankHash::WORDS), "How banks are mixed with rows.", bank_hash).default("\"plain\""),
    key!("mem.dram.scheduler", Kind::Choice(DramScheduler::WORDS), "The order in which requests are served.", |m| m.mem.dram.scheduler)
        .option("-gpgpu_dram_scheduler"),
    control_key!("row_hit_cap", Kind::Count(0, 1 << 20), "Column commands to an open row after which its requests lose their advantage; 0 for no limit.", row_hit_cap)
        .default("0"),
    control_key!("age_cap", LONG, "Wait of the oldest request of a queue after which it goes before all others; 0 for no limit.", age_cap).default("0"),
    control_key!("page", Kind::Choice(DramPage::WORDS), "What happens to an open row.", page).default("\"open\""),
    Key::new("mem.dram.queue", Kind::Count(1, 8192), "Requests that the scheduler sees.", |m, value| m.mem.dram.queue = Field::of(value))
        .when(CONTROLLER, false)
        .refused("the command-level controller has a queue for reads and one for writes: `mem.dram.read_queue` and `mem.dram.write_queue`")
        .option("-gpgpu_frfcfs_dram_sched_queue_size"),
    control_key!("read_queue", Kind::Count(4, 4096), "Reads that the scheduler sees, in bursts.", read_queue).default("64"),
    control_key!("write_queue", Kind::Count(4, 4096), "Writes that the scheduler sees, in bursts.", write_queue).default("64"),
    control_key!("drain_high", Kind::Percent, "Share of the write queue above which writes are drained, whatever reads wait; without reads they are drained at once.", drain_high)
        .default("\"80 %\""),
    control_key!("drain_low", Kind::Percent, "Share of the write queue below which reads get their turn again.", drain_low).default("\"20 %\""),
    key!("mem.dram.return_queue", Kind::Count(1, 8192), "Answers that wait to leave.", |m| m.mem.dram.return_queue)
        .option("-gpgpu_dram_return_queue_size"),
    control_key!("refresh", Kind::Flag, "Whether the banks are refreshed.", refresh).default("true"),
    control_key!("refresh_banks", Kind::Choice(DramRefresh::WORDS), "Which banks a refresh takes.", refresh_banks).default("\"all\""),
    control_key!("refresh_when", Kind::Choice(RefreshWhen::WORDS), "When a refresh of all banks that is due goes out.", refresh_when).default("\"due\""),
    device_key!("banks", Kind::Count(1, 64), "Banks of a channel.", "-gpgpu_dram_timing_opt, nbk", banks),
    device_key!("bank_groups", Kind::Count(1, 16), "Bank groups; 1 where the device has none.", "-gpgpu_dram_timing_opt, nbkgrp", bank_groups),
    key!("mem.dram.group_low_bits", Kind::Flag, "Whether neighbouring bank numbers lie in different groups.", |m| m.mem.dram.group_low_bits)
        .when(CONTROLLER, false)
        .refused("the command-level controller takes banks and bank groups from `mem.dram.mapping`")
        .option("-dram_bnkgrp_indexing_policy"),
    device_key!("bus_bytes", Kind::Bytes(1, 256), "Width of a channel's data bus.", "-gpgpu_dram_buswidth x -gpgpu_n_mem_per_ctrlr", bus_bytes),
    device_key!("burst", Kind::Count(1, 64), "Beats of a burst.", "-gpgpu_dram_burst_length", burst),
    device_key!(
        "beats_per_clock",
        Kind::Count(1, 16),
        "Data beats per command clock: 2 for DDR, 4 for GDDR5.",
        "-dram_data_command_freq_ratio",
        beats_per_clock
    ),
    device_key!(
        "dual_command_bus",
        Kind::Flag,
        "Whether row and column commands have buses of their own (HBM).",
        "-dram_dual_bus_interface",
        dual_command_bus
    ),
    device_key!("timing.tCCD", DRAM, "Column to column, other bank group.", "-gpgpu_dram_timing_opt, CCD", timing.tCCD),
    device_key!("timing.tCCDL", DRAM, "Column to column, same bank group.", "-gpgpu_dram_timing_opt, CCDL", timing.tCCDL),
    device_key!("timing.tRRD", DRAM, "Activate to activate, other bank.", "-gpgpu_dram_timing_opt, RRD", timing.tRRD),
    device_key!("timing.tRCD", DRAM, "Activate to column.", "-gpgpu_dram_timing_opt, RCD", timing.tRCD),
    device_key!("timing.tRAS", DRAM, "Activate to precharge.", "-gpgpu_dram_timing_opt, RAS", timing.tRAS),
    device_key!("timing.tRP", DRAM, "Precharge to activate.", "-gpgpu_dram_timing_opt, RP", timing.tRP),
    device_key!("timing.tRC", DRAM, "Activate to activate, same bank.", "-gpgpu_dram_timing_opt, RC", timing.tRC),
    device_key!("timing.tCL", Kind::Cycles("dram", 1, 4096), "Read to data.", "-gpgpu_dram_timing_opt, CL", timing.tCL),
    device_key!("timing.tWL", DRAM, "Write to data.", "-gpgpu_dram_timing_opt, WL", timing.tWL),
    device_key!("timing.tCDLR", DRAM, "Last write data to read.", "-gpgpu_dram_timing_opt, CDLR", timing.tCDLR),
    device_key!("timing.tWR", DRAM, "Last write data to precharge.", "-gpgpu_dram_timing_opt, WR", timing.tWR),
    device_key!("timing.tRTPL", DRAM, "Read to precharge, same bank.", "-gpgpu_dram_timing_opt, RTPL", timing.tRTPL),
    own_key!("tFAW", "Window in which at most four activates fall; 0 for no such limit.", four_activates),
    own_key!("tRFC", "Refresh of all banks to the next command.", refresh_cycle),
    own_key!("tREFI", "Mean interval of refreshes.", refresh_interval),
];
