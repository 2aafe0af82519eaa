//! The origin of a request, from the SM to DRAM.

use warpshard_base::{KernelIndex, PortId};

/// The origin of a request.
///
/// Kernel and port are known for every request of a core. Instruction and warp are known for reads: their packets carry a signature instead
/// of a byte mask, which reads do not need. For a write, the L1 knows the warp. A prefetch has only the kernel and the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Identity {
    /// The kernel launch; `MAX_KERNELS` of `warpshard_base` for CPU cores.
    pub kernel: KernelIndex,
    /// The network port of the requester: the SMs have the first ports, CPU cores the following ones.
    pub port: PortId,
    /// The warp slot in the SM.
    pub warp: Option<u8>,
    /// A hash, in 16 bits, of the instruction's position in the kernel's code; two instructions of a large kernel may share a value.
    pub pc: Option<u16>,
}

/// The lowest bit of the warp in a signature; all bits above the warp are zero.
const WARP_SHIFT: u32 = 16;
/// The signature of an unknown warp and instruction.
const UNKNOWN_SIGNATURE: u32 = u32::MAX;

impl Identity {
    /// Returns the signature of an instruction and a warp, as packets of reads carry it; it differs from the signature of an unknown
    /// instruction.
    #[inline]
    pub const fn signature(instruction: u32, warp: u8) -> u32 {
        (warp as u32) << WARP_SHIFT | (instruction ^ instruction >> 16) & 0xffff
    }

    /// Returns the identity for a packet's kernel, port and signature.
    pub fn of(kernel: KernelIndex, port: PortId, signature: u32) -> Self {
        let known = signature != UNKNOWN_SIGNATURE;
        let warp = known.then_some((signature >> WARP_SHIFT) as u8);
        Self { kernel, port, warp, pc: known.then_some(signature as u16) }
    }

    /// Returns the identity for a write's kernel and port; packets of writes do not identify the instruction.
    pub fn of_write(kernel: KernelIndex, port: PortId) -> Self {
        Self { kernel, port, warp: None, pc: None }
    }
}
