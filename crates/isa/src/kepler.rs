//! Opcodes of Kepler (binary version 35) besides the opcodes of every generation.
//!
//! Branches and textures are in the integer pipe's class, as on Pascal. LD and ST are in the common table: their address selects global
//! memory or the windows of shared and local memory.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Sp, names: &["FCMP", "FSWZ", "RRO"] },
    OpcodeGroup { class: OpClass::Dp, names: &["DMNMX", "DSET"] },
    OpcodeGroup { class: OpClass::Int, names: &["BFE", "BFI", "ICMP", "IMADSP", "ISAD", "ISET", "ISUB", "SHL"] },
    OpcodeGroup { class: OpClass::Alu, names: &["CSET", "CSETP", "PSET"] },
    OpcodeGroup { class: OpClass::Alu, names: &["TEX", "TLD", "TLD4", "TXQ"] },
    // Separate instructions compute surface addresses; they access no memory.
    OpcodeGroup { class: OpClass::Alu, names: &["SUBFM", "SUCLAMP", "SUEAU"] },
    OpcodeGroup {
        class: OpClass::Alu,
        names: &["BPT", "BRA", "BRK", "BRX", "CAL", "CONT", "JCAL", "JMP", "JMX", "PBK", "PCNT", "PRET", "RET", "SSY", "SYNC"],
    },
];
