//! Kepler (binary version 35): what it has beyond the opcodes of every generation.
//!
//! Branches and textures are in the integer pipe's class, as on Pascal. Its LD and ST are those of the core, whose
//! the address decides between global memory and the windows of shared and local memory.

use warpshard_workload::OpClass;

use super::group::Group;

pub(super) const GROUPS: &[Group] = &[
    Group { class: OpClass::Sp, names: &["FCMP", "FSWZ", "RRO"] },
    Group { class: OpClass::Dp, names: &["DMNMX", "DSET"] },
    Group { class: OpClass::Int, names: &["BFE", "BFI", "ICMP", "IMADSP", "ISAD", "ISET", "ISUB", "SHL"] },
    Group { class: OpClass::Alu, names: &["CSET", "CSETP", "PSET"] },
    Group { class: OpClass::Alu, names: &["TEX", "TLD", "TLD4", "TXQ"] },
    // Addresses of surfaces are computed by instructions of their own, which touch no memory.
    Group { class: OpClass::Alu, names: &["SUBFM", "SUCLAMP", "SUEAU"] },
    Group {
        class: OpClass::Alu,
        names: &["BPT", "BRA", "BRK", "BRX", "CAL", "CONT", "JCAL", "JMP", "JMX", "PBK", "PCNT", "PRET", "RET", "SSY", "SYNC"],
    },
];
