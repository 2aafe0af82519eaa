//! Tests of the program as a process: its output, its files and its exit codes.

mod cli;
mod programs;
mod rates;
mod results;
#[path = "../common/shared.rs"]
mod shared;
mod special_files;
mod traces;
