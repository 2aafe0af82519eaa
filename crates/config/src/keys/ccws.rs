//! Keys of cache-conscious wavefront scheduling.

use super::super::machine::{Ccws, Machine};
use super::super::value::Kind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "gpu.sm.ccws.enabled",
        Kind::Flag,
        "Whether warps may not load while others lose the locality of their lines in the L1 (CCWS; Rogers et al., MICRO 2012).",
        |m, value| m.gpu.sm.ccws = bool::of(value).then(Ccws::default),
    )
    .default("false"),
    key!("gpu.sm.ccws.victim_tags", Kind::Count(1, 4096), "Victim tags of a warp; the paper's Table 3.", |m| ccws(m).victim_tags)
        .default("16")
        .when("gpu.sm.ccws.enabled", true),
    key!("gpu.sm.ccws.victim_ways", Kind::Count(1, 4096), "Victim tags of a set; the paper's Table 3.", |m| ccws(m).victim_ways)
        .default("8")
        .when("gpu.sm.ccws.enabled", true),
    key!(
        "gpu.sm.ccws.base_score",
        Kind::Count(1, 1 << 20),
        "The score of a warp that has lost no locality; lost locality is forgotten at one point per cycle; the paper's Table 3.",
        |m| ccws(m).base_score
    )
    .default("100")
    .when("gpu.sm.ccws.enabled", true),
    key!("gpu.sm.ccws.k_throttle", Kind::Count(1, 1 << 20), "How strongly lost locality raises a score; the paper's Table 3.", |m| ccws(m)
        .k_throttle)
    .default("8")
    .when("gpu.sm.ccws.enabled", true),
];

fn ccws(machine: &mut Machine) -> &mut Ccws {
    machine.gpu.sm.ccws.get_or_insert_default()
}
