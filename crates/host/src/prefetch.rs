//! Prefetches memory into the host's caches.
//!
//! Input: a reference. Output: none, and no visible effect: the processor may begin to fetch the referenced memory, or ignore the
//! hint. Execution does not wait for the fetch. In this crate because the instruction takes a raw pointer.

/// Bytes of a cache line of the host.
const LINE: usize = 64;

/// Prefetches every cache line of `place`.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    let first = std::ptr::from_ref(place).cast::<i8>();
    // A value of more than a word may begin within a line; then the line of its last byte is prefetched, too.
    let bytes = size_of_val(place);
    let mut offset = 0;
    while offset < bytes {
        line(first.wrapping_add(offset));
        offset += LINE;
    }
    if bytes > size_of::<u64>() && !bytes.is_multiple_of(LINE) {
        line(first.wrapping_add(bytes - 1));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction reads nothing that the program sees and faults on no address; SSE, which it belongs to, is
    // part of every x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn line(_at: *const i8) {}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_value_may_be_prefetched_and_is_unchanged() {
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
