//! Address layouts: the bits of an address within a partition, as text: `RRRR.RBBBCCCB.CCCSSSSS`, highest bit first.
//!
//! R is a bit of the row, B of the bank, C of the column, S of the byte within a burst. Dots are ignored; leading zeros mark bits that do
//! not exist. The notation is that of `-gpgpu_mem_addr_mapping` in Accel-Sim.

use super::quantity::QuantityError;

/// An address layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressLayout {
    /// Mask of the row bits.
    pub row: u64,
    /// Mask of the bank bits.
    pub bank: u64,
    /// Mask of the column bits.
    pub column: u64,
    /// Number of the lowest bits, which count the bytes of a burst.
    pub burst_bits: u32,
}

const EXPECTED: &str =
    "the address bits, highest first, as R (row), B (bank), C (column) and S (byte of a burst), such as \"RRRR.RBBBCCCB.CCCSSSSS\"";

impl AddressLayout {
    /// Parses a layout. Every bit from 0 to the highest must be named, and the S bits must be the lowest.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let fail = |hint: String| QuantityError { expected: EXPECTED, hint: Some(hint) };
        let mut layout = Self::default();
        let bits: Vec<char> = text.chars().rev().filter(|c| *c != '.').collect();
        if bits.len() > 64 {
            return Err(fail(format!("an address has 64 bits, this layout names {}", bits.len())));
        }
        let mut ended = false;
        for (bit, letter) in bits.into_iter().enumerate() {
            if ended && letter != '0' {
                return Err(fail(format!("bit {bit} is {letter}, but a bit below it is 0; zeros may only lead")));
            }
            match letter {
                'R' => layout.row |= 1 << bit,
                'B' => layout.bank |= 1 << bit,
                'C' => layout.column |= 1 << bit,
                'S' if layout.burst_bits as usize == bit => layout.burst_bits += 1,
                'S' => return Err(fail(format!("bit {bit} is S, but S bits must be the lowest"))),
                '0' => ended = true,
                other => return Err(fail(format!("bit {bit} is `{other}`"))),
            }
        }
        if layout.row == 0 || layout.bank == 0 || layout.column == 0 {
            return Err(fail("rows, banks and columns need at least one bit each".to_owned()));
        }
        Ok(layout)
    }

    /// Returns the layout as text, in groups of eight bits.
    pub fn text(&self) -> String {
        let top = 64 - (self.row | self.bank | self.column).leading_zeros();
        let mut text = String::new();
        for bit in (0..top).rev() {
            let letter = match 1u64 << bit {
                b if self.row & b != 0 => 'R',
                b if self.bank & b != 0 => 'B',
                b if self.column & b != 0 => 'C',
                _ => 'S',
            };
            text.push(letter);
            if bit % 8 == 0 && bit != 0 {
                text.push('.');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_becomes_masks_and_text_again() {
        let layout = AddressLayout::parse("0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS").unwrap();
        assert_eq!(layout, AddressLayout { row: 0x0fff_8000, bank: 0x7100, column: 0x0ee0, burst_bits: 5 });
        assert_eq!(layout.text(), "RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS");
        assert_eq!(AddressLayout::parse(&layout.text()), Ok(layout));
    }

    #[test]
    fn gaps_and_foreign_letters_are_named_by_bit() {
        let hint = |text: &str| AddressLayout::parse(text).unwrap_err().hint.unwrap();
        assert_eq!(hint("RRBB0CSS"), "bit 4 is B, but a bit below it is 0; zeros may only lead");
        assert_eq!(hint("RRXBBCSS"), "bit 5 is `X`");
        assert_eq!(hint("RRBSCCSS"), "bit 4 is S, but S bits must be the lowest");
        assert_eq!(hint("RRRRCCSS"), "rows, banks and columns need at least one bit each");
    }
}
