//! Event-by-event recording of selected units: configuration of the units, and collection of the recordings as plain data.

use warpshard_base::Cycle;
use warpshard_config::Machine;
use warpshard_mem::dram::control::IssuedCommand;
use warpshard_mem::dram::standard::Command;
use warpshard_stats::activity::{Activity, BankCommand, BankEvent, ChannelActivity, EventLog, RecordingSelection};

use super::unit::ChipUnit;

/// Enables the requested recording of a unit.
pub(super) fn record(unit: &mut ChipUnit, machine: &Machine, recording: &RecordingSelection) {
    match unit {
        ChipUnit::Sm(sm) => sm.record(recording.sms.contains(&sm.id().0), Cycle(recording.from), recording.most),
        ChipUnit::Partition(partition) if recording.partitions.contains(&partition.id().0) => {
            let (core, dram) = (u128::from(machine.clocks.core.0), u128::from(machine.clocks.dram.0));
            let from = (u128::from(recording.from) * dram / core.max(1)) as u64;
            partition.record_commands(EventLog::new(from, recording.most));
        }
        _ => {}
    }
}

/// Collects the recordings of the units.
pub(super) fn collect_activity(units: &mut [ChipUnit], machine: &Machine) -> Activity {
    let mut activity = Activity::default();
    for unit in units {
        match unit {
            ChipUnit::Sm(sm) => activity.sms.push(sm.take_activity()),
            ChipUnit::Partition(partition) => {
                let partition_id = partition.id().0;
                activity.channels.push(channel_activity(partition_id, partition.take_commands(), machine));
            }
            _ => {}
        }
    }
    activity
}

fn channel_activity(partition: u16, commands: EventLog<IssuedCommand>, machine: &Machine) -> ChannelActivity {
    let (dram, clock) = (&machine.mem.dram, machine.clocks.dram);
    let device = machine.mem.device(clock).ok().flatten();
    let (_, per_clock) = dram.burst();
    let command =
        |issued: IssuedCommand| BankCommand { at: issued.at.0, bank: issued.bank, what: bank_event(issued.command), row: issued.row };
    ChannelActivity {
        partition,
        khz: clock.0,
        span: device.as_ref().map_or(1, |device| (device.organisation.bank_groups * device.organisation.banks) as u8),
        burst: device.as_ref().map_or((1.0 / per_clock).ceil() as u32, |device| device.timing.tBL),
        refresh_bank: device.as_ref().map_or(0, |device| device.timing.tRFCpb),
        refresh: device.as_ref().map_or(0, |device| device.timing.tRFC),
        commands: commands.map(command),
    }
}

fn bank_event(command: Command) -> BankEvent {
    match command {
        Command::Activate => BankEvent::Open,
        Command::Precharge => BankEvent::Close,
        Command::PrechargeAll => BankEvent::CloseAll,
        Command::Read => BankEvent::Read { closes: false },
        Command::Write => BankEvent::Write { closes: false },
        Command::ReadPrecharge => BankEvent::Read { closes: true },
        Command::WritePrecharge => BankEvent::Write { closes: true },
        Command::Refresh => BankEvent::Refresh,
        Command::RefreshBank => BankEvent::RefreshBank,
    }
}
