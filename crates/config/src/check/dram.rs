//! Checks of the DRAM channels: GPGPU-Sim's timing, and the device, mapping and queues of the command-level controller.

use warpshard_device::mapping::Mapping;

use super::super::dram::{DramControl, DramRefresh, RefreshWhen};
use super::super::machine::{Dram, DramScheduler, Machine};
use super::checker::Checker;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    let dram = &machine.mem.dram;
    if dram.has_own_device() {
        check_timing(dram, checker);
    }
    if let Some(control) = &dram.control {
        check_queues(control, checker);
        check_limits(dram, control, checker);
        if device_fits(machine, control, checker) {
            check_mapping(machine, control, checker);
        }
    }
}

fn check_timing(dram: &Dram, checker: &mut Checker<'_>) {
    let t = &dram.timing;
    let row_cycle = t.tRAS.saturating_add(t.tRP);
    checker.require(
        dram.banks.is_multiple_of(dram.bank_groups),
        &["mem.dram.bank_groups", "mem.dram.banks"],
        || format!("`mem.dram.bank_groups` is {}, expected a divisor of the {} banks", dram.bank_groups, dram.banks),
        || "every group has the same number of banks".to_owned(),
    );
    checker.require(
        dram.burst.is_multiple_of(dram.beats_per_clock),
        &["mem.dram.burst", "mem.dram.beats_per_clock"],
        || format!("`mem.dram.burst` is {} beats, expected a multiple of `mem.dram.beats_per_clock`, {}", dram.burst, dram.beats_per_clock),
        || "a burst takes a whole number of command clocks".to_owned(),
    );
    // Data sheets round tRC, tRAS and tRP to cycles separately, so tRC may be one cycle less than tRAS + tRP.
    checker.require(
        t.tRC.saturating_add(1) >= row_cycle,
        &["mem.dram.timing.tRC", "mem.dram.timing.tRAS", "mem.dram.timing.tRP"],
        || format!("`mem.dram.timing.tRC` is {}, expected at least tRAS + tRP = {}", t.tRC, row_cycle),
        || "a bank is open for tRAS and closes for tRP before it opens again".to_owned(),
    );
    checker.require(
        t.tRAS >= t.tRCD,
        &["mem.dram.timing.tRAS", "mem.dram.timing.tRCD"],
        || format!("`mem.dram.timing.tRAS` is {}, expected at least tRCD = {}", t.tRAS, t.tRCD),
        || "a row stays open until a column of it can be read".to_owned(),
    );
    checker.require(
        dram.bank_groups == 1 || t.tCCDL >= t.tCCD,
        &["mem.dram.timing.tCCDL", "mem.dram.timing.tCCD"],
        || format!("`mem.dram.timing.tCCDL` is {}, expected at least tCCD = {}", t.tCCDL, t.tCCD),
        || "column commands to one bank group cannot follow each other faster than column commands to two bank groups".to_owned(),
    );
}

/// Checks that limits of row hits and ages are set only for schedulers that do not see the whole queue.
fn check_limits(dram: &Dram, control: &DramControl, checker: &mut Checker<'_>) {
    let sees_queue = matches!(dram.scheduler, DramScheduler::ParBs | DramScheduler::Own);
    for (key, value) in [("mem.dram.row_hit_cap", control.row_hit_cap), ("mem.dram.age_cap", control.age_cap)] {
        checker.require(
            !sees_queue || value == 0,
            &[key, "mem.dram.scheduler"],
            || format!("`{key}` is {value} with a scheduler that sees the whole queue, expected 0"),
            || "such a scheduler sets its own limits; \"fr-fcfs\" and \"fcfs\" use this limit".to_owned(),
        );
    }
}

fn check_queues(control: &DramControl, checker: &mut Checker<'_>) {
    checker.require(
        control.drain_low < control.drain_high,
        &["mem.dram.drain_low", "mem.dram.drain_high"],
        || format!("`mem.dram.drain_low` is {} %, expected less than `mem.dram.drain_high`, {} %", control.drain_low, control.drain_high),
        || "writes are drained from the high mark down to the low one".to_owned(),
    );
    checker.require(
        control.drain_high < 100,
        &["mem.dram.drain_high"],
        || "`mem.dram.drain_high` is 100 %, expected less: the fill level never exceeds 100 %".to_owned(),
        || "writes would wait as long as reads arrive; Ramulator uses \"80 %\"".to_owned(),
    );
}

