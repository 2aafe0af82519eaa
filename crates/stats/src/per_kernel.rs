//! A unit's counters by kernel launch. Launches without counts take no memory, and launches without recent counts take some tens of bytes.

use std::collections::BTreeMap;
use std::ops::Index;

use rustc_hash::FxHashMap;

use warpshard_state::{Reader, State, StateError, Writer};

use super::numbers;

/// A fixed number of counts.
pub trait Tally: Clone + Default {
    /// Calls `see` with every count, in a fixed order.
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64));
}

impl Tally for u64 {
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
        see(self);
    }
}

impl<T: Tally, const N: usize> Tally for [T; N]
where
    [T; N]: Default,
{
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
        self.iter_mut().for_each(|part| part.counts(see));
    }
}

/// Maximum number of launches whose counters are kept uncompressed; a GPU runs fewer launches at the same time.
const MAX_UNCOMPRESSED_LAUNCHES: usize = 128;

/// A unit's counters for each kernel launch; all counters of a launch are zero until the unit counts something for it.
#[derive(Clone, Debug)]
pub struct PerKernel<T> {
    /// Counters of at most [`MAX_UNCOMPRESSED_LAUNCHES`] launches, preceded by an entry that stays zero.
    values: Vec<T>,
    /// The launch of the last count, and the index of its counters. The next count is mostly for the same launch.
    last: (u32, u16),
    /// Data that is read only when the launch changes.
    cold: Box<ColdCounters<T>>,
}

#[derive(Clone, Debug)]
struct ColdCounters<T> {
    kernels: usize,
    /// Indices into [`PerKernel::values`], by launch.
    slots: FxHashMap<u32, u16>,
    /// The launch of each entry of [`PerKernel::values`]; [`NO_LAUNCH`] for the first entry.
    owners: Vec<u32>,
    /// The entry that the next launch reuses when all [`MAX_UNCOMPRESSED_LAUNCHES`] entries are in use.
    next: u16,
    /// Encoded counters of the other launches.
    packed: BTreeMap<u32, Box<[u8]>>,
    /// Sum of the counters in `packed`.
    packed_sum: T,
}

/// Marks an entry without a launch.
const NO_LAUNCH: u32 = u32::MAX;

impl<T: Tally> PerKernel<T> {
    /// Creates zero counters for `kernels` launches.
    pub fn new(kernels: usize) -> Self {
        let (slots, packed) = (FxHashMap::default(), BTreeMap::new());
        let cold = ColdCounters { kernels, slots, owners: vec![NO_LAUNCH], next: 1, packed, packed_sum: T::default() };
        Self { values: vec![T::default()], last: (NO_LAUNCH, 0), cold: Box::new(cold) }
    }

    /// Returns the number of launches.
    pub fn len(&self) -> usize {
        self.cold.kernels
    }

    /// Returns true if there are no launches.
    pub fn is_empty(&self) -> bool {
        self.cold.kernels == 0
    }

    /// Returns the counters of a launch for counting.
    ///
    /// # Panics
    /// If there is no such launch.
    #[inline]
    pub fn at(&mut self, kernel: usize) -> &mut T {
        if kernel != self.last.0 as usize {
            self.switch_to(kernel);
        }
        &mut self.values[usize::from(self.last.1)]
    }

    /// Returns the counters of a launch for counting; `None` if there is no such launch.
    #[inline]
    pub fn get_mut(&mut self, kernel: usize) -> Option<&mut T> {
        (kernel == self.last.0 as usize || kernel < self.cold.kernels).then(|| self.at(kernel))
    }

    /// Returns a copy of the counters of a launch.
    pub fn of(&self, kernel: usize) -> T {
        match self.cold.packed.get(&(kernel as u32)) {
            Some(bytes) => unpack(bytes).unwrap_or_default(),
            None => self[kernel].clone(),
        }
    }

