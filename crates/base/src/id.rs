//! Identifiers as newtypes. The printed form of an identifier names its kind ("sm3", "kernel 2").

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty), $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, warpshard_state::State)]
        pub struct $name(pub $repr);

        impl $name {
            /// Returns the identifier as an index into a dense table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, $format, self.0)
            }
        }
    };
}

id!(
    /// A streaming multiprocessor, counted over the chip.
    SmId(u16), "sm{}");
id!(
    /// A CPU core, counted over the chip.
    CpuId(u16), "cpu{}");
id!(
    /// A requester on the networks. The SMs have the first numbers, the CPU cores the following ones, each in ascending order.
    PortId(u16), "port{}");
id!(
    /// A memory partition: one DRAM channel and its LLC slices.
    PartitionId(u16), "partition{}");
id!(
    /// An LLC slice, counted over the chip: `partition * slices_per_partition + slice`.
    SliceId(u16), "slice{}");
id!(
    /// A kernel launch, counted over the run in the order of the workload's commands.
    KernelIndex(u32), "kernel {}");
/// The largest number of kernel launches of a run. A packet of 24 bytes has 20 bits for the kernel, and one value means "no kernel".
pub const MAX_KERNELS: usize = (1 << 20) - 1;

id!(
    /// A CTA of a kernel, in launch order (the order of the trace).
    CtaIndex(u32), "cta {}");
id!(
    /// A CUDA stream as the workload numbers it.
    StreamId(u64), "stream {}");
id!(
    /// An application: a program that shares the GPU with other programs.
    AppId(u16), "application {}");
id!(
    /// A unit of the machine: an SM, a memory partition, a network subnet or the grid scheduler. Links connect units.
    UnitId(u16), "unit {}");
id!(
    /// A GPU of the system.
    GpuId(u8), "gpu{}");
id!(
    /// A directed connection between two units.
    LinkId(u16), "link {}");
id!(
    /// A hardware warp slot of an SM.
    WarpSlot(u8), "warp {}");
