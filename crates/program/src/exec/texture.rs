//! Texture and surface objects: selection and filtering of texels.
//!
//! An object is a number, starting at 1 in the order of the launch file. Its image is stored row by row in a buffer, like linear memory of
//! CUDA. Filters follow the CUDA C++ Programming Guide, appendix "Texture Fetching".

use super::super::contents::Element;
use super::super::isa::Space;
use super::super::schema::{Filter, Outside};
use super::access::Memories;
use super::cta::ExecFault;

/// Filter weights between two texels: weights have 8 fraction bits.
const FILTER_WEIGHTS: f64 = 256.0;

/// An image in device memory.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Texture {
    /// Address of the image.
    pub(in super::super) start: u64,
    pub(in super::super) element: Element,
    /// Components per texel.
    pub(in super::super) channels: u8,
    /// Width, height, and depth or number of layers.
    pub(in super::super) size: [u32; 3],
    pub(in super::super) layered: bool,
    pub(in super::super) outside: Outside,
    pub(in super::super) normalized: bool,
    pub(in super::super) fractions: bool,
    pub(in super::super) filter: Filter,
}

/// The two texels around a coordinate in one dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TexelPair {
    /// Index of the first texel, which may be outside of the image.
    pub(super) first: f64,
    pub(super) share: f64,
}

impl TexelPair {
    /// Returns a position exactly on one texel.
    pub(super) fn single(number: u32) -> Self {
        Self { first: f64::from(number), share: 0.0 }
    }
}

impl Texture {
    /// Converts a coordinate in one dimension to texels.
    fn texel_coordinate(&self, place: f32, dimension: usize) -> f64 {
        let wide = f64::from(place) * if self.normalized { f64::from(self.size[dimension]) } else { 1.0 };
        if wide.is_nan() { 0.0 } else { wide }
    }

    /// Returns the two texels whose centres surround a coordinate, which is in texels or normalised.
    pub(super) fn surrounding_texels(&self, place: f32, dimension: usize) -> TexelPair {
        let place = self.texel_coordinate(place, dimension) - 0.5;
        let first = place.floor();
        let share = if first.is_finite() { ((place - first) * FILTER_WEIGHTS).round() / FILTER_WEIGHTS } else { 0.0 };
        TexelPair { first, share }
    }

    /// Returns the texels that a filter reads at a coordinate: the texel that contains it, or the surrounding ones.
    pub(super) fn filter_texels(&self, place: f32, dimension: usize) -> TexelPair {
        match self.filter {
            Filter::Point => TexelPair { first: self.texel_coordinate(place, dimension).floor(), share: 0.0 },
            Filter::Linear => self.surrounding_texels(place, dimension),
        }
    }

    /// Applies the addressing mode to the texel index `texel` in one dimension; returns `None` for a border value.
    fn texel_inside(&self, texel: f64, dimension: usize) -> Option<u32> {
        let size = f64::from(self.size[dimension]);
        let last = size - 1.0;
        if (0.0..=last).contains(&texel) {
            return Some(texel as u32);
        }
        match self.outside {
            Outside::Clamp => Some(texel.clamp(0.0, last) as u32),
            Outside::Border => None,
            Outside::Wrap => Some(texel.rem_euclid(size) as u32),
            Outside::Mirror => {
                let place = texel.rem_euclid(2.0 * size);
                Some(if place > last { 2.0 * size - 1.0 - place } else { place } as u32)
            }
        }
    }

    /// Returns the texel at a corner of the filter footprint: bit i of `corner` selects the second texel in dimension i. Returns `None` for
    /// a border value.
    pub(super) fn corner_texel(&self, around: &[TexelPair; 3], corner: usize) -> Option<[u32; 3]> {
        let mut texel = [0; 3];
        for (dimension, (number, beside)) in texel.iter_mut().zip(around).enumerate() {
            *number = self.texel_inside(beside.first + (corner >> dimension & 1) as f64, dimension)?;
        }
        Some(texel)
    }

    /// Returns the first texel of a footprint, or `None` if it is outside of the image.
    pub(super) fn first_texel(&self, around: &[TexelPair; 3]) -> Option<[u32; 3]> {
        let inside = around.iter().zip(self.size).all(|(beside, size)| (0.0..f64::from(size)).contains(&beside.first));
        inside.then(|| around.map(|beside| beside.first as u32))
    }

