//! Asynchronous copies from device to shared memory (LDGSTS).
//!
//! The source is read when the copy starts, and the data appear in shared memory when the warp waits for the copy's group (DEPBAR): a
//! program that does not wait reads the old contents.

/// Maximum lane copies in flight; further copies complete the oldest ones.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// A copy of one lane that is in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneCopy {
    /// First thread of the copying warp.
    pub(super) warp: usize,
    /// Number of the copy's group in the warp.
    pub(super) group: u32,
    /// Destination address in shared memory.
    pub(super) to: usize,
    pub(super) bytes: [u8; 16],
    pub(super) size: usize,
}

impl LaneCopy {
    fn complete(&self, shared: &mut [u8]) {
        if let Some(place) = shared.get_mut(self.to..self.to + self.size) {
            place.copy_from_slice(&self.bytes[..self.size]);
        }
    }
}

/// The copies of a CTA in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    pending: Vec<LaneCopy>,
    /// Number of the open group of each warp.
    groups: Vec<u32>,
}

impl Copies {
    /// Discards all copies before the next CTA.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.groups.clear();
    }

    fn group(&mut self, warp: usize) -> &mut u32 {
        let number = warp / 32;
        if self.groups.len() <= number {
            self.groups.resize(number + 1, 0);
        }
        &mut self.groups[number]
    }

    /// Starts a copy in the open group of its warp.
    pub(super) fn begin(&mut self, copy: LaneCopy, shared: &mut [u8]) {
        let group = *self.group(copy.warp);
        if self.pending.len() == MAX_IN_FLIGHT {
            self.pending.drain(..MAX_IN_FLIGHT / 2).for_each(|copy| copy.complete(shared));
        }
        self.pending.push(LaneCopy { group, ..copy });
    }

    /// Closes the group of a warp and opens the next one.
    pub(super) fn close(&mut self, warp: usize) {
        *self.group(warp) += 1;
    }

    /// Completes the copies of a warp in all closed groups but the last `left`.
    pub(super) fn wait(&mut self, warp: usize, left: u32, shared: &mut [u8]) {
        let open = *self.group(warp);
        self.pending.retain(|copy| {
            let done = copy.warp == warp && copy.group < open.saturating_sub(left);
            if done {
                copy.complete(shared);
            }
            !done
        });
    }
}
