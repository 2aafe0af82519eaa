//! Keys of what the energy of a machine is computed with.

use super::super::value::Kind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!(
        "energy.set",
        Kind::Text,
        "The set of event energies: the name of a built-in one, the path of a file, or \"none\", which reports no energy.",
        |m| m.energy.set
    )
    .default("\"none\""),
    key!("energy.voltage", Kind::Voltage, "Core voltage, by which the set's energies are scaled; 0 is the voltage of the set.", |m| m
        .energy
        .millivolts)
    .default("\"0 mV\""),
];
