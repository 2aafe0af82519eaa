//! The HBM3 standard, with pseudo channels of 32 bits and separate buses for row and column commands.

use super::{CommandBus, Organisation, Standard, Timing};

/// HBM3 with 5.6 Gb/s per pin, 8 Gb per channel: two pseudo channels of 32 bits with one controller.
///
/// The clock is the command clock, a quarter of the data rate. A refresh of one bank takes 160 ns, and refreshes of two banks are 8 ns
/// apart.
pub(super) const HBM3_5600: Standard = Standard {
    name: "hbm3-5600",
    summary: "HBM3 5.6 Gb/s, two pseudo channels of 32 bits, 32 banks, split command bus",
    source: "Ramulator 2.1, python/ramulator/dram/hbm3.py, presets HBM3_8Gb and HBM3_5600Mbps; activates and refresh as it derives them; refresh of single banks: Ramulator 2.0, src/dram/impl/HBM3.cpp, nRFCSB and nRREFD of HBM3_2Gbps",
    clock_ps: 714,
    organisation: Organisation { pseudo_channels: 2, bank_groups: 4, banks: 4, rows: 32768, columns: 32, burst_bytes: 32 },
    bus: CommandBus::Split,
    timing: Timing {
        tBL: 2,
        tCL: 22,
        tCWL: 8,
        tRCDRD: 22,
        tRCDWR: 12,
        tRP: 22,
        tRAS: 42,
        tRC: 64,
        tCCDS: 2,
        tCCDL: 4,
        tRRDS: 8,
        tRRDL: 8,
        tFAW: 22,
        t32AW: 0,
        tPPD: 2,
        tRTP: 5,
        tWR: 20,
        tWTRS: 8,
        tWTRL: 10,
        tRTW: 18,
        tRFC: 491,
        tREFI: 5463,
        tRFCpb: 225,
        tRREFD: 12,
        activate_clocks: 2,
    },
};
