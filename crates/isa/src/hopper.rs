//! Opcodes that Hopper (binary version 90) adds to the Ampere opcodes, limited to opcodes that CUDA C compiles to.
//!
//! Names follow the table of Hopper instructions in NVIDIA's "CUDA Binary Utilities". Accel-Sim has no table for Hopper: opcodes that
//! replace Ampere opcodes (VIADD for IADD3, VIMNMX for IMNMX, REDG for RED) keep their class. Matrix products of warp groups have the class
//! of tensor instructions. Barriers in shared memory, of clusters and of warp groups, and copies by the tensor memory accelerator only take
//! their issue time: no instruction waits for them.

use warpshard_workload::OpClass;

use super::group::OpcodeGroup;

pub(super) const OPCODE_GROUPS: &[OpcodeGroup] = &[
    OpcodeGroup { class: OpClass::Int, names: &["VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3"] },
    OpcodeGroup { class: OpClass::Tensor, names: &["HGMMA", "QGMMA", "IGMMA", "BGMMA"] },
    OpcodeGroup { class: OpClass::Alu, names: &["CGAERRBAR", "ENDCOLLECTIVE", "ELECT"] },
    OpcodeGroup { class: OpClass::Alu, names: &["SYNCS", "ARRIVES", "FENCE", "WARPGROUP", "UCGABAR_ARV", "UCGABAR_WAIT"] },
    OpcodeGroup { class: OpClass::Alu, names: &["USETMAXREG", "ACQBULK", "PREEXIT"] },
    OpcodeGroup {
        class: OpClass::Alu,
        names: &["UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL", "UTMACMDFLUSH", "UBLKCP", "UBLKRED", "UBLKPF"],
    },
];
