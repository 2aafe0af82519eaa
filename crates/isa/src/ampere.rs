//! Opcodes that Ampere (binary versions 80 and 86) adds to the Turing opcodes. Hopper also has all of them.

use warpshard_workload::OpClass;

use super::group::Group;

pub(super) const GROUPS: &[Group] = &[
    Group { class: OpClass::Sp, names: &["HMNMX2"] },
    Group { class: OpClass::Tensor, names: &["DMMA"] },
    Group { class: OpClass::Alu, names: &["F2FP", "F2IP", "I2FP", "LDGDEPBAR", "SUQUERY"] },
    Group { class: OpClass::Uniform, names: &["REDUX", "UF2FP"] },
];
