//! The study on made-up runs and, tiny, on the simulator.
