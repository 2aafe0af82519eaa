//! Tensor maps: the 128 bytes that describe the layout of a tensor in device memory and the box that a copy moves.
//!
//! The byte layout follows the driver's cuTensorMapEncodeTiled and was determined by encoding maps that differ in one argument and
//! comparing the bytes. Bytes from 64 on have no effect here. Maps for convolutions (im2col) are not supported.

/// Maximum number of dimensions.
pub(super) const MAX_RANK: usize = 5;
/// Bytes of a tensor map.
pub(super) const MAP_BYTES: usize = 128;

/// Element types, with the driver's numbers (CUtensorMapDataType), the numbers in a map, and the bytes.
pub(super) const ELEMENT_TYPES: [(&str, u8, u8, u64); 13] = [
    ("u8", 0, 0, 1),
    ("u16", 1, 1, 2),
    ("u32", 2, 2, 4),
    ("i32", 3, 3, 4),
    ("u64", 4, 4, 8),
    ("i64", 5, 5, 8),
    ("f16", 6, 6, 2),
    ("f32", 7, 7, 4),
    ("f64", 8, 9, 8),
    ("bf16", 9, 10, 2),
    ("f32_ftz", 10, 8, 4),
    ("tf32", 11, TF32_FLAG | 7, 4),
    ("tf32_ftz", 12, TF32_FLAG | 8, 4),
];
/// Flag of the types that have a separate bit in a map.
const TF32_FLAG: u8 = 0x80;

/// Maximum extent of a box and maximum step in each dimension.
const MAX_BOX: i64 = 256;
const MAX_STEP: i64 = 8;

/// The description of a tensor map: the layout of a tensor in an array, and the box that a copy moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorShape {
    /// Element type as a launch file names it: `bf16`, `f32`, `tf32` and so on.
    pub kind: String,
    /// Elements of each dimension, the fastest dimension first.
    pub sizes: Vec<i64>,
    /// Bytes between neighbours in each dimension but the first; if empty, the tensor is dense.
    pub strides: Vec<i64>,
    /// Elements of the box in each dimension.
    pub extents: Vec<i64>,
    /// Step in each dimension: one element per step is copied; if empty, 1.
    pub steps: Vec<i64>,
    /// Bytes of the rows in shared memory within which 16-byte pieces are swizzled: 32, 64 or 128.
    pub swizzle: Option<u32>,
    /// True if elements outside of the tensor read as NaN instead of zero.
    pub nan: bool,
}

/// A problem of a tensor map: the key of the launch file, the problem, the found value and the expected value.
pub(super) type MapError = (&'static str, &'static str, String, String);

/// A decoded tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorMap {
    pub(super) address: u64,
    pub(super) rank: usize,
    /// Index of the element type in [`ELEMENT_TYPES`].
    pub(super) kind: usize,
    /// Elements of each dimension, the fastest dimension first.
    pub(super) sizes: [u64; MAX_RANK],
    /// Bytes between elements in the dimensions after the first.
    pub(super) strides: [u64; MAX_RANK - 1],
    /// Elements of the box in each dimension.
    pub(super) extents: [u32; MAX_RANK],
    /// Step in each dimension: one element per step is copied.
    pub(super) steps: [u32; MAX_RANK],
    /// Bytes of a row within which 16-byte pieces are swizzled; 16 without swizzling.
    pub(super) swizzle: u64,
    /// Interleaving: 0 for none, 1 and 2 for tensors in slices of 16 and 32 bytes.
    pub(super) interleave: u8,
    /// True if elements outside of the tensor read as NaN instead of zero.
    pub(super) fills_nan: bool,
}

