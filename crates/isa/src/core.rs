//! Opcodes that exist in every generation with the same resource class.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

/// Opcodes that execute two half-precision operations per lane: their initiation interval is half the interval of their class.
pub(super) const PACKED_HALF: &[&str] = &["HADD2", "HADD2_32I", "HFMA2", "HFMA2_32I", "HMUL2", "HMUL2_32I", "HSET2", "HSETP2"];

pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[
    OpcodeGroup {
        class: OpClass::Sp,
        names: &[
            "FADD", "FADD32I", "FCHK", "FFMA", "FFMA32I", "FMNMX", "FMUL", "FMUL32I", "FSEL", "FSET", "FSETP", "FSWZADD", "HADD2", "HFMA2",
            "HMUL2", "HSET2", "HSETP2",
        ],
    },
    OpcodeGroup { class: OpClass::Sfu, names: &["MUFU"] },
    OpcodeGroup { class: OpClass::Dp, names: &["DADD", "DFMA", "DMUL", "DSETP"] },
    OpcodeGroup {
        class: OpClass::Int,
        names: &[
            "BMSK",
            "BREV",
            "FLO",
            "IABS",
            "IADD",
            "IADD3",
            "IADD32I",
            "IDP",
            "IDP4A",
            "IMAD",
            "IMNMX",
            "IMUL",
            "IMUL32I",
            "ISCADD",
            "ISCADD32I",
            "ISETP",
            "LEA",
            "LOP",
            "LOP3",
            "LOP32I",
            "POPC",
            "SHF",
            "SHR",
            "VABSDIFF",
            "VABSDIFF4",
        ],
    },
    OpcodeGroup { class: OpClass::Alu, names: &["F2F", "F2I", "I2F", "I2I", "I2IP", "FRND"] },
    OpcodeGroup { class: OpClass::Alu, names: &["MOV", "MOV32I", "PRMT", "SEL", "SGXT", "SHFL"] },
    OpcodeGroup { class: OpClass::Alu, names: &["PLOP3", "PSETP", "P2R", "R2P"] },
    // Constant loads always hit the constant cache, and cache-control instructions move no data.
    OpcodeGroup { class: OpClass::Alu, names: &["LDC", "MATCH", "QSPC", "CCTL", "CCTLL", "CCTLT", "ERRBAR"] },
    OpcodeGroup { class: OpClass::Fence, names: &["MEMBAR"] },
    OpcodeGroup { class: OpClass::Barrier, names: &["BAR"] },
    OpcodeGroup { class: OpClass::Exit, names: &["EXIT"] },
    OpcodeGroup {
        class: OpClass::Alu,
        names: &[
            "B2R",
            "CS2R",
            "CSMTEST",
            "DEPBAR",
            "GETLMEMBASE",
            "LEPC",
            "NOP",
            "PMTRIG",
            "R2B",
            "S2R",
            "SETCTAID",
            "SETLMEMBASE",
            "VOTE",
            "VOTE_VTG",
        ],
    },
];
