//! A run: what it is asked for and what it gives.
#![forbid(unsafe_code)]

mod catalogue;

pub use catalogue::Catalogue;