    /// Returns the counters of all launches, in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.cold.kernels).map(|kernel| self.of(kernel))
    }

    /// Returns the launches with counts and their counters, in the order of launches.
    pub fn counted(&self) -> impl Iterator<Item = (usize, T)> {
        self.counted_in(0..self.cold.kernels)
    }

    /// Returns the launches of `range` with counts and their counters, in the order of launches.
    pub fn counted_in(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = (usize, T)> {
        let mut warm: Vec<u32> = self.cold.owners[1..].iter().copied().filter(|kernel| range.contains(&(*kernel as usize))).collect();
        warm.sort_unstable();
        let mut packed = self.cold.packed.range(range.start as u32..range.end as u32).map(|(kernel, _)| *kernel).peekable();
        let mut warm = warm.into_iter().peekable();
        let kernels = std::iter::from_fn(move || match (warm.peek(), packed.peek()) {
            (Some(one), Some(other)) if one > other => packed.next(),
            (Some(_), _) => warm.next(),
            (None, _) => packed.next(),
        });
        kernels.map(|kernel| (kernel as usize, self.of(kernel as usize)))
    }

    /// Returns partial sums whose total is the sum over all launches.
    pub fn parts(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.cold.packed_sum).chain(&self.values[1..])
    }

    /// Switches `last` to another launch.
    #[inline(never)]
    fn switch_to(&mut self, kernel: usize) {
        assert!(kernel < self.cold.kernels, "kernel {kernel} of {}", self.cold.kernels);
        let number = kernel as u32;
        let slot = self.cold.slots.get(&number).copied().unwrap_or_else(|| self.load_uncompressed(number));
        self.last = (number, slot);
    }

    /// Moves the counters of a launch to the uncompressed entries; returns the index of the entry.
    fn load_uncompressed(&mut self, kernel: u32) -> u16 {
        let mut value = T::default();
        if let Some(mut known) = self.cold.packed.remove(&kernel).and_then(|bytes| unpack::<T>(&bytes)) {
            combine_counts(&mut self.cold.packed_sum, &mut known, u64::wrapping_sub);
            value = known;
        }
        let slot = if self.values.len() <= MAX_UNCOMPRESSED_LAUNCHES {
            self.values.push(value);
            self.cold.owners.push(kernel);
            self.values.len() as u16 - 1
        } else {
            let slot = self.cold.next;
            self.cold.next = if usize::from(slot) == MAX_UNCOMPRESSED_LAUNCHES { 1 } else { slot + 1 };
            let mut old = std::mem::replace(&mut self.values[usize::from(slot)], value);
            let owner = std::mem::replace(&mut self.cold.owners[usize::from(slot)], kernel);
            combine_counts(&mut self.cold.packed_sum, &mut old, u64::wrapping_add);
            self.cold.slots.remove(&owner);
            self.cold.packed.insert(owner, numbers::pack(counts_of(&mut old)));
            slot
        };
        self.cold.slots.insert(kernel, slot);
        slot
    }
}

/// Replaces each count of `to` by the result of `how` for it and the corresponding count of `by`.
fn combine_counts<T: Tally>(to: &mut T, by: &mut T, how: fn(u64, u64) -> u64) {
    let mut counts = counts_of(by).into_iter();
    to.counts(&mut |count| *count = how(*count, counts.next().unwrap_or(0)));
}

fn counts_of(value: &mut impl Tally) -> Vec<u64> {
    let mut counts = Vec::new();
    value.counts(&mut |count| counts.push(*count));
    counts
}

/// Decodes counts; `None` if the bytes do not fit the type.
fn unpack<T: Tally>(bytes: &[u8]) -> Option<T> {
    let (mut value, mut numbers, mut damaged) = (T::default(), numbers::unpack(bytes), false);
    value.counts(&mut |count| match numbers.next() {
        Some(Some(number)) => *count = number,
        Some(None) => damaged = true,
        None => {}
    });
    (!damaged && numbers.next().is_none()).then_some(value)
}

/// Compares counters; the counters of a launch without counts are zero.
impl<T: Tally + PartialEq> PartialEq for PerKernel<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Tally + Eq> Eq for PerKernel<T> {}

/// # Panics
/// If the counters of the launch are encoded because later launches displaced them; [`PerKernel::of`] reads the counters of any launch.
impl<T: Tally> Index<usize> for PerKernel<T> {
    type Output = T;

    #[inline]
    fn index(&self, kernel: usize) -> &T {
        let number = kernel as u32;
        assert!(
            kernel < self.cold.kernels && !self.cold.packed.contains_key(&number),
            "the counters of kernel {kernel} are encoded, or there are none"
        );
        &self.values[self.cold.slots.get(&number).map_or(0, |slot| usize::from(*slot))]
    }
}

