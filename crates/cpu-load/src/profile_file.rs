//! Profiles of CPU applications as TOML: miss rates and address patterns.

use std::path::Path;

use serde::Deserialize;

/// An error in a profile, as a message for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct CpuProfileError {
    /// The file, or the built-in name.
    pub file: String,
    /// The error, with the expected value.
    pub what: String,
}

/// An application as a stream of accesses with the given statistics behind private caches of 32 KB and 256 KB.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuProfile {
    /// The application's name.
    pub name: String,
    /// A description of the application in one sentence.
    pub summary: String,
    /// L2 misses per thousand instructions, for loads and stores.
    pub mpki: f64,
    /// Fraction of instructions that access memory.
    pub memory: f64,
    /// L2 hits per thousand instructions; at least `mpki`, so that lines that should hit are not evicted.
    pub l2_hits: f64,
    /// The pattern of the misses.
    pub far: FarAccesses,
}

/// The accesses that miss in both caches.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FarAccesses {
    /// Working set of the far accesses in MB, at least 2: more than the caches hold.
    pub working_set_mb: u32,
    /// Fraction of far accesses that walk through memory line by line and therefore hit open DRAM rows; the others are scattered.
    pub streaming: f64,
    /// Number of concurrent walks.
    pub streams: u32,
    /// Fraction of lines that are written.
    pub writes: f64,
    /// Fraction of scattered loads whose address depends on the preceding load (lists, trees, graphs).
    pub dependent: f64,
    /// Number of misses that occur together, a few instructions apart.
    pub cluster: u32,
}

impl CpuProfile {
    /// Loads the profile in `path`.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn load(path: &Path) -> Result<Self, CpuProfileError> {
        let file = path.display().to_string();
        match warpshard_config::input::read_text(path) {
            Ok(text) => Self::from_text(&file, &text),
            Err(error) => Err(CpuProfileError { file, what: format!("the profile cannot be read: {error}") }),
        }
    }

    /// Parses a profile from its text; messages use the name `file`.
    ///
    /// # Errors
    /// The errors of [`CpuProfile::load`].
    pub fn from_text(file: &str, text: &str) -> Result<Self, CpuProfileError> {
        let fail = |what: String| CpuProfileError { file: file.to_owned(), what };
        let profile: Self = toml::from_str(text).map_err(|error| fail(error.to_string().trim_end().to_owned()))?;
        profile.check().map_err(fail)?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), String> {
        let Self { mpki, memory, l2_hits, far, .. } = self;
        let shares = [("memory", *memory), ("far.streaming", far.streaming), ("far.writes", far.writes), ("far.dependent", far.dependent)];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("`{key} = {share}`: expected a share from 0 to 1"));
            }
        }
        if !(0.001..=500.0).contains(mpki) {
            return Err(format!("`mpki = {mpki}`: expected 0.001 to 500 misses per thousand instructions"));
        }
        if l2_hits < mpki {
            return Err(format!("`l2_hits = {l2_hits}`: expected at least `mpki`, {mpki}, otherwise lines that should hit are evicted"));
        }
        // A hot line must be accessed about as often as other lines are filled, or it is evicted from the L1.
        if memory * 1000.0 < 1.4 * (mpki + l2_hits) {
            let least = 1.4 * (mpki + l2_hits) / 1000.0;
            return Err(format!("`memory = {memory}`: expected at least {least:.3}, so that some accesses are left to hit in the L1"));
        }
        let counts =
            [("far.working_set_mb", far.working_set_mb, 2, 4096), ("far.streams", far.streams, 1, 64), ("far.cluster", far.cluster, 1, 64)];
        for (key, count, low, high) in counts {
            if !(low..=high).contains(&count) {
                return Err(format!("`{key} = {count}`: expected {low} to {high}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID_PROFILE: &str = "name = \"a\"\nsummary = \"b\"\nmpki = 5.0\nmemory = 0.4\nl2_hits = 10.0\n[far]\nworking_set_mb = 32\nstreaming = 0.5\nstreams = 2\nwrites = 0.3\ndependent = 0.0\ncluster = 2\n";

    #[test]
    fn a_good_profile_is_read() {
        let profile = CpuProfile::from_text("a.toml", VALID_PROFILE).unwrap();
        assert_eq!((profile.mpki, profile.far.streams), (5.0, 2));
    }

    #[test]
    fn invalid_values_are_reported_with_the_expected_values() {
        let cases = [
            ("mpki = 5.0", "mpki = 0.0", "`mpki = 0`"),
            ("mpki = 5.0", "mpki = -1.0", "`mpki = -1`"),
            ("mpki = 5.0", "mpki = nan", "`mpki = NaN`"),
            ("mpki = 5.0", "mpki = \"x\"", "line 3"),
            ("mpki = 5.0", "mpkj = 5.0", "mpkj"),
            ("memory = 0.4", "memory = 1.4", "`memory = 1.4`"),
            ("memory = 0.4", "memory = 0.01", "`memory = 0.01`"),
            ("l2_hits = 10.0", "l2_hits = 1.0", "`l2_hits = 1`"),
            ("working_set_mb = 32", "working_set_mb = 1", "`far.working_set_mb = 1`"),
            ("streams = 2", "streams = 0", "`far.streams = 0`"),
            ("writes = 0.3", "", "writes"),
        ];
        for (from, to, named) in cases {
            let error = CpuProfile::from_text("a.toml", &VALID_PROFILE.replace(from, to)).unwrap_err().to_string();
            assert!(error.starts_with("a.toml: ") && error.contains(named), "{to}: {error}");
        }
    }
}
