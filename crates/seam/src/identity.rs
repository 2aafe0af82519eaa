//! For whom a request is, from the SM to DRAM.

use warpshard_base::{KernelIndex, PortId};

/// For whom a request is.
///
/// Kernel and port are known of every request of a core. The instruction and the warp are known of reads: their packets carry a signature in
/// place of a byte mask, which reads need none of. Of a write the L1 knows the warp. A prefetch has the kernel and the port alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Identity {
    /// The kernel launch; `MOST_KERNELS` of `warpshard_base` for CPU cores.
    pub kernel: KernelIndex,
    /// The port of the network at which the requester sits: the SMs have the first ports, CPU cores the following ones.
    pub port: PortId,
    /// The slot of the warp in its SM.
    pub warp: Option<u8>,
    /// 16 bits for the place of the instruction in the kernel's code; two instructions of a large kernel may share them.
    pub pc: Option<u16>,
}

/// Where the warp begins in a signature; above it is nothing.
const WARP: u32 = 16;
/// No warp and no instruction.
const UNKNOWN: u32 = u32::MAX;

impl Identity {
    /// The signature of an instruction of a warp, as packets of reads carry it; never that of an unknown one.
    #[inline]
    pub const fn signature(instruction: u32, warp: u8) -> u32 {
        (warp as u32) << WARP | (instruction ^ instruction >> 16) & 0xffff
    }

    /// From a packet's kernel, port and signature.
    pub fn of(kernel: KernelIndex, port: PortId, signature: u32) -> Self {
        let known = signature != UNKNOWN;
        let warp = known.then_some((signature >> WARP) as u8);
        Self { kernel, port, warp, pc: known.then_some(signature as u16) }
    }

    /// From a write's kernel and port: no packet says which instruction it was.
    pub fn of_write(kernel: KernelIndex, port: PortId) -> Self {
        Self { kernel, port, warp: None, pc: None }
    }
}
