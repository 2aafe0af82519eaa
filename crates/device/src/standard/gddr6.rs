//! The GDDR6 standard.

use super::{CommandBus, Organisation, Standard, Timing};

/// GDDR6 with 14 Gb/s per pin, 8 Gb, one channel of 16 bits.
pub(super) const GDDR6_14G: Standard = Standard {
    name: "gddr6-14g",
    summary: "GDDR6 14 Gb/s, x16 channel, 16 banks in 4 groups",
    source: "Ramulator 2.1, python/ramulator/dram/gddr6.py, presets GDDR6_8Gb_x16 and GDDR6_14000_1350mV_double",
    clock_ps: 570,
    organisation: Organisation { pseudo_channels: 1, bank_groups: 4, banks: 4, rows: 16384, columns: 64, burst_bytes: 32 },
    bus: CommandBus::Shared,
    timing: Timing {
        tBL: 2,
        tCL: 24,
        tCWL: 6,
        tRCDRD: 27,
        tRCDWR: 16,
        tRP: 27,
        tRAS: 53,
        tRC: 79,
        tCCDS: 2,
        tCCDL: 4,
        tRRDS: 8,
        tRRDL: 8,
        tFAW: 29,
        t32AW: 0,
        tPPD: 1,
        tRTP: 4,
        tWR: 27,
        tWTRS: 9,
        tWTRL: 11,
        tRTW: 25,
        tRFC: 211,
        tREFI: 3333,
        tRFCpb: 0,
        tRREFD: 0,
        activate_clocks: 1,
    },
};
