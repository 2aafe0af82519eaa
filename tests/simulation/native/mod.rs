//! The native trace format: text and programs survive conversion in both directions, and damaged files are refused.

mod broken;
mod common;
mod lines;
mod odd;
mod references;
mod simulated;
