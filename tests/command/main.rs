//! Tests of the program as a process: what it prints, writes and ends with.

mod cli;
mod programs;
mod rates;
mod results;
#[path = "../common/shared.rs"]
mod shared;
mod special_files;
mod traces;
