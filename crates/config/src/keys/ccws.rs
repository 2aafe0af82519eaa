//! Keys of cache-conscious wavefront scheduling.

use super::super::machine::{Ccws, Machine};
use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "gpu.sm.ccws.enabled",
        ValueKind::Flag,
        "True if warps may not load while other warps lose locality in the L1 (CCWS; Rogers et al., MICRO 2012).",
        |m, value| m.gpu.sm.ccws = bool::of(value).then(Ccws::default),
    )
    .default("false"),
    key!("gpu.sm.ccws.victim_tags", ValueKind::Count(1, 4096), "Victim tags per warp; default of Table 3.", |m| ccws(m).victim_tags)
        .default("16")
        .when("gpu.sm.ccws.enabled", true),
    key!("gpu.sm.ccws.victim_ways", ValueKind::Count(1, 4096), "Victim tags per set; default of Table 3.", |m| ccws(m).victim_ways)
        .default("8")
        .when("gpu.sm.ccws.enabled", true),
    key!(
        "gpu.sm.ccws.base_score",
        ValueKind::Count(1, 1 << 20),
        "Score of a warp without lost locality; a raised score decays by one point per cycle. The default is from the paper's Table 3.",
        |m| ccws(m).base_score
    )
    .default("100")
    .when("gpu.sm.ccws.enabled", true),
    key!(
        "gpu.sm.ccws.k_throttle",
        ValueKind::Count(1, 1 << 20),
        "Factor by which lost locality raises a score; the default is from the paper's Table 3.",
        |m| ccws(m).k_throttle
    )
    .default("8")
    .when("gpu.sm.ccws.enabled", true),
];

fn ccws(machine: &mut Machine) -> &mut Ccws {
    machine.gpu.sm.ccws.get_or_insert_default()
}
