//! Networks of input-queued virtual-channel routers with credits: 2-D meshes, and a crossbar of one router.
//!
//! `spec` describes a network; `topology` has its wiring and routing, and `torus` a table of both. `network` is the core that a unit and
//! the stand-alone test rig share; its flits refer to packets by handle. `interface` has the source queues and ejection buffers. `fabric`
//! moves flits through the routers, whose state is in `router`. `requests` has the pending work of routers, `allocator` the allocation of
//! virtual channels and the switch, and `wheel` the content of the channels. `unit` is a subnet of the machine, and `bits` has the sets
//! that the allocators use.

mod allocator;
mod bits;
mod fabric;
mod interface;
mod network;
mod packet;
mod requests;
mod router;
mod spec;
#[cfg(test)]
mod tests;
mod topology;
mod torus;
mod unit;
#[cfg(test)]
mod unit_tests;
mod wheel;

pub use fabric::RouterActivity;
pub use interface::SourceLane;
pub use network::{Network, Sink};
pub use packet::Packet;
pub use spec::{NetworkSpec, Pipeline, Size, VcRange};
pub use topology::{Topology, Wired};
pub use torus::Torus;
pub use unit::{MeshCounters, MeshNet, Routers, SubnetSpec};
