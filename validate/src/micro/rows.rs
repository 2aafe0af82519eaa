//! Programs for the keys of the measurements: `validate/reference/micro-programs.toml`, row by row.

use std::path::PathBuf;

use serde::Deserialize;

use warpshard_config::input;
use warpshard_lab::error::TaskError;

/// Quantity of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quantity {
    /// Core cycles per unit of the amount.
    Cycles,
    /// Units of the amount per core cycle.
    Rate,
    /// Bytes per nanosecond; the amount is in bytes.
    Gbps,
    /// Microseconds for the amount.
    Us,
}

impl Quantity {
    /// Returns the unit for a column head.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Rate => "per cycle",
            Self::Gbps => "GB/s",
            Self::Us => "us",
        }
    }

    /// Computes the value from the cycles of one unit of length, the amount per unit of length, and the core frequency.
    pub(super) fn value_of(self, cycles: f64, amount: f64, megahertz: f64) -> f64 {
        match self {
            Self::Cycles => cycles / amount,
            Self::Rate => amount / cycles,
            Self::Gbps => amount / cycles * megahertz / 1000.0,
            Self::Us => cycles * amount / megahertz,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowGroup {
    key: String,
    program: String,
    #[serde(default)]
    set: toml::Table,
    #[serde(default)]
    each: toml::Table,
    #[serde(default)]
    also: toml::Table,
    length: String,
    short: i64,
    long: i64,
    amount: Vec<String>,
    quantity: Quantity,
    minus: Option<String>,
    #[serde(default)]
    full: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UncoveredKeys {
    /// Prefix of the keys without a row.
    pub(super) keys: String,
    /// Reason why these keys have no row.
    pub(super) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    group: Vec<RowGroup>,
    left_out: Vec<UncoveredKeys>,
}

/// A simulated value, from two runs of a program with different lengths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MicroRow {
    pub(super) key: String,
    /// `true` if measurements can contain the key.
    pub(super) measured: bool,
    /// Key whose measured value is subtracted.
    pub(super) minus: Option<String>,
    /// Path of the launch file.
    pub(super) file: PathBuf,
    /// Parameters of the shorter and of the longer run.
    pub(super) runs: [Vec<(String, String)>; 2],
    /// Difference of the lengths of the two runs.
    pub(super) longer: i64,
    /// Amount of work per unit of length.
    pub(super) amount: f64,
    pub(super) quantity: Quantity,
    pub(super) full: bool,
}

/// Returns all rows, and the prefixes of keys without rows.
pub(super) fn all_rows() -> Result<(Vec<MicroRow>, Vec<UncoveredKeys>), TaskError> {
    let text = include_str!("../../reference/micro-programs.toml");
    let manifest: Manifest = toml::from_str(text).map_err(|error| format!("validate/reference/micro-programs.toml: {error}"))?;
    let rows = manifest.group.iter().map(RowGroup::rows).collect::<Result<Vec<_>, _>>()?;
    Ok((rows.into_iter().flatten().collect(), manifest.left_out))
}

/// Returns the values of a parameter, each with the word that the key uses for it.
fn parameter_values(table: &toml::Table, name: &str) -> Vec<(String, i64)> {
    match table.get(name) {
        Some(toml::Value::Array(list)) => list.iter().filter_map(toml::Value::as_integer).map(|value| (value.to_string(), value)).collect(),
        Some(toml::Value::Table(words)) => words.iter().filter_map(|(word, value)| Some((word.clone(), value.as_integer()?))).collect(),
        _ => Vec::new(),
    }
}

/// A combination of parameters.
#[derive(Clone)]
struct Combination {
    key: String,
    set: Vec<(String, i64)>,
    measured: bool,
}

impl RowGroup {
    fn rows(&self) -> Result<Vec<MicroRow>, TaskError> {
        let file = PathBuf::from(format!("programs/micro/{}.toml", self.program));
        let text = input::read_text(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let launch: toml::Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let own = launch.get("parameters").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let integers = |table: &toml::Table| -> Vec<(String, i64)> {
            table.iter().filter_map(|(name, value)| Some((name.clone(), value.as_integer()?))).collect()
        };
        let mut chosen = vec![Combination { key: self.key.clone(), set: integers(&self.set), measured: true }];
        let names = self.each.keys().chain(self.also.keys().filter(|name| !self.each.contains_key(*name)));
        for name in names {
            let each = parameter_values(&self.each, name).into_iter().map(|value| (value, true));
            let also = parameter_values(&self.also, name).into_iter().map(|value| (value, false));
            let all: Vec<_> = each.chain(also).collect();
            let with = |one: &Combination| {
                let with = |((word, value), measured): &((String, i64), bool)| Combination {
                    key: one.key.replace(&format!("{{{name}}}"), word),
                    set: one.set.iter().cloned().chain([(name.clone(), *value)]).collect(),
                    measured: one.measured && *measured,
                };
                all.iter().map(with).collect::<Vec<_>>()
            };
            chosen = chosen.iter().flat_map(with).collect();
        }
        chosen.into_iter().map(|one| self.combination_row(one, &file, &integers(&own))).collect()
    }

    fn combination_row(&self, chosen: Combination, file: &std::path::Path, own: &[(String, i64)]) -> Result<MicroRow, TaskError> {
        let find = |pairs: &[(String, i64)], name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let factor = |factor: &String| {
            let value = factor.parse().ok().or_else(|| find(&chosen.set, factor)).or_else(|| find(own, factor));
            value.ok_or_else(|| format!("validate/reference/micro-programs.toml: `{}` has no parameter `{factor}`", self.program))
        };
        let amount = self.amount.iter().map(factor).collect::<Result<Vec<i64>, _>>()?.into_iter().map(|one| one as f64).product();
        let run = |length: i64| {
            let set = chosen.set.iter().map(|(name, value)| (name.clone(), value.to_string()));
            set.chain([(self.length.clone(), length.to_string())]).collect()
        };
        Ok(MicroRow {
            key: chosen.key.clone(),
            measured: chosen.measured,
            minus: self.minus.clone(),
            file: file.to_owned(),
            runs: [run(self.short), run(self.long)],
            longer: self.long - self.short,
            amount,
            quantity: self.quantity,
            full: self.full,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpshard_program::Program;

    use super::super::measurements::Measurements;
    use super::*;

    #[test]
    fn every_row_is_a_program_that_loads_and_every_measured_key_has_a_row_or_a_reason() {
        let (rows, left_out) = all_rows().unwrap();
        let measured = Measurements::from_references(&Default::default()).unwrap();
        let keys: BTreeSet<&str> = measured.keys().collect();
        let mut seen = BTreeSet::new();
        for row in &rows {
            assert!(row.longer > 0 && row.amount > 0.0, "{}", row.key);
            assert!(seen.insert(&row.key), "{} is there twice", row.key);
            assert_eq!(keys.contains(row.key.as_str()), row.measured, "{}", row.key);
        }
        for file in rows.iter().map(|row| &row.file).collect::<BTreeSet<_>>() {
            let row = rows.iter().find(|row| row.file == *file).unwrap();
            // The buffers are small, because the test does not build a ring of gigabytes.
            Program::load(file, Some(90), &row.runs[0]).unwrap();
        }
        let named = |key: &str| seen.iter().any(|known| *known == key) || left_out.iter().any(|one| key.starts_with(&one.keys));
        let missing: Vec<&str> = keys.into_iter().filter(|key| !named(key)).collect();
        assert!(missing.is_empty(), "neither a row nor a reason: {missing:?}");
    }

    #[test]
    fn quantities_refer_to_one_span() {
        assert_eq!(Quantity::Cycles.value_of(1024.0, 128.0, 1000.0), 8.0);
        assert_eq!(Quantity::Rate.value_of(1024.0, 2048.0, 1000.0), 2.0);
        // 2000 bytes in 1000 cycles of 2 GHz: 500 ns.
        assert_eq!(Quantity::Gbps.value_of(1000.0, 2000.0, 2000.0), 4.0);
        assert_eq!(Quantity::Us.value_of(1000.0, 4.0, 2000.0), 2.0);
    }
}
