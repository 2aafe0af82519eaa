//! Networks of input-queued virtual-channel routers with credits: 2-D meshes, and one router as a crossbar.
//!
//! `spec` says what a network is made of; `topology` wires it and knows the ways. `network` is the core that a unit and the
//! stand-alone rig share; it works on flits that name packets by handle. `interface` holds the source queues and ejection
//! buffers; `fabric` passes flits through the routers, whose state is in `router`; `agenda` says which of them have work,
//! `allocator` who gets which virtual channel and the switch, `wheel` what is on the channels, `unit` is a subnet of the
//! machine, `bits` the sets that the allocators work on.

mod agenda;
mod allocator;
mod bits;
mod fabric;
mod interface;
mod network;
mod packet;
mod router;
mod spec;
#[cfg(test)]
mod tests;
mod topology;
mod unit;
#[cfg(test)]
mod unit_tests;
mod wheel;

pub use fabric::Activity;
pub use interface::Lane;
pub use network::{Network, Sink};
pub use packet::Packet;
pub use spec::{NetworkSpec, Pipeline, Size, VcRange};
pub use topology::Topology;
pub use unit::{MeshCounters, MeshNet, MeshUnit, SubnetSpec};
