//! The options of a sampled run.

use std::str::FromStr;

/// The targets and switches of a sampled run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingOptions {
    /// Target half-width of the interval of the run's cycles, relative to the cycles.
    pub error: f64,
    /// Confidence level: the share of runs whose interval contains the true value.
    pub confidence: f64,
    /// Seed of the random choice of launches.
    pub seed: u64,
    /// Number of launches simulated before each measured launch, to warm the LLC; defaults to one if `caches` is off.
    pub warm: u32,
    /// Minimum number of measured launches of each group of the same code, if it has that many.
    pub least: u32,
    /// True if only parts of long launches are simulated.
    pub inside: bool,
    /// True if the LLC receives the lines that skipped launches leave there, which are read from their accesses.
    pub caches: bool,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        Self { error: 0.04, confidence: 0.95, seed: 1, warm: 0, least: 4, inside: true, caches: true }
    }
}

/// The error of an invalid options text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SamplingOptionsError(String);

/// Reads "5%" or "0.05" as a share.
fn parse_share(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|value| value / 100.0),
        None => number(text),
    }
}

/// Reads "on" or "off".
fn parse_switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

impl FromStr for SamplingOptions {
    type Err = SamplingOptionsError;

    /// Reads "error=4%,confidence=95%,seed=1,warm=0,least=4,inside=on,caches=on"; omitted options keep their defaults.
    fn from_str(text: &str) -> Result<Self, SamplingOptionsError> {
        let mut options = Self::default();
        let mut given = None;
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let wrong = |expected: &str| SamplingOptionsError(format!("`{}`: expected {expected}", part.trim()));
            let (key, value) = part.split_once('=').ok_or_else(|| wrong("KEY=VALUE"))?;
            let value = value.trim();
            let within = |low: f64, high: f64| parse_share(value).filter(|share| (low..=high).contains(share));
            match key.trim() {
                "error" => options.error = within(1e-4, 0.5).ok_or_else(|| wrong("a share of 0.01% to 50%, such as 4%"))?,
                "confidence" => options.confidence = within(0.5, 0.999).ok_or_else(|| wrong("a share of 50% to 99.9%, such as 95%"))?,
                "seed" => options.seed = value.parse().map_err(|_| wrong("a whole number"))?,
                "warm" => {
                    let warm = value.parse().ok().filter(|warm| *warm <= 64);
                    given = Some(warm.ok_or_else(|| wrong("0 to 64 launches"))?);
                }
                "least" => {
                    let least = value.parse().ok().filter(|least| (3..=10_000).contains(least));
                    options.least = least.ok_or_else(|| wrong("3 to 10000 launches"))?;
                }
                "inside" => options.inside = parse_switch(value).ok_or_else(|| wrong("on or off"))?,
                "caches" => options.caches = parse_switch(value).ok_or_else(|| wrong("on or off"))?,
                _ => return Err(wrong("one of the keys error, confidence, seed, warm, least, inside and caches")),
            }
        }
        options.warm = given.unwrap_or(u32::from(!options.caches));
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_others_keep_their_defaults() {
        assert_eq!("".parse(), Ok(SamplingOptions::default()));
        let read: SamplingOptions = "error=5%, confidence=0.9,warm=2,inside=off".parse().unwrap();
        assert_eq!(read, SamplingOptions { error: 0.05, confidence: 0.9, warm: 2, inside: false, ..SamplingOptions::default() });
        // Without reading the accesses of skipped launches, one launch warms the LLC.
        let warm = |text: &str| text.parse::<SamplingOptions>().unwrap().warm;
        assert_eq!(["caches=on", "caches=off", "warm=0,caches=off"].map(warm), [0, 1, 0]);
    }

    #[test]
    fn errors_name_the_expected_values() {
        for (text, expected) in [
            ("error", "KEY=VALUE"),
            ("error=0", "0.01% to 50%"),
            ("error=nan", "0.01% to 50%"),
            ("confidence=100%", "50% to 99.9%"),
            ("least=2", "3 to 10000"),
            ("warm=-1", "0 to 64"),
            ("inside=maybe", "on or off"),
            ("caches=1", "on or off"),
            ("width=3", "one of the keys"),
        ] {
            let error = text.parse::<SamplingOptions>().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(text), "{error}");
        }
    }
}
