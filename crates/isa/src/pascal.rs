//! Opcodes that Pascal (binary versions 60 and 61) adds.
//!
//! Branches and textures are in the integer pipe's class: Pascal has no separate units for them in this model, and Accel-Sim times them as
//! integer operations.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Sp, names: &["RRO", "FCMP"] },
    OpcodeGroup { class: OpClass::Dp, names: &["DMNMX", "DSET"] },
    OpcodeGroup { class: OpClass::Int, names: &["BFE", "BFI", "ICMP", "IMADSP", "IMMA", "ISET", "SHL", "VADD", "VMNMX", "XMAD"] },
    OpcodeGroup { class: OpClass::Alu, names: &["CSET", "CSETP", "PSET"] },
    OpcodeGroup { class: OpClass::Alu, names: &["TEX", "TEXS", "TLD", "TLD4", "TLD4S", "TLDS", "TMML", "TXD", "TXQ"] },
    OpcodeGroup {
        class: OpClass::Alu,
        names: &[
            "BMOV",
            "BPT",
            "BRA",
            "BREAK",
            "BRK",
            "BRX",
            "BSSY",
            "BSYNC",
            "CAL",
            "CALL",
            "CONT",
            "JCAL",
            "JMP",
            "JMX",
            "KILL",
            "NANOSLEEP",
            "PBK",
            "PCNT",
            "PEXIT",
            "PRET",
            "RET",
            "RPCMOV",
            "RTT",
            "SSY",
            "SYNC",
            "WARPSYNC",
            "YIELD",
        ],
    },
];
