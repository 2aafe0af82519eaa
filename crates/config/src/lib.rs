//! Loading of machines and runs: from text to checked, resolved values.
//!
//! Input: TOML files, built-in machines, settings of the command line. Output: [`Machine`] and [`run::RunConfig`] with every value checked,
//! or [`ConfigErrors`] with the source location of every problem. The stages, in order: [`source`] (raw entries), [`resolve`] (typed
//! values), [`check`] (consistency), [`load`] (files and layers).
#![forbid(unsafe_code)]

pub mod cache;
pub mod check;
pub mod choices;
pub mod cluster;
pub mod cpu;
pub mod dram;
pub mod error;
pub mod import;
pub mod input;
pub mod keys;
mod kind_keys;
mod kinds;
pub mod layout;
pub mod llc;
pub mod load;
pub mod machine;
mod machine_error;
pub mod mesh_nodes;
mod nearest;
pub mod placement;
pub mod provenance;
pub mod quantity;
pub mod reference;
pub mod resolve;
pub mod routes;
pub mod run;
pub mod source;
pub mod system;
pub mod value;

pub use error::{ConfigErrors, Problem};
pub use load::{Builtin, Loaded, builtin_machines};
pub use machine::Machine;
pub use machine_error::MachineError;
pub use provenance::Provenance;
pub use run::{RunConfig, RunFile};
pub use source::Override;
