//! Tests of a hub.
