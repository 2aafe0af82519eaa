//! Constraints between DRAM commands: the earliest time at which a command may follow another within a scope.
//!
//! Only this module interprets timing values.

use super::Timing;

/// A command on the command bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Closes the row of a bank.
    Precharge,
    /// Closes the rows of all banks of a pseudo channel.
    PrechargeAll,
    /// Reads a burst.
    Read,
    /// Writes a burst.
    Write,
    /// Reads a burst and closes the row.
    ReadPrecharge,
    /// Writes a burst and closes the row.
    WritePrecharge,
    /// Refreshes all banks of a pseudo channel.
    Refresh,
    /// Refreshes one bank while the other banks continue to serve requests.
    RefreshBank,
}

impl Command {
    /// The number of commands.
    pub const COUNT: usize = 9;

    /// Returns true if the command moves data; all other commands are row commands.
    pub const fn is_column(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::ReadPrecharge | Self::WritePrecharge)
    }

    /// Returns true if the command addresses a whole pseudo channel instead of one bank.
    pub const fn is_wide(self) -> bool {
        matches!(self, Self::PrechargeAll | Self::Refresh)
    }
}

/// The part of the channel that two commands must share for a rule to apply to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Scope {
    /// The whole channel.
    Channel,
    /// One pseudo channel.
    PseudoChannel,
    /// One bank group.
    BankGroup,
    /// One bank.
    Bank,
}

/// A constraint: a `following` command is issued at least `cycles` after the `window`-th last `preceding` command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The part of the channel that both commands address.
    pub scope: Scope,
    /// The commands from which the distance is measured.
    pub preceding: &'static [Command],
    /// The commands that have to wait.
    pub following: &'static [Command],
    /// The minimum distance in command clocks.
    pub cycles: u32,
    /// 1 for the distance from the last `preceding` command; 4 for a limit of four commands within `cycles`, as for tFAW.
    pub window: u32,
}

use Command::{Activate, Precharge, PrechargeAll, Read, ReadPrecharge, Refresh, RefreshBank, Write, WritePrecharge};
use Scope::{Bank, BankGroup, Channel, PseudoChannel};

const READ_COMMANDS: &[Command] = &[Read, ReadPrecharge];
const WRITE_COMMANDS: &[Command] = &[Write, WritePrecharge];
const PRECHARGING_COMMANDS: &[Command] = &[Precharge, PrechargeAll];
const ROW_COMMANDS: &[Command] = &[Activate, Precharge, PrechargeAll, Refresh];
const AFTER_REFRESH: &[Command] = &[Precharge, PrechargeAll, Read, Write, ReadPrecharge, WritePrecharge, Refresh];

