//! Numbers with units in configurations: "1132 MHz", "96 KiB", "25 %", "40 cycles".
//!
//! Input: the text of one value. Output: an exact integer in the model's unit, or an error with the expected form and a hint. Invariants:
//! nothing is rounded; a text without a unit is an error, except for cycles, which have no other unit.

use std::fmt;

use warpshard_base::Frequency;

/// The error for a text that is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// The expected form, with an example.
    pub expected: &'static str,
    /// A suggested correction, if there is one.
    pub hint: Option<String>,
}

/// A size in bytes; formatted in the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const BYTE_UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const FREQUENCY_UNITS: [(&str, u64); 3] = [("GHz", 1_000_000), ("MHz", 1_000), ("kHz", 1)];
const BYTES_EXPECTED: &str = "a size with its unit (B, KiB, MiB or GiB), such as \"96 KiB\"";
const FREQUENCY_EXPECTED: &str = "a frequency with its unit (kHz, MHz or GHz), such as \"1132 MHz\"";
const VOLTAGE_UNITS: [(&str, u64); 2] = [("V", 1_000), ("mV", 1)];
/// Maximum voltage in millivolts. No CMOS chip uses a higher voltage, so a larger value is a mistake of units.
const MAX_MILLIVOLTS: u64 = 10_000;
const VOLTAGE_EXPECTED: &str = "a voltage of at most 10 V with its unit (mV or V), such as \"900 mV\"";
const CYCLES_EXPECTED: &str = "a number of cycles, such as 40";
const PERCENT_EXPECTED: &str = "a percentage from 0 to 100, such as \"25 %\"";

impl Bytes {
    /// Parses a size such as "96 KiB". Decimal units are rejected, because caches and memories have binary sizes.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let fail = |hint| QuantityError { expected: BYTES_EXPECTED, hint };
        let (number, unit) = split_unit(text).ok_or_else(|| fail(None))?;
        if let Some(&(_, scale)) = BYTE_UNITS.iter().find(|(name, _)| *name == unit) {
            return scaled(number, scale).map(Self).ok_or_else(|| fail(Some(format!("{} is not a whole number of bytes", text.trim()))));
        }
        let hint = match unit.to_ascii_lowercase().as_str() {
            "" => Some(format!("write \"{number} B\" or \"{number} KiB\"")),
            "k" | "kb" | "kib" => Some(format!("write \"{number} KiB\" for {number} times 1024 bytes")),
            "m" | "mb" | "mib" => Some(format!("write \"{number} MiB\" for {number} times 1024 KiB")),
            "g" | "gb" | "gib" => Some(format!("write \"{number} GiB\" for {number} times 1024 MiB")),
            "b" | "byte" | "bytes" => Some(format!("write \"{number} B\"")),
            _ => None,
        };
        Err(fail(hint))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = BYTE_UNITS.iter().find(|(_, scale)| self.0 != 0 && self.0.is_multiple_of(*scale)).unwrap_or(&("B", 1));
        write!(f, "{} {unit}", self.0 / scale)
    }
}

/// Parses a frequency such as "1132 MHz" or "1.2 GHz"; fractions of a kilohertz are rejected.
pub fn parse_frequency(text: &str) -> Result<Frequency, QuantityError> {
    let fail = |hint| QuantityError { expected: FREQUENCY_EXPECTED, hint };
    let (number, unit) = split_unit(text).ok_or_else(|| fail(None))?;
    if let Some(&(_, scale)) = FREQUENCY_UNITS.iter().find(|(name, _)| *name == unit) {
        return scaled(number, scale)
            .map(Frequency)
            .ok_or_else(|| fail(Some(format!("{} is not a whole number of kilohertz", text.trim()))));
    }
    let hint = match unit.to_ascii_lowercase().as_str() {
        "" => Some(format!("write \"{number} MHz\"")),
        "khz" => Some(format!("write \"{number} kHz\"")),
        "m" | "mhz" => Some(format!("write \"{number} MHz\"")),
        "g" | "ghz" => Some(format!("write \"{number} GHz\"")),
        "hz" => Some("frequencies are written in kHz, MHz or GHz".to_owned()),
        _ => None,
    };
    Err(fail(hint))
}

/// Parses a voltage such as "900 mV" or "0.9 V" and returns millivolts.
pub fn parse_voltage(text: &str) -> Result<u64, QuantityError> {
    let fail = |hint| QuantityError { expected: VOLTAGE_EXPECTED, hint };
    let (number, unit) = split_unit(text).ok_or_else(|| fail(None))?;
    let Some(&(_, scale)) = VOLTAGE_UNITS.iter().find(|(name, _)| *name == unit) else {
        let hint = match unit.to_ascii_lowercase().as_str() {
            "" => Some(format!("write \"{number} mV\" or \"{number} V\"")),
            "v" => Some(format!("write \"{number} V\"")),
            "mv" => Some(format!("write \"{number} mV\"")),
            _ => None,
        };
        return Err(fail(hint));
    };
    let millivolts = scaled(number, scale).ok_or_else(|| fail(Some(format!("{} is not a whole number of millivolts", text.trim()))))?;
    if millivolts <= MAX_MILLIVOLTS { Ok(millivolts) } else { Err(fail(None)) }
}

