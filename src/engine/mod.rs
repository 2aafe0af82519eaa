//! Steps shards on threads: epochs, exchange, cuts, control.

mod unit;

pub use unit::Unit;
