//! Layout of local memory: the private words of a thread, interleaved over the threads of the chip.
//!
//! Word w of all threads that can be resident on the chip is one contiguous region; CTAs of neighbouring SMs are neighbours in it (the
//! reference's `gpgpu_local_mem_map`).

/// Start of the regions: the first local address of the reference's device (80 SMs of 2048 threads and 16 KB each, below its shared windows
/// and the heap at 0xc0000000).
const LOCAL_START: u64 = 0x1f88_0000;
/// Bytes of the window of generic addresses for local memory, per thread.
pub(super) const WINDOW_BYTES: u64 = 1 << 14;

/// Position of the threads of a CTA in the local memory of the chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadPosition {
    /// Number of the SM.
    pub(super) sm: u64,
    /// Number of SMs of the chip.
    pub(super) sms: u64,
    /// Threads of a CTA, padded to whole warps.
    pub(super) threads: u64,
    /// CTAs of the kernel that fit on an SM.
    pub(super) ctas_per_sm: u64,
}

impl ThreadPosition {
    /// Returns the device address of a byte of local memory of hardware thread `thread` of the SM.
    #[inline]
    pub(super) fn address(&self, local: u64, thread: u64) -> u64 {
        let first = self.threads * (self.sm + self.sms * (thread / self.threads)) + thread % self.threads;
        let all = self.threads * self.ctas_per_sm * self.sms;
        (local / 4).wrapping_mul(all * 4).wrapping_add(4 * first + local % 4 + LOCAL_START)
    }

    /// Writes the device addresses of an access, word by word, into `out`; returns the width of each piece.
    pub(super) fn expand(&self, lanes: impl Iterator<Item = (u64, u64)>, width: u32, out: &mut [u64; 128]) -> (usize, u32) {
        let words = (width / 4).max(1);
        let mut count = 0;
        for (local, thread) in lanes {
            for word in 0..u64::from(words) {
                out[count] = self.address(local + 4 * word, thread);
                count += 1;
            }
        }
        (count, width.min(4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_word_of_neighbouring_threads_is_contiguous() {
        let layout = ThreadPosition { sm: 3, sms: 80, threads: 64, ctas_per_sm: 4 };
        let base = layout.address(8, 0);
        assert!((0..64).all(|thread| layout.address(8, thread) == base + 4 * thread));
        assert_eq!(layout.address(8, 64), base + 4 * 64 * 80);
        assert_eq!(layout.address(12, 0), base + 4 * 64 * 4 * 80);
    }

    #[test]
    fn wide_accesses_are_split_into_words() {
        let layout = ThreadPosition { sm: 0, sms: 1, threads: 32, ctas_per_sm: 1 };
        let mut out = [0; 128];
        assert_eq!(layout.expand([(0, 0), (0, 1)].into_iter(), 16, &mut out), (8, 4));
        assert_eq!(out[1] - out[0], 128);
        assert_eq!(out[4] - out[0], 4);
    }
}
