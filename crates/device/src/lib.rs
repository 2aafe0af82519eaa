//! DRAM devices as data: standards with their timing, and the notation that maps addresses to a device.
//!
//! Machines name them, controllers drive them and the test stand runs them alone; this package knows none of these.
#![forbid(unsafe_code)]

pub mod mapping;
pub mod standard;
