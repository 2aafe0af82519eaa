//! Constraints between commands: the earliest time at which a command may follow another within a scope.
//!
//! This is the only place that knows what a timing value means.

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
    /// Refreshes one bank, while the others work on.
    RefreshBank,
}

impl Command {
    /// How many commands there are.
    pub const COUNT: usize = 9;

    /// Whether it moves data; the others are row commands.
    pub const fn is_column(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::ReadPrecharge | Self::WritePrecharge)
    }

    /// Whether it addresses a whole pseudo channel and not a bank.
    pub const fn is_wide(self) -> bool {
        matches!(self, Self::PrechargeAll | Self::Refresh)
    }
}

/// The part of the channel that two commands must share for a rule to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Scope {
    /// Anywhere in the channel.
    Channel,
    /// In the same pseudo channel.
    PseudoChannel,
    /// In the same bank group.
    BankGroup,
    /// In the same bank.
    Bank,
}

/// A constraint: a `following` command comes at least `cycles` after the `window`-th last `preceding` one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The part of the channel that both commands address.
    pub scope: Scope,
    /// The earlier commands.
    pub preceding: &'static [Command],
    /// The later commands.
    pub following: &'static [Command],
    /// Least distance in command clocks.
    pub cycles: u32,
    /// 1 for the distance from the last; 4 where at most four may fall into `cycles`, as tFAW says.
    pub window: u32,
}

use Command::{Activate, Precharge, PrechargeAll, Read, ReadPrecharge, Refresh, RefreshBank, Write, WritePrecharge};
use Scope::{Bank, BankGroup, Channel, PseudoChannel};

const READS: &[Command] = &[Read, ReadPrecharge];
const WRITES: &[Command] = &[Write, WritePrecharge];
const CLOSES: &[Command] = &[Precharge, PrechargeAll];
const ROW: &[Command] = &[Activate, Precharge, PrechargeAll, Refresh];
const AFTER_REFRESH: &[Command] = &[Precharge, PrechargeAll, Read, Write, ReadPrecharge, WritePrecharge, Refresh];

/// The constraints that follow from timing values; those of length 0 are left out.
pub(super) fn rules(t: &Timing) -> Vec<Rule> {
    // An activate of two clocks is issued in its first one and acts in its last one (HBM).
    let late = t.activate_clocks - 1;
    let after_activate = |cycles: u32| cycles + late;
    let to_activate = |cycles: u32| cycles.saturating_sub(late);
    let written = t.tCWL + t.tBL;
    let rule = |scope, preceding, following, cycles| Rule { scope, preceding, following, cycles, window: 1 };
    let mut rules = vec![
        rule(Channel, &[Activate], ROW, if t.activate_clocks > 1 { t.activate_clocks } else { 0 }),
        rule(PseudoChannel, READS, READS, t.tCCDS.max(t.tBL)),
        rule(PseudoChannel, WRITES, WRITES, t.tCCDS.max(t.tBL)),
        rule(PseudoChannel, READS, WRITES, t.tRTW),
        rule(PseudoChannel, WRITES, READS, written + t.tWTRS),
        rule(PseudoChannel, &[Read], &[PrechargeAll], t.tRTP),
        rule(PseudoChannel, &[Write], &[PrechargeAll], written + t.tWR),
        rule(PseudoChannel, &[Activate], &[Activate], t.tRRDS),
        Rule { window: 4, ..rule(PseudoChannel, &[Activate], &[Activate], t.tFAW) },
        Rule { window: 32, ..rule(PseudoChannel, &[Activate], &[Activate], t.t32AW) },
        rule(PseudoChannel, &[Activate], &[PrechargeAll], after_activate(t.tRAS)),
        rule(PseudoChannel, &[PrechargeAll], &[Activate], to_activate(t.tRP)),
        rule(PseudoChannel, CLOSES, CLOSES, t.tPPD),
        rule(PseudoChannel, &[Activate], &[Refresh], after_activate(t.tRC)),
        rule(PseudoChannel, &[Precharge, PrechargeAll], &[Refresh], t.tRP),
        rule(PseudoChannel, &[ReadPrecharge], &[Refresh], t.tRTP + t.tRP),
        rule(PseudoChannel, &[WritePrecharge], &[Refresh], written + t.tWR + t.tRP),
        rule(PseudoChannel, &[Refresh], &[Activate], to_activate(t.tRFC)),
        rule(PseudoChannel, &[Refresh], AFTER_REFRESH, t.tRFC),
        rule(BankGroup, READS, READS, t.tCCDL),
        rule(BankGroup, WRITES, WRITES, t.tCCDL),
        rule(BankGroup, WRITES, READS, written + t.tWTRL),
        rule(BankGroup, &[Activate], &[Activate], t.tRRDL),
        rule(Bank, &[Activate], &[Activate], t.tRC),
        rule(Bank, &[Activate], READS, after_activate(t.tRCDRD)),
        rule(Bank, &[Activate], WRITES, after_activate(t.tRCDWR)),
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
