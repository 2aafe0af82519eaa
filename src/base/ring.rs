//! A first-in first-out queue that allocates once.

use std::fmt;

/// A queue of at most `capacity` elements in one allocation made at construction.
#[derive(Clone)]
pub struct Ring<T> {
    slots: Box<[Option<T>]>,
    capacity: usize,
    head: usize,
    len: usize,
}

impl<T> Ring<T> {
    /// An empty queue of `capacity` elements.
    pub fn new(capacity: usize) -> Self {
        let slots = capacity.next_power_of_two().max(1);
        Self { slots: (0..slots).map(|_| None).collect(), capacity, head: 0, len: 0 }
    }

    /// Bytes of its places.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Elements in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
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
        self.capacity - self.len
    }

    /// Appends `value`.
    ///
    /// # Panics
    /// When the queue is full: the caller asks first, as hardware does.
    #[inline]
    pub fn push(&mut self, value: T) {
        assert!(self.len < self.capacity, "a push into a full queue of {}", self.capacity);
        let mask = self.slots.len() - 1;
        self.slots[(self.head + self.len) & mask] = Some(value);
        self.len += 1;
    }

    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.slots[self.head].as_ref()
    }

    /// The oldest element, to be changed in place.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots[self.head].as_mut()
    }

    /// Removes and returns the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = self.slots[self.head].take()?;
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        Some(value)
    }

    /// The elements, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mask = self.slots.len() - 1;
        (0..self.len).filter_map(move |i| self.slots[(self.head + i) & mask].as_ref())
    }
}

impl<T: fmt::Debug> fmt::Debug for Ring<T> {
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
    #[should_panic(expected = "full queue of 1")]
    fn a_full_ring_refuses() {
        let mut ring = Ring::new(1);
        ring.push(1);
        ring.push(2);
    }
}
