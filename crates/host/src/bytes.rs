//! Search for a byte value in a few words.
//!
//! Input: words, as bytes from the lowest of the first word to the highest of the last, and the byte value. Output: a bit for each byte
//! that equals it. The code is in this crate because the intrinsics that compare 16 bytes at a time are unsafe, and the compiler does not
//! vectorise the plain loop.

/// Returns a mask in which bit `8 * w + b` is set if byte `b` of word `w`, counted from the lowest, equals `byte`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn positions(words: &[u64; 3], byte: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let [a, b, c] = *words;
    // SAFETY: the intrinsics access no memory, and their instruction set SSE2 is part of every x86-64.
    let (low, high) = unsafe {
        let wanted = _mm_set1_epi8(byte.cast_signed());
        let low = _mm_cmpeq_epi8(_mm_set_epi64x(b.cast_signed(), a.cast_signed()), wanted);
        let high = _mm_cmpeq_epi8(_mm_cvtsi64_si128(c.cast_signed()), wanted);
        (_mm_movemask_epi8(low), _mm_movemask_epi8(high))
    };
    // The upper half of the last comparison holds no word.
    low.cast_unsigned() | (high.cast_unsigned() & 0xff) << 16
}

/// Returns the mask of equal bytes on processors without SSE2.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn positions(words: &[u64; 3], byte: u8) -> u32 {
    positions_by_byte(words, byte)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn positions_by_byte(words: &[u64; 3], byte: u8) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    (0..).zip(bytes).fold(0, |all, (place, other)| all | u32::from(other == byte) << place)
}

#[cfg(test)]
mod tests {
    use super::{positions, positions_by_byte};

    #[test]
    fn every_byte_has_its_bit() {
        assert_eq!(positions(&[0x0500_0000_0000_0005, 0x0505, 0x0005_0000_0000_0000], 5), 1 << 22 | 0b11 << 8 | 0b1000_0001);
        assert_eq!((positions(&[0; 3], 0), positions(&[0; 3], 1)), (0xff_ffff, 0));
        let mut words = [0x0123_4567_89ab_cdef_u64; 3];
        for step in 0..1000 {
            words = words.map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) & !0x0808_0808_0808_0808);
            let byte = (step % 256) as u8 & !8;
            assert_eq!(positions(&words, byte), positions_by_byte(&words, byte), "{byte:#x} in {words:x?}");
        }
    }
}
