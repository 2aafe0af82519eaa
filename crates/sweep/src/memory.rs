//! Admission of concurrent runs by memory.
//!
//! The memory of a run is not known before it has run. So a further run begins only if the free memory suffices for a run of the largest
//! size so far: the resident memory of the process beyond its initial amount, divided by the number of active runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Divisor of the free memory that gives the unused reserve.
const RESERVE_DIVISOR: u64 = 16;

/// A memory size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = BytesError;

    /// Parses "8GiB", "512 MiB", "2GB".
    fn from_str(text: &str) -> Result<Self, BytesError> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            _ => return Err(BytesError),
        };
        let amount: f64 = digits.trim().parse().map_err(|_| BytesError)?;
        let bytes = amount * scale as f64;
        if bytes.is_finite() && bytes >= 1.0 { Ok(Self(bytes as u64)) } else { Err(BytesError) }
    }
}

/// The error for a text that is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a size such as 8GiB, 512MiB or 2GB")]
pub struct BytesError;

/// Admission control for further runs.
#[derive(Debug)]
pub(super) struct MemoryGate {
    limit: Option<Bytes>,
    start_bytes: u64,
    /// Largest memory of a run so far, in bytes.
    max_run_bytes: u64,
}

impl MemoryGate {
    /// Creates an admission control for runs that begin from this time on, with the common memory `limit`.
    pub(super) fn new(limit: Option<Bytes>) -> Self {
        Self { limit, start_bytes: resident_bytes().unwrap_or(0), max_run_bytes: 0 }
    }

    /// Returns true if a run may begin while `active` runs are in progress. The first run is always admitted.
    pub(super) fn can_start(&mut self, active: usize) -> bool {
        let (Some(resident), Some(free)) = (resident_bytes(), available_bytes()) else { return true };
        self.allows_run(active as u64, resident, free)
    }

    fn allows_run(&mut self, active: u64, resident: u64, free: u64) -> bool {
        if active == 0 {
            return true;
        }
        let taken = resident.saturating_sub(self.start_bytes);
        self.max_run_bytes = self.max_run_bytes.max(taken / active);
        let room = self.limit.map_or_else(|| taken + free - free / RESERVE_DIVISOR, |limit| limit.0);
        (active + 1).saturating_mul(self.max_run_bytes) <= room
    }
}

/// Returns a value in kB from a file with lines such as "VmRSS:  123 kB".
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Returns the resident memory of this process, if the host reports it.
fn resident_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS")
}

/// Returns the memory that this process can still allocate, limited by the host and by its control groups.
fn available_bytes() -> Option<u64> {
    let host = kilobytes("/proc/meminfo", "MemAvailable")?;
    Some(group_free_bytes().into_iter().fold(host, u64::min))
}

/// Returns the unused memory of each control group (version 2) of this process.
fn group_free_bytes() -> Vec<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let root = Path::new("/sys/fs/cgroup");
    let group: PathBuf = root.join(path);
    let number = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let room = |folder: &Path| Some(number(folder, "memory.max")?.saturating_sub(number(folder, "memory.current")?));
    group.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(room).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_start_while_memory_fits_the_largest_run() {
        let mut gate = MemoryGate { limit: None, start_bytes: 100, max_run_bytes: 0 };
        assert!(gate.allows_run(0, 100_000, 0), "one may always run");
        assert!(gate.allows_run(1, 1100, 16_000), "a run of 1000 beside one of 1000");
        assert!(gate.allows_run(2, 2100, 1600));
        assert!(!gate.allows_run(2, 2100, 800), "only 750 are free");
        assert!(!gate.allows_run(4, 2100, 2000), "the four that run may still grow to 1000 each");
        let mut gate = MemoryGate { limit: Some(Bytes(2500)), start_bytes: 0, max_run_bytes: 0 };
        assert!(gate.allows_run(1, 1000, 0) && !gate.allows_run(2, 2000, 1 << 40));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_host_reports_its_memory() {
        assert!(resident_bytes().unwrap() > 1 << 20 && available_bytes().unwrap() > 1 << 20);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(["8GiB", "1.5 MiB", "2GB"].map(|text| text.parse()), [Ok(Bytes(8 << 30)), Ok(Bytes(3 << 19)), Ok(Bytes(2_000_000_000))]);
        for wrong in ["8", "GiB", "-1GiB", "0GiB", "8 GB B", "nanGiB"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }
}
