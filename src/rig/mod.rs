//! Stand-alone drivers of single models, for users who want a latency or a bandwidth without a machine around it.

pub mod noc;
