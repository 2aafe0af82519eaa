//! Keys of the DRAM channels: GPGPU-Sim's channel model, and the command-level controller that may replace it.

use warpshard_device::standard::{STANDARDS, Standard};

use super::super::choices::Words;
use super::super::dram::{BankHash, DramControl, DramPage, DramRefresh, RefreshWhen};
use super::super::machine::{DramScheduler, Machine};
use super::super::value::{Choice, Value, ValueKind};
use super::declaration::{Field, Key, key};

const CONTROLLER_KEY: &str = "mem.dram.controller";
const STANDARD_KEY: &str = "mem.dram.standard";

/// Help for keys that only the command-level controller reads.
const CHOOSE_STANDARD_HELP: &str =
    "GPGPU-Sim's channel has no such setting; `mem.dram.controller = \"standard\"` selects a controller with this setting";
/// Help for keys that describe the machine's own device, on a machine with a named device.
const NAMED_DEVICE_HELP: &str =
    "the device named in `mem.dram.standard` has its own value; `mem.dram.standard = \"machine\"` uses the machine's widths and timing";

const CONTROLLER_CHOICES: &[Choice] = &[
    Choice { name: "gpgpusim", doc: "GPGPU-Sim's model: each bank accepts a request and is occupied until its last burst; no refresh" },
    Choice { name: "standard", doc: "command by command according to a device's data sheet, with read and write queues and refresh" },
];

