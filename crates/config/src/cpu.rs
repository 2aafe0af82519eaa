//! Parameters of a CPU core. Durations are in cycles of the core's clock.

use warpshard_base::LINE_BYTES;

use super::cache::Cache;
use super::choices::WriteMiss;
use crate::MachineError;

/// A trace-driven out-of-order core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSpec {
    /// Instructions fetched, executed and committed per cycle.
    pub width: u32,
    /// Maximum number of memory instructions per cycle.
    pub memory_per_cycle: u32,
    /// Size of the instruction window, from fetch to in-order commit.
    pub window: u32,
    /// `true` if a memory instruction is the last of its fetch group, as in Ramulator. Otherwise other instructions follow it in the same
    /// cycle, and memory instructions beyond [`CpuSpec::memory_per_cycle`] wait for the next cycle.
    pub memory_ends_group: bool,
    /// `true` if writebacks in a trace count as instructions, as in Ramulator.
    pub count_writebacks: bool,
    /// Size of a memory request: 32, 64 or 128 bytes. Private caches have lines of 128 bytes.
    pub line_bytes: u32,
    /// The private caches; `None` for traces that are already filtered by caches.
    pub caches: Option<PrivateCaches>,
}

/// The private caches of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateCaches {
    /// The L1 cache.
    pub l1: Cache,
    /// L1 hit latency in cycles, from the access to its data.
    pub l1_latency: u64,
    /// The L2 cache.
    pub l2: Cache,
    /// Additional latency of the L2 in cycles.
    pub l2_latency: u64,
}

/// Caches of size and latency 0 with the common policies: write-back, whole lines, allocation on every miss.
impl Default for PrivateCaches {
    fn default() -> Self {
        let cache = Cache { write_miss: WriteMiss::FetchOnWrite, port_bytes: LINE_BYTES as u32, ..Cache::default() };
        Self { l1: cache, l1_latency: 0, l2: cache, l2_latency: 0 }
    }
}

impl CpuSpec {
    /// Returns the core of Table I of Kayiran et al., MICRO 2014: 3-wide, 128 entries, L1 32 KB 4-way 2 cycles, L2 256 KB 8-way 8 cycles.
    /// The table does not give the number of MSHRs; 16 and 32 are our choice, more than a window of loads with usual miss rates fills.
    pub fn kayiran_2014() -> Self {
        let cache = |bytes: u32, ways: u32, mshrs: u32| Cache {
            sets: bytes / LINE_BYTES as u32 / ways,
            ways,
            mshrs,
            mshr_merge: 16,
            miss_queue: 16,
            ..PrivateCaches::default().l1
        };
        Self {
            width: 3,
            memory_per_cycle: 1,
            window: 128,
            memory_ends_group: false,
            count_writebacks: false,
            line_bytes: LINE_BYTES as u32,
            caches: Some(PrivateCaches { l1: cache(32 << 10, 4, 16), l1_latency: 2, l2: cache(256 << 10, 8, 32), l2_latency: 8 }),
        }
    }

    /// Returns the core of Ramulator 1 with `cache = no`: 4-wide, 128 entries, 64-byte requests.
    pub fn ramulator() -> Self {
        Self { width: 4, memory_per_cycle: 1, window: 128, memory_ends_group: true, count_writebacks: true, line_bytes: 64, caches: None }
    }

    /// Checks the values of the core.
    ///
    /// # Errors
    /// A width, window or line size that cannot be simulated, as a message for the user.
    pub fn check(&self) -> Result<(), MachineError> {
        if !(1..=64).contains(&self.width) {
            return Err(format!("a width of {}; expected 1 to 64 instructions per cycle", self.width).into());
        }
        if !(1..=self.width).contains(&self.memory_per_cycle) {
            return Err(
                format!("{} memory instructions per cycle; expected 1 to the width of {}", self.memory_per_cycle, self.width).into()
            );
        }
        if !(1..=4096).contains(&self.window) || self.window < self.width {
            return Err(
                format!("a window of {} for a width of {}; expected at least the width and at most 4096", self.window, self.width).into()
            );
        }
        let lines: &[u32] = if self.caches.is_some() { &[128] } else { &[32, 64, 128] };
        if !lines.contains(&self.line_bytes) {
            return Err(format!("requests of {} bytes; expected one of {lines:?}", self.line_bytes).into());
        }
        Ok(())
    }
}
