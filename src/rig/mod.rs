//! Parts of the machine alone, for users and for comparison with references.

pub mod cpu;
