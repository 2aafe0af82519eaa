//! DDR4 with half the banks.

use super::{Organisation, Standard, ddr4};

/// DDR4-2400R with two banks per group.
pub(super) const DDR4_HALF: Standard = Standard {
    name: "ddr4-half",
    summary: "DDR4-2400R with half the banks",
    source: "an example",
    organisation: Organisation { banks: 2, ..ddr4::DDR4_2400R.organisation },
    ..ddr4::DDR4_2400R
};
