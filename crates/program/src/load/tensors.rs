//! Tensor maps of a launch file.

use super::super::error::ProgramError;
use super::super::schema::{Rows, TensorRow, Value};
use super::super::tensor_map::{RANKS, TYPES, TensorMap};
use super::super::{Buffer, Program};
use super::Loader;

/// Largest extent of a box in each dimension, and step.
const MOST_BOX: i64 = 256;
const MOST_STEP: i64 = 8;

impl Loader<'_> {
    /// The tensor maps by their names.
    pub(super) fn tensors<'r>(&self, program: &Program, rows: &'r Rows<TensorRow>) -> Result<Vec<(&'r str, TensorMap)>, ProgramError> {
        rows.iter().map(|(name, row)| Ok((name.as_str(), self.tensor(program, name, self.row(row))?))).collect()
    }

    fn tensor(&self, program: &Program, name: &str, row: &TensorRow) -> Result<TensorMap, ProgramError> {
        let bad = |key: &str, what: &str, found: String, expected: &str| {
            self.bad_key(key, format!("tensor `{name}`: {what}")).found(found).expected(expected)
        };
        let names = program.buffers.iter().map(|buffer| buffer.name.as_str());
        let place = names.clone().position(|known| known == row.buffer);
        let place = place.ok_or_else(|| self.unknown("buffer", format!("there is no buffer `{}`", row.buffer), &row.buffer, names))?;
        let Buffer { element, count, .. } = &program.buffers[place];
        let wanted = row.kind.as_deref().unwrap_or_else(|| element.name());
        let kind = TYPES.iter().position(|(known, ..)| *known == wanted).ok_or_else(|| {
            let known: Vec<&str> = TYPES.iter().map(|(known, ..)| *known).collect();
            bad("type", "a tensor map has no such type", wanted.to_owned(), &known.join(", "))
        })?;
        let size = TYPES[kind].3 as i64;
        let rank = row.size.len();
        if !(1..=RANKS).contains(&rank) || row.extents.len() != rank {
            return Err(bad(
                "box",
                "it has another number of dimensions than the tensor",
                format!("{rank} and {}", row.extents.len()),
                "1 to 5",
            ));
        }
        let list = |values: &[Value], key: &str, usual: &dyn Fn(usize) -> i64, most: i64| -> Result<Vec<i64>, ProgramError> {
            let mut numbers = Vec::new();
            for place in 0..rank {
                let number = values.get(place).map_or(Ok(usual(place)), |value| self.number(value, key))?;
                if !(1..=most).contains(&number) {
                    return Err(bad(key, "a number is out of range", number.to_string(), &format!("1 to {most}")));
                }
                numbers.push(number);
            }
            Ok(numbers)
        };
        let sizes = list(&row.size, "size", &|_| 1, 1 << 32)?;
        let extents = list(&row.extents, "box", &|_| 1, MOST_BOX)?;
        let steps = list(&row.steps, "steps", &|_| 1, MOST_STEP)?;
        let dense = |place: usize| sizes[..=place].iter().product::<i64>().saturating_mul(size);
        let strides = list(&row.strides, "strides", &dense, 1 << 40)?;
        if let Some(stride) = strides[..rank - 1].iter().find(|stride| **stride % 16 != 0) {
            return Err(bad("strides", "rows do not begin at multiples of 16 bytes", stride.to_string(), "a multiple of 16"));
        }
        let swizzle = row.swizzle.unwrap_or(16);
        let inner = (extents[0] + steps[0] - 1) / steps[0] * size;
        if !matches!(swizzle, 16 | 32 | 64 | 128) || row.swizzle == Some(16) {
            return Err(bad("swizzle", "there is no such swizzle", swizzle.to_string(), "32, 64 or 128"));
        }
        if inner % 16 != 0 || swizzle > 16 && inner > i64::from(swizzle) {
            let expected = "a multiple of 16 bytes, and with a swizzle at most as many as it has";
            return Err(bad("box", "its rows do not fit", format!("{inner} bytes"), expected));
        }
        let offset = row.offset.as_ref().map_or(Ok(0), |value| self.number(value, "offset"))?;
        let last: i64 =
            (1..rank).map(|place| (sizes[place] - 1).saturating_mul(strides[place - 1])).fold(sizes[0] * size, i64::saturating_add);
        let bytes = (count * element.bytes()) as i64;
        if offset < 0 || offset % 16 != 0 || offset.saturating_add(last) > bytes {
            let found = format!("{last} bytes from byte {offset} on");
            return Err(bad(
                "size",
                "it does not lie in its buffer",
                found,
                &format!("a multiple of 16, and at most {bytes} bytes in all"),
            ));
        }
        let pad = |values: &[i64], place: usize| values.get(place).copied().unwrap_or(1);
        Ok(TensorMap {
            address: program.addresses[place].wrapping_add_signed(offset),
            rank,
            kind,
            sizes: std::array::from_fn(|place| pad(&sizes, place) as u64),
            strides: std::array::from_fn(|place| if place + 1 < rank { strides[place] as u64 } else { 0 }),
            extents: std::array::from_fn(|place| pad(&extents, place) as u32),
            steps: std::array::from_fn(|place| pad(&steps, place) as u32),
            swizzle: u64::from(swizzle),
            interleave: 0,
            fills_nan: row.nan,
        })
    }
}
