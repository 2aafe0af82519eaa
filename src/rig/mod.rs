//! Stand-alone drivers of single models, for users who want a latency or a bandwidth without a machine around it, and for
//! comparison with references.

pub mod cpu;
pub mod noc;
