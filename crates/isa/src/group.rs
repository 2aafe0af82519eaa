//! A group of opcodes of one resource class. The opcode tables without memory accesses consist of such groups.

use warpshard_workload::OpClass;

/// A group of opcodes of one resource class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpcodeGroup {
    /// Resource class of every opcode in `names`.
    pub(crate) class: OpClass,
    /// Names of the opcodes.
    pub(crate) names: &'static [&'static str],
}