/// The machine's own table, then the devices of `warpshard dram`.
const DEVICE_CHOICES: [Choice; STANDARDS.len() + 1] = {
    let mut devices = [Choice { name: "machine", doc: "widths and timing from this table" }; STANDARDS.len() + 1];
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

/// Declares a key that only the command-level controller reads.
macro_rules! control_key {
    ($name:literal, $kind:expr, $doc:literal, $field:ident) => {
        Key::new(concat!("mem.dram.", $name), $kind, $doc, |m, value| control(m).$field = Field::of(value))
            .when(CONTROLLER_KEY, true)
            .refused(CHOOSE_STANDARD_HELP)
    };
}

/// Declares a key of the machine's own device and of GPGPU-Sim's channel.
macro_rules! device_key {
    ($name:literal, $kind:expr, $doc:literal, $option:literal, $($field:ident).+) => {
        Key::new(concat!("mem.dram.", $name), $kind, $doc, |m, value| m.mem.dram.$($field).+ = Field::of(value))
            .when(STANDARD_KEY, false)
            .refused(NAMED_DEVICE_HELP)
            .option($option)
    };
}

/// Declares a timing key of the machine's own device that GPGPU-Sim's channel does not have.
macro_rules! own_key {
    ($name:literal, $doc:literal, $field:ident) => {
        Key::new(concat!("mem.dram.timing.", $name), LONG_DRAM_CYCLES, $doc, |m, value| control(m).own.$field = Field::of(value))
            .when(STANDARD_KEY, false)
            .and(CONTROLLER_KEY, true)
            .refused("only `mem.dram.controller = \"standard\"` with `mem.dram.standard = \"machine\"` reads it; a named device has its own value, and GPGPU-Sim's channel has none")
            .default("0")
    };
}

/// The range of a timing parameter.
const DRAM_CYCLES: ValueKind = ValueKind::Cycles("dram", 0, 4096);
/// The range of refresh intervals and other long durations.
const LONG_DRAM_CYCLES: ValueKind = ValueKind::Cycles("dram", 0, 1 << 20);

pub(super) const KEYS: &[Key] = &[
    Key::new(CONTROLLER_KEY, ValueKind::Choice(CONTROLLER_CHOICES), "Model that schedules the commands of a channel.", |m, value| {
        m.mem.dram.control = value.is_set().then(DramControl::default);
    })
    .default("\"gpgpusim\""),
    Key::new(STANDARD_KEY, ValueKind::Choice(&DEVICE_CHOICES), "Device of a channel at `clocks.dram`. Durations of the data sheet keep their time, rounded up to cycles; a clock above the device's clock is rejected. A machine may name its device even if its controller does not read it.", |m, value| {
        control(m).standard = Field::of(value);
    })
    .when(CONTROLLER_KEY, true)
    .refused_above("GPGPU-Sim's channel uses the machine's own widths and timing; `mem.dram.controller = \"standard\"` selects the controller that drives a named device")
    .default("\"machine\""),
    control_key!("mapping", ValueKind::Text, "Bits of an address without its partition bits, as fields of the device from the highest to the lowest: Ro (row), Ba (bank), Bg (bank group), Pc (pseudo channel), Co (column); a number after a field is the number of its bits.", mapping)
        .default("\"RoBaCoBgPcCo1\""),
    control_key!("bank_hash", ValueKind::Choice(BankHash::WORDS), "Hash of banks with rows.", bank_hash).default("\"plain\""),
    key!("mem.dram.scheduler", ValueKind::Choice(DramScheduler::WORDS), "Order in which requests are served.", |m| m.mem.dram.scheduler)
        .option("-gpgpu_dram_scheduler"),
    control_key!("row_hit_cap", ValueKind::Count(0, 1 << 20), "Column commands to an open row after which row hits lose their priority; 0 for no limit.", row_hit_cap)
        .default("0"),
    control_key!("age_cap", LONG_DRAM_CYCLES, "Age at which the oldest request of a queue gets priority over all others; 0 for no limit.", age_cap).default("0"),
    control_key!("page", ValueKind::Choice(DramPage::WORDS), "Row-buffer policy.", page).default("\"open\""),
    Key::new("mem.dram.queue", ValueKind::Count(1, 8192), "Capacity of the scheduler's queue, in requests.", |m, value| m.mem.dram.queue = Field::of(value))
        .when(CONTROLLER_KEY, false)
        .refused("the command-level controller has a queue for reads and one for writes: `mem.dram.read_queue` and `mem.dram.write_queue`")
        .option("-gpgpu_frfcfs_dram_sched_queue_size"),
    control_key!("read_queue", ValueKind::Count(4, 4096), "Capacity of the read queue, in bursts.", read_queue).default("64"),
    control_key!("write_queue", ValueKind::Count(4, 4096), "Capacity of the write queue, in bursts.", write_queue).default("64"),
    control_key!("drain_high", ValueKind::Percent, "Fill level of the write queue above which writes are drained even if reads wait; without waiting reads, writes are drained immediately.", drain_high)
        .default("\"80 %\""),
    control_key!("drain_low", ValueKind::Percent, "Fill level of the write queue below which reads are served again.", drain_low).default("\"20 %\""),
    key!("mem.dram.return_queue", ValueKind::Count(1, 8192), "Capacity of the return queue, in replies.", |m| m.mem.dram.return_queue)
        .option("-gpgpu_dram_return_queue_size"),
    control_key!("refresh", ValueKind::Flag, "True if the banks are refreshed.", refresh).default("true"),
    control_key!("refresh_banks", ValueKind::Choice(DramRefresh::WORDS), "Banks that one refresh blocks.", refresh_banks).default("\"all\""),
    control_key!("refresh_when", ValueKind::Choice(RefreshWhen::WORDS), "Time at which a due refresh of all banks is issued.", refresh_when).default("\"due\""),
    device_key!("banks", ValueKind::Count(1, 64), "Banks of a channel.", "-gpgpu_dram_timing_opt, nbk", banks),
    device_key!("bank_groups", ValueKind::Count(1, 16), "Bank groups; 1 if the device has no bank groups.", "-gpgpu_dram_timing_opt, nbkgrp", bank_groups),
    key!("mem.dram.group_low_bits", ValueKind::Flag, "True if consecutive bank numbers belong to different bank groups.", |m| m.mem.dram.group_low_bits)
        .when(CONTROLLER_KEY, false)
        .refused("the command-level controller takes banks and bank groups from `mem.dram.mapping`")
        .option("-dram_bnkgrp_indexing_policy"),
    device_key!("bus_bytes", ValueKind::Bytes(1, 256), "Width of a channel's data bus.", "-gpgpu_dram_buswidth x -gpgpu_n_mem_per_ctrlr", bus_bytes),
    device_key!("burst", ValueKind::Count(1, 64), "Burst length in beats.", "-gpgpu_dram_burst_length", burst),
    device_key!(
        "beats_per_clock",
        ValueKind::Count(1, 16),
        "Data beats per command clock: 2 for DDR, 4 for GDDR5.",
        "-dram_data_command_freq_ratio",
        beats_per_clock
    ),
    device_key!(
        "dual_command_bus",
        ValueKind::Flag,
        "True if row and column commands have separate buses (HBM).",
        "-dram_dual_bus_interface",
        dual_command_bus
    ),
    device_key!("timing.tCCD", DRAM_CYCLES, "Column command to column command, other bank group.", "-gpgpu_dram_timing_opt, CCD", timing.tCCD),
    device_key!("timing.tCCDL", DRAM_CYCLES, "Column command to column command, same bank group.", "-gpgpu_dram_timing_opt, CCDL", timing.tCCDL),
    device_key!("timing.tRRD", DRAM_CYCLES, "Activate to activate, other bank.", "-gpgpu_dram_timing_opt, RRD", timing.tRRD),
    device_key!("timing.tRCD", DRAM_CYCLES, "Activate to column command.", "-gpgpu_dram_timing_opt, RCD", timing.tRCD),
    device_key!("timing.tRAS", DRAM_CYCLES, "Activate to precharge.", "-gpgpu_dram_timing_opt, RAS", timing.tRAS),
    device_key!("timing.tRP", DRAM_CYCLES, "Precharge to activate.", "-gpgpu_dram_timing_opt, RP", timing.tRP),
    device_key!("timing.tRC", DRAM_CYCLES, "Activate to activate, same bank.", "-gpgpu_dram_timing_opt, RC", timing.tRC),
    device_key!("timing.tCL", ValueKind::Cycles("dram", 1, 4096), "Read to data.", "-gpgpu_dram_timing_opt, CL", timing.tCL),
    device_key!("timing.tWL", DRAM_CYCLES, "Write to data.", "-gpgpu_dram_timing_opt, WL", timing.tWL),
    device_key!("timing.tCDLR", DRAM_CYCLES, "Last write data to read.", "-gpgpu_dram_timing_opt, CDLR", timing.tCDLR),
    device_key!("timing.tWR", DRAM_CYCLES, "Last write data to precharge.", "-gpgpu_dram_timing_opt, WR", timing.tWR),
    device_key!("timing.tRTPL", DRAM_CYCLES, "Read to precharge, same bank.", "-gpgpu_dram_timing_opt, RTPL", timing.tRTPL),
    own_key!("tFAW", "Window that contains at most four activates; 0 for no limit.", four_activates),
    own_key!("tRFC", "Cycles from a refresh of all banks to the next command.", refresh_cycle),
    own_key!("tREFI", "Average refresh interval.", refresh_interval),
];
