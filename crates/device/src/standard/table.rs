//! The fields of a standard: organisation, command bus and timing values.

/// The parts of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Organisation {
    /// Pseudo channels: separate data buses that share one command bus.
    pub pseudo_channels: u32,
    /// Bank groups of a pseudo channel.
    pub bank_groups: u32,
    /// Banks of a bank group.
    pub banks: u32,
    /// Rows of a bank.
    pub rows: u32,
    /// Bursts of a row.
    pub columns: u32,
    /// Bytes of a burst, which one column command transfers.
    pub burst_bytes: u32,
}

impl Organisation {
    /// Returns the number of banks in the channel.
    pub const fn all_banks(&self) -> u32 {
        self.pseudo_channels * self.bank_groups * self.banks
    }

    /// Returns the number of a bank within the channel. Its digits are, from high to low, pseudo channel, bank group and bank.
    pub const fn bank(&self, pseudo_channel: u32, bank_group: u32, bank: u32) -> u32 {
        (pseudo_channel * self.bank_groups + bank_group) * self.banks + bank
    }
}

/// The commands that the command bus carries in one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandBus {
    /// One command of any kind.
    Shared,
    /// One column command and one row command (HBM).
    Split,
}

/// Timing values with their data-sheet names, in command clocks. A value of 0 means that the constraint does not exist.
#[allow(non_snake_case, reason = "data-sheet parameters keep their data-sheet names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Clocks of a burst on the data bus.
    pub tBL: u32,
    /// Clocks from a read command to its first data.
    pub tCL: u32,
    /// Clocks from a write command to its first data.
    pub tCWL: u32,
    /// Clocks from an activate to a read.
    pub tRCDRD: u32,
    /// Clocks from an activate to a write.
    pub tRCDWR: u32,
    /// Clocks from a precharge to an activate.
    pub tRP: u32,
    /// Clocks from an activate to a precharge.
    pub tRAS: u32,
    /// Clocks from an activate to the next activate of the same bank.
    pub tRC: u32,
    /// Clocks between column commands to different bank groups.
    pub tCCDS: u32,
    /// Clocks between column commands to the same bank group.
    pub tCCDL: u32,
    /// Clocks between activates of different bank groups.
    pub tRRDS: u32,
    /// Clocks between activates of the same bank group.
    pub tRRDL: u32,
    /// Clocks of a window that contains at most four activates.
    pub tFAW: u32,
    /// Clocks of a window that contains at most 32 activates.
    pub t32AW: u32,
    /// Clocks between precharges of different banks.
    pub tPPD: u32,
    /// Clocks from a read to a precharge of the same bank.
    pub tRTP: u32,
    /// Clocks from the last write data to a precharge of the same bank.
    pub tWR: u32,
    /// Clocks from the last write data to a read of another bank group.
    pub tWTRS: u32,
    /// Clocks from the last write data to a read of the same bank group.
    pub tWTRL: u32,
    /// Clocks from a read command to a write command, for the turnaround of the data bus.
    pub tRTW: u32,
    /// Clocks from an all-bank refresh to the next command.
    pub tRFC: u32,
    /// Mean interval between all-bank refreshes, in clocks.
    pub tREFI: u32,
    /// Clocks from the refresh of one bank to the next command of this bank; 0 if the device has only all-bank refreshes.
    pub tRFCpb: u32,
    /// Clocks from the refresh of one bank to the refresh or activate of another bank.
    pub tRREFD: u32,
    /// Clocks of an activate on the command bus; distances from an activate count from the last of them.
    pub activate_clocks: u32,
}

/// A DRAM device as seen by a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standard {
    /// The name on the command line and in machine files.
    pub name: &'static str,
    /// A description of the device in one line.
    pub summary: &'static str,
    /// The source of the values.
    pub source: &'static str,
    /// Picoseconds of a command clock.
    pub clock_ps: u32,
    /// The parts of a channel.
    pub organisation: Organisation,
    /// The kind of command bus.
    pub bus: CommandBus,
    /// The timing values.
    pub timing: Timing,
}
