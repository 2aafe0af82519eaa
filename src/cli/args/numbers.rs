//! Lists of units on the command line.

use std::str::FromStr;

/// Which units of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// All of them.
    All,
    /// Those with numbers in these ranges, both ends included; none without a range.
    Ranges(Vec<(u16, u16)>),
}

impl Numbers {
    /// The numbers, of `count` units of a kind that is called `unit`, for the option `option`.
    ///
    /// # Errors
    /// When there is no unit with one of the numbers.
    pub fn among(&self, count: u32, option: &str, unit: &str) -> Result<Vec<u16>, String> {
        let Self::Ranges(ranges) = self else { return Ok((0..count as u16).collect()) };
        if let Some((_, last)) = ranges.iter().find(|(_, last)| u32::from(*last) >= count) {
            return Err(format!("{option}: there is no {unit} {last}; this machine has {unit}s 0 to {}", count.saturating_sub(1)));
        }
        let mut numbers: Vec<u16> = ranges.iter().flat_map(|&(first, last)| first..=last).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

impl FromStr for Numbers {
    type Err = String;

    /// "all", "none", "0-3,7".
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected \"all\", \"none\" or numbers such as 0-3,7".to_owned();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (first.trim().parse::<u16>().map_err(|_| wrong())?, last.trim().parse::<u16>().map_err(|_| wrong())?);
            if range.0 <= range.1 { Ok(range) } else { Err(wrong()) }
        };
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::Ranges(Vec::new())),
            _ => text.split(',').map(range).collect::<Result<_, _>>().map(Self::Ranges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_named_by_numbers_and_ranges() {
        let among = |text: &str| text.parse::<Numbers>().unwrap().among(9, "--x", "SM");
        assert_eq!(among("0-2,7,1"), Ok(vec![0, 1, 2, 7]));
        assert_eq!((among("none"), among("all").map(|all| all.len())), (Ok(Vec::new()), Ok(9)));
        assert_eq!(among("3-9"), Err("--x: there is no SM 9; this machine has SMs 0 to 8".into()));
        for wrong in ["", "a", "3-1", "1,", "-1", "1-", "70000"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
    }
}
