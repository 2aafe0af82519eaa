//! Huge pages for the heap: a simulated machine needs a few dozen of them instead of thousands of small pages.
//!
//! There is no input, no output, and no effect on any result. With the GNU C library and transparent huge pages, the heap grows by one
//! large block, and the system is advised to use huge pages for it. On other systems, or if the system declines, nothing changes. The code
//! is in this crate because it calls foreign functions.

/// Requests huge pages for later allocations on the heap; called once, at the start of the program.
///
/// This reserves address space, not memory: the system supplies a huge page when its first byte is written.
pub fn prefer_huge_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    gnu::prefer_huge_pages();
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod gnu {
    use libc::{M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, MADV_HUGEPAGE, c_int, c_void, madvise, mallopt, sbrk};

    /// Bytes by which the heap grows: more than a machine of several hundred SMs needs.
    const HEAP_GROWTH_BYTES: c_int = 256 << 20;
    /// Size in bytes from which allocations are mapped outside of the heap; the library allows no larger threshold.
    const MMAP_THRESHOLD_BYTES: c_int = 32 << 20;
    /// Bytes of an allocation that exceeds the free heap, so that the heap grows.
    const GROWING_ALLOCATION_BYTES: usize = 1 << 20;
    const HUGE_PAGE_BYTES: usize = 2 << 20;

    pub(super) fn prefer_huge_pages() {
        // SAFETY: each call sets one number inside the allocator, under its lock; no memory is passed.
        let set = unsafe {
            mallopt(M_TOP_PAD, HEAP_GROWTH_BYTES) != 0
                && mallopt(M_TRIM_THRESHOLD, c_int::MAX) != 0
                && mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES) != 0
        };
        if !set {
            return;
        }
        let begin = end_of_heap();
        drop(std::hint::black_box(Vec::<u8>::with_capacity(GROWING_ALLOCATION_BYTES)));
        let (first, end) = (begin.next_multiple_of(HUGE_PAGE_BYTES), end_of_heap());
        if begin != 0 && first < end {
            // SAFETY: the range is the part by which the heap has just grown, and the advice changes no byte of it. A refusal has no
            // effect.
            unsafe { madvise(first as *mut c_void, end - first, MADV_HUGEPAGE) };
        }
    }

    /// Returns the end of the heap; 0 if it is unknown.
    fn end_of_heap() -> usize {
        // SAFETY: with 0 the call changes nothing and returns the present end.
        let end = unsafe { sbrk(0) } as usize;
        if end == usize::MAX { 0 } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::prefer_huge_pages;

    #[test]
    fn memory_keeps_its_contents() {
        let before: Vec<u64> = (0..100_000).collect();
        prefer_huge_pages();
        prefer_huge_pages();
        let after: Vec<u64> = (0..1_000_000).collect();
        assert!((0..1_000_000).eq(after) && (0..100_000).eq(before));
    }
}
