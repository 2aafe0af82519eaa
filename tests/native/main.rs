//! The native trace format: text and programs survive conversion in both directions, and damaged files are refused.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod broken;
mod common;
mod odd;
mod references;
mod simulated;
