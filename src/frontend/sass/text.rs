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

/// Whether `at` is behind a token: a blank, a control character or the end of the text.
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

/// The place behind the token at `at`.
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

/// The place behind the line end that follows `at`, or the end of the text.
#[inline]
pub(super) fn next_line(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n + 1)
}

/// A hexadecimal number of at most 16 digits, with or without 0x, that ends at a blank: its value and the place behind.
#[inline]
pub(super) fn hex(text: &[u8], mut at: usize) -> Option<(u64, usize)> {
    if text.get(at) == Some(&b'0') && matches!(text.get(at + 1), Some(b'x' | b'X')) {
        at += 2;
    }
    let mut value = 0u64;
    let start = at;
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

/// A decimal number, perhaps negative, that ends at a blank: its value and the place behind.
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
    (at > start && at - start <= 18 && is_end(text, at)).then_some((if negative { -value } else { value }, at))
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
        assert_eq!(decimal(b"-12", 0), Some((-12, 3)));
        assert_eq!(decimal(b"12a", 0), None);
        assert_eq!(decimal(b"-", 0), None);
    }
}
