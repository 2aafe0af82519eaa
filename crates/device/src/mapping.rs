//! Address mappings as bit fields: the address bits that select channel, bank, row and column.
//!
//! A mapping is written from the highest field to the lowest, two letters per field, in upper or lower case: `RoBaRaCoCh`, `rochrababgco`.
//! A number after a field is the number of its bits at this position; another occurrence of the field holds the remaining bits. In
//! `RoBaCoBgCo1` the lowest bit of the column lies below the bank groups.

use warpshard_base::Addr;

use super::standard::Organisation;

/// A field of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum MappingField {
    Channel,
    PseudoChannel,
    Rank,
    Group,
    Bank,
    Row,
    Column,
}

const FIELD_NAMES: [(&str, MappingField); 7] = [
    ("ch", MappingField::Channel),
    ("pc", MappingField::PseudoChannel),
    ("ra", MappingField::Rank),
    ("bg", MappingField::Group),
    ("ba", MappingField::Bank),
    ("ro", MappingField::Row),
    ("co", MappingField::Column),
];

/// A reason why an order of fields is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Two letters that do not name a field.
    #[error("`{0}` is not an address field; expected ch, pc, ra, bg, ba, ro or co")]
    Unknown(String),
    /// A field that occurs twice.
    #[error("the address field `{0}` occurs twice")]
    Repeated(String),
    /// A mandatory field that is missing.
    #[error("the address field `{0}` is missing")]
    Missing(&'static str),
    /// The widths of the parts of a field do not add up to the width of the field.
    #[error("the address field `{field}` has {width} bits, but its parts have {parts}")]
    Parts {
        /// The field.
        field: &'static str,
        /// The bits that the field needs.
        width: u32,
        /// The sum of the bits of its parts.
        parts: u32,
    },
    /// The number of channels is not a power of two.
    #[error("{0} channels are not a power of two, so address bits cannot select one")]
    Channels(u32),
}

/// The location of an address in the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramLocation {
    /// The channel.
    pub channel: u32,
    /// The bank within the channel, numbered by [`Organisation::bank`].
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// The column: the index of the burst within the row.
    pub column: u32,
}

/// An address mapping for one organisation: an order of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    organisation: Organisation,
    field_parts: Vec<FieldPart>,
    /// Address bits that the fields cover, and bits of the row field.
    bits: u32,
    row_bits: u32,
    /// True if the row number permutes the banks.
    permuted: bool,
}

/// A run of adjacent address bits that belong to one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldPart {
    field: MappingField,
    /// The lowest bit in the address, the lowest bit in the field, and the number of bits.
    shift: u32,
    shift_in_field: u32,
    width: u32,
}

