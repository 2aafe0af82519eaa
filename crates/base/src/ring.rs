//! A first-in first-out queue in a single allocation.

use std::fmt;

use warpshard_host::Slots;

use super::prefetch;

/// A queue of at most `capacity` elements in a single allocation made at construction.
///
/// An empty slot keeps its old value. Testing whether the queue is empty reads no slot, because slots are often no longer in the host's
/// caches.
#[derive(Clone, warpshard_state::State)]
pub struct Ring<T> {
    slots: Slots<T>,
    capacity: u32,
    /// The slot of the oldest element, modulo the number of slots.
    head: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// Returns an empty queue of `capacity` elements.
    ///
    /// # Panics
    /// If `capacity` does not fit 31 bits.
    pub fn new(capacity: usize) -> Self {
        Self { slots: Slots::new(capacity, T::default()), capacity: capacity as u32, head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Returns the bytes of the slots.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Prefetches the oldest element and the slot of the element that is appended next.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.slot_at(0));
        prefetch(self.slot_at(self.len));
    }

    /// Prefetches up to `count` of the oldest elements.
    #[inline]
    pub fn prefetch_first(&self, count: u32) {
        (0..count.min(self.len)).for_each(|position| prefetch(self.slot_at(position)));
    }

    /// Appends `value` and grows the allocation if the queue is full; for queues whose length is bounded elsewhere.
    #[inline]
    pub fn append(&mut self, value: T) {
        self.append_with(|| value);
    }

    /// Appends the value that `value` returns. A large value is copied only once, directly into its slot.
    #[inline]
    pub fn append_with(&mut self, value: impl FnOnce() -> T) {
        if !self.slots.reach(self.len) {
            self.grow();
        }
        *self.slots.get_mut(self.head.wrapping_add(self.len)) = value();
        self.len += 1;
    }

    /// Doubles the number of slots and moves the elements into the first ones.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots = self.slots.doubled(self.head);
        self.head = 0;
        self.capacity = self.capacity.max(self.slots.count() as u32);
    }

    /// Returns the element at position `position` from the front.
    #[inline]
    pub fn get(&self, position: usize) -> Option<&T> {
        if position < self.len as usize { Some(self.slot_at(position as u32)) } else { None }
    }

    /// Returns a mutable reference to the element at position `position` from the front.
    #[inline]
    pub fn get_mut(&mut self, position: usize) -> Option<&mut T> {
        if position < self.len as usize { Some(self.slots.get_mut(self.head.wrapping_add(position as u32))) } else { None }
    }

    /// Returns the number of elements in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the queue is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.capacity
    }

    /// Returns the number of free slots.
    #[inline]
    pub fn free(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    /// Returns the slot at position `position` from the front, which may be empty.
    #[inline(always)]
    fn slot_at(&self, position: u32) -> &T {
        self.slots.get(self.head.wrapping_add(position))
    }

    /// Appends `value`.
    ///
    /// # Panics
    /// If the queue is full: the caller checks first, as hardware does.
    #[inline]
    pub fn push(&mut self, value: T) {
        assert!(self.len < self.capacity, "a push into a full queue of {}", self.capacity);
        *self.slots.get_mut(self.head.wrapping_add(self.len)) = value;
        self.len += 1;
    }

    /// Returns the oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(self.slot_at(0)) }
    }

    /// Returns the newest element.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(self.slot_at(self.len - 1)) }
    }

    /// Returns a mutable reference to the oldest element.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 { None } else { Some(self.slots.get_mut(self.head)) }
    }

    /// Removes and returns the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = *self.slot_at(0);
        self.drop_front();
        Some(value)
    }

    /// Removes and returns the oldest element if `wanted` returns true for it.
    #[inline]
    pub fn pop_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.len == 0 || !wanted(self.slot_at(0)) {
            return None;
        }
        let value = *self.slot_at(0);
        self.drop_front();
        Some(value)
    }

    /// Removes the oldest element, which the caller has read with [`Ring::front`] or [`Ring::get`].
    #[inline]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0, "the queue is empty");
        self.len -= 1;
        // A queue that is often empty stays within its first slots, whatever its capacity.
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
    }

    /// Removes the oldest element, which the caller has already read, and returns the next one.
    // A single branch decides whether the queue is empty and what the function returns.
    #[inline]
    pub fn next_front(&mut self) -> Option<&T> {
        debug_assert!(self.len > 0, "the queue is empty");
        self.len -= 1;
        if self.len == 0 {
            self.head = 0;
            return None;
        }
        self.head = self.head.wrapping_add(1);
        Some(self.slot_at(0))
    }

    /// Returns an iterator over the elements, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|position| self.slot_at(position))
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_leave_in_the_order_they_came() {
        let mut ring = Ring::new(3);
        for round in 0..5 {
            ring.push(round);
            ring.push(round + 100);
            assert_eq!(ring.pop(), Some(round));
            assert_eq!(ring.front(), Some(&(round + 100)));
            assert_eq!(ring.pop(), Some(round + 100));
        }
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn a_queue_bounded_elsewhere_grows_and_keeps_its_order() {
        let mut ring = Ring::new(2);
        (0..7).for_each(|value| ring.append(value));
        assert_eq!(ring.pop(), Some(0));
        (7..20).for_each(|value| ring.append(value));
        assert_eq!((ring.get(0), ring.get(18), ring.get(19)), (Some(&1), Some(&19), None));
        assert_eq!(std::iter::from_fn(|| ring.pop()).collect::<Vec<_>>(), (1..20).collect::<Vec<_>>());
    }

    #[test]
    fn pop_if_removes_only_a_matching_front() {
        let mut ring = Ring::new(2);
        ring.push(3);
        ring.push(5);
        assert_eq!(
            [ring.pop_if(|value| *value > 3), ring.pop_if(|value| *value <= 3), ring.pop_if(|value| *value <= 3)],
            [None, Some(3), None]
        );
        ring.drop_front();
        assert_eq!((ring.pop_if(|_| true), ring.len()), (None, 0));
        ring.push(7);
        ring.push(8);
        assert_eq!([(); 2].map(|()| ring.next_front().copied()), [Some(8), None]);
        assert!(ring.is_empty());
    }

    #[test]
    #[should_panic(expected = "full queue of 1")]
    fn a_push_into_a_full_ring_panics() {
        let mut ring = Ring::new(1);
        ring.push(1);
        ring.push(2);
    }
}
