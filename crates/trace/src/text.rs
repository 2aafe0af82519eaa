//! Scanning bytes of a trace: tokens separated by blanks, numbers, line ends. No allocation, no UTF-8 checks.

/// Value of a hexadecimal digit, or 255.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut i = 0;
    while i < 10 {
        table[b'0' as usize + i] = i as u8;
        i += 1;
    }
    i = 0;
    while i < 6 {
        table[b'a' as usize + i] = 10 + i as u8;
        table[b'A' as usize + i] = 10 + i as u8;
        i += 1;
    }
    table
};

/// Whether `at` is after a token: a blank, a control character or the end of the text.
#[inline]
pub(super) fn is_end(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| b <= b' ')
}

/// The place of the next byte that is no blank; stays on a line end.
#[inline]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// The place after the token at `at`.
#[inline]
pub(super) fn skip_token(text: &[u8], mut at: usize) -> usize {
    while !is_end(text, at) {
        at += 1;
    }
    at
}

/// The token at `at`; empty at a line's end.
#[inline]
pub(super) fn token(text: &[u8], at: usize) -> &[u8] {
    &text[at..skip_token(text, at)]
}

/// The place after the line end that follows `at`, or the end of the text.
#[inline]
pub(super) fn next_line(text: &[u8], at: usize) -> usize {
    // The tracer ends most lines with one blank.
    if text.get(at) == Some(&b' ') && text.get(at + 1) == Some(&b'\n') {
        return at + 2;
    }
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n + 1)
}

/// A hexadecimal number of at most 16 digits, with or without 0x, that ends at a blank: its value and the place after it.
#[inline]
pub(super) fn hex(text: &[u8], mut at: usize) -> Option<(u64, usize)> {
    if text.get(at) == Some(&b'0') && matches!(text.get(at + 1), Some(b'x' | b'X')) {
        at += 2;
    }
    let mut value = 0u64;
    let start = at;
    // Addresses have twelve or sixteen digits.
    while at - start < 16
        && let Some(digits) = text.get(at..).and_then(|rest| rest.first_chunk())
        && let Some(eight) = eight_digits(u64::from_le_bytes(*digits))
    {
        value = value << 32 | eight;
        at += 8;
    }
    while let Some(&byte) = text.get(at) {
        let digit = HEX[usize::from(byte)];
        if digit > 15 {
            break;
        }
        value = value << 4 | u64::from(digit);
        at += 1;
    }
    (at > start && at - start <= 16 && is_end(text, at)).then_some((value, at))
}

/// The number that eight hexadecimal digits write, the first in the lowest byte; `None` when one of the bytes is no digit.
#[inline]
fn eight_digits(bytes: u64) -> Option<u64> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Small letters; a digit has this bit already.
    let small = bytes | (0x20 * EACH);
    let letters = small >> 6 & EACH;
    // What is no letter has that bit by itself.
    let digits = bytes >> 5 & EACH | letters;
    // A byte below `0` borrows and shows a high half that is not 0, whatever becomes of the bytes above it.
    let values = small.wrapping_sub(0x30 * EACH).wrapping_sub(0x27 * letters);
    // Letters are worth 10 and more, digits less.
    let tens = values.wrapping_add(6 * EACH) >> 4 & EACH;
    if (bytes & (0x80 * EACH)) | (values & (0xf0 * EACH)) | (tens ^ letters) | (digits ^ EACH) != 0 {
        return None;
    }
    let pairs = (values & 0x000f_000f_000f_000f) << 4 | values >> 8 & 0x000f_000f_000f_000f;
    let fours = (pairs & 0x0000_00ff_0000_00ff) << 8 | pairs >> 16 & 0x0000_00ff_0000_00ff;
    Some((fours & 0xffff) << 16 | fours >> 32)
}

/// A decimal number, perhaps negative, that ends at a blank: its value and the place after it.
#[inline]
pub(super) fn decimal(text: &[u8], mut at: usize) -> Option<(i64, usize)> {
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(negative);
    let mut value = 0i64;
    let start = at;
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    (at > start && at - start <= 19 && is_end(text, at)).then_some((if negative { value.wrapping_neg() } else { value }, at))
}

/// A token or line for a message: lossy, in backquotes, shortened.
pub(super) fn quote(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let dots = if bytes.len() > LONGEST { "..." } else { "" };
    format!("`{}{dots}`", shown.trim_end().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_at_blanks_only() {
        assert_eq!(hex(b"0x7fE0 ", 0), Some((0x7fe0, 6)));
        assert_eq!(hex(b"0010\n", 0), Some((0x10, 4)));
        assert_eq!(hex(b"0x7fzz ", 0), None);
        assert_eq!(hex(b"00000000000000000", 0), None);
        assert_eq!(hex(b"0x00007f0123456789 ", 0), Some((0x7f01_2345_6789, 18)));
        assert_eq!(hex(b"7FD123400080\n", 0), Some((0x7fd1_2340_0080, 12)));
        assert_eq!(hex(b"0x12345678", 0), Some((0x1234_5678, 10)));
        assert_eq!(decimal(b"-12", 0), Some((-12, 3)));
        assert_eq!(decimal(b"12a", 0), None);
        assert_eq!(decimal(b"-", 0), None);
    }

    #[test]
    fn eight_digits_at_once_are_those_that_one_at_a_time_are() {
        let mut text = *b"0aF39b7C";
        for place in 0..8 {
            for byte in 0..=255 {
                text[place] = byte;
                let one_by_one = text.iter().try_fold(0, |value, &byte| {
                    let digit = HEX[usize::from(byte)];
                    (digit < 16).then_some(value << 4 | u64::from(digit))
                });
                assert_eq!(eight_digits(u64::from_le_bytes(text)), one_by_one, "{text:?}");
            }
            text[place] = b"0aF39b7C"[place];
        }
    }
}
