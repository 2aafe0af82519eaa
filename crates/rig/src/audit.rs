//! An independent check of issued commands: replays them and reports the first violation of the data sheet.
//!
//! It shares only the timing values with the scheduler, neither its code nor its rules: every pair of commands within the longest timing
//! window is checked for its effect on banks, the data bus and the command bus. Its cost is the number of commands times the number within
//! this window.

use std::collections::VecDeque;

use warpshard_mem::dram::control::IssuedCommand;
use warpshard_mem::dram::standard::{Command, CommandBus, Standard};

/// A command that violates a timing constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{standard}: {command:?} to bank {bank} in {at}: {why}", command = .issued.command, bank = .issued.bank, at = .issued.at)]
pub struct Violation {
    /// Name of the device.
    pub standard: &'static str,
    /// The violating command.
    pub issued: IssuedCommand,
    /// The violated constraint.
    pub why: String,
}

/// Replays `commands`, which must be in the order of their cycles.
///
/// # Errors
/// Fails with the first violation.
pub fn audit(standard: &Standard, commands: &[IssuedCommand]) -> Result<(), Violation> {
    let mut replay = CommandAudit::new(standard);
    commands
        .iter()
        .try_for_each(|issued| replay.check_command(issued).map_err(|why| Violation { standard: standard.name, issued: *issued, why }))
}

/// Resources that two banks share.
#[derive(Clone, Copy)]
struct SharedResources {
    channel: bool,
    group: bool,
    bank: bool,
}

struct CommandAudit<'a> {
    standard: &'a Standard,
    rows: Vec<Option<u32>>,
    recent: VecDeque<IssuedCommand>,
    horizon: u64,
}

impl<'a> CommandAudit<'a> {
    fn new(standard: &'a Standard) -> Self {
        let t = &standard.timing;
        let horizon = t.tRFC.max(t.tRC).max(t.t32AW).max(t.tFAW).max(t.tCWL + t.tBL + t.tWR + t.tRP).max(t.tCL + t.tBL);
        let rows = vec![None; standard.organisation.all_banks() as usize];
        Self { standard, rows, recent: VecDeque::new(), horizon: u64::from(horizon) + 2 }
    }

    fn shared_resources(&self, a: u8, b: u8) -> SharedResources {
        let o = &self.standard.organisation;
        let pseudo_channel = |bank: u8| u32::from(bank) / (o.bank_groups * o.banks);
        let group = |bank: u8| u32::from(bank) / o.banks;
        SharedResources { channel: pseudo_channel(a) == pseudo_channel(b), group: group(a) == group(b), bank: a == b }
    }

    fn check_command(&mut self, issued: &IssuedCommand) -> Result<(), String> {
        while self.recent.front().is_some_and(|old| old.at.0 + self.horizon < issued.at.0) {
            self.recent.pop_front();
        }
        self.check_command_bus(issued)?;
        self.check_bank_state(issued)?;
        for old in &self.recent {
            self.check_pair(old, issued)?;
        }
        self.check_windows(issued)?;
        self.recent.push_back(*issued);
        Ok(())
    }

    /// Checks the command bus: one command per clock, or one row and one column command; an activate occupies several clocks.
    fn check_command_bus(&self, issued: &IssuedCommand) -> Result<(), String> {
        let split = self.standard.bus == CommandBus::Split;
        for old in self.recent.iter().rev().take_while(|old| old.at.0 + 4 > issued.at.0) {
            if old.at > issued.at {
                return Err(format!("it comes after a command of {}", old.at));
            }
            if split && old.command.is_column() != issued.command.is_column() {
                continue;
            }
            let clocks = if old.command == Command::Activate { u64::from(self.standard.timing.activate_clocks) } else { 1 };
            if old.at.0 + clocks > issued.at.0 {
                return Err(format!("the command bus still carries the {:?} of {}", old.command, old.at));
            }
        }
        Ok(())
    }

