//! Sets of lanes and sets of warps as machine words.

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// A set of lanes of a warp, bit i for lane i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct LaneMask(pub u32);

impl LaneMask {
    /// All 32 lanes.
    pub const FULL: Self = Self(u32::MAX);

    /// Returns the number of active lanes.
    #[inline]
    pub fn count(self) -> u32 {
        // Usually all lanes are active; counting bits takes a dozen instructions on a target without an instruction for it.
        if self.0 == u32::MAX { u32::BITS } else { self.count_some() }
    }

    // This function is not inlined, because the compiler would merge the two branches and always count.
    #[inline(never)]
    fn count_some(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the active lanes, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros();
            if lane == 32 {
                return None;
            }
            left &= left - 1;
            Some(lane)
        })
    }
}

/// A set of warp slots of an SM, bit i for slot i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WarpMask(pub u64);

impl WarpMask {
    /// Returns true if `slot` is in the set.
    #[inline]
    pub fn has(self, slot: usize) -> bool {
        self.0 >> slot & 1 != 0
    }

    /// Adds `slot`.
    #[inline]
    pub fn insert(&mut self, slot: usize) {
        self.0 |= 1 << slot;
    }

    /// Removes `slot`.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        self.0 &= !(1 << slot);
    }

    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the first slot of the set at or after `from`, wrapping at 64.
    #[inline]
    pub fn first_from(self, from: u32) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let rotated = self.0.rotate_right(from);
        Some(((rotated.trailing_zeros() + from) & 63) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_from_wraps() {
        let mask = WarpMask(0b1001);
        assert_eq!(mask.first_from(1), Some(3));
        assert_eq!(mask.first_from(4), Some(0));
        assert_eq!(WarpMask(0).first_from(9), None);
    }

    #[test]
    fn lanes_come_in_order() {
        assert_eq!(LaneMask(0x8000_0005).iter().collect::<Vec<_>>(), [0, 2, 31]);
    }
}