/// Checks that the device supports the machine's DRAM clock.
fn device_fits(machine: &Machine, control: &DramControl, checker: &mut Checker<'_>) -> bool {
    let (mem, clock) = (&machine.mem, machine.clocks.dram);
    checker.require(
        control.refresh_banks == DramRefresh::All || control.standard.is_some_and(|standard| standard.timing.tRFCpb > 0),
        &["mem.dram.refresh_banks", "mem.dram.standard"],
        || "`mem.dram.refresh_banks` is \"single\", but the device has no single-bank refresh".to_owned(),
        || "mem.dram.refresh_banks = \"all\", or mem.dram.standard = \"hbm3-6400\", whose table has tRFCpb".to_owned(),
    );
    checker.require(
        control.refresh_when == RefreshWhen::Due || control.refresh_banks == DramRefresh::All,
        &["mem.dram.refresh_when", "mem.dram.refresh_banks"],
        || "`mem.dram.refresh_when` postpones refreshes of all banks, but `mem.dram.refresh_banks` is \"single\"".to_owned(),
        || "mem.dram.refresh_when = \"due\", or mem.dram.refresh_banks = \"all\"".to_owned(),
    );
    if let Some(standard) = control.standard {
        let fits = standard.at(clock).is_ok();
        checker.require(
            fits,
            &["mem.dram.standard", "clocks.dram"],
            || format!("`mem.dram.standard` is \"{}\" with a command clock of {clock}, expected at most {}", standard.name, standard.grade()),
            || {
                format!(
                    "clocks.dram = \"{}\" runs the device at its speed grade; if the machine's clock counts data instead of commands, set the command clock",
                    standard.grade()
                )
            },
        );
        return fits;
    }
    let own = control.own;
    let refreshes = own.refresh_interval > 0 && own.refresh_cycle > 0;
    checker.require(
        !control.refresh || refreshes,
        &["mem.dram.refresh", "mem.dram.timing.tREFI", "mem.dram.timing.tRFC"],
        || "`mem.dram.refresh` is true, but the machine's own timing table has neither a refresh interval nor a refresh duration".to_owned(),
        || {
            "give mem.dram.timing.tREFI and mem.dram.timing.tRFC in cycles, or mem.dram.refresh = false, or name a device with mem.dram.standard"
                .to_owned()
        },
    );
    let problem = mem.device(clock).err().map(|error| error.problem);
    checker.require(
        problem.is_none(),
        &["mem.dram.standard"],
        || format!("the machine's own widths and timing do not describe a valid device: {}", problem.as_deref().unwrap_or_default()),
        || "correct the value under [mem.dram] or [mem.dram.timing] that it names (tCWL is tWL, tRTP is tRTPL, tWTR is tCDLR), or name a device with mem.dram.standard".to_owned(),
    );
    problem.is_none()
}

fn check_mapping(machine: &Machine, control: &DramControl, checker: &mut Checker<'_>) {
    let Ok(Some(standard)) = machine.mem.device(machine.clocks.dram) else { return };
    let o = &standard.organisation;
    let problem = Mapping::parse(&control.mapping, o, 1).err();
    checker.require(
        problem.is_none(),
        &["mem.dram.mapping", "mem.dram.standard"],
        || {
            let why = problem.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("`mem.dram.mapping` is \"{}\": {why}", control.mapping)
        },
        || {
            format!(
                "the device has 2^{} rows (Ro), {} banks (Ba) in each of {} groups (Bg), {} pseudo channels (Pc) and {} bursts (Co) of a row; \"RoBaCoBgPcCo1\" fits all devices",
                o.rows.ilog2(),
                o.banks,
                o.bank_groups,
                o.pseudo_channels,
                o.columns
            )
        },
    );
}
