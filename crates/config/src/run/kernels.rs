//! Selection of the simulated kernels of a workload, by number or by name.

use std::fmt;
use std::str::FromStr;

use regex::Regex;

use super::SettingError;

/// A selection of kernel launches.
#[derive(Clone, Debug)]
pub enum KernelSelection {
    /// All kernels.
    All,
    /// Launches by number, counted from 1 in workload order: the first and last launch of each range.
    Ranges(Vec<(u64, u64)>),
    /// Kernels with a matching name.
    Matching(Regex),
}

impl KernelSelection {
    /// Returns `true` if the launch with this number, counted from 1, and this name is selected.
    pub fn selects(&self, number: u64, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Ranges(ranges) => ranges.iter().any(|(first, last)| (*first..=*last).contains(&number)),
            Self::Matching(regex) => regex.is_match(name),
        }
    }
}

impl PartialEq for KernelSelection {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for KernelSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Matching(regex) => f.write_str(regex.as_str()),
            Self::Ranges(ranges) => {
                for (i, (first, last)) in ranges.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    match (first, last) {
                        (first, last) if first == last => write!(f, "{first}")?,
                        (first, &u64::MAX) => write!(f, "{first}-")?,
                        (first, last) => write!(f, "{first}-{last}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for KernelSelection {
    type Err = SettingError;

    /// Parses "all", "3", "1-5,8", "10-" (to the last), or a regular expression for names.
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SettingError::new("no kernels are selected", EXPECTED));
        }
        if text == "all" {
            return Ok(Self::All);
        }
        if text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | ' ')) {
            return text.split(',').map(|part| range(part.trim())).collect::<Result<_, _>>().map(Self::Ranges);
        }
        Regex::new(text).map(Self::Matching).map_err(|error| {
            let detail = error.to_string();
            let reason = detail.lines().last().unwrap_or("").trim_start_matches("error: ");
            SettingError::new(format!("`{text}` is neither a range nor a regular expression: {reason}"), EXPECTED)
        })
    }
}

const EXPECTED: &str = "\"all\", numbers from 1 such as \"1-5,8\" or \"10-\", or a regular expression over kernel names";

fn range(part: &str) -> Result<(u64, u64), SettingError> {
    let fail = || SettingError::new(format!("`{part}` is not a range of kernels"), EXPECTED);
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| fail());
    let (first, last) = match part.split_once('-') {
        None => (number(part)?, number(part)?),
        Some((first, last)) if last.trim().is_empty() => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if first == 0 {
        return Err(SettingError::new("kernels are numbered from 1", EXPECTED));
    }
    if first > last {
        return Err(SettingError::new(format!("the range {first}-{last} is empty; did you mean {last}-{first}?"), EXPECTED));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> KernelSelection {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn ranges_count_from_one_and_include_both_ends() {
        let chosen = |text: &str| (1..=10).filter(|n| parse(text).selects(*n, "k")).collect::<Vec<_>>();
        assert_eq!(chosen("2-4, 8"), [2, 3, 4, 8]);
        assert_eq!(chosen("9-"), [9, 10]);
        assert_eq!(chosen("all"), (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn names_are_matched_by_regular_expression() {
        assert!(parse("^_Z.*gemm").selects(1, "_Z10gemm_tiledPf"));
        assert!(!parse("^gemm").selects(1, "_Z10gemm_tiledPf"));
    }

    #[test]
    fn printed_selections_parse_back() {
        for text in ["all", "3", "1-5,8", "10-", "gemm.*"] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_mistake() {
        let error = |text: &str| text.parse::<KernelSelection>().unwrap_err().to_string();
        assert!(error("5-2").starts_with("the range 5-2 is empty; did you mean 2-5?"));
        assert!(error("0").starts_with("kernels are numbered from 1"));
        assert!(error("1--3").starts_with("`1--3` is not a range of kernels"));
        assert!(error("gemm(").starts_with("`gemm(` is neither a range nor a regular expression: unclosed group"));
        assert!(error(" ").starts_with("no kernels are selected"));
    }
}
