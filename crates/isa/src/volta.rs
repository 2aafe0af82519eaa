//! Opcodes that Volta (binary version 70) adds, and the subset that all later generations keep.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

/// Opcodes of Volta and later: branch, texture and matrix units, and immediate forms of half precision.
pub(super) const SINCE_VOLTA: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Sp, names: &["HADD2_32I", "HFMA2_32I", "HMUL2_32I"] },
    OpcodeGroup { class: OpClass::Tensor, names: &["HMMA"] },
    OpcodeGroup { class: OpClass::Texture, names: &["TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ"] },
    OpcodeGroup {
        class: OpClass::Branch,
        names: &[
            "BMOV",
            "BPT",
            "BRA",
            "BREAK",
            "BRX",
            "BSSY",
            "BSYNC",
            "CALL",
            "JMP",
            "JMX",
            "KILL",
            "NANOSLEEP",
            "RET",
            "RPCMOV",
            "RTT",
            "WARPSYNC",
            "YIELD",
        ],
    },
];

/// Opcodes of Volta alone: its matrix unit has no integer mode.
pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[OpcodeGroup { class: OpClass::Int, names: &["IMMA"] }];
