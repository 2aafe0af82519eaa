//! What a table of a standard has: organisation, command bus and timing values.

/// How many of each part a channel has.
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
    /// Bytes of a burst: what one column command moves.
    pub burst_bytes: u32,
}

impl Organisation {
    /// Banks of the whole channel.
    pub const fn all_banks(&self) -> u32 {
        self.pseudo_channels * self.bank_groups * self.banks
    }

    /// Number of a bank within the channel: pseudo channel, bank group, bank, from the highest digit to the lowest.
    pub const fn bank(&self, pseudo_channel: u32, bank_group: u32, bank: u32) -> u32 {
        (pseudo_channel * self.bank_groups + bank_group) * self.banks + bank
    }
}

/// What the command bus carries in one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandBus {
    /// One command.
    Shared,
    /// A column command and a row command (HBM).
    Split,
}

/// Timing values with their data-sheet names, in command clocks. A value of 0 means that there is no such constraint.
#[allow(non_snake_case, reason = "data-sheet parameters keep their data-sheet names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Clocks that a burst takes on the data bus.
    pub tBL: u32,
    /// Read command to first data.
    pub tCL: u32,
    /// Write command to first data.
    pub tCWL: u32,
    /// Activate to read.
    pub tRCDRD: u32,
    /// Activate to write.
    pub tRCDWR: u32,
    /// Precharge to activate.
    pub tRP: u32,
    /// Activate to precharge.
    pub tRAS: u32,
    /// Activate to activate, same bank.
    pub tRC: u32,
    /// Column to column, other bank group.
    pub tCCDS: u32,
    /// Column to column, same bank group.
    pub tCCDL: u32,
    /// Activate to activate, other bank group.
    pub tRRDS: u32,
    /// Activate to activate, same bank group.
    pub tRRDL: u32,
    /// Window in which at most four activates fall.
    pub tFAW: u32,
    /// Window in which at most 32 activates fall.
    pub t32AW: u32,
    /// Precharge to precharge, other bank.
    pub tPPD: u32,
    /// Read to precharge, same bank.
    pub tRTP: u32,
    /// Last write data to precharge, same bank.
    pub tWR: u32,
    /// Last write data to read, other bank group.
    pub tWTRS: u32,
    /// Last write data to read, same bank group.
    pub tWTRL: u32,
    /// Read command to write command: turning the data bus around.
    pub tRTW: u32,
    /// All-bank refresh to the next command.
    pub tRFC: u32,
    /// Mean interval of all-bank refreshes.
    pub tREFI: u32,
    /// Refresh of one bank to the next command of that bank; 0 where the device refreshes all banks at once only.
    pub tRFCpb: u32,
    /// Refresh of one bank to the refresh or activate of another.
    pub tRREFD: u32,
    /// Clocks that an activate takes on the command bus; what follows it counts from its last clock.
    pub activate_clocks: u32,
}

/// A DRAM device as a channel sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standard {
    /// Its name on the command line and in machines.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where the values come from.
    pub source: &'static str,
    /// Picoseconds of a command clock.
    pub clock_ps: u32,
    /// Parts of a channel.
    pub organisation: Organisation,
    /// The command bus.
    pub bus: CommandBus,
    /// Timing values.
    pub timing: Timing,
}
