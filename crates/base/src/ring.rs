//! A first-in first-out queue in one allocation.

use std::fmt;

use warpshard_host::Slots;

use super::prefetch;

/// A queue of at most `capacity` elements in one allocation made at construction.
///
/// Places without an element keep their old value, and whether the queue is empty is known without reading a place, which is
/// often not in the host's caches any more.
#[derive(Clone, warpshard_state::State)]
pub struct Ring<T> {
    slots: Slots<T>,
    capacity: u32,
    /// The place of the oldest element, modulo the number of places.
    head: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// An empty queue of `capacity` elements.
    ///
    /// # Panics
    /// When `capacity` does not fit 31 bits.
    pub fn new(capacity: usize) -> Self {
        Self { slots: Slots::new(capacity, T::default()), capacity: capacity as u32, head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Bytes of its places.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Prefetches the oldest element and the place of the next one that is appended.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.at(0));
        prefetch(self.at(self.len));
    }

    /// Prefetches the first elements, up to `count`.
    #[inline]
    pub fn prefetch_first(&self, count: u32) {
        (0..count.min(self.len)).for_each(|place| prefetch(self.at(place)));
    }

    /// Appends `value` and grows where there is no room, for queues whose length is bounded elsewhere.
    #[inline]
    pub fn append(&mut self, value: T) {
        self.append_with(|| value);
    }

    /// Appends the value that `value` returns: a large one is then copied once, straight to its place.
    #[inline]
    pub fn append_with(&mut self, value: impl FnOnce() -> T) {
        if !self.slots.reach(self.len) {
            self.grow();
        }
        *self.slots.get_mut(self.head.wrapping_add(self.len)) = value();
        self.len += 1;
    }

    /// Doubles the places, with the elements in the first ones.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots = self.slots.doubled(self.head);
        self.head = 0;
        self.capacity = self.capacity.max(self.slots.count() as u32);
    }

    /// The element after the first `place`.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        if place < self.len as usize { Some(self.at(place as u32)) } else { None }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        if place < self.len as usize { Some(self.slots.get_mut(self.head.wrapping_add(place as u32))) } else { None }
    }

    /// Elements in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the queue holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a push would be refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.capacity
    }

    /// How many pushes would be accepted now.
    #[inline]
    pub fn free(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    /// The place of the element after the first `place`, whether there is one or not.
    #[inline(always)]
    fn at(&self, place: u32) -> &T {
        self.slots.get(self.head.wrapping_add(place))
    }

    /// Appends `value`.
    ///
    /// # Panics
    /// When the queue is full: the caller checks first, as hardware does.
    #[inline]
    pub fn push(&mut self, value: T) {
        assert!(self.len < self.capacity, "a push into a full queue of {}", self.capacity);
        *self.slots.get_mut(self.head.wrapping_add(self.len)) = value;
        self.len += 1;
    }

    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(self.at(0)) }
    }

    /// The newest element.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(self.at(self.len - 1)) }
    }

    /// The oldest element, to be changed in place.
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
        let value = *self.at(0);
        self.drop_front();
        Some(value)
    }

    /// Removes and returns the oldest element if `wanted` returns true for it.
    #[inline]
    pub fn pop_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.len == 0 || !wanted(self.at(0)) {
            return None;
        }
        let value = *self.at(0);
        self.drop_front();
        Some(value)
    }

    /// Removes the oldest element, which was read with [`Ring::front`] or [`Ring::get`].
    #[inline]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0, "the queue is empty");
        self.len -= 1;
        // A queue that is often empty stays within its first places, however many it has.
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
    }

    /// Removes the oldest element, which was read before; returns the next one.
    // One branch decides both whether the queue is empty and what is returned.
    #[inline]
    pub fn next_front(&mut self) -> Option<&T> {
        debug_assert!(self.len > 0, "the queue is empty");
        self.len -= 1;
        if self.len == 0 {
            self.head = 0;
            return None;
        }
        self.head = self.head.wrapping_add(1);
        Some(self.at(0))
    }

    /// The elements, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|place| self.at(place))
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
    fn the_oldest_leaves_only_when_it_matches() {
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
    fn a_full_ring_refuses() {
        let mut ring = Ring::new(1);
        ring.push(1);
        ring.push(2);
    }
}
