//! The DDR4 standard.

use super::{CommandBus, Organisation, Standard, Timing};

/// DDR4-2400R, 4 Gb x8, one rank of 64 bits.
pub(super) const DDR4_2400R: Standard = Standard {
    name: "ddr4-2400r",
    summary: "DDR4-2400R 4 Gb x8, 64-bit channel of one rank, 16 banks in 4 groups",
    source: "Ramulator 1, DDR4.h and DDR4.cpp, DDR4_2400R and DDR4_4Gb_x8",
    clock_ps: 833,
    organisation: Organisation { pseudo_channels: 1, bank_groups: 4, banks: 4, rows: 32768, columns: 128, burst_bytes: 64 },
    bus: CommandBus::Shared,
    timing: Timing {
        tBL: 4,
        tCL: 16,
        tCWL: 12,
        tRCDRD: 16,
        tRCDWR: 16,
        tRP: 16,
        tRAS: 39,
        tRC: 55,
        tCCDS: 4,
        tCCDL: 6,
        tRRDS: 4,
        tRRDL: 6,
        tFAW: 26,
        t32AW: 0,
        tPPD: 0,
        tRTP: 9,
        tWR: 18,
        tWTRS: 3,
        tWTRL: 9,
        tRTW: 10,
        tRFC: 313,
        tREFI: 9360,
        tRFCpb: 0,
        tRREFD: 0,
        activate_clocks: 1,
    },
};
