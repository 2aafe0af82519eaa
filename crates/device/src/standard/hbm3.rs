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

/// HBM3 at 6.4 Gb/s per pin, in stacks of eight 16 Gb dies. One controller drives two pseudo channels of 32 bits.
///
/// The two stack levels (SIDs) of a pseudo channel are modelled as additional bank groups, without the extra clock between reads of
/// different levels (tCCDR). Activates of different banks are at least 2.5 ns apart, and a refresh of one bank takes 200 ns.
pub(super) const HBM3_6400: Standard = Standard {
    name: "hbm3-6400",
    summary: "HBM3 6.4 Gb/s, two pseudo channels of 32 bits, 64 banks, split command bus",
    source: "Ramulator 2.1 at commit c5b1c3a, python/ramulator/dram/hbm3.py, presets HBM3_16Gb_8hi and HBM3_6400Mbps; tRFC and tREFI as it derives them (JESD238, Table 84)",
    clock_ps: 625,
    organisation: Organisation { pseudo_channels: 2, bank_groups: 8, banks: 4, rows: 16384, columns: 32, burst_bytes: 32 },
    bus: CommandBus::Split,
    timing: Timing {
        tBL: 2,
        tCL: 20,
        tCWL: 10,
        tRCDRD: 31,
        tRCDWR: 15,
        tRP: 26,
        tRAS: 45,
        tRC: 72,
        tCCDS: 2,
        tCCDL: 4,
        tRRDS: 4,
        tRRDL: 5,
        tFAW: 24,
        t32AW: 0,
        tPPD: 2,
        tRTP: 9,
        tWR: 33,
        tWTRS: 7,
        tWTRL: 10,
        tRTW: 20,
        tRFC: 560,
        tREFI: 6240,
        tRFCpb: 320,
        tRREFD: 8,
        activate_clocks: 2,
    },
};
