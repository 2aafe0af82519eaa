//! Asking the host's caches for memory some time before it is used.
//!
//! Input: a reference. Output: nothing, and no effect that any program could see: the processor may begin to fetch what is
//! referred to, or ignore it. Nothing waits for what is fetched. Here because the instruction takes a pointer.

/// Bytes that the host's caches move at once.
const LINE: usize = 64;

/// Asks for every cache line of `place`.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    let first = std::ptr::from_ref(place).cast::<i8>();
    // A place of more than a word need not begin at the beginning of a line; the line that it ends in is asked for besides.
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
    fn any_place_may_be_asked_for_and_stays_as_it_is() {
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
