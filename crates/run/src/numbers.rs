//! Lists of units.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error as Described;

use super::Error;

/// A selection of units of a kind, by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UnitNumbers {
    /// All units.
    All,
    /// Units with numbers in these inclusive ranges; no unit without a range.
    Ranges(Vec<(u16, u16)>),
}

/// The error of an invalid list of units.
#[derive(Clone, Debug, PartialEq, Eq, Described)]
#[error("expected \"all\", \"none\" or numbers such as 0-3,7")]
pub struct UnitNumbersError;

impl UnitNumbers {
    /// Returns the selected numbers among `count` units. `unit` names the kind and `option` the option in the error.
    ///
    /// # Errors
    /// Fails if there is no unit with one of the numbers.
    pub(crate) fn resolve(&self, count: u32, option: &str, unit: &str) -> Result<Vec<u16>, Error> {
        let Self::Ranges(ranges) = self else { return Ok((0..count as u16).collect()) };
        if let Some((_, last)) = ranges.iter().find(|(_, last)| u32::from(*last) >= count) {
            return Err(Error::Usage(format!(
                "{option}: there is no {unit} {last}; this machine has {unit}s 0 to {}",
                count.saturating_sub(1)
            )));
        }
        let mut numbers: Vec<u16> = ranges.iter().flat_map(|&(first, last)| first..=last).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

impl FromStr for UnitNumbers {
    type Err = UnitNumbersError;

    /// Reads "all", "none" or a list such as "0-3,7".
    fn from_str(text: &str) -> Result<Self, UnitNumbersError> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range =
                (first.trim().parse::<u16>().map_err(|_| UnitNumbersError)?, last.trim().parse::<u16>().map_err(|_| UnitNumbersError)?);
            if range.0 <= range.1 { Ok(range) } else { Err(UnitNumbersError) }
        };
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::Ranges(Vec::new())),
            _ => text.split(',').map(range).collect::<Result<_, _>>().map(Self::Ranges),
        }
    }
}

impl TryFrom<String> for UnitNumbers {
    type Error = UnitNumbersError;

    fn try_from(text: String) -> Result<Self, UnitNumbersError> {
        text.parse()
    }
}

impl From<UnitNumbers> for String {
    fn from(numbers: UnitNumbers) -> Self {
        numbers.to_string()
    }
}

impl fmt::Display for UnitNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Ranges(ranges) if ranges.is_empty() => f.write_str("none"),
            Self::Ranges(ranges) => {
                let texts: Vec<String> = ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_named_by_numbers_and_ranges() {
        let among = |text: &str| text.parse::<UnitNumbers>().unwrap().resolve(9, "--x", "SM").map_err(|error| error.to_string());
        assert_eq!(among("0-2,7,1"), Ok(vec![0, 1, 2, 7]));
        assert_eq!((among("none"), among("all").map(|all| all.len())), (Ok(Vec::new()), Ok(9)));
        assert_eq!(among("3-9"), Err("--x: there is no SM 9; this machine has SMs 0 to 8".into()));
        for wrong in ["", "a", "3-1", "1,", "-1", "1-", "70000"] {
            assert!(wrong.parse::<UnitNumbers>().is_err(), "{wrong}");
        }
        for text in ["all", "none", "0-3,7-7"] {
            assert_eq!(text.parse::<UnitNumbers>().unwrap().to_string(), text);
        }
    }
}