impl TensorMap {
    /// Returns the map of a tensor at an address, from which the array has `room` bytes.
    pub(super) fn of(asked: &TensorShape, address: u64, room: i64) -> Result<Self, MapError> {
        let bad = |key, what, found: String, expected: &str| Err((key, what, found, expected.to_owned()));
        let Some(kind) = ELEMENT_TYPES.iter().position(|(known, ..)| *known == asked.kind) else {
            let known: Vec<&str> = ELEMENT_TYPES.iter().map(|(known, ..)| *known).collect();
            return bad("type", "a tensor map has no such type", asked.kind.clone(), &known.join(", "));
        };
        let size = ELEMENT_TYPES[kind].3 as i64;
        let rank = asked.sizes.len();
        if !(1..=MAX_RANK).contains(&rank) || asked.extents.len() != rank {
            let found = format!("{rank} and {}", asked.extents.len());
            return bad("box", "it has another number of dimensions than the tensor", found, "1 to 5");
        }
        let list = |values: &[i64], key: &'static str, usual: &dyn Fn(usize) -> i64, most: i64| -> Result<Vec<i64>, MapError> {
            let numbers: Vec<i64> = (0..rank).map(|place| values.get(place).copied().unwrap_or_else(|| usual(place))).collect();
            match numbers.iter().find(|number| !(1..=most).contains(*number)) {
                Some(number) => Err((key, "a number is out of range", number.to_string(), format!("1 to {most}"))),
                None => Ok(numbers),
            }
        };
        let sizes = list(&asked.sizes, "size", &|_| 1, 1 << 32)?;
        let extents = list(&asked.extents, "box", &|_| 1, MAX_BOX)?;
        let steps = list(&asked.steps, "steps", &|_| 1, MAX_STEP)?;
        let dense = |place: usize| sizes[..=place].iter().fold(size, |bytes, &size| bytes.saturating_mul(size));
        let strides = list(&asked.strides, "strides", &dense, 1 << 40)?;
        if let Some(stride) = strides[..rank - 1].iter().find(|stride| **stride % 16 != 0) {
            return bad("strides", "rows do not begin at multiples of 16 bytes", stride.to_string(), "a multiple of 16");
        }
        let swizzle = asked.swizzle.unwrap_or(16);
        let inner = (extents[0] + steps[0] - 1) / steps[0] * size;
        if !matches!(swizzle, 16 | 32 | 64 | 128) || asked.swizzle == Some(16) {
            return bad("swizzle", "there is no such swizzle", swizzle.to_string(), "32, 64 or 128");
        }
        if inner % 16 != 0 || swizzle > 16 && inner > i64::from(swizzle) {
            let expected = "a multiple of 16 bytes, and with a swizzle at most the bytes of the swizzle";
            return bad("box", "its rows do not fit", format!("{inner} bytes"), expected);
        }
        let last: i64 =
            (1..rank).map(|place| (sizes[place] - 1).saturating_mul(strides[place - 1])).fold(sizes[0] * size, i64::saturating_add);
        if !address.is_multiple_of(16) || last > room {
            let expected = format!("an address that is a multiple of 16, and at most {room} bytes from there");
            return bad("size", "it does not lie in its buffer", format!("{last} bytes from address {address:#x} on"), &expected);
        }
        let pad = |values: &[i64], place: usize| values.get(place).copied().unwrap_or(1);
        Ok(Self {
            address,
            rank,
            kind,
            sizes: std::array::from_fn(|place| pad(&sizes, place) as u64),
            strides: std::array::from_fn(|place| if place + 1 < rank { strides[place] as u64 } else { 0 }),
            extents: std::array::from_fn(|place| pad(&extents, place) as u32),
            steps: std::array::from_fn(|place| pad(&steps, place) as u32),
            swizzle: u64::from(swizzle),
            interleave: 0,
            fills_nan: asked.nan,
        })
    }

    /// Decodes a map; returns `None` if its type is unknown.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| {
            bytes.get(4 * place..4 * place + 4).map(|four| four.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
        };
        let mut words = [0; 16];
        for (place, out) in words.iter_mut().enumerate() {
            *out = word(place)?;
        }
        let facts = words[2];
        let code = (facts >> 7 & 15) as u8 | if facts >> 16 & 1 != 0 { TF32_FLAG } else { 0 };
        let kind = ELEMENT_TYPES.iter().position(|(_, _, known, _)| *known == code)?;
        let rank = (facts >> 4 & 7) as usize + 1;
        if rank > MAX_RANK {
            return None;
        }
        let stride = |place: usize| 16 * (u64::from(words[3 + place]) | u64::from(words[7] >> (4 * place) & 15) << 32);
        let extent = |place: usize| match place {
            0 => (words[13] >> 24) + 1,
            _ => (words[14] >> (8 * (place - 1)) & 0xff) + 1,
        };
        let swizzle = [16, 32, 64, 128][(facts >> 13 & 3) as usize];
        Some(Self {
            address: u64::from(words[0]) | u64::from(words[1]) << 32,
            rank,
            kind,
            sizes: std::array::from_fn(|place| u64::from(words[8 + place]) + 1),
            strides: std::array::from_fn(stride),
            extents: std::array::from_fn(|place| if place == 4 { (words[14] >> 24) + 1 } else { extent(place) }),
            steps: std::array::from_fn(|place| (words[13] >> (3 * place) & 7) + 1),
            swizzle,
            interleave: (facts >> 11 & 3) as u8,
            fills_nan: facts >> 15 & 1 != 0,
        })
    }

    /// Encodes a map; the bytes from 64 on are zeros.
    pub(super) fn encode(&self) -> [u8; MAP_BYTES] {
        let (_, _, code, _) = ELEMENT_TYPES[self.kind];
        let swizzle = self.swizzle.trailing_zeros() - 4;
        let mut words = [0_u32; MAP_BYTES / 4];
        (words[0], words[1]) = (self.address as u32, (self.address >> 32) as u32);
        words[2] = (self.rank as u32 - 1) << 4
            | u32::from(code & 15) << 7
            | u32::from(self.interleave) << 11
            | swizzle << 13
            | u32::from(self.fills_nan) << 15
            | u32::from(code & TF32_FLAG != 0) << 16;
        for (place, stride) in self.strides.iter().enumerate() {
            words[3 + place] = (stride / 16) as u32;
            words[7] |= (((stride / 16) >> 32) as u32 & 15) << (4 * place);
        }
        for place in 0..MAX_RANK {
            words[8 + place] = (self.sizes[place] - 1) as u32;
            words[13] |= (self.steps[place] - 1) << (3 * place);
        }
        words[13] |= (self.extents[0] - 1) << 24;
        for place in 1..MAX_RANK {
            words[14] |= (self.extents[place] - 1) << (8 * (place - 1));
        }
        let mut bytes = [0; MAP_BYTES];
        bytes.chunks_exact_mut(4).zip(words).for_each(|(four, word)| four.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Returns the bytes per element.
    pub(super) fn size(&self) -> u64 {
        ELEMENT_TYPES[self.kind].3
    }

    /// Returns the number of elements that a copy moves in each dimension.
    pub(super) fn counts(&self) -> [u64; MAX_RANK] {
        std::array::from_fn(|place| match place < self.rank {
            true => u64::from(self.extents[place].div_ceil(self.steps[place])),
            false => 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_the_driver_are_read_and_written() {
        // The file contains calls of cuTensorMapEncodeTiled with the driver's output: type, rank, address, interleave, swizzle, fill,
        // bytes, then the sizes, the strides, the box and the steps.
        let text = include_str!("../../../tests/data/programs/tensor_maps.txt");
        let mut checked = 0;
        for line in text.lines() {
            let mut parts = line.split(' ');
            let mut next = || parts.next().unwrap();
            let (kind, rank): (u8, usize) = (next().parse().unwrap(), next().parse().unwrap());
            let address = u64::from_str_radix(next(), 16).unwrap();
            let [interleave, swizzle, fill] = [(); 3].map(|()| next().parse::<u8>().unwrap());
            let hex = next();
            let bytes: Vec<u8> = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
            let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect::<Vec<u64>>();
            let [sizes, strides, extents, steps] = [(); 4].map(|()| list(next()));
            let map = TensorMap::decode(&bytes).unwrap();
            assert_eq!((ELEMENT_TYPES[map.kind].1, map.rank, map.address), (kind, rank, address), "{line}");
            assert_eq!((map.interleave, map.swizzle, map.fills_nan), (interleave, 16 << swizzle, fill == 1), "{line}");
            assert_eq!((&map.sizes[..rank], &map.strides[..rank - 1]), (&sizes[..], &strides[..]), "{line}");
            let wide = |values: &[u32]| values.iter().map(|value| u64::from(*value)).collect::<Vec<u64>>();
            assert_eq!((wide(&map.extents[..rank]), wide(&map.steps[..rank])), (extents, steps), "{line}");
            // The driver's hint on LLC sectors, which has no effect, is in bits 17 and 18 of the flags.
            let mut same = bytes[..64].to_vec();
            same[10] &= !6;
            assert_eq!(map.encode()[..64], same[..], "{line}");
            checked += 1;
        }
        assert!(checked >= 40, "{checked} lines");
    }
}
