//! Keys of the execution units: the number of each kind, and the timing of each instruction class.

use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("gpu.sm.units.sp", ValueKind::Count(1, 16), "Single-precision units.", |m| m.gpu.sm.units.sp).option("-gpgpu_num_sp_units"),
    key!(
        "gpu.sm.units.int",
        ValueKind::Count(0, 16),
        "Integer units; if 0, integer instructions run on the SP units, as on Fermi to Pascal.",
        |m| m.gpu.sm.units.int
    )
    .option("-gpgpu_num_int_units"),
    key!("gpu.sm.units.sfu", ValueKind::Count(0, 16), "Special-function units.", |m| m.gpu.sm.units.sfu).option("-gpgpu_num_sfu_units"),
    key!("gpu.sm.units.dp", ValueKind::Count(0, 16), "Double-precision units.", |m| m.gpu.sm.units.dp).option("-gpgpu_num_dp_units"),
    key!("gpu.sm.units.tensor", ValueKind::Count(0, 16), "Matrix units.", |m| m.gpu.sm.units.tensor).option("-specialized_unit_3, 2nd"),
    key!("gpu.sm.units.branch", ValueKind::Count(0, 16), "Branch units; if 0, branches run on the INT or SP units.", |m| m
        .gpu
        .sm
        .units
        .branch)
    .option("-specialized_unit_1, 2nd"),
    key!("gpu.sm.units.texture", ValueKind::Count(0, 16), "Texture units; if 0, texture instructions run on the INT or SP units.", |m| m
        .gpu
        .sm
        .units
        .texture)
    .option("-specialized_unit_2, 2nd"),
    key!(
        "gpu.sm.units.uniform",
        ValueKind::Count(0, 16),
        "Uniform datapaths; if 0, uniform instructions run on the INT or SP units.",
        |m| m.gpu.sm.units.uniform
    )
    .option("-specialized_unit_4, 2nd"),
];

/// The names of the instruction classes in the order of `OpClass`, which indexes the machine's timing table.
pub const CLASS_NAMES: [&str; 14] =
    ["sp", "int", "alu", "sfu", "dp", "tensor", "branch", "texture", "uniform", "load", "store", "fence", "barrier", "exit"];

macro_rules! timing {
    ($($class:literal = $name:literal, $option:literal;)+) => {
        pub(super) const TIMING_KEYS: &[Key] = &[$(
            Key::new(
                concat!("gpu.sm.timing.", $name, ".latency"),
                ValueKind::Cycles("core", 1, 999),
                concat!("Cycles from the entry of a `", $name, "` instruction into its unit to its result."),
                |m, value| m.gpu.sm.timing[$class].latency = Field::of(value),
            )
            .option($option),
            Key::new(
                concat!("gpu.sm.timing.", $name, ".initiation"),
                ValueKind::Cycles("core", 1, 999),
                concat!("Initiation interval of `", $name, "` instructions."),
                |m, value| m.gpu.sm.timing[$class].initiation = Field::of(value),
            )
            .option($option),
        )+];
    };
}

timing! {
    0 = "sp", "-trace_opcode_latency_initiation_sp";
    1 = "int", "-trace_opcode_latency_initiation_int";
    2 = "alu", "-trace_opcode_latency_initiation_int";
    3 = "sfu", "-trace_opcode_latency_initiation_sfu";
    4 = "dp", "-trace_opcode_latency_initiation_dp";
    5 = "tensor", "-trace_opcode_latency_initiation_spec_op_3";
    6 = "branch", "-trace_opcode_latency_initiation_spec_op_1";
    7 = "texture", "-trace_opcode_latency_initiation_spec_op_2";
    8 = "uniform", "-trace_opcode_latency_initiation_spec_op_4";
    9 = "load", "1,1 in its trace-driven front end";
    10 = "store", "1,1 in its trace-driven front end";
    11 = "fence", "1,1 in its trace-driven front end";
    12 = "barrier", "1,1 in its trace-driven front end";
    13 = "exit", "1,1 in its trace-driven front end";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timing_keys_are_in_class_order() {
        for (i, class) in CLASS_NAMES.iter().enumerate() {
            assert_eq!(TIMING_KEYS[2 * i].path, format!("gpu.sm.timing.{class}.latency"));
            assert_eq!(TIMING_KEYS[2 * i + 1].path, format!("gpu.sm.timing.{class}.initiation"));
        }
    }
}
