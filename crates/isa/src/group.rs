//! Opcodes of one class, of which the tables without memory accesses consist.

use warpshard_workload::OpClass;

/// Opcodes of one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// The class of every opcode below.
    pub(crate) class: OpClass,
    /// Opcode names.
    pub(crate) names: &'static [&'static str],
}