    fn check_bank_state(&mut self, issued: &IssuedCommand) -> Result<(), String> {
        let o = &self.standard.organisation;
        let bank = usize::from(issued.bank);
        let span = (o.bank_groups * o.banks) as usize;
        match issued.command {
            Command::Activate => {
                if let Some(row) = self.rows[bank].replace(issued.row) {
                    return Err(format!("row {row} is open"));
                }
            }
            Command::Precharge => self.rows[bank] = None,
            Command::PrechargeAll => self.rows[bank..bank + span].fill(None),
            Command::Refresh => {
                if let Some(open) = self.rows[bank..bank + span].iter().position(Option::is_some) {
                    return Err(format!("bank {} is open", bank + open));
                }
            }
            Command::RefreshBank => {
                if let Some(row) = self.rows[bank] {
                    return Err(format!("row {row} is open"));
                }
            }
            Command::Read | Command::Write | Command::ReadPrecharge | Command::WritePrecharge => {
                if self.rows[bank] != Some(issued.row) {
                    let open = self.rows[bank].map_or("no row".to_owned(), |row| format!("row {row}"));
                    return Err(format!("row {} is accessed, but {open} is open", issued.row));
                }
                if matches!(issued.command, Command::ReadPrecharge | Command::WritePrecharge) {
                    self.rows[bank] = None;
                }
            }
        }
        Ok(())
    }

    /// Checks the data sheet's constraint between two commands.
    fn check_pair(&self, old: &IssuedCommand, new: &IssuedCommand) -> Result<(), String> {
        use Command::{Activate, Precharge, PrechargeAll, Read, ReadPrecharge, Refresh, RefreshBank, Write, WritePrecharge};
        let t = &self.standard.timing;
        let mut near = self.shared_resources(old.bank, new.bank);
        // A command to all banks applies to each bank.
        if near.channel && (old.command.is_wide() || new.command.is_wide()) {
            near = SharedResources { channel: true, group: true, bank: true };
        }
        if !near.channel {
            return Ok(());
        }
        // An activate takes effect in its last clock.
        let acts = |i: &IssuedCommand| i.at.0 + if i.command == Activate { u64::from(t.activate_clocks) - 1 } else { 0 };
        let (first, second) = (acts(old), acts(new));
        let later = |name: &str, since: u64, span: u32, at: u64| {
            if at >= since + u64::from(span) {
                return Ok(());
            }
            Err(format!("{name} = {span} after the {:?} of {} is not over", old.command, old.at))
        };
        let reads = |c: Command| matches!(c, Read | ReadPrecharge);
        let writes = |c: Command| matches!(c, Write | WritePrecharge);
        let written = first + u64::from(t.tCWL + t.tBL);
        match (old.command, new.command) {
            (a, b) if a.is_column() && b.is_column() => {
                let data = |at: u64, c: Command| at + u64::from(if writes(c) { t.tCWL } else { t.tCL });
                later("tBL on the data bus", data(first, a), t.tBL, data(second, b))?;
                match (writes(a), writes(b)) {
                    (false, true) => later("tRTW", first, t.tRTW, second),
                    (true, false) => later("tWTR", written, if near.group { t.tWTRL } else { t.tWTRS }, second),
                    _ => later("tCCD", first, if near.group { t.tCCDL } else { t.tCCDS }, second),
                }
            }
            (Activate, Activate) if near.bank => later("tRC", first, t.tRC, second),
            (Activate, Activate) => later("tRRD", first, if near.group { t.tRRDL } else { t.tRRDS }, second),
            (Activate, RefreshBank) if near.bank => later("tRC", first, t.tRC, second),
            (Activate, RefreshBank) if near.group => later("tRRDL", first, t.tRRDL, second),
            (Activate, RefreshBank) => later("tRRDS", first, t.tRRDS, second),
            (RefreshBank, Activate | RefreshBank) if near.bank => later("tRFCpb", first, t.tRFCpb, second),
            (RefreshBank, Activate | RefreshBank) => later("tRREFD", first, t.tRREFD, second),
            (Activate, Refresh) => later("tRC", first, t.tRC, second),
            (Activate, b) if near.bank && reads(b) => later("tRCDRD", first, t.tRCDRD, second),
            (Activate, b) if near.bank && writes(b) => later("tRCDWR", first, t.tRCDWR, second),
            (Activate, Precharge | PrechargeAll) if near.bank => later("tRAS", first, t.tRAS, second),
            (Precharge | PrechargeAll, Activate | Refresh | RefreshBank) if near.bank => later("tRP", first, t.tRP, second),
            (Read, Precharge | PrechargeAll) if near.bank => later("tRTP", first, t.tRTP, second),
            (Write, Precharge | PrechargeAll) if near.bank => later("tWR", written, t.tWR, second),
            (ReadPrecharge, Activate | Refresh | RefreshBank) if near.bank => later("tRTP + tRP", first, t.tRTP + t.tRP, second),
            (WritePrecharge, Activate | Refresh | RefreshBank) if near.bank => later("tWR + tRP", written, t.tWR + t.tRP, second),
            (Precharge | PrechargeAll, Precharge | PrechargeAll) => later("tPPD", first, t.tPPD, second),
            (Refresh, _) => later("tRFC", first, t.tRFC, second),
            _ => Ok(()),
        }
    }