/// Returns the constraints that follow from the timing values, without constraints of length 0.
pub(super) fn rules(t: &Timing) -> Vec<Rule> {
    // An activate that takes two clocks is issued in its first clock and takes effect in its last clock (HBM).
    let late = t.activate_clocks - 1;
    let after_activate = |cycles: u32| cycles + late;
    let to_activate = |cycles: u32| cycles.saturating_sub(late);
    let written = t.tCWL + t.tBL;
    let rule = |scope, preceding, following, cycles| Rule { scope, preceding, following, cycles, window: 1 };
    let mut rules = vec![
        rule(Channel, &[Activate], ROW_COMMANDS, if t.activate_clocks > 1 { t.activate_clocks } else { 0 }),
        rule(PseudoChannel, READ_COMMANDS, READ_COMMANDS, t.tCCDS.max(t.tBL)),
        rule(PseudoChannel, WRITE_COMMANDS, WRITE_COMMANDS, t.tCCDS.max(t.tBL)),
        rule(PseudoChannel, READ_COMMANDS, WRITE_COMMANDS, t.tRTW),
        rule(PseudoChannel, WRITE_COMMANDS, READ_COMMANDS, written + t.tWTRS),
        rule(PseudoChannel, &[Read], &[PrechargeAll], t.tRTP),
        rule(PseudoChannel, &[Write], &[PrechargeAll], written + t.tWR),
        rule(PseudoChannel, &[Activate], &[Activate], t.tRRDS),
        Rule { window: 4, ..rule(PseudoChannel, &[Activate], &[Activate], t.tFAW) },
        Rule { window: 32, ..rule(PseudoChannel, &[Activate], &[Activate], t.t32AW) },
        rule(PseudoChannel, &[Activate], &[PrechargeAll], after_activate(t.tRAS)),
        rule(PseudoChannel, &[PrechargeAll], &[Activate], to_activate(t.tRP)),
        rule(PseudoChannel, PRECHARGING_COMMANDS, PRECHARGING_COMMANDS, t.tPPD),
        rule(PseudoChannel, &[Activate], &[Refresh], after_activate(t.tRC)),
        rule(PseudoChannel, &[Precharge, PrechargeAll], &[Refresh], t.tRP),
        rule(PseudoChannel, &[ReadPrecharge], &[Refresh], t.tRTP + t.tRP),
        rule(PseudoChannel, &[WritePrecharge], &[Refresh], written + t.tWR + t.tRP),
        rule(PseudoChannel, &[Refresh], &[Activate], to_activate(t.tRFC)),
        rule(PseudoChannel, &[Refresh], AFTER_REFRESH, t.tRFC),
        rule(BankGroup, READ_COMMANDS, READ_COMMANDS, t.tCCDL),
        rule(BankGroup, WRITE_COMMANDS, WRITE_COMMANDS, t.tCCDL),
        rule(BankGroup, WRITE_COMMANDS, READ_COMMANDS, written + t.tWTRL),
        rule(BankGroup, &[Activate], &[Activate], t.tRRDL),
        rule(Bank, &[Activate], &[Activate], t.tRC),
        rule(Bank, &[Activate], READ_COMMANDS, after_activate(t.tRCDRD)),
        rule(Bank, &[Activate], WRITE_COMMANDS, after_activate(t.tRCDWR)),
        rule(Bank, &[Activate], &[Precharge], after_activate(t.tRAS)),
        rule(Bank, &[Precharge], &[Activate], to_activate(t.tRP)),
        rule(Bank, &[Read], &[Precharge], t.tRTP),
        rule(Bank, &[Write], &[Precharge], written + t.tWR),
        rule(Bank, &[ReadPrecharge], &[Activate], to_activate(t.tRTP + t.tRP)),
        rule(Bank, &[WritePrecharge], &[Activate], to_activate(written + t.tWR + t.tRP)),
    ];
    if t.tRFCpb > 0 {
        rules.extend([
            rule(Channel, &[Activate], &[RefreshBank], if t.activate_clocks > 1 { t.activate_clocks } else { 0 }),
            rule(PseudoChannel, &[Activate], &[RefreshBank], after_activate(t.tRRDS)),
            rule(PseudoChannel, &[RefreshBank], &[RefreshBank], t.tRREFD),
            rule(PseudoChannel, &[RefreshBank], &[Activate], to_activate(t.tRREFD)),
            rule(PseudoChannel, &[PrechargeAll], &[RefreshBank], t.tRP),
            rule(BankGroup, &[Activate], &[RefreshBank], after_activate(t.tRRDL)),
            rule(Bank, &[Activate], &[RefreshBank], after_activate(t.tRC)),
            rule(Bank, &[Precharge], &[RefreshBank], t.tRP),
            rule(Bank, &[ReadPrecharge], &[RefreshBank], t.tRTP + t.tRP),
            rule(Bank, &[WritePrecharge], &[RefreshBank], written + t.tWR + t.tRP),
            rule(Bank, &[RefreshBank], &[Activate], to_activate(t.tRFCpb)),
            rule(Bank, &[RefreshBank], &[RefreshBank], t.tRFCpb),
        ]);
    }
    rules.retain(|rule| rule.cycles > 0);
    rules
}
