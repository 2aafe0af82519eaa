//! A variable-length encoding of numbers; small numbers take few bytes.

/// Maximum number of bytes of an encoded number.
pub(super) const MAX_NUMBER_BYTES: usize = 10;

/// Appends a number in groups of seven bits per byte.
pub(super) fn append_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Decodes a number; `None` at the end of the data.
pub(super) fn decode_number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for place in 0..MAX_NUMBER_BYTES {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Encodes numbers. After a zero comes the number of further zeros. Zeros at the end are omitted.
pub(super) fn pack(numbers: impl IntoIterator<Item = u64>) -> Box<[u8]> {
    let (mut bytes, mut zeros) = (Vec::new(), 0_u64);
    for number in numbers {
        if number == 0 {
            zeros += 1;
            continue;
        }
        if zeros > 0 {
            bytes.push(0);
            append_number(&mut bytes, zeros - 1);
            zeros = 0;
        }
        append_number(&mut bytes, number);
    }
    bytes.into()
}

/// Decodes the bytes of [`pack`], without the zeros at the end; yields `None` for invalid bytes.
pub(super) fn unpack(bytes: &[u8]) -> impl Iterator<Item = Option<u64>> {
    let (mut at, mut zeros) = (0, 0);
    std::iter::from_fn(move || {
        if zeros > 0 {
            zeros -= 1;
            return Some(Some(0));
        }
        if at == bytes.len() {
            return None;
        }
        match decode_number(bytes, &mut at) {
            Some(0) => Some(decode_number(bytes, &mut at).map(|more| {
                zeros = more;
                0
            })),
            number => Some(number),
        }
    })
}
