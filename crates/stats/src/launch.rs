//! Resources of a kernel launch.

/// The resources that a CTA of a launch takes from an SM, and the resource that limits its occupancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a CTA.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a CTA, in bytes.
    pub shared_bytes: u32,
    /// The resource of an SM that limits the number of CTAs: "registers", "shared memory", "threads", "warps" or "CTA slots"; empty if no
    /// CTA fits.
    pub limited_by: &'static str,
}
