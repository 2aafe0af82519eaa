//! Numbers and byte strings of the native format: LEB128 for unsigned numbers, with zigzag encoding for signed ones.
//!
//! Readers check every bound and never allocate by an unchecked length; they return `None` if the data are malformed.

/// Appends an unsigned number in groups of seven bits, the lowest group first; a set top bit means that more bytes follow.
#[inline]
pub(super) fn write_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number `n` as `2 n`, or as `-2 n - 1` if it is negative.
#[inline]
pub(super) fn write_signed(out: &mut Vec<u8>, value: i64) {
    write_number(out, zigzag(value));
}

/// Appends a length and the bytes.
pub(super) fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    write_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns the unsigned zigzag code of a signed number.
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Returns the signed number of an unsigned zigzag code.
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A sequential reader of a block's bytes.
#[derive(Clone, Debug)]
pub(super) struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Returns the number of remaining bytes.
    pub(super) fn remaining(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a little-endian 32-bit word.
    #[inline]
    pub(super) fn word(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*taken))
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            // The tenth byte contains only the top bit of the number.
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// Reads a number of elements, each of which takes at least one further byte of this block.
    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|&count| count <= self.remaining())
    }

    pub(super) fn number_u32(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// Reads a length and returns as many bytes.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take_bytes(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_round_trip(value: u64, signed: i64, text: Vec<u8>) {
            let mut out = Vec::new();
            write_number(&mut out, value);
            write_signed(&mut out, signed);
            write_text(&mut out, &text);
            let mut bytes = ByteReader::new(&out);
            prop_assert_eq!(bytes.number(), Some(value));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert_eq!(bytes.text(), Some(text.as_slice()));
            prop_assert_eq!(bytes.remaining(), 0);
        }

        #[test]
        fn arbitrary_bytes_are_read_safely(data: Vec<u8>) {
            let mut bytes = ByteReader::new(&data);
            while bytes.text().is_some() || bytes.number().is_some() || bytes.byte().is_some() {}
            prop_assert!(bytes.remaining() == 0);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(ByteReader::new(&[0xff; 11]).number(), None);
        assert_eq!(ByteReader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).number(), Some(u64::MAX));
        assert_eq!(ByteReader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(), None);
    }
}
