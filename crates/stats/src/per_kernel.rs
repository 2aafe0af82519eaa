//! A unit's counters by kernel launch. A launch for which the unit has counted nothing takes two bytes.

use std::ops::{Index, IndexMut};

use warpshard_state::{Reader, State, StateError, Writer};

/// A unit's counters for each kernel launch; all zero until the unit counts something for the launch.
#[derive(Clone, Debug)]
pub struct PerKernel<T> {
    /// For each launch, the index of its counters in `values`; 0 if it has none.
    slots: Box<[u16]>,
    /// Counters; the first entry stays zero.
    values: Vec<T>,
    /// The launch for which something was counted last, mostly that of the next count, and the index of its counters.
    last: (u32, u16),
}

/// No launch.
const NONE: u32 = u32::MAX;

impl<T: Default> PerKernel<T> {
    /// Zero counters for `kernels` launches.
    ///
    /// # Panics
    /// With more than 65,536 launches; workloads have fewer.
    pub fn new(kernels: usize) -> Self {
        assert!(kernels <= usize::from(u16::MAX) + 1, "{kernels} kernel launches");
        Self { slots: vec![0; kernels].into(), values: vec![T::default()], last: (NONE, 0) }
    }

    /// The number of launches.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no launches.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The counters of a launch; `None` if there is no such launch.
    #[inline]
    pub fn get_mut(&mut self, kernel: usize) -> Option<&mut T> {
        (kernel == self.last.0 as usize || kernel < self.slots.len()).then(|| &mut self[kernel])
    }

    /// The counters of all launches, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().map(|slot| &self.values[usize::from(*slot)])
    }

    /// The launches for which something was counted, with their counters.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &T)> {
        let with = self.slots.iter().enumerate().filter(|(_, slot)| **slot != 0);
        with.map(|(kernel, slot)| (kernel, &self.values[usize::from(*slot)]))
    }

    /// The counters of launches for which something was counted, in the order of their first count.
    pub fn present(&self) -> &[T] {
        &self.values[1..]
    }

    /// Something is counted for another launch than the last time. The first time its counters are allocated.
    #[inline(never)]
    fn turn_to(&mut self, kernel: usize) {
        let mut slot = self.slots[kernel];
        if slot == 0 {
            slot = self.values.len() as u16;
            self.slots[kernel] = slot;
            self.values.push(T::default());
        }
        self.last = (kernel as u32, slot);
    }
}

/// Compares counters; those of a launch for which nothing was counted are zero.
impl<T: PartialEq + Default> PartialEq for PerKernel<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Eq + Default> Eq for PerKernel<T> {}

impl<T> Index<usize> for PerKernel<T> {
    type Output = T;

    #[inline]
    fn index(&self, kernel: usize) -> &T {
        &self.values[usize::from(self.slots[kernel])]
    }
}

impl<T: Default> IndexMut<usize> for PerKernel<T> {
    #[inline]
    fn index_mut(&mut self, kernel: usize) -> &mut T {
        if kernel != self.last.0 as usize {
            self.turn_to(kernel);
        }
        &mut self.values[usize::from(self.last.1)]
    }
}

/// Saves the launches for which something was counted, with their counters.
impl<T: State + Default> State for PerKernel<T> {
    fn save(&self, to: &mut Writer) {
        self.slots.len().save(to);
        let with: Vec<(usize, &T)> = self.counted().collect();
        to.length(with.len());
        // In the order of their first count, so that the indices stay the same.
        let mut by_slot = with;
        by_slot.sort_unstable_by_key(|(kernel, _)| self.slots[*kernel]);
        for (kernel, value) in by_slot {
            (kernel as u16).save(to);
            value.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let launches = usize::read(from)?;
        if launches != self.slots.len() {
            return Err(StateError::new(format!("saved counters are of {launches} kernel launches, and there are {}", self.slots.len())));
        }
        let mut loaded = Self::new(launches);
        for _ in 0..from.length(1)? {
            let kernel = usize::from(u16::read(from)?);
            if loaded.slots.get(kernel).is_none_or(|slot| *slot != 0) {
                return Err(StateError::new(format!(
                    "saved counters of kernel launch {kernel}, of which there is none or which came before"
                )));
            }
            loaded[kernel].load(from)?;
        }
        *self = loaded;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_without_counts_are_zero_and_take_nothing() {
        let mut counts = PerKernel::<u64>::new(60_000);
        counts[59_999] += 3;
        counts[7] += 2;
        counts[7] += 2;
        assert_eq!((counts[0], counts[7], counts[59_999]), (0, 4, 3));
        assert_eq!(counts.counted().collect::<Vec<_>>(), [(7, &4), (59_999, &3)]);
        assert_eq!((counts.present(), counts.iter().sum::<u64>(), counts.len()), (&[3, 4][..], 7, 60_000));
        assert_eq!(counts.get_mut(60_000), None);
        assert_eq!(counts.get_mut(7), Some(&mut 4));
    }

    #[test]
    fn every_launch_that_16_bits_count_has_its_place() {
        let mut counts = PerKernel::<u32>::new(65_535);
        (0..65_535).for_each(|kernel| counts[kernel] += kernel as u32);
        assert!(counts.iter().zip(0..).all(|(count, kernel)| *count == kernel));
    }

    #[test]
    fn what_is_saved_is_loaded_and_what_is_of_others_is_refused() {
        let mut counts = PerKernel::<u64>::new(10);
        counts[9] += 1;
        counts[2] += 5;
        let mut to = Writer::default();
        counts.save(&mut to);
        let bytes = to.finish();
        let load = |bytes: &[u8], launches| {
            let mut loaded = PerKernel::<u64>::new(launches);
            loaded.load(&mut Reader::new(bytes)).map(|()| loaded)
        };
        assert_eq!(load(&bytes, 10), Ok(counts));
        assert!(load(&bytes, 11).is_err());
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] = 0xff;
            let _ = load(&other, 10);
        }
    }
}
