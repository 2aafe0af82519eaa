//! Opcodes that Ampere (binary versions 80 and 86) adds to the Turing opcodes. Hopper also has all of them.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Sp, names: &["HMNMX2"] },
    OpcodeGroup { class: OpClass::Tensor, names: &["DMMA"] },
    OpcodeGroup { class: OpClass::Alu, names: &["F2FP", "F2IP", "I2FP", "LDGDEPBAR", "SUQUERY"] },
    OpcodeGroup { class: OpClass::Uniform, names: &["REDUX", "UF2FP"] },
];
