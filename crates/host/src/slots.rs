//! Arrays indexed modulo their length, a power of two, so that no index needs a bounds check.
//!
//! Input: a length and an initial value. Output: references to elements. Invariant: `slots` points to `mask + 1` elements, a power of two
//! that fits in 32 bits, in one boxed slice owned by the array. The code is in this crate because the compiler cannot prove that an index
//! masked by a field is in bounds.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A power of two of slots in one allocation. It is a third smaller than a boxed slice and a mask, which matters for arrays of queues.
pub struct Slots<T> {
    slots: NonNull<T>,
    mask: u32,
    owned: PhantomData<Box<[T]>>,
}

impl<T: Clone> Slots<T> {
    /// Creates at least `count` slots that hold `value`.
    ///
    /// # Panics
    /// `count` does not fit in 31 bits.
    pub fn new(count: usize, value: T) -> Self {
        assert!(count <= 1 << 31, "{count} slots");
        Self::from_boxed(vec![value; count.next_power_of_two().max(1)].into())
    }

    /// Sets all slots to `value`.
    pub fn fill(&mut self, value: T) {
        (0..=self.mask).for_each(|slot| *self.get_mut(slot) = value.clone());
    }

    /// Returns an array of twice the length, whose first half holds the present elements in order, starting with index `first`.
    #[must_use]
    pub fn doubled(&self, first: u32) -> Self {
        let in_order = (0..=self.mask).map(|slot| self.get(first.wrapping_add(slot)).clone());
        Self::from_boxed(in_order.clone().chain(in_order).collect())
    }
}

impl<T> Slots<T> {
    /// Creates an array from its slots; `None` if their number is not a power of two or is more than 2^31.
    pub fn of(slots: Box<[T]>) -> Option<Self> {
        (slots.len().is_power_of_two() && slots.len() <= 1 << 31).then(|| Self::from_boxed(slots))
    }

    fn from_boxed(slots: Box<[T]>) -> Self {
        debug_assert!(slots.len().is_power_of_two());
        let mask = (slots.len() - 1) as u32;
        Self { slots: NonNull::from(Box::leak(slots)).cast(), mask, owned: PhantomData }
    }

    /// Returns all slots.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: by the invariant the slots are `mask + 1` elements of one allocation that lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr(), self.mask as usize + 1) }
    }

    /// Returns the number of slots.
    #[inline]
    pub fn count(&self) -> usize {
        self.mask as usize + 1
    }

    /// Returns `true` if there are more than `index` slots.
    #[inline(always)]
    pub fn reach(&self, index: u32) -> bool {
        index <= self.mask
    }

    /// Returns the slot with the number `index` modulo the number of slots.
    #[inline(always)]
    pub fn get(&self, index: u32) -> &T {
        // SAFETY: the masked index is at most `mask`, and by the invariant there are `mask + 1` elements.
        unsafe { &*self.slots.as_ptr().add((index & self.mask) as usize) }
    }

    /// Returns a mutable reference to the slot with the number `index` modulo the number of slots.
    #[inline(always)]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        // SAFETY: the masked index is in bounds as in `get`; no other reference to the elements exists while `self` is borrowed mutably.
        unsafe { &mut *self.slots.as_ptr().add((index & self.mask) as usize) }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        // SAFETY: by the invariant the pointer and the length are those of the boxed slice that `from_boxed` leaked, which nothing else frees.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.slots.as_ptr(), self.mask as usize + 1)) });
    }
}

impl<T: Clone> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self::from_boxed(self.as_slice().into())
    }
}

impl<T: fmt::Debug> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

// SAFETY: the slots are owned as by a `Box<[T]>`, which may move to another thread if its elements may.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: a shared reference to the array gives only shared references to its elements.
unsafe impl<T: Sync> Sync for Slots<T> {}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn an_index_is_taken_modulo_the_number_of_slots() {
        let mut slots = Slots::new(5, 0_u64);
        assert_eq!((slots.count(), slots.reach(7), slots.reach(8)), (8, true, false));
        for index in 0..8 {
            *slots.get_mut(index + 16) = u64::from(index);
        }
        assert_eq!(slots.as_slice(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!([3, 8, 15, u32::MAX].map(|index| *slots.get(index)), [3, 0, 7, 7]);
    }

    #[test]
    fn there_is_always_a_slot() {
        let mut slots = Slots::new(0, 'a');
        *slots.get_mut(u32::MAX) = 'b';
        assert_eq!((slots.count(), *slots.get(7)), (1, 'b'));
    }

    #[test]
    fn a_doubled_array_begins_with_the_elements_in_order() {
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
    fn slots_can_move_to_another_thread() {
        let slots = Slots::new(2, 9);
        assert_eq!(std::thread::spawn(move || *slots.get(1)).join().expect("no panic"), 9);
    }
}
