//! The vocabulary of the simulator: identifiers, time, addresses, masks, queues and seeded random numbers.
//!
//! This package imports only `warpshard-host` and `warpshard-state`. It holds plain data and models no part of the machine.
#![forbid(unsafe_code)]

mod addr;
mod id;
mod kernel_sectors;
mod mask;
mod message;
mod named;
mod ring;
mod rng;
mod time;

pub use addr::{Addr, LINE_BYTES, MAX_APPLICATIONS, SECTOR_BYTES, SECTORS_PER_LINE, SectorBytes, SectorMask, address_space};
pub use id::{
    AppId, CpuId, CtaIndex, GpuId, KernelIndex, LinkId, MAX_KERNELS, PartitionId, PortId, SliceId, SmId, StreamId, UnitId, WarpSlot,
};
pub use kernel_sectors::KernelSectors;
pub use mask::{LaneMask, WARP_SIZE, WarpMask};
pub use ring::Ring;
pub use rng::Rng;
pub use time::{ClockDomain, Crossing, Cycle, Frequency, Tick, TimeBase};
pub use warpshard_host::{Slots, VectorTask, add_truncated, largest_sums, positions, prefetch, wide};
