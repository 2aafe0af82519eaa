//! The warpshard command.
fn main() {}
