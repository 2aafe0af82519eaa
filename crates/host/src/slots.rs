//! Arrays that are indexed modulo their length, a power of two, so that no index needs a bounds check.
//!
//! Input: a length and an initial value. Output: references to elements. Invariant: `places` is the beginning of
//! `mask + 1` elements, a power of two that fits 32 bits, allocated as one boxed slice that this owns. In this crate because
//! the compiler cannot prove that an index masked by a field is in bounds.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A power of two of places, in one allocation. A third smaller than a boxed slice and a mask: queues lie in arrays themselves.
pub struct Slots<T> {
    places: NonNull<T>,
    mask: u32,
    owned: PhantomData<Box<[T]>>,
}

impl<T: Clone> Slots<T> {
    /// At least `count` places that hold `value`.
    ///
    /// # Panics
    /// When `count` does not fit 31 bits.
    pub fn new(count: usize, value: T) -> Self {
        assert!(count <= 1 << 31, "{count} places");
        Self::own(vec![value; count.next_power_of_two().max(1)].into())
    }

    /// All places hold `value` from now on.
    pub fn fill(&mut self, value: T) {
        (0..=self.mask).for_each(|place| *self.get_mut(place) = value.clone());
    }

    /// Twice the places; the first ones hold the present ones from `first` on, in their order.
    #[must_use]
    pub fn doubled(&self, first: u32) -> Self {
        let in_order = (0..=self.mask).map(|place| self.get(first.wrapping_add(place)).clone());
        Self::own(in_order.clone().chain(in_order).collect())
    }
}

impl<T> Slots<T> {
    /// The places themselves; `None` where they are no power of two, or more than 2^31.
    pub fn of(places: Box<[T]>) -> Option<Self> {
        (places.len().is_power_of_two() && places.len() <= 1 << 31).then(|| Self::own(places))
    }

    fn own(places: Box<[T]>) -> Self {
        debug_assert!(places.len().is_power_of_two());
        let mask = (places.len() - 1) as u32;
        Self { places: NonNull::from(Box::leak(places)).cast(), mask, owned: PhantomData }
    }

    /// All places.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: by the invariant the places are `mask + 1` elements of one allocation that lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.places.as_ptr(), self.mask as usize + 1) }
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.mask as usize + 1
    }

    /// Whether there are more than `index` of them.
    #[inline(always)]
    pub fn reach(&self, index: u32) -> bool {
        index <= self.mask
    }

    /// Place `index` modulo their number.
    #[inline(always)]
    pub fn get(&self, index: u32) -> &T {
        // SAFETY: what is masked is at most `mask`, and by the invariant there are `mask + 1` elements.
        unsafe { &*self.places.as_ptr().add((index & self.mask) as usize) }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        // SAFETY: as in `get`; no other reference to the elements exists while `self` is borrowed mutably.
        unsafe { &mut *self.places.as_ptr().add((index & self.mask) as usize) }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        // SAFETY: by the invariant the pointer and the length are those of the boxed slice that `own` took, which nothing else frees.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.places.as_ptr(), self.mask as usize + 1)) });
    }
}

impl<T: Clone> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self::own(self.as_slice().into())
    }
}

impl<T: fmt::Debug> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

// SAFETY: the places are owned as by a `Box<[T]>`, which may go to another thread whenever its elements may.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: as for `Send`: shared references lead to shared references of the elements only.
unsafe impl<T: Sync> Sync for Slots<T> {}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn every_index_leads_to_a_place_modulo_their_number() {
        let mut slots = Slots::new(5, 0_u64);
        assert_eq!((slots.count(), slots.reach(7), slots.reach(8)), (8, true, false));
        for index in 0..8 {
            *slots.get_mut(index + 16) = u64::from(index);
        }
        assert_eq!(slots.as_slice(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!([3, 8, 15, u32::MAX].map(|index| *slots.get(index)), [3, 0, 7, 7]);
    }

    #[test]
    fn there_is_always_a_place() {
        let mut slots = Slots::new(0, 'a');
        *slots.get_mut(u32::MAX) = 'b';
        assert_eq!((slots.count(), *slots.get(7)), (1, 'b'));
    }

    #[test]
    fn twice_the_places_begin_with_the_present_ones_in_order() {
        let mut slots = Slots::new(4, 0);
        (0..4).for_each(|index| *slots.get_mut(index) = index);
        let doubled = slots.doubled(6);
        assert_eq!(doubled.as_slice()[..4], [2, 3, 0, 1]);
        assert_eq!(doubled.count(), 8);
        assert_eq!(slots.clone().as_slice(), slots.as_slice());
        slots.fill(8);
        assert_eq!((slots.as_slice(), doubled.get(0)), (&[8; 4][..], &2));
    }

    #[test]
    fn places_may_go_to_another_thread() {
        let slots = Slots::new(2, 9);
        assert_eq!(std::thread::spawn(move || *slots.get(1)).join().expect("no panic"), 9);
    }
}
