//! Text to checked, resolved machines, workloads and runs.

pub mod machine;

pub use machine::Machine;
