//! What Hopper (binary version 90) added to Ampere, as far as CUDA C compiles to it.
//!
//! Names are those of NVIDIA's "CUDA Binary Utilities", table of Hopper's instructions. Accel-Sim has no table for Hopper: opcodes that
//! replace some of Ampere's (VIADD for IADD3, VIMNMX for IMNMX, REDG for RED) have the class of those. Instructions of warp groups and of the
//! tensor memory accelerator are missing.

use warpshard_workload::OpClass;

use super::group::Group;

pub(super) const GROUPS: &[Group] = &[
    Group { class: OpClass::Int, names: &["VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3"] },
    Group { class: OpClass::Alu, names: &["CGAERRBAR", "ENDCOLLECTIVE"] },
];
