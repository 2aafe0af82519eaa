//! Asking the system for a heap of huge pages, of which a simulated machine needs a few dozen instead of thousands.
//!
//! Input: nothing. Output: nothing, and no effect on any result. Where the C library is GNU's and the system has transparent
//! huge pages, the heap grows by one large piece whose pages, untouched so far, the system is advised to make huge; anywhere else,
//! or where the system declines, nothing changes. Here because the calls are foreign.

/// Asks for it, once, before much memory was taken: best as the first thing that a program does.
///
/// Address space is reserved, memory is not: a huge page is given when its first byte is written.
pub fn prefer_huge_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    gnu::prefer_huge_pages();
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod gnu {
    use libc::{M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, MADV_HUGEPAGE, c_int, c_void, madvise, mallopt, sbrk};

    /// How much the heap grows at a time: more than a machine of several hundred SMs takes.
    const PIECE: c_int = 256 << 20;
    /// From which size on an allocation is mapped apart from the heap; the library allows no more.
    const APART: c_int = 32 << 20;
    /// More than the heap has left without the advice.
    const GROWS: usize = 1 << 20;
    const HUGE: usize = 2 << 20;

    pub(super) fn prefer_huge_pages() {
        // SAFETY: each sets one number inside the allocator, under its lock; no memory is passed.
        let set = unsafe {
            mallopt(M_TOP_PAD, PIECE) != 0 && mallopt(M_TRIM_THRESHOLD, c_int::MAX) != 0 && mallopt(M_MMAP_THRESHOLD, APART) != 0
        };
        if !set {
            return;
        }
        let begin = end_of_heap();
        drop(std::hint::black_box(Vec::<u8>::with_capacity(GROWS)));
        let (first, end) = (begin.next_multiple_of(HUGE), end_of_heap());
        if begin != 0 && first < end {
            // SAFETY: the range lies in what the heap has just grown by, and the advice changes no byte of it. A refusal leaves
            // everything as it was.
            unsafe { madvise(first as *mut c_void, end - first, MADV_HUGEPAGE) };
        }
    }

    /// Where the heap ends; 0 where that cannot be said.
    fn end_of_heap() -> usize {
        // SAFETY: with 0 the call changes nothing and only answers.
        let end = unsafe { sbrk(0) } as usize;
        if end == usize::MAX { 0 } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::prefer_huge_pages;

    #[test]
    fn memory_is_as_good_afterwards() {
        let before: Vec<u64> = (0..100_000).collect();
        prefer_huge_pages();
        prefer_huge_pages();
        let after: Vec<u64> = (0..1_000_000).collect();
        assert!((0..1_000_000).eq(after) && (0..100_000).eq(before));
    }
}
