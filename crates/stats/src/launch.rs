//! What a kernel is launched with.

/// What a CTA of a launch takes from an SM, and what keeps further ones out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a CTA.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a CTA, in bytes.
    pub shared_bytes: u32,
    /// The resource of an SM that allows no further CTA: "registers", "shared memory", "threads", "warps" or "CTA slots"; empty where no CTA fits.
    pub limited_by: &'static str,
}
