//! Tensor maps of a launch file.

use super::super::error::ProgramError;
use super::super::schema::{Rows, TensorRow, Value};
use super::super::tensor_map::{TensorMap, TensorShape};
use super::super::{DeviceBuffer, Program};
use super::Loader;

impl Loader<'_> {
    /// Returns the tensor maps with their names.
    pub(super) fn tensors<'r>(&self, program: &Program, rows: &'r Rows<TensorRow>) -> Result<Vec<(&'r str, TensorMap)>, ProgramError> {
        rows.iter().map(|(name, row)| Ok((name.as_str(), self.tensor(program, name, self.row(row))?))).collect()
    }

    fn tensor(&self, program: &Program, name: &str, row: &TensorRow) -> Result<TensorMap, ProgramError> {
        let bad = |(key, what, found, expected): (&str, &str, String, String)| {
            self.key_problem(key, format!("tensor `{name}`: {what}")).found(found).expected(expected)
        };
        let names = program.buffers.iter().map(|buffer| buffer.name.as_str());
        let place = names.clone().position(|known| known == row.buffer);
        let place = place.ok_or_else(|| self.unknown("buffer", format!("there is no buffer `{}`", row.buffer), &row.buffer, names))?;
        let DeviceBuffer { element, count, .. } = &program.buffers[place];
        let list = |values: &[Value], key: &str| values.iter().map(|value| self.number(value, key)).collect::<Result<Vec<i64>, _>>();
        let asked = TensorShape {
            kind: row.kind.as_deref().unwrap_or_else(|| element.name()).to_owned(),
            sizes: list(&row.size, "size")?,
            strides: list(&row.strides, "strides")?,
            extents: list(&row.extents, "box")?,
            steps: list(&row.steps, "steps")?,
            swizzle: row.swizzle,
            nan: row.nan,
        };
        let offset = row.offset.as_ref().map_or(Ok(0), |value| self.number(value, "offset"))?;
        let bytes = (count * element.bytes()) as i64;
        if !(0..=bytes).contains(&offset) {
            return Err(bad(("offset", "it does not lie in its buffer", offset.to_string(), format!("0 to {bytes}"))));
        }
        TensorMap::of(&asked, program.addresses[place].wrapping_add_signed(offset), bytes - offset).map_err(bad)
    }
}
