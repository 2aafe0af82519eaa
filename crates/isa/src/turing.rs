//! Opcodes that Turing (binary version 75) adds to the Volta opcodes. Ampere also has all of them.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

pub(super) const SINCE_TURING: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Tensor, names: &["BMMA", "IMMA"] },
    OpcodeGroup { class: OpClass::Int, names: &["SHL"] },
    OpcodeGroup { class: OpClass::Alu, names: &["MOVM"] },
    OpcodeGroup { class: OpClass::Alu, names: &["SUATOM", "SULD", "SURED", "SUST"] },
    OpcodeGroup { class: OpClass::Branch, names: &["BRXU", "JMXU"] },
    OpcodeGroup {
        class: OpClass::Uniform,
        names: &[
            "R2UR", "S2UR", "UBMSK", "UBREV", "UCLEA", "UFLO", "UIADD3", "UIMAD", "UISETP", "ULDC", "ULEA", "ULOP", "ULOP3", "ULOP32I",
            "UMOV", "UP2UR", "UPLOP3", "UPOPC", "UPRMT", "UPSETP", "UR2UP", "USEL", "USGXT", "USHF", "USHL", "USHR", "VOTEU",
        ],
    },
];
