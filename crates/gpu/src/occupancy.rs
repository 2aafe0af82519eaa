//! Occupancy: the number of CTAs of a kernel that fit on an SM, and the resource that limits it.
//!
//! Input: the resources of the SM and the needs of the kernel. Output: a count and the limiting resource, the first one in the order of
//! [`LimitingResource`]. At run time the SM decides by its free resources; for a single kernel both results agree.

use std::fmt;

use warpshard_base::WARP_SIZE;
use warpshard_config::machine::Sm;
use warpshard_workload::KernelInfo;

/// A resource of an SM that CTAs occupy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitingResource {
    /// Threads, counted in whole warps.
    Threads,
    /// Warp slots.
    Warps,
    /// Shared memory.
    SharedMemory,
    /// Registers.
    Registers,
    /// CTA slots.
    CtaSlots,
}

impl LimitingResource {
    /// Returns the name of the resource in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Warps => "warps",
            Self::SharedMemory => "shared memory",
            Self::Registers => "registers",
            Self::CtaSlots => "CTA slots",
        }
    }
}

impl fmt::Display for LimitingResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason why a kernel cannot run: one CTA needs more of a resource than an SM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancyError {
    /// The insufficient resource.
    pub limit: LimitingResource,
    /// The amount that one CTA needs.
    pub needed: u32,
    /// The amount that an SM has.
    pub available: u32,
}

impl fmt::Display for OccupancyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a CTA needs {} {}, an SM has {}", self.needed, resource_unit(self.limit), self.available)
    }
}

impl std::error::Error for OccupancyError {}

fn resource_unit(limit: LimitingResource) -> &'static str {
    match limit {
        LimitingResource::SharedMemory => "bytes of shared memory",
        LimitingResource::Threads => "threads",
        LimitingResource::Warps => "warps",
        LimitingResource::Registers => "registers",
        LimitingResource::CtaSlots => "CTA slots",
    }
}

/// Resources that one CTA occupies on an SM, rounded up to the allocation granularities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct CtaNeeds {
    /// Threads, padded to whole warps.
    pub threads: u32,
    /// Warp slots.
    pub warps: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Registers.
    pub registers: u32,
}

impl CtaNeeds {
    /// Returns the needs of a CTA of `info` on an SM of `spec`. A need that exceeds 32 bits saturates, so that no SM satisfies it.
    pub fn of(spec: &Sm, info: &KernelInfo) -> Self {
        let warps = info.warps_per_cta();
        let multiple = |need: u32, of: u32| need.checked_next_multiple_of(of.max(1)).unwrap_or(u32::MAX);
        let per_warp = multiple(info.registers.saturating_mul(WARP_SIZE), spec.register_granularity);
        Self {
            threads: warps.saturating_mul(WARP_SIZE),
            warps,
            shared_bytes: multiple(info.shared_bytes.max(spec.shared_least), spec.shared_granularity),
            registers: warps.saturating_mul(per_warp),
        }
    }
}

/// The number of CTAs of a kernel that are resident on an SM at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs per SM, at least 1.
    pub ctas: u32,
    /// The resource that limits the number of CTAs.
    pub limited_by: LimitingResource,
}

/// Returns the number of CTAs of a kernel that fit on an SM and the limiting resource, or the reason why none fits.
pub fn occupancy(spec: &Sm, info: &KernelInfo) -> Result<Occupancy, OccupancyError> {
    let needs = CtaNeeds::of(spec, info);
    let resources = [
        (LimitingResource::Threads, needs.threads, spec.max_threads),
        (LimitingResource::Warps, needs.warps, spec.warps),
        (LimitingResource::SharedMemory, needs.shared_bytes, spec.shared_bytes),
        (LimitingResource::Registers, needs.registers, spec.registers),
        (LimitingResource::CtaSlots, 1, spec.max_ctas),
    ];
    let mut best = Occupancy { ctas: u32::MAX, limited_by: LimitingResource::CtaSlots };
    for (limit, needed, available) in resources {
        if needed > available {
            return Err(OccupancyError { limit, needed, available });
        }
        let fit = available.checked_div(needed).unwrap_or(u32::MAX);
        if fit < best.ctas {
            best = Occupancy { ctas: fit, limited_by: limit };
        }
    }
    Ok(best)
}

/// Returns the number of CTAs of a kernel that fit on an SM, at least 1, or the reason why none fits.
pub fn resident_ctas(spec: &Sm, info: &KernelInfo) -> Result<u32, OccupancyError> {
    occupancy(spec, info).map(|fit| fit.ctas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::{kernel_info, test_machine};
    use warpshard_base::{Addr, StreamId};
    use warpshard_workload::Dim3;

    #[test]
    fn the_scarcest_resource_limits() {
        let spec = test_machine().gpu.sm;
        let mut info = kernel_info(256, 1);
        let of = |info: &KernelInfo| occupancy(&spec, info).map(|o| (o.ctas, o.limited_by));
        assert_eq!(of(&info), Ok((8, LimitingResource::Threads)));
        info.shared_bytes = 40_000;
        assert_eq!(of(&info), Ok((2, LimitingResource::SharedMemory)));
        info.registers = 255;
        assert_eq!(of(&info), Ok((1, LimitingResource::Registers)));
        info.block = Dim3 { x: 32, y: 1, z: 1 };
        info.registers = 16;
        info.shared_bytes = 0;
        assert_eq!(of(&info), Ok((32, LimitingResource::CtaSlots)));
    }

    #[test]
    fn registers_are_rounded_up_per_warp() {
        let spec = test_machine().gpu.sm;
        let mut info = kernel_info(1024, 1);
        info.registers = 33;
        assert_eq!(CtaNeeds::of(&spec, &info).registers, 32 * 36 * 32);
        assert_eq!(resident_ctas(&spec, &info), Ok(1));
    }

    #[test]
    fn needs_beyond_32_bits_are_refused_and_do_not_wrap() {
        let spec = test_machine().gpu.sm;
        let mut info = kernel_info(64, 1);
        for bytes in [u32::MAX, u32::MAX - 100, 1 << 31] {
            info.shared_bytes = bytes;
            assert_eq!(resident_ctas(&spec, &info).unwrap_err().limit, LimitingResource::SharedMemory, "{bytes}");
        }
        info.shared_bytes = 0;
        for registers in [u32::MAX, 1 << 27, 1 << 26] {
            info.registers = registers;
            assert_eq!(resident_ctas(&spec, &info).unwrap_err().limit, LimitingResource::Registers, "{registers}");
        }
    }

    #[test]
    fn a_cta_larger_than_the_sm_is_refused_with_its_reason() {
        let spec = test_machine().gpu.sm;
        let mut info = kernel_info(64, 1);
        info.shared_bytes = 100_000;
        info.shared_base = Addr(0);
        info.stream = StreamId(0);
        let reason = resident_ctas(&spec, &info).unwrap_err();
        assert_eq!(reason, OccupancyError { limit: LimitingResource::SharedMemory, needed: 100_000, available: 98_304 });
        assert_eq!(reason.to_string(), "a CTA needs 100000 bytes of shared memory, an SM has 98304");
    }
}