/// Parses a duration such as "40 cycles", "1 cycle" or "40".
pub fn parse_cycles(text: &str) -> Result<u64, QuantityError> {
    let fail = |hint| QuantityError { expected: CYCLES_EXPECTED, hint };
    let (number, unit) = split_unit(text).ok_or_else(|| fail(None))?;
    match unit {
        "" | "cycle" | "cycles" => scaled(number, 1).ok_or_else(|| fail(Some("cycles are whole numbers".to_owned()))),
        "ns" | "us" | "ms" | "s" => Err(fail(Some("spans are given in cycles of the clock that the key names, not in seconds".to_owned()))),
        _ => Err(fail(None)),
    }
}

/// Parses a percentage such as "25 %".
pub fn parse_percent(text: &str) -> Result<u64, QuantityError> {
    let fail = |hint| QuantityError { expected: PERCENT_EXPECTED, hint };
    let (number, unit) = split_unit(text).ok_or_else(|| fail(None))?;
    if unit != "%" {
        return Err(fail(unit.is_empty().then(|| format!("write \"{number} %\""))));
    }
    scaled(number, 1).filter(|percent| *percent <= 100).ok_or_else(|| fail(None))
}

/// Splits "96 KiB" into "96" and "KiB"; `None` if the text does not start with a digit.
fn split_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| (number, unit.trim()))
}

/// Returns the decimal `number` times `scale` if the product is an integer that fits in 64 bits.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let tenths = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    if fraction.is_empty() {
        return Some(whole);
    }
    let part = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
    part.is_multiple_of(tenths).then(|| whole.checked_add(part / tenths)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_and_print_as_they_are_written() {
        assert_eq!(Bytes::parse("96 KiB"), Ok(Bytes(98304)));
        assert_eq!(Bytes::parse("1.5 KiB"), Ok(Bytes(1536)));
        assert_eq!(Bytes::parse("32B"), Ok(Bytes(32)));
        assert_eq!(Bytes(98304).to_string(), "96 KiB");
        assert_eq!(Bytes(1536).to_string(), "1536 B");
        assert_eq!(Bytes(0).to_string(), "0 B");
    }

    #[test]
    fn decimal_units_are_rejected_with_a_binary_suggestion() {
        assert_eq!(Bytes::parse("96 KB").unwrap_err().hint.unwrap(), "write \"96 KiB\" for 96 times 1024 bytes");
        assert_eq!(Bytes::parse("0.3 B").unwrap_err().hint.unwrap(), "0.3 B is not a whole number of bytes");
        assert_eq!(Bytes::parse("many").unwrap_err().hint, None);
    }

    #[test]
    fn frequencies_are_whole_kilohertz() {
        assert_eq!(parse_frequency("1132 MHz"), Ok(Frequency::mhz(1132)));
        assert_eq!(parse_frequency("1.2 GHz"), Ok(Frequency::mhz(1200)));
        assert_eq!(parse_frequency("0.0001 MHz").unwrap_err().hint.unwrap(), "0.0001 MHz is not a whole number of kilohertz");
        assert_eq!(parse_frequency("850").unwrap_err().hint.unwrap(), "write \"850 MHz\"");
    }

    #[test]
    fn voltages_are_whole_millivolts() {
        assert_eq!((parse_voltage("900 mV"), parse_voltage("0.9 V"), parse_voltage("0 mV")), (Ok(900), Ok(900), Ok(0)));
        assert_eq!(parse_voltage("0.9").unwrap_err().hint.unwrap(), "write \"0.9 mV\" or \"0.9 V\"");
        assert_eq!(parse_voltage("0.9 mV").unwrap_err().hint.unwrap(), "0.9 mV is not a whole number of millivolts");
        assert!(parse_voltage("900 V").is_err());
    }

    #[test]
    fn cycles_need_no_unit_and_reject_other_units() {
        assert_eq!(parse_cycles("40"), Ok(40));
        assert_eq!(parse_cycles("40 cycles"), Ok(40));
        assert!(parse_cycles("40 ns").unwrap_err().hint.unwrap().contains("not in seconds"));
    }

    #[test]
    fn percentages_end_at_a_hundred() {
        assert_eq!(parse_percent("25 %"), Ok(25));
        assert!(parse_percent("101 %").is_err());
    }

    #[test]
    fn numbers_too_large_are_errors() {
        assert!(Bytes::parse("99999999999999999999 B").is_err());
        assert!(Bytes::parse("18446744073709551615 GiB").is_err());
        assert!(parse_frequency("0.0000000000000000000000001 GHz").is_err());
    }
}
