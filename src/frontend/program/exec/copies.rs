//! Copies from device to shared memory that go on while a warp executes (LDGSTS).
//!
//! What is copied is read when the copy begins, and appears in shared memory when the warp waits for the copy's group (DEPBAR): a program
//! that does not wait sees what was there before.

/// A copy of one lane that is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// The first thread of its warp.
    pub(super) warp: usize,
    /// Its group, by number in the warp.
    group: u32,
    /// Where it goes in shared memory.
    pub(super) to: usize,
    pub(super) bytes: [u8; 16],
    pub(super) size: usize,
}

/// The copies of a CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Copy>,
    /// For each warp the number of the group that is open.
    groups: Vec<u32>,
}

impl Copies {
    /// Forgets all copies, for the next CTA.
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

    /// Begins a copy.
    pub(super) fn begin(&mut self, warp: usize, to: usize, bytes: [u8; 16], size: usize) {
        let group = *self.group(warp);
        self.pending.push(Copy { warp, group, to, bytes, size });
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
            if done && let Some(place) = shared.get_mut(copy.to..copy.to + copy.size) {
                place.copy_from_slice(&copy.bytes[..copy.size]);
            }
            !done
        });
    }
}
