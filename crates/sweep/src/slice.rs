//! A part of a sweep.

use std::fmt;
use std::str::FromStr;

/// Every n-th run of a plan. Neighbouring runs, which often take the same time, are in different slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Number of the slice, from 1.
    pub index: usize,
    /// Number of slices.
    pub count: usize,
}

impl Slice {
    /// Returns true if the run with this number, from 1, is in the slice.
    pub fn contains(self, number: usize) -> bool {
        (number - 1) % self.count == self.index - 1
    }
}

/// The error for a text that is not a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected I/N with 1 <= I <= N, such as 2/8")]
pub struct SliceError;

impl FromStr for Slice {
    type Err = SliceError;

    /// Parses "2/8": the second of eight slices.
    fn from_str(text: &str) -> Result<Self, SliceError> {
        let parts = text.split_once('/').and_then(|(index, of)| index.parse().ok().zip(of.parse().ok()));
        parts.filter(|(index, of)| (1..=*of).contains(index)).map(|(index, of)| Self { index, count: of }).ok_or(SliceError)
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_slice() {
        for of in 1..6 {
            for number in 1..20 {
                assert_eq!((1..=of).filter(|&index| Slice { index, count: of }.contains(number)).count(), 1);
            }
        }
        assert_eq!("2/8".parse(), Ok(Slice { index: 2, count: 8 }));
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Slice>().is_err(), "{wrong}");
        }
    }
}