/// Saves the launches with counts and their counters.
impl<T: State + Tally> State for PerKernel<T> {
    fn save(&self, to: &mut Writer) {
        self.cold.kernels.save(to);
        to.length(self.cold.owners.len() - 1);
        // The order of the slots determines the launches that are encoded later.
        for (kernel, value) in self.cold.owners.iter().zip(&self.values).skip(1) {
            kernel.save(to);
            value.save(to);
        }
        self.cold.next.save(to);
        to.length(self.cold.packed.len());
        for (kernel, bytes) in &self.cold.packed {
            kernel.save(to);
            bytes.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let launches = usize::read(from)?;
        if launches != self.cold.kernels {
            return Err(StateError::new(format!("saved counters are of {launches} kernel launches, and there are {}", self.cold.kernels)));
        }
        let damaged = |kernel: u32| {
            StateError::new(format!(
                "saved counters of kernel launch {kernel}, of which there is none, or which are damaged or came before"
            ))
        };
        let mut loaded = Self::new(launches);
        for _ in 0..from.length(1)? {
            let kernel = u32::read(from)?;
            if loaded.cold.slots.contains_key(&kernel) || loaded.values.len() > MAX_UNCOMPRESSED_LAUNCHES || kernel as usize >= launches {
                return Err(damaged(kernel));
            }
            loaded.at(kernel as usize).load(from)?;
        }
        loaded.cold.next = u16::read(from)?;
        if !(1..=MAX_UNCOMPRESSED_LAUNCHES).contains(&usize::from(loaded.cold.next)) {
            return Err(StateError::new("saved counters of kernel launches are damaged"));
        }
        for _ in 0..from.length(1)? {
            let (kernel, bytes) = (u32::read(from)?, Box::<[u8]>::read(from)?);
            let Some(mut value) = unpack::<T>(&bytes).filter(|_| (kernel as usize) < launches && !loaded.cold.slots.contains_key(&kernel))
            else {
                return Err(damaged(kernel));
            };
            combine_counts(&mut loaded.cold.packed_sum, &mut value, u64::wrapping_add);
            if loaded.cold.packed.insert(kernel, bytes).is_some() {
                return Err(damaged(kernel));
            }
        }
        *self = loaded;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_without_counts_are_zero_and_take_no_memory() {
        let mut counts = PerKernel::<u64>::new(60_000);
        *counts.at(59_999) += 3;
        *counts.at(7) += 2;
        *counts.at(7) += 2;
        assert_eq!((counts[0], counts[7], counts[59_999]), (0, 4, 3));
        assert_eq!(counts.counted().collect::<Vec<_>>(), [(7, 4), (59_999, 3)]);
        assert_eq!((counts.parts().sum::<u64>(), counts.iter().sum::<u64>(), counts.len()), (7, 7, 60_000));
        assert_eq!(counts.get_mut(60_000), None);
        assert_eq!(counts.get_mut(7), Some(&mut 4));
    }

    /// Returns counters whose launches are repeatedly encoded and counted for again, and the expected values.
    fn counted_launches() -> (PerKernel<[u64; 4]>, Vec<[u64; 4]>) {
        let mut counts = PerKernel::<[u64; 4]>::new(1000);
        let mut plain = vec![[0; 4]; 1000];
        for step in 0..5000_u64 {
            let kernel = (step * step % 977) as usize;
            let place = (step % 4) as usize;
            let amount = if step % 7 == 0 { u64::from(u32::MAX) * step } else { step % 3 };
            counts.at(kernel)[place] += amount;
            plain[kernel][place] += amount;
        }
        (counts, plain)
    }

    #[test]
    fn counters_of_many_launches_equal_a_plain_table() {
        let (counts, plain) = counted_launches();
        assert!(counts.cold.packed.len() > 200, "too few are encoded to test anything");
        assert!(counts.iter().eq(plain.iter().copied()));
        let counted: Vec<_> = counts.counted().filter(|(_, value)| *value != [0; 4]).collect();
        let expected: Vec<_> = plain.iter().copied().enumerate().filter(|(_, value)| *value != [0; 4]).collect();
        assert_eq!(counted, expected);
        assert!(counts.counted_in(100..200).all(|(kernel, _)| (100..200).contains(&kernel)));
        for place in 0..4 {
            assert_eq!(counts.parts().map(|part| part[place]).sum::<u64>(), plain.iter().map(|part| part[place]).sum());
        }
    }

    #[test]
    fn every_launch_has_its_counters() {
        let mut counts = PerKernel::<u64>::new(100_000);
        (0..100_000).for_each(|kernel| *counts.at(kernel) += kernel as u64);
        assert!(counts.iter().zip(0..).all(|(count, kernel)| count == kernel));
    }

    #[test]
    fn encoded_counts_are_decoded_and_damaged_counts_rejected() {
        for counts in [[0; 5], [1, 0, 0, u64::MAX, 0], [0, 0, 0, 0, 300], [9; 5], [0, 1, 0, 1, 0]] {
            let bytes = numbers::pack(counts);
            assert_eq!(unpack::<[u64; 5]>(&bytes), Some(counts), "{bytes:?}");
            assert_eq!(unpack::<[u64; 5]>(&[&bytes[..], &[1; 6]].concat()), None);
        }
        assert_eq!(unpack::<[u64; 5]>(&[0]), None);
        assert_eq!(unpack::<[u64; 5]>(&[0, 9]), None);
        assert_eq!(unpack::<[u64; 5]>(&[0xff; 11]), None);
    }

    #[test]
    fn saved_counters_are_loaded_and_foreign_state_is_rejected() {
        let (mut counts, _) = counted_launches();
        let mut to = Writer::default();
        counts.save(&mut to);
        let bytes = to.finish();
        let load = |bytes: &[u8], launches| {
            let mut loaded = PerKernel::<[u64; 4]>::new(launches);
            loaded.load(&mut Reader::new(bytes)).map(|()| loaded)
        };
        let mut loaded = load(&bytes, 1000).unwrap();
        assert_eq!(loaded, counts);
        assert!(load(&bytes, 1001).is_err());
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] = 0xff;
            let _ = load(&other, 1000);
        }
        // Both instances continue identically, including the saved bytes.
        for kernel in (0..1000).step_by(3) {
            counts.at(kernel)[1] += 1;
            loaded.at(kernel)[1] += 1;
        }
        let saved = |counts: &PerKernel<[u64; 4]>| {
            let mut to = Writer::default();
            counts.save(&mut to);
            to.finish()
        };
        assert_eq!(saved(&loaded), saved(&counts));
    }
}
