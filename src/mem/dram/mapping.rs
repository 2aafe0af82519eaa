//! Addresses as bit fields: which bits of an address are channel, bank, row and column.
//!
//! A mapping is written from the highest field to the lowest, two letters each, in any case: `RoBaRaCoCh`, `rochrababgco`.

use crate::base::Addr;

use super::standard::Organisation;

/// A field of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Field {
    Channel,
    PseudoChannel,
    Rank,
    Group,
    Bank,
    Row,
    Column,
}

const FIELDS: [(&str, Field); 7] = [
    ("ch", Field::Channel),
    ("pc", Field::PseudoChannel),
    ("ra", Field::Rank),
    ("bg", Field::Group),
    ("ba", Field::Bank),
    ("ro", Field::Row),
    ("co", Field::Column),
];

/// Why an order of fields is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Two letters that name no field.
    #[error("`{0}` is no address field; known: ch pc ra bg ba ro co")]
    Unknown(String),
    /// A field is there twice.
    #[error("the address field `{0}` is there twice")]
    Twice(String),
    /// A field that every order needs is missing.
    #[error("the address field `{0}` is missing")]
    Missing(&'static str),
    /// The number of channels is no power of two.
    #[error("{0} channels cannot be told apart by bits")]
    Channels(u32),
}

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The channel.
    pub channel: u32,
    /// The bank within the channel, as [`Organisation::bank`] numbers them.
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// The burst of the row.
    pub column: u32,
}

/// An order of fields for one organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    organisation: Organisation,
    shift: [u32; 7],
    width: [u32; 7],
}

impl Mapping {
    /// Reads an order of fields. Bank groups that are not named lie just below the banks, pseudo channels that are not named
    /// where ranks are named, else just below the bank groups; so `RoBaRaCoCh` means what it means in Ramulator.
    ///
    /// # Errors
    /// For unknown, repeated and missing fields.
    pub fn parse(text: &str, organisation: &Organisation, channels: u32) -> Result<Self, MappingError> {
        if !channels.is_power_of_two() {
            return Err(MappingError::Channels(channels));
        }
        let o = organisation;
        let mut order: Vec<Field> = Vec::new();
        let letters: Vec<char> = text.to_ascii_lowercase().chars().collect();
        for pair in letters.chunks(2) {
            let name: String = pair.iter().collect();
            let (_, field) = FIELDS.into_iter().find(|(known, _)| *known == name).ok_or_else(|| MappingError::Unknown(name.clone()))?;
            if order.contains(&field) {
                return Err(MappingError::Twice(name));
            }
            order.push(field);
        }
        let at = |order: &[Field], field| order.iter().position(|&f| f == field);
        for (name, field) in [("ro", Field::Row), ("ba", Field::Bank), ("co", Field::Column), ("ch", Field::Channel)] {
            if at(&order, field).is_none() && !(field == Field::Channel && channels == 1) {
                return Err(MappingError::Missing(name));
            }
        }
        if let (None, Some(bank)) = (at(&order, Field::Group), at(&order, Field::Bank)) {
            order.insert(bank + 1, Field::Group);
        }
        if let (None, Some(above)) = (at(&order, Field::PseudoChannel), at(&order, Field::Rank).or_else(|| at(&order, Field::Group))) {
            order.insert(above + 1, Field::PseudoChannel);
        }
        let (mut shift, mut width) = ([0; 7], [0; 7]);
        let mut bit = o.burst_bytes.trailing_zeros();
        for &field in order.iter().rev() {
            let count = match field {
                Field::Channel => channels,
                Field::PseudoChannel => o.pseudo_channels,
                Field::Rank => 1,
                Field::Group => o.bank_groups,
                Field::Bank => o.banks,
                Field::Row => o.rows,
                Field::Column => o.columns,
            };
            shift[field as usize] = bit;
            width[field as usize] = count.trailing_zeros();
            bit += count.trailing_zeros();
        }
        Ok(Self { organisation: *o, shift, width })
    }

    /// Where an address lies; bits above the highest field are left out.
    #[inline]
    pub fn locate(&self, addr: Addr) -> Place {
        let field = |field: Field| (addr.0 >> self.shift[field as usize] & ((1 << self.width[field as usize]) - 1)) as u32;
        Place {
            channel: field(Field::Channel),
            bank: self.organisation.bank(field(Field::PseudoChannel), field(Field::Group), field(Field::Bank)) as u8,
            row: field(Field::Row),
            column: field(Field::Column),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mem::dram::standard::Standard;

    fn mapping(text: &str, standard: &str, channels: u32) -> Result<Mapping, MappingError> {
        Mapping::parse(text, &Standard::named(standard).unwrap().organisation, channels)
    }

    #[test]
    fn ramulators_order_puts_channels_lowest_and_bank_groups_below_banks() {
        let map = mapping("RoBaRaCoCh", "ddr4-2400r", 2).unwrap();
        let at = |bit: u32| map.locate(Addr(1 << bit));
        assert_eq!(at(6), Place { channel: 1, bank: 0, row: 0, column: 0 });
        assert_eq!(at(7).column, 1);
        assert_eq!(at(7 + 7).bank, 4);
        assert_eq!(at(7 + 9).bank, 1);
        assert_eq!(at(7 + 11).row, 1);
    }

    #[test]
    fn every_burst_has_a_place_of_its_own() {
        for text in ["RoBaRaCoCh", "rochrababgco", "chrobabgpcco", "bgbapcrocoCh"] {
            let map = mapping(text, "hbm2-2000", 4).unwrap();
            let bit = |i: u32| map.locate(Addr(1 << i));
            let places: BTreeSet<_> = (5..5 + 2 + 5 + 15 + 5).map(|i| (bit(i).channel, bit(i).bank, bit(i).row, bit(i).column)).collect();
            assert_eq!(places.len(), 27 + 5, "{text}");
        }
    }

    #[test]
    fn orders_that_are_none_are_refused() {
        assert_eq!(mapping("RoBaXxCo", "gddr6-14g", 1), Err(MappingError::Unknown("xx".into())));
        assert_eq!(mapping("RoBaRoCo", "gddr6-14g", 1), Err(MappingError::Twice("ro".into())));
        assert_eq!(mapping("RoBaCo", "gddr6-14g", 2), Err(MappingError::Missing("ch")));
        assert_eq!(mapping("BaCoCh", "gddr6-14g", 2), Err(MappingError::Missing("ro")));
        assert_eq!(mapping("RoBaCoCh", "gddr6-14g", 3), Err(MappingError::Channels(3)));
        assert!(mapping("RoBaCo", "gddr6-14g", 1).is_ok());
    }
}
