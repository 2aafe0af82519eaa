//! Keys of the energy computation.

use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!(
        "energy.set",
        ValueKind::Text,
        "Set of event energies: the name of a built-in set, the path of a file, or \"none\" for no energy report.",
        |m| m.energy.set
    )
    .default("\"none\""),
    key!("energy.voltage", ValueKind::Voltage, "Core voltage, which scales the set's energies; 0 for the voltage of the set.", |m| m
        .energy
        .millivolts)
    .default("\"0 mV\""),
];