    /// Returns the four components of a filtered sample: one texel unchanged, or the weighted sum of several, computed in double precision
    /// and rounded once.
    pub(super) fn filtered_components(
        &self,
        around: &[TexelPair; 3],
        memories: &mut Memories<'_>,
        thread: usize,
    ) -> Result<[u32; 4], ExecFault> {
        if self.filter == Filter::Point {
            return self.read(self.corner_texel(around, 0), memories, thread);
        }
        let mut sums = [0.0; 4];
        for corner in 0..8 {
            let part = |dimension: usize, share: f64| if corner >> dimension & 1 == 1 { share } else { 1.0 - share };
            let weight: f64 = around.iter().enumerate().map(|(dimension, beside)| part(dimension, beside.share)).product();
            if weight > 0.0 {
                let numbers = self.read(self.corner_texel(around, corner), memories, thread)?;
                sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += weight * f64::from(f32::from_bits(number)));
            }
        }
        Ok(sums.map(|sum| (sum as f32).to_bits()))
    }

    /// Returns the address of an access to a footprint for the timing model: its first texel, or the nearest texel in the image.
    pub(super) fn address_of(&self, around: &[TexelPair; 3]) -> u64 {
        let along = |dimension: usize| {
            let TexelPair { first, .. } = around[dimension];
            self.texel_inside(first, dimension).unwrap_or_else(|| first.clamp(0.0, f64::from(self.size[dimension] - 1)) as u32)
        };
        self.address(std::array::from_fn(along))
    }

    /// Returns the address of a texel.
    pub(super) fn address(&self, [x, y, z]: [u32; 3]) -> u64 {
        let number = (u64::from(z) * u64::from(self.size[1]) + u64::from(y)) * u64::from(self.size[0]) + u64::from(x);
        self.start + number * self.texel_bytes()
    }

    /// Returns the bytes per texel.
    pub(super) fn texel_bytes(&self) -> u64 {
        u64::from(self.channels) * self.element.bytes() as u64
    }

    /// Converts a component of a texel to its register value.
    fn register_value(&self, raw: u64) -> u32 {
        let raw = raw as u32;
        match (self.element, self.fractions) {
            (Element::Unsigned(bytes), true) => (raw as f32 / (((1_u64 << (8 * bytes)) - 1) as f32)).to_bits(),
            (Element::Signed(bytes), true) => {
                let value = sign_extended(raw, bytes) as f32 / (((1_u64 << (8 * bytes - 1)) - 1) as f32);
                value.max(-1.0).to_bits()
            }
            (Element::Signed(bytes), false) => sign_extended(raw, bytes) as u32,
            _ => raw,
        }
    }

    /// Returns the components of a texel, or zeros outside of the image.
    pub(super) fn read(&self, texel: Option<[u32; 3]>, memories: &mut Memories<'_>, thread: usize) -> Result<[u32; 4], ExecFault> {
        let mut numbers = [0; 4];
        if let Some(texel) = texel {
            let bytes = self.element.bytes();
            for (number, place) in numbers[..usize::from(self.channels)].iter_mut().zip((self.address(texel)..).step_by(bytes)) {
                *number = self.register_value(memories.read(Space::Global, place, bytes, thread)?);
            }
        }
        Ok(numbers)
    }
}

/// Sign-extends the low bytes of a word.
pub(super) fn sign_extended(raw: u32, bytes: usize) -> i32 {
    let shift = 32 - 8 * bytes as u32;
    (raw << shift) as i32 >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(outside: Outside, normalized: bool) -> Texture {
        let element = Element::Unsigned(1);
        Texture {
            start: 0,
            element,
            channels: 1,
            size: [4, 2, 1],
            layered: false,
            outside,
            normalized,
            fractions: false,
            filter: Filter::Point,
        }
    }

    #[test]
    fn coordinates_outside_of_an_image_follow_its_mode() {
        let along = |outside, normalized, place| {
            let texture = texture(outside, normalized);
            texture.texel_inside(texture.filter_texels(place, 0).first, 0)
        };
        let clamped = [-7.0, 0.0, 0.99, 3.5, 4.0, f32::INFINITY, f32::NAN].map(|place| along(Outside::Clamp, false, place));
        assert_eq!(clamped, [0, 0, 0, 3, 3, 3, 0].map(Some));
        assert_eq!([-0.1, 0.1, 4.0].map(|place| along(Outside::Border, false, place)), [None, Some(0), None]);
        assert_eq!([-0.25, 1.25, 2.5, 0.75].map(|place| along(Outside::Wrap, true, place)), [3, 1, 2, 3].map(Some));
        assert_eq!([-0.25, 1.0, 1.25, 2.25].map(|place| along(Outside::Mirror, true, place)), [0, 3, 2, 1].map(Some));
    }

    #[test]
    fn a_filter_weighs_the_texels_on_both_sides_in_steps_of_one_256th() {
        let texture = Texture { filter: Filter::Linear, ..texture(Outside::Clamp, false) };
        let beside = |place| {
            let TexelPair { first, share } = texture.filter_texels(place, 0);
            (first, share)
        };
        assert_eq!([0.5, 1.0, 1.25].map(beside), [(0.0, 0.0), (0.0, 0.5), (0.0, 0.75)]);
        assert_eq!([0.0, -7.25, 3.75].map(beside), [(-1.0, 0.5), (-8.0, 0.25), (3.0, 0.25)]);
        // A weight is rounded to the nearest step; the last step is the next texel.
        assert_eq!([1.0 + 0.4 / 256.0, 1.0 + 0.6 / 256.0, 1.499_999].map(beside), [(0.0, 0.5), (0.0, 129.0 / 256.0), (0.0, 1.0)]);
        assert_eq!([f32::INFINITY, f32::NAN].map(|place| beside(place).1), [0.0, 0.5]);
    }

    #[test]
    fn an_access_outside_of_an_image_counts_with_the_address_of_the_nearest_texel() {
        let at = |outside, x, y| {
            let texture = texture(outside, false);
            texture.address_of(&[texture.filter_texels(x, 0), texture.filter_texels(y, 1), TexelPair::default()])
        };
        assert_eq!([at(Outside::Border, -3.0, 1.0), at(Outside::Border, 9.0, 9.0), at(Outside::Clamp, 2.5, 1.5)], [4, 7, 6]);
    }

    #[test]
    fn integers_become_fractions_on_request() {
        let of = |element, raw| f32::from_bits(Texture { element, fractions: true, ..texture(Outside::Clamp, false) }.register_value(raw));
        assert_eq!((of(Element::Unsigned(1), 255), of(Element::Unsigned(2), 0)), (1.0, 0.0));
        assert_eq!(
            (of(Element::Signed(1), 0x80), of(Element::Signed(1), 127), of(Element::Signed(2), 0xffff)),
            (-1.0, 1.0, -1.0 / 32767.0)
        );
        assert_eq!(Texture { element: Element::Signed(1), ..texture(Outside::Clamp, false) }.register_value(0xfe), -2_i32 as u32);
    }
}
