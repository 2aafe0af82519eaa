//! The HBM2 standard, with pseudo channels and separate buses for row and column commands.

use super::{CommandBus, Organisation, Standard, Timing};

/// HBM2 with 2 Gb/s per pin, 4 Gb per channel: two pseudo channels of 64 bits with one controller.
pub(super) const HBM2_2000: Standard = Standard {
    name: "hbm2-2000",
    summary: "HBM2 2 Gb/s, two pseudo channels of 64 bits, 32 banks, split command bus",
    source: "Ramulator 2.1, python/ramulator/dram/hbm2.py, presets HBM2_4Gb and HBM2_2000Mbps",
    clock_ps: 1000,
    organisation: Organisation { pseudo_channels: 2, bank_groups: 4, banks: 4, rows: 32768, columns: 32, burst_bytes: 32 },
    bus: CommandBus::Split,
    timing: Timing {
        tBL: 2,
        tCL: 14,
        tCWL: 5,
        tRCDRD: 14,
        tRCDWR: 12,
        tRP: 14,
        tRAS: 34,
        tRC: 48,
        tCCDS: 2,
        tCCDL: 4,
        tRRDS: 4,
        tRRDL: 4,
        tFAW: 15,
        t32AW: 0,
        tPPD: 0,
        tRTP: 5,
        tWR: 16,
        tWTRS: 6,
        tWTRL: 8,
        tRTW: 13,
        tRFC: 260,
        tREFI: 3900,
        tRFCpb: 0,
        tRREFD: 0,
        activate_clocks: 2,
    },
};
