//! Published values, from `published/<study>.toml` of a paper or of `validate/`: the stated value, its source, and the grading of our
//! result.
//!
//! The parsed file is a [`Published`] with the values and the study's other settings: parameters of its runs, margins, overrides by kernel.
//! `[band.NAME]` tables give the tolerance of numbers, each with its reason.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The parsed file of a study. `P` holds the study's settings; `S` selects the simulated quantity of a value.
#[derive(Clone, Debug)]
pub struct Published<P, S> {
    /// The publication, with tables and sections.
    pub source: String,
    /// The study's settings.
    pub own: P,
    /// The stated values, in the order of the file.
    pub values: Vec<Value<S>>,
    bands: BTreeMap<String, Band>,
}

/// The tolerance of a stated number: the larger of a share of the number and an absolute distance.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Share of the number, 0.5 for half of it.
    #[serde(default)]
    relative: f64,
    /// Distance in the unit of the number.
    #[serde(default)]
    absolute: f64,
    /// Reason for this tolerance.
    reason: String,
}

/// A published value.
#[derive(Clone, Debug)]
pub struct Value<S> {
    /// Description of the quantity.
    pub figure: String,
    /// Table, figure or section of the publication.
    pub source: String,
    /// Unit; empty for counts and directions.
    pub unit: String,
    /// The claim of the publication.
    pub claim: Claim,
    /// Selects the simulated quantity.
    pub of: S,
}

/// Claims of a publication about a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// A number, and the bounds of its band.
    Number {
        /// The stated value.
        value: f64,
        /// Lower bound of the band.
        low: f64,
        /// Upper bound of the band.
        high: f64,
    },
    /// A lower bound.
    AtLeast(f64),
    /// An upper bound.
    AtMost(f64),
    /// A lower and an upper bound.
    Range(f64, f64),
    /// A sign or an order without a number.
    Direction,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Number,
    AtLeast,
    AtMost,
    Range,
    Direction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawValue<S> {
    figure: String,
    source: String,
    #[serde(default)]
    unit: String,
    kind: Kind,
    value: Option<f64>,
    range: Option<(f64, f64)>,
    band: Option<String>,
    of: S,
}

#[derive(Deserialize)]
struct PublishedFile<S> {
    source: String,
    #[serde(default)]
    band: BTreeMap<String, Band>,
    #[serde(default = "Vec::new")]
    value: Vec<RawValue<S>>,
}

impl Band {
    /// Returns the claim of a number with this band.
    pub fn around(&self, value: f64) -> Claim {
        let half = (self.relative * value.abs()).max(self.absolute);
        Claim::Number { value, low: value - half, high: value + half }
    }
}

impl<P, S> Published<P, S> {
    /// Returns a band by name.
    ///
    /// # Panics
    /// Panics if the file has no band of this name; the file is compiled in, and a test of each study reads it.
    pub fn band(&self, name: &str) -> &Band {
        self.bands.get(name).unwrap_or_else(|| panic!("{}: no band `{name}`", self.source))
    }
}

/// Parses the file of `study`.
///
/// # Panics
/// Panics if the compiled-in text does not match `P`, `S` and the rules of values; a test of each study reads the file.
pub fn read<P: DeserializeOwned, S: DeserializeOwned>(study: &str, text: &str) -> Published<P, S> {
    parse(text).unwrap_or_else(|error| panic!("published/{study}.toml: {error}"))
}

fn parse<P: DeserializeOwned, S: DeserializeOwned>(text: &str) -> Result<Published<P, S>, String> {
    let common: PublishedFile<S> = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut own: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    for key in ["source", "band", "value"] {
        own.remove(key);
    }
    let own = own.try_into().map_err(|error| error.to_string())?;
    let bands = common.band;
    if let Some(name) = bands.iter().find(|(_, band)| band.reason.is_empty()).map(|(name, _)| name) {
        return Err(format!("band `{name}` has no reason"));
    }
    let values = common.value.into_iter().map(|raw| value(raw, &bands)).collect::<Result<_, _>>()?;
    Ok(Published { source: common.source, own, values, bands })
}

