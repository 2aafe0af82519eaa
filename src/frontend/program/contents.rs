//! The elements of buffers: from numbers to bytes and back.

use std::path::Path;

use crate::base::Rng;

use super::expression::Formula;
use super::schema::Contents;

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Unsigned(usize),
    Signed(usize),
    Single,
    Double,
}

impl Element {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "u8" => Self::Unsigned(1),
            "u16" => Self::Unsigned(2),
            "u32" => Self::Unsigned(4),
            "u64" => Self::Unsigned(8),
            "i8" => Self::Signed(1),
            "i16" => Self::Signed(2),
            "i32" => Self::Signed(4),
            "i64" => Self::Signed(8),
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => return None,
        })
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    fn put(self, value: f64, out: &mut Vec<u8>) {
        match self {
            Self::Unsigned(bytes) => out.extend_from_slice(&(value as u64).to_le_bytes()[..bytes]),
            Self::Signed(bytes) => out.extend_from_slice(&(value as i64).to_le_bytes()[..bytes]),
            Self::Single => out.extend_from_slice(&(value as f32).to_le_bytes()),
            Self::Double => out.extend_from_slice(&value.to_le_bytes()),
        }
    }

    /// The first element of `bytes`, as it is written.
    pub(super) fn show(self, bytes: &[u8]) -> String {
        let word = bytes[..self.bytes()].iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        match self {
            Self::Unsigned(_) => word.to_string(),
            Self::Signed(size) => ((word << (64 - 8 * size)) as i64 >> (64 - 8 * size)).to_string(),
            Self::Single => f32::from_bits(word as u32).to_string(),
            Self::Double => f64::from_bits(word).to_string(),
        }
    }
}

/// The bytes of a buffer of `count` elements.
///
/// # Errors
/// What is wrong, in words: a file that cannot be read or has another size, a wrong formula, or more values than elements.
pub(super) fn bytes(
    contents: &Contents,
    element: Element,
    count: usize,
    (folder, parameters): (&Path, &[(String, i64)]),
) -> Result<Vec<u8>, String> {
    let size = count * element.bytes();
    let mut out = Vec::new();
    match contents {
        Contents::None => return Ok(vec![0; size]),
        Contents::Constant(0.0) => return Ok(vec![0; size]),
        Contents::Constant(value) => (0..count).for_each(|_| element.put(*value, &mut out)),
        Contents::Sequence([first, step]) => (0..count).for_each(|i| element.put(first + i as f64 * step, &mut out)),
        Contents::Uniform { low, high, seed } => {
            let mut random = Rng::keyed(*seed, &[]);
            for _ in 0..count {
                // 53 bits of a fraction.
                let fraction = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                let value = low + fraction * (high - low);
                element.put(if matches!(element, Element::Single | Element::Double) { value } else { value.floor() }, &mut out);
            }
        }
        Contents::Formula(text) | Contents::Scaled(text, _) => {
            let scale = if let Contents::Scaled(_, scale) = contents { *scale } else { 1.0 };
            let of = |name: &str| parameters.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
            let formula = Formula::parse(text, Some("i"), &of)?;
            for i in 0..count {
                let value = formula.value(i as i64).map_err(|problem| format!("`{text}`, element {i}: {problem}"))?;
                element.put(value as f64 * scale, &mut out);
            }
        }
        Contents::Values(values) => {
            if values.len() > count {
                return Err(format!("{} values for {count} elements", values.len()));
            }
            values.iter().for_each(|&value| element.put(value, &mut out));
            out.resize(size, 0);
        }
        Contents::File(name) => {
            let path = folder.join(name);
            let regular = std::fs::metadata(&path).is_ok_and(|facts| facts.is_file());
            if !regular {
                return Err(format!("{} is not a regular file", path.display()));
            }
            out = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if out.len() != size {
                return Err(format!("{} has {} bytes instead of {size}", path.display(), out.len()));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_become_bytes_of_their_type() {
        let of = |contents: Contents, kind: &str, count| bytes(&contents, Element::of(kind).unwrap(), count, (Path::new("."), &[]));
        assert_eq!(of(Contents::Sequence([1.0, 2.0]), "u16", 3).unwrap(), [1, 0, 3, 0, 5, 0]);
        assert_eq!(of(Contents::Constant(-1.0), "i8", 2).unwrap(), [255, 255]);
        assert_eq!(of(Contents::Values(vec![1.0]), "f32", 2).unwrap(), [0, 0, 128, 63, 0, 0, 0, 0]);
        assert_eq!(of(Contents::Formula("i * i".into()), "u8", 4).unwrap(), [0, 1, 4, 9]);
        assert_eq!(of(Contents::Scaled("i".into(), 0.5), "f64", 2).unwrap()[8..], 0.5_f64.to_le_bytes());
        assert!(of(Contents::Formula("1 / i".into()), "u8", 4).is_err());
        assert!(of(Contents::Values(vec![1.0; 3]), "f32", 2).is_err());
        let drawn = of(Contents::Uniform { low: 3.0, high: 7.0, seed: 1 }, "u8", 1000).unwrap();
        assert!((3..7).all(|value| drawn.contains(&value)) && drawn.iter().all(|value| (3..7).contains(value)));
        assert_eq!(Element::Signed(2).show(&[254, 255]), "-2");
        assert_eq!(Element::Single.show(&1.5_f32.to_le_bytes()), "1.5");
    }
}
