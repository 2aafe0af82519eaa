//! Rejects timing tables and organisations that no device can have.

use super::Standard;

/// A reason why a standard is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{standard}: {problem}")]
pub struct StandardError {
    /// The name of the standard.
    pub standard: &'static str,
    /// The impossible values.
    pub problem: String,
}

pub(super) fn check(standard: &Standard) -> Result<(), StandardError> {
    let (t, o) = (&standard.timing, &standard.organisation);
    // A device without tRFC and tREFI is never refreshed.
    let refresh_apart = if (t.tRFC, t.tREFI) == (0, 0) { 0 } else { t.tRFC + t.tRC + 1 };
    // Each row has a timing value, its minimum and the reason for the minimum.
    let least = [
        ("clock_ps", standard.clock_ps, 1, "a clock has a positive period"),
        ("tBL", t.tBL, 1, "a burst takes time"),
        ("tCL", t.tCL, 1, "data follows its command"),
        ("tRCDRD", t.tRCDRD, 1, "a row opens before it is read"),
        ("tRCDWR", t.tRCDWR, 1, "a row opens before it is written"),
        ("tRP", t.tRP, 1, "a row closes before another opens"),
        ("tRAS", t.tRAS, t.tRCDRD.max(t.tRCDWR), "a row stays open until its data is sensed, tRCD"),
        ("tRC", t.tRC, t.tRAS.max(t.tRP), "a row cycle holds tRAS and tRP"),
        ("tCCDL", t.tCCDL, t.tCCDS, "a single bank group is not faster than several (tCCDS)"),
        ("tCCDL", t.tCCDL, t.tBL, "bursts do not overlap (tBL)"),
        ("tRRDL", t.tRRDL, t.tRRDS, "a single bank group is not faster than several (tRRDS)"),
        ("tWTRL", t.tWTRL, t.tWTRS, "a single bank group is not faster than several (tWTRS)"),
        ("tRTW", t.tRTW, (t.tCL + t.tBL).saturating_sub(t.tCWL), "written data follows read data on the bus (tCL + tBL - tCWL)"),
        ("tCWL + tBL + tWTRS", t.tCWL + t.tBL + t.tWTRS + t.tCL, t.tCWL + t.tBL, "read data follows written data on the bus"),
        ("tREFI", t.tREFI, refresh_apart, "a refresh ends before the next one (tRFC + tRC)"),
        (
            "tREFI",
            t.tREFI,
            if t.tRFCpb == 0 { 0 } else { 2 * (t.tRFCpb + t.tRC) },
            "a refresh of one bank ends long before its next one (tRFCpb + tRC)",
        ),
        ("tRP", t.tRP + 1, t.activate_clocks, "an activate's clocks fit into tRP"),
        ("activate_clocks", t.activate_clocks, 1, "an activate takes a clock"),
    ];
    // A window of length 0 does not exist; any other must be long enough for its activates.
    let windows = [("tFAW", t.tFAW, 4 * t.tRRDS.min(t.tFAW / 4), t.tRRDS), ("t32AW", t.t32AW, 32, t.tRRDS)];
    let powers = [
        ("pseudo_channels", o.pseudo_channels),
        ("bank_groups", o.bank_groups),
        ("banks", o.banks),
        ("rows", o.rows),
        ("columns", o.columns),
        ("burst_bytes", o.burst_bytes),
    ];
    let problem = powers
        .iter()
        .find(|(_, value)| !value.is_power_of_two())
        .map(|(name, value)| format!("{name} = {value}, which is not a power of two"))
        .or_else(|| (o.all_banks() > 64).then(|| format!("{} banks, more than 64", o.all_banks())))
        .or_else(|| {
            let short = least.iter().find(|(_, value, least, _)| value < least);
            short.map(|(name, value, least, why)| format!("{name} = {value}, less than {least}: {why}"))
        })
        .or_else(|| {
            let short = windows.iter().find(|(_, value, least, rrd)| *value != 0 && (value < least || value <= rrd));
            short.map(|(name, value, _, rrd)| format!("{name} = {value}, too short for its activates (tRRDS = {rrd})"))
        });
    problem.map_or(Ok(()), |problem| Err(StandardError { standard: standard.name, problem }))
}
