//! The concurrency primitives of warpshard.