    /// Checks the activation windows: at most four activates in tFAW, 32 in t32AW.
    fn check_windows(&self, issued: &IssuedCommand) -> Result<(), String> {
        if issued.command != Command::Activate {
            return Ok(());
        }
        let t = &self.standard.timing;
        for (name, span, most) in [("tFAW", t.tFAW, 4), ("t32AW", t.t32AW, 32)] {
            let within = |old: &&IssuedCommand| {
                old.command == Command::Activate
                    && self.shared_resources(old.bank, issued.bank).channel
                    && old.at.0 + u64::from(span) > issued.at.0
            };
            let count = self.recent.iter().filter(within).count();
            if count >= most {
                return Err(format!("{count} activates lie within {name} = {span}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Cycle;

    fn check(standard: &str, commands: &[(u64, Command, u8, u32)]) -> Result<(), String> {
        let issued: Vec<IssuedCommand> =
            commands.iter().map(|&(at, command, bank, row)| IssuedCommand { at: Cycle(at), command, bank, row }).collect();
        audit(Standard::named(standard).unwrap(), &issued).map_err(|violation| violation.why)
    }

    #[test]
    fn legal_commands_pass() {
        use Command::{Activate, Precharge, Read};
        let legal =
            [(1, Activate, 0, 7), (28, Read, 0, 7), (30, Activate, 4, 1), (57, Read, 4, 1), (60, Precharge, 0, 0), (87, Activate, 0, 8)];
        assert_eq!(check("gddr6-14g", &legal), Ok(()));
    }

    #[test]
    fn each_kind_of_violation_is_found() {
        use Command::{Activate, Precharge, Read, Refresh, Write};
        type Case<'a> = (&'a [(u64, Command, u8, u32)], &'a str);
        let cases: &[Case<'_>] = &[
            (&[(1, Activate, 0, 7), (27, Read, 0, 7)], "tRCDRD"),
            (&[(1, Activate, 0, 7), (28, Read, 0, 8)], "row 8 is accessed"),
            (&[(1, Activate, 0, 7), (90, Activate, 0, 8)], "row 7 is open"),
            (&[(1, Activate, 0, 7), (8, Activate, 4, 8)], "tRRD"),
            (&[(1, Activate, 0, 7), (53, Precharge, 0, 0)], "tRAS"),
            (&[(1, Activate, 0, 7), (55, Precharge, 0, 0), (81, Activate, 0, 7)], "tRP"),
            (&[(1, Activate, 0, 7), (30, Read, 0, 7), (33, Read, 0, 7)], "tCCD"),
            (&[(1, Activate, 0, 7), (30, Write, 0, 7), (48, Read, 0, 7)], "tWTR"),
            (&[(1, Activate, 0, 7), (30, Read, 0, 7), (54, Write, 0, 7)], "tRTW"),
            (&[(1, Activate, 0, 7), (30, Write, 0, 7), (64, Precharge, 0, 0)], "tWR"),
            (&[(1, Activate, 0, 7), (100, Refresh, 0, 0)], "bank 0 is open"),
            (&[(1, Refresh, 0, 0), (211, Activate, 0, 0)], "tRFC"),
            (&[(1, Activate, 0, 7), (1, Precharge, 4, 0)], "command bus"),
        ];
        for (commands, why) in cases {
            let found = check("gddr6-14g", commands).unwrap_err();
            assert!(found.contains(why), "{found} is not about {why}");
        }
        let activates: Vec<_> = (0..5).map(|i| (1 + 4 * i, Activate, 4 * (i as u8 % 4) + i as u8 / 4, 0)).collect();
        assert_eq!(check("hbm2-2000", &activates), Ok(()));
        let activates: Vec<_> = (0..33).map(|i| (1 + 10 * i, Activate, (i % 16) as u8, 0)).collect();
        let closed = activates.into_iter().flat_map(|a| [a, (a.0 + 61, Precharge, a.2, 0)]);
        let mut closed: Vec<_> = closed.collect();
        closed.sort_by_key(|c| c.0);
        assert!(check("gddr5-6g", &closed).unwrap_err().contains("t32AW"));
    }
}