impl Mapping {
    /// Parses an order of fields. Bank groups that the text does not name are placed just below the banks. Pseudo channels that the text
    /// does not name are placed at the position of the ranks if the text names ranks, else just below the bank groups. So `RoBaRaCoCh` has
    /// the same meaning as in Ramulator.
    ///
    /// # Errors
    /// Unknown, repeated or missing fields, and parts that do not add up to their field.
    pub fn parse(text: &str, organisation: &Organisation, channels: u32) -> Result<Self, MappingError> {
        if !channels.is_power_of_two() {
            return Err(MappingError::Channels(channels));
        }
        let o = organisation;
        // Each field, with the number of its bits if the text gives one.
        let mut order: Vec<(MappingField, Option<u32>)> = Vec::new();
        let lower = text.to_ascii_lowercase();
        let mut rest = lower.chars().peekable();
        while rest.peek().is_some() {
            let name: String = rest.by_ref().take(2).collect();
            let (_, field) =
                FIELD_NAMES.into_iter().find(|(known, _)| *known == name).ok_or_else(|| MappingError::Unknown(name.clone()))?;
            let mut part = None;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                part = Some(part.unwrap_or(0).min(99) * 10 + digit);
                rest.next();
            }
            if part.is_none() && order.contains(&(field, None)) {
                return Err(MappingError::Repeated(name));
            }
            order.push((field, part));
        }
        let at = |order: &[(MappingField, Option<u32>)], field| order.iter().position(|(f, _)| *f == field);
        for (name, field) in
            [("ro", MappingField::Row), ("ba", MappingField::Bank), ("co", MappingField::Column), ("ch", MappingField::Channel)]
        {
            if at(&order, field).is_none() && !(field == MappingField::Channel && channels == 1) {
                return Err(MappingError::Missing(name));
            }
        }
        if let (None, Some(bank)) = (at(&order, MappingField::Group), at(&order, MappingField::Bank)) {
            order.insert(bank + 1, (MappingField::Group, None));
        }
        if let (None, Some(above)) =
            (at(&order, MappingField::PseudoChannel), at(&order, MappingField::Rank).or_else(|| at(&order, MappingField::Group)))
        {
            order.insert(above + 1, (MappingField::PseudoChannel, None));
        }
        let width_of = |field: MappingField| {
            let count = match field {
                MappingField::Channel => channels,
                MappingField::PseudoChannel => o.pseudo_channels,
                MappingField::Rank => 1,
                MappingField::Group => o.bank_groups,
                MappingField::Bank => o.banks,
                MappingField::Row => o.rows,
                MappingField::Column => o.columns,
            };
            count.trailing_zeros()
        };
        for (name, field) in FIELD_NAMES {
            let parts: u32 = order.iter().filter(|(f, _)| *f == field).filter_map(|(_, part)| *part).sum();
            let (width, open) = (width_of(field), order.contains(&(field, None)));
            // A field that the device does not have has no bits to divide, so one order fits devices with and without bank groups.
            if width > 0 && at(&order, field).is_some() && (parts > width || parts < width && !open) {
                return Err(MappingError::Parts { field: name, width, parts });
            }
        }
        let mut pieces: Vec<FieldPart> = Vec::new();
        let mut shift = o.burst_bytes.trailing_zeros();
        for &(field, part) in order.iter().rev() {
            let at = pieces.iter().filter(|piece| piece.field == field).map(|piece| piece.width).sum();
            let parts: u32 = order.iter().filter(|(f, _)| *f == field).filter_map(|(_, part)| *part).sum();
            let whole = width_of(field);
            let width = if whole == 0 { 0 } else { part.unwrap_or(whole - parts) };
            match pieces.last_mut() {
                Some(below) if below.field == field => below.width += width,
                _ if width > 0 => pieces.push(FieldPart { field, shift, shift_in_field: at, width }),
                _ => {}
            }
            shift += width;
        }
        Ok(Self { organisation: *o, field_parts: pieces, bits: shift, row_bits: width_of(MappingField::Row), permuted: false })
    }

    /// Returns the mapping with its banks and bank groups XORed with the row, so that rows a power of two apart are in different banks
    /// (Zhang, Zhu and Zhang, "A permutation-based page interleaving scheme", MICRO 2000; the paper uses the lowest bits of the row, this
    /// function all of them).
    #[must_use]
    pub fn with_permuted_banks(self, permuted: bool) -> Self {
        Self { permuted, ..self }
    }

    /// Returns the location of an address and ignores the bits above the highest field.
    #[inline]
    pub fn locate(&self, addr: Addr) -> DramLocation {
        let mut fields = [0u32; FIELD_NAMES.len()];
        for piece in &self.field_parts {
            let bits = (addr.0 >> piece.shift & ((1 << piece.width) - 1)) as u32;
            fields[piece.field as usize] |= bits << piece.shift_in_field;
        }
        let field = |field: MappingField| fields[field as usize];
        let (row, mut group, mut bank) = (field(MappingField::Row), field(MappingField::Group), field(MappingField::Bank));
        if self.permuted {
            let (groups, banks) = (self.organisation.bank_groups.trailing_zeros(), self.organisation.banks.trailing_zeros());
            let mixed = xor_fold(row, groups + banks);
            group ^= mixed & ((1 << groups) - 1);
            bank ^= mixed >> groups;
        }
        DramLocation {
            channel: field(MappingField::Channel),
            bank: self.organisation.bank(field(MappingField::PseudoChannel), group, bank) as u8,
            row,
            column: field(MappingField::Column),
        }
    }

    /// Returns the location of an address, with the bits above the highest field appended to the row. Programs use addresses beyond the
    /// capacity of a device, and no two addresses may share a location.
    #[inline]
    pub fn locate_beyond(&self, addr: Addr) -> DramLocation {
        let place = self.locate(addr);
        DramLocation { row: place.row | ((addr.0 >> self.bits) as u32) << self.row_bits, ..place }
    }
}

