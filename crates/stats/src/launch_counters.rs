//! Encoded counters of a kernel launch. The encoding is compact, since a run may have tens of thousands of launches.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CounterInfo, CounterValue, numbers};

/// A compactly encoded list of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedValues(Box<[u8]>);

impl EncodedValues {
    /// Returns the numbers in their order, without zeros at the end.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        numbers::unpack(&self.0).map(Option::unwrap_or_default)
    }

    /// Returns the sums, number by number.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let (mut one, mut two) = (self.iter(), other.iter());
        let sums = std::iter::from_fn(|| match (one.next(), two.next()) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0) + two.unwrap_or(0)),
        });
        sums.collect()
    }
}

impl FromIterator<u64> for EncodedValues {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        Self(numbers::pack(numbers))
    }
}

/// Counters of a kernel launch with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchCounters {
    /// Descriptions of the counters, shared by all launches of a run.
    infos: Arc<[&'static CounterInfo]>,
    values: EncodedValues,
}

impl LaunchCounters {
    /// Combines counters with their values.
    pub fn new(infos: &Arc<[&'static CounterInfo]>, values: EncodedValues) -> Self {
        Self { infos: Arc::clone(infos), values }
    }

    /// Returns all counters in their order.
    pub fn iter(&self) -> impl Iterator<Item = CounterValue> {
        let values = self.values.iter().chain(std::iter::repeat(0));
        self.infos.iter().zip(values).map(|(info, value)| CounterValue { info, value })
    }

    /// Returns the same counters with values converted by `value`.
    #[must_use]
    pub fn map(&self, value: impl FnMut(u64) -> u64) -> Self {
        let values = self.iter().map(|counted| counted.value);
        Self { infos: Arc::clone(&self.infos), values: values.map(value).collect() }
    }

    /// Returns the sums with the same counters of another launch, counter by counter.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let infos = if self.infos.is_empty() { &other.infos } else { &self.infos };
        Self { infos: Arc::clone(infos), values: self.values.plus(&other.values) }
    }

    /// Returns the value of the counter called `name`.
    pub fn get(&self, name: &str) -> Option<u64> {
        let place = self.infos.iter().position(|info| info.name == name)?;
        Some(self.values.iter().nth(place).unwrap_or(0))
    }
}

impl FromIterator<CounterValue> for LaunchCounters {
    fn from_iter<I: IntoIterator<Item = CounterValue>>(counters: I) -> Self {
        let mut infos = Vec::new();
        let values = counters.into_iter().map(|counted| {
            infos.push(counted.info);
            counted.value
        });
        let values = values.collect();
        Self { infos: infos.into(), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_back_with_their_zeros() {
        static INFO: CounterInfo = CounterInfo { name: "hits", unit: "accesses", help: "Hits." };
        for values in [vec![], vec![0, 0], vec![3, 0, 0, u64::MAX, 0]] {
            let counters: LaunchCounters = values.iter().map(|&value| CounterValue { info: &INFO, value }).collect();
            assert_eq!(counters.iter().map(|counted| counted.value).collect::<Vec<_>>(), values);
        }
        let sum = |one: &[u64], two: &[u64]| {
            let values = |list: &[u64]| list.iter().copied().collect::<EncodedValues>();
            values(one).plus(&values(two)).iter().collect::<Vec<_>>()
        };
        assert_eq!(sum(&[1, 0, 3], &[0, 0, 1, 5]), [1, 0, 4, 5]);
        assert_eq!(sum(&[], &[7]), [7]);
    }
}
