//! Numbers and byte strings of the native format: LEB128 for unsigned numbers, zigzag before it for signed ones.
//!
//! Reading checks every bound and never allocates by what a file claims; `None` says that the data are malformed.

/// Appends an unsigned number, seven bits a byte, the lowest first; the top bit says that more follow.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number as `2 n`, or `-2 n - 1` below zero.
#[inline]
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, zigzag(value));
}

/// Appends a length and that many bytes.
pub(super) fn put_text(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The unsigned number that encodes a signed one.
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The signed number that an unsigned one encodes.
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads a block's bytes from front to back.
#[derive(Clone, Debug)]
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Four bytes, the lowest first.
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
            // The tenth byte has one bit of the number left.
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

    /// A number of things that each take at least one further byte of this block.
    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|&count| count <= self.left())
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// A length and that many bytes.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(value: u64, signed: i64, text: Vec<u8>) {
            let mut out = Vec::new();
            put(&mut out, value);
            put_signed(&mut out, signed);
            put_text(&mut out, &text);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(bytes.number(), Some(value));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert_eq!(bytes.text(), Some(text.as_slice()));
            prop_assert_eq!(bytes.left(), 0);
        }

        #[test]
        fn any_bytes_can_be_read_without_harm(data: Vec<u8>) {
            let mut bytes = Bytes::new(&data);
            while bytes.text().is_some() || bytes.number().is_some() || bytes.byte().is_some() {}
            prop_assert!(bytes.left() == 0);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(Bytes::new(&[0xff; 11]).number(), None);
        assert_eq!(Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).number(), Some(u64::MAX));
        assert_eq!(Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(), None);
    }
}
