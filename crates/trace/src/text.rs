//! Scanning of trace text: tokens separated by blanks, numbers and line ends. The functions neither allocate nor check UTF-8.

/// Value of each hexadecimal digit by character; 255 for other characters.
const HEX_VALUES: [u8; 256] = {
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

/// Returns true if `at` is the end of a token: a blank, a control character or the end of the text.
#[inline]
pub(super) fn is_end(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| b <= b' ')
}

/// Returns the offset of the next byte that is not a blank; a line end is not a blank.
#[inline]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the offset after the token at `at`.
#[inline]
pub(super) fn skip_token(text: &[u8], mut at: usize) -> usize {
    while !is_end(text, at) {
        at += 1;
    }
    at
}

/// Returns the token at `at`; it is empty at the end of a line.
#[inline]
pub(super) fn token(text: &[u8], at: usize) -> &[u8] {
    &text[at..skip_token(text, at)]
}

/// Returns the offset of the next line, or the end of the text.
#[inline]
pub(super) fn next_line(text: &[u8], at: usize) -> usize {
    // The tracer ends most lines with one blank.
    if text.get(at) == Some(&b' ') && text.get(at + 1) == Some(&b'\n') {
        return at + 2;
    }
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n + 1)
}

/// Parses a hexadecimal number of at most 16 digits, with or without 0x, that ends at a blank. Returns its value and the offset after it.
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
        let digit = HEX_VALUES[usize::from(byte)];
        if digit > 15 {
            break;
        }
        value = value << 4 | u64::from(digit);
        at += 1;
    }
    (at > start && at - start <= 16 && is_end(text, at)).then_some((value, at))
}

/// Parses eight hexadecimal digits, with the first digit in the lowest byte; returns `None` if a byte is not a digit.
#[inline]
fn eight_digits(bytes: u64) -> Option<u64> {
    const EACH_BYTE: u64 = 0x0101_0101_0101_0101;
    // Converts to lower case; digits already have this bit.
    let small = bytes | (0x20 * EACH_BYTE);
    let letters = small >> 6 & EACH_BYTE;
    // A byte that is not a letter must have this bit itself.
    let digits = bytes >> 5 & EACH_BYTE | letters;
    // A byte below `0` borrows and leaves a non-zero high half, independent of the bytes above it.
    let values = small.wrapping_sub(0x30 * EACH_BYTE).wrapping_sub(0x27 * letters);
    // Letters have values of 10 and more, digits have smaller values.
    let tens = values.wrapping_add(6 * EACH_BYTE) >> 4 & EACH_BYTE;
    if (bytes & (0x80 * EACH_BYTE)) | (values & (0xf0 * EACH_BYTE)) | (tens ^ letters) | (digits ^ EACH_BYTE) != 0 {
        return None;
    }
    let pairs = (values & 0x000f_000f_000f_000f) << 4 | values >> 8 & 0x000f_000f_000f_000f;
    let fours = (pairs & 0x0000_00ff_0000_00ff) << 8 | pairs >> 16 & 0x0000_00ff_0000_00ff;
    Some((fours & 0xffff) << 16 | fours >> 32)
}

/// Parses a decimal number, optionally negative, that ends at a blank. Returns its value and the offset after it.
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

/// Quotes a token or line for a message: lossy UTF-8, in backquotes, shortened.
pub(super) fn quote(bytes: &[u8]) -> String {
    const MAX_QUOTED_BYTES: usize = 60;
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_QUOTED_BYTES)]);
    let dots = if bytes.len() > MAX_QUOTED_BYTES { "..." } else { "" };
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
    fn eight_digits_in_parallel_match_single_digits() {
        let mut text = *b"0aF39b7C";
        for place in 0..8 {
            for byte in 0..=255 {
                text[place] = byte;
                let one_by_one = text.iter().try_fold(0, |value, &byte| {
                    let digit = HEX_VALUES[usize::from(byte)];
                    (digit < 16).then_some(value << 4 | u64::from(digit))
                });
                assert_eq!(eight_digits(u64::from_le_bytes(text)), one_by_one, "{text:?}");
            }
            text[place] = b"0aF39b7C"[place];
        }
    }
}
