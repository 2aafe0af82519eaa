//! DRAM devices as data: standards with their timing, and a notation that maps addresses to locations in a device.
//!
//! Machines name the devices, controllers schedule them, and the test rig runs them alone; this package depends on none of the three.
#![forbid(unsafe_code)]

pub mod mapping;
pub mod standard;
