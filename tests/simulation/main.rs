//! Tests of whole simulations in this process: machines, workloads, controllers, traces and programs, and invariants of their results.

mod ccws;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod conservation;
mod copies;
mod cpu;
mod cpu_traces;
mod dependents;
mod dram;
mod dram_machine;
mod energy;
mod engine;
mod extremes;
mod fidelity;
mod hot_state;
mod import;
mod invariance;
mod launches;
mod load_paths;
mod machines;
mod memory_side;
mod models;
mod native;
mod planted;
mod references;
mod requests;
mod sampling;
mod studies;
mod suite;
mod systems;
mod traces;
mod traces_refused;
mod verdicts;