/// Returns the exclusive or of the parts, of `width` bits each, of a number.
fn xor_fold(mut number: u32, width: u32) -> u32 {
    if width == 0 {
        return 0;
    }
    let mut folded = 0;
    while number != 0 {
        folded ^= number & ((1 << width) - 1);
        number >>= width;
    }
    folded
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::standard::Standard;

    fn mapping(text: &str, standard: &str, channels: u32) -> Result<Mapping, MappingError> {
        Mapping::parse(text, &Standard::named(standard).unwrap().organisation, channels)
    }

    #[test]
    fn ramulators_order_puts_channels_lowest_and_bank_groups_below_banks() {
        let map = mapping("RoBaRaCoCh", "ddr4-2400r", 2).unwrap();
        let at = |bit: u32| map.locate(Addr(1 << bit));
        assert_eq!(at(6), DramLocation { channel: 1, bank: 0, row: 0, column: 0 });
        assert_eq!(at(7).column, 1);
        assert_eq!(at(7 + 7).bank, 4);
        assert_eq!(at(7 + 9).bank, 1);
        assert_eq!(at(7 + 11).row, 1);
    }

    #[test]
    fn every_burst_has_a_separate_location() {
        for text in ["RoBaRaCoCh", "rochrababgco", "chrobabgpcco", "bgbapcrocoCh"] {
            let map = mapping(text, "hbm2-2000", 4).unwrap();
            let bit = |i: u32| map.locate(Addr(1 << i));
            let places: BTreeSet<_> = (5..32).map(|i| (bit(i).channel, bit(i).bank, bit(i).row, bit(i).column)).collect();
            assert_eq!(places.len(), 2 + 5 + 15 + 5, "{text}");
        }
    }

    #[test]
    fn rows_a_power_of_two_apart_use_different_banks_with_permutation() {
        let plain = mapping("RoBaCoBgPcCo1", "hbm3-5600", 1).unwrap();
        let map = plain.clone().with_permuted_banks(true);
        let row = 1u64 << 15;
        for shift in 0..12 {
            let banks = |map: &Mapping| (0..16u64).map(|i| map.locate(Addr((i * row) << shift)).bank).collect::<BTreeSet<_>>().len();
            assert_eq!(banks(&plain), 1);
            assert!(banks(&map) >= 8, "rows 2^{shift} apart");
        }
        let places: BTreeSet<_> = (0..1 << 15).map(|i| map.locate(Addr(i * 32 + (row << 4)))).map(|p| (p.bank, p.row, p.column)).collect();
        assert_eq!(places.len(), 1 << 15, "every burst has a separate location");
    }

    #[test]
    fn invalid_field_orders_are_rejected() {
        assert_eq!(mapping("RoBaXxCo", "gddr6-14g", 1), Err(MappingError::Unknown("xx".into())));
        assert_eq!(mapping("RoBaRoCo", "gddr6-14g", 1), Err(MappingError::Repeated("ro".into())));
        assert_eq!(mapping("RoBaCo", "gddr6-14g", 2), Err(MappingError::Missing("ch")));
        assert_eq!(mapping("BaCoCh", "gddr6-14g", 2), Err(MappingError::Missing("ro")));
        assert_eq!(mapping("RoBaCoCh", "gddr6-14g", 3), Err(MappingError::Channels(3)));
        assert!(mapping("RoBaCo", "gddr6-14g", 1).is_ok());
        let parts = |parts| Err(MappingError::Parts { field: "co", width: 6, parts });
        assert_eq!(mapping("RoCo4BaCo3", "gddr6-14g", 1), parts(7));
        assert_eq!(mapping("RoCo4BaCo1", "gddr6-14g", 1), parts(5));
        assert_eq!(mapping("RoCoBaCo", "gddr6-14g", 1), Err(MappingError::Repeated("co".into())));
    }

    #[test]
    fn a_field_may_be_cut_into_parts() {
        let map = mapping("RoBaCoBgPcCo1", "hbm2-2000", 1).unwrap();
        let at = |bit: u32| map.locate(Addr(1 << bit));
        let organisation = &Standard::named("hbm2-2000").unwrap().organisation;
        assert_eq!(at(5).column, 1);
        assert_eq!(u32::from(at(6).bank), organisation.bank(1, 0, 0));
        assert_eq!(u32::from(at(7).bank), organisation.bank(0, 1, 0));
        assert_eq!(at(9).column, 2);
        assert_eq!(u32::from(at(13).bank), organisation.bank(0, 0, 1));
        assert_eq!(at(15).row, 1);
        // This device has neither bank groups nor pseudo channels: the column is in one piece.
        let map = mapping("RoBaCoBgPcCo1", "gddr5-1600", 1).unwrap();
        assert_eq!(map, mapping("RoBaCo", "gddr5-1600", 1).unwrap());
    }

    #[test]
    fn addresses_beyond_the_device_have_separate_rows() {
        let map = mapping("RoBaCo", "gddr5-1600", 1).unwrap();
        let low = map.locate_beyond(Addr(0x1234_5678));
        let high = map.locate_beyond(Addr(1 << 40 | 0x1234_5678));
        assert_eq!((low.bank, low.column), (high.bank, high.column));
        assert_ne!(low.row, high.row);
        assert_eq!(map.locate(Addr(1 << 40 | 0x1234_5678)), map.locate(Addr(0x1234_5678)));
    }
}
