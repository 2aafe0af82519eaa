//! Prefetching of memory into the host's caches.
//!
//! Input: a reference. Output: none, and no visible effect: the processor may begin to fetch the referenced memory, or ignore the hint.
//! Execution does not wait for the fetch. The code is in this crate because the instruction takes a raw pointer.

/// Size of a cache line of the host in bytes.
const HOST_LINE_BYTES: usize = 64;

/// Prefetches every cache line of `place`.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    let first = std::ptr::from_ref(place).cast::<i8>();
    // A value larger than a word may begin within a line, so the line of its last byte is also prefetched.
    let bytes = size_of_val(place);
    let mut offset = 0;
    while offset < bytes {
        line(first.wrapping_add(offset));
        offset += HOST_LINE_BYTES;
    }
    if bytes > size_of::<u64>() && !bytes.is_multiple_of(HOST_LINE_BYTES) {
        line(first.wrapping_add(bytes - 1));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction has no result that the program reads and faults on no address; its instruction set SSE is part of every
    // x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn line(_at: *const i8) {}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn prefetching_does_not_change_a_value() {
        prefetch(&());
        prefetch("");
        prefetch(&[0_u8; 0]);
        let place: Vec<u64> = (0..1000).collect();
        prefetch(&place);
        prefetch(&place[..]);
        prefetch(&place[17]);
        assert!((0..1000).eq(place));
    }
}