fn value<S>(raw: RawValue<S>, bands: &BTreeMap<String, Band>) -> Result<Value<S>, String> {
    let RawValue { figure, source, unit, kind, value, range, band, of } = raw;
    let wrong = |what: &str| format!("`{figure}`: {what}");
    let claim = match (kind, value, range, &band) {
        (Kind::Number, Some(value), None, Some(band)) => {
            bands.get(band).ok_or_else(|| wrong(&format!("there is no band `{band}`")))?.around(value)
        }
        (Kind::AtLeast, Some(value), None, None) => Claim::AtLeast(value),
        (Kind::AtMost, Some(value), None, None) => Claim::AtMost(value),
        (Kind::Range, None, Some((low, high)), None) if low < high => Claim::Range(low, high),
        (Kind::Direction, None, None, None) => Claim::Direction,
        (Kind::Direction, ..) => return Err(wrong("a direction states no number; a stated number is graded as a number")),
        (Kind::Number, ..) => return Err(wrong("a number has `value` and `band`")),
        (Kind::Range, ..) => return Err(wrong("a range has `range = [LOW, HIGH]`")),
        _ => return Err(wrong("a bound has `value`")),
    };
    Ok(Value { figure, source, unit, claim, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct OwnSettings {
        kernels: u32,
    }

    fn parse_values(values: &str) -> Result<Published<OwnSettings, String>, String> {
        let head = "source = \"a paper\"\nkernels = 3\n[band.half]\nrelative = 0.5\nabsolute = 2.0\nreason = \"test\"\n";
        parse(&format!("{head}{values}"))
    }

    fn parse_claim(kind: &str, rest: &str) -> Result<Claim, String> {
        let text = format!("[[value]]\nfigure = \"f\"\nsource = \"Table 1\"\nof = \"f\"\nkind = \"{kind}\"\n{rest}");
        parse_values(&text).map(|published| published.values[0].claim)
    }

    #[test]
    fn numbers_have_the_wider_of_both_tolerances() {
        assert_eq!(parse_claim("number", "value = 10.0\nband = \"half\""), Ok(Claim::Number { value: 10.0, low: 5.0, high: 15.0 }));
        assert_eq!(parse_claim("number", "value = -1.0\nband = \"half\""), Ok(Claim::Number { value: -1.0, low: -3.0, high: 1.0 }));
        assert_eq!(parse_values("").unwrap().own.kernels, 3);
    }

    #[test]
    fn bounds_and_directions_have_no_band() {
        assert_eq!(parse_claim("at_least", "value = 98.0"), Ok(Claim::AtLeast(98.0)));
        assert_eq!(parse_claim("at_most", "value = 4.0"), Ok(Claim::AtMost(4.0)));
        assert_eq!(parse_claim("range", "range = [2.0, 3.0]"), Ok(Claim::Range(2.0, 3.0)));
        assert_eq!(parse_claim("direction", ""), Ok(Claim::Direction));
    }

    #[test]
    fn a_stated_number_cannot_be_a_direction_and_a_number_needs_its_band() {
        assert!(parse_claim("direction", "value = 4.95").unwrap_err().contains("graded as a number"));
        assert!(parse_claim("number", "value = 4.95").unwrap_err().contains("`value` and `band`"));
        assert!(parse_claim("number", "value = 4.95\nband = \"quarter\"").unwrap_err().contains("no band `quarter`"));
        assert!(parse_claim("range", "range = [3.0, 2.0]").unwrap_err().contains("LOW, HIGH"));
        assert!(parse::<OwnSettings, String>("source = \"\"\nkernels = 1\n[band.a]\nreason = \"\"").unwrap_err().contains("no reason"));
    }
}
