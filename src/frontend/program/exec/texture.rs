//! Texture and surface objects: texels by point sampling, and the bytes of surfaces.
//!
//! An object is a number, from 1 in the order of the launch file. Its image lies in a buffer row after row, as linear memory of CUDA does.

use super::super::contents::Element;
use super::super::isa::{Beyond, Image, ImageAccess, Inst, Space};
use super::super::schema::Outside;
use super::access::{LaneTrouble, Memories};
use super::cta::Trouble;
use super::lanes::{Lanes, Row};

/// An image in device memory.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Texture {
    /// Where it begins.
    pub(in super::super) start: u64,
    pub(in super::super) element: Element,
    /// Numbers of a texel.
    pub(in super::super) channels: u8,
    /// Width, height, and depth or layers.
    pub(in super::super) size: [u32; 3],
    pub(in super::super) layered: bool,
    pub(in super::super) outside: Outside,
    pub(in super::super) normalized: bool,
    pub(in super::super) fractions: bool,
}

impl Texture {
    /// The texel of a place along one dimension, in texels or from 0 to 1; `None` where the image has none.
    fn along(&self, place: f32, dimension: usize) -> Option<u32> {
        let size = self.size[dimension];
        let wide = f64::from(place) * if self.normalized { f64::from(size) } else { 1.0 };
        self.inside(if wide.is_nan() { 0.0 } else { wide.floor() }, size)
    }

    /// The texel that stands for number `texel` of `size`.
    fn inside(&self, texel: f64, size: u32) -> Option<u32> {
        let last = f64::from(size - 1);
        if (0.0..=last).contains(&texel) {
            return Some(texel as u32);
        }
        match self.outside {
            Outside::Clamp => Some(texel.clamp(0.0, last) as u32),
            Outside::Border => None,
            Outside::Wrap => Some(texel.rem_euclid(f64::from(size)) as u32),
            Outside::Mirror => {
                let place = texel.rem_euclid(2.0 * f64::from(size));
                Some(if place > last { 2.0 * f64::from(size) - 1.0 - place } else { place } as u32)
            }
        }
    }

    /// The address of a texel.
    fn address(&self, [x, y, z]: [u32; 3]) -> u64 {
        let number = (u64::from(z) * u64::from(self.size[1]) + u64::from(y)) * u64::from(self.size[0]) + u64::from(x);
        self.start + number * self.texel()
    }

    /// Bytes of a texel.
    fn texel(&self) -> u64 {
        u64::from(self.channels) * self.element.bytes() as u64
    }

    /// A number of a texel as a register holds it.
    fn number(&self, raw: u64) -> u32 {
        let raw = raw as u32;
        match (self.element, self.fractions) {
            (Element::Unsigned(bytes), true) => (raw as f32 / (((1_u64 << (8 * bytes)) - 1) as f32)).to_bits(),
            (Element::Signed(bytes), true) => {
                let value = extended(raw, bytes) as f32 / (((1_u64 << (8 * bytes - 1)) - 1) as f32);
                value.max(-1.0).to_bits()
            }
            (Element::Signed(bytes), false) => extended(raw, bytes) as u32,
            _ => raw,
        }
    }

    /// One number of a texel; zero where the image has none.
    fn read(&self, texel: Option<[u32; 3]>, channel: u8, memories: &mut Memories<'_>, thread: usize) -> Result<u32, Trouble> {
        let Some(texel) = texel.filter(|_| channel < self.channels) else { return Ok(0) };
        let bytes = self.element.bytes();
        let place = self.address(texel) + u64::from(channel) * bytes as u64;
        memories.read(Space::Global, place, bytes, thread).map(|raw| self.number(raw))
    }
}

fn extended(raw: u32, bytes: usize) -> i32 {
    let shift = 32 - 8 * bytes as u32;
    (raw << shift) as i32 >> shift
}

/// Executes a texture or surface instruction in the lanes of `mask`, whose first is thread `thread` of the CTA.
pub(super) fn execute(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[Row],
    mask: u32,
    (memories, textures): (&mut Memories<'_>, &[Texture]),
    thread: usize,
) -> Result<(), LaneTrouble> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let handle = lanes.row(pool, inst.address.uniform)[lane];
        let place = (handle as usize).wrapping_sub(1);
        let texture = textures.get(place).ok_or((lane, Trouble::Object(handle, textures.len())))?;
        let done = match image.access {
            ImageAccess::Load { .. } | ImageAccess::Store { .. } => {
                surface(inst, image, lanes, pool, lane, (texture, memories, thread + lane))
            }
            _ => sample(inst, image, lanes, pool, lane, (texture, memories, thread + lane)),
        };
        done.map_err(|trouble| (lane, trouble))?;
    }
    Ok(())
}

fn sample(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[Row],
    lane: usize,
    (texture, memories, thread): (&Texture, &mut Memories<'_>, usize),
) -> Result<(), Trouble> {
    let coordinate = |number: u8| {
        let row =
            if number < image.first { inst.src[0].row + u16::from(number) } else { inst.src[1].row + u16::from(number - image.first) };
        lanes.row(pool, row)[lane]
    };
    let from = u8::from(image.layered);
    let layer = if image.layered { coordinate(0).min(texture.size[2] - 1) } else { 0 };
    let mut values = [0; 4];
    match image.access {
        ImageAccess::Fetch => {
            let mut texel = [0, 0, layer];
            let mut outside = false;
            for dimension in 0..image.dimensions {
                let place = coordinate(from + dimension);
                outside |= place >= texture.size[usize::from(dimension)];
                texel[usize::from(dimension)] = place;
            }
            for channel in 0..4 {
                values[usize::from(channel)] = texture.read((!outside).then_some(texel), channel, memories, thread)?;
            }
        }
        ImageAccess::Gather(channel) => {
            let floor = |number: u8, dimension: usize| {
                let place = f64::from(f32::from_bits(coordinate(from + number)));
                let place = place * if texture.normalized { f64::from(texture.size[dimension]) } else { 1.0 };
                (place - 0.5).floor()
            };
            let (x, y) = (floor(0, 0), floor(1, 1));
            // Counter-clockwise, from the lower left.
            for (value, (right, down)) in values.iter_mut().zip([(0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)]) {
                let texel = texture.inside(x + right, texture.size[0]).zip(texture.inside(y + down, texture.size[1]));
                *value = texture.read(texel.map(|(x, y)| [x, y, layer]), channel, memories, thread)?;
            }
        }
        _ => {
            let mut texel = Some([0, 0, layer]);
            for dimension in 0..image.dimensions {
                let along = texture.along(f32::from_bits(coordinate(from + dimension)), usize::from(dimension));
                texel = texel.zip(along).map(|(mut texel, along)| {
                    texel[usize::from(dimension)] = along;
                    texel
                });
            }
            for channel in 0..4 {
                values[usize::from(channel)] = texture.read(texel, channel, memories, thread)?;
            }
        }
    }
    // What is wanted stands side by side, two numbers in each destination.
    let wanted = (0..4).filter(|channel| image.mask >> channel & 1 != 0);
    for (number, channel) in wanted.enumerate() {
        let row = if number < 2 { inst.dst } else { inst.address.row };
        lanes.put(row + number as u16 % 2, lane, values[channel]);
    }
    Ok(())
}

fn surface(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[Row],
    lane: usize,
    (texture, memories, thread): (&Texture, &mut Memories<'_>, usize),
) -> Result<(), Trouble> {
    let (bytes, beyond, store) = match image.access {
        ImageAccess::Store { bytes, beyond } => (bytes, beyond, true),
        ImageAccess::Load { bytes, beyond, .. } => (bytes, beyond, false),
        _ => return Ok(()),
    };
    let places: [i32; 3] = std::array::from_fn(|number| lanes.row(pool, inst.src[0].row + number as u16)[lane] as i32);
    let mut limits = [i64::from(texture.size[0]) * texture.texel() as i64 - i64::from(bytes), 0, 0];
    let mut inside = [i64::from(places[0]), 0, 0];
    for dimension in 1..usize::from(image.dimensions) {
        (inside[dimension], limits[dimension]) = (i64::from(places[dimension]), i64::from(texture.size[dimension]) - 1);
    }
    if image.layered {
        (inside[2], limits[2]) = (i64::from(places[usize::from(image.dimensions)]), i64::from(texture.size[2]) - 1);
    }
    let mut skip = false;
    for (place, limit) in inside.iter_mut().zip(limits) {
        if *place < 0 || *place > limit {
            match beyond {
                Beyond::Trap => return Err(Trouble::BeyondSurface(places)),
                Beyond::Zero => skip = true,
                Beyond::Clamp => *place = (*place).clamp(0, limit.max(0)),
            }
        }
    }
    let row = (inside[2] as u64 * u64::from(texture.size[1]) + inside[1] as u64) * u64::from(texture.size[0]) * texture.texel();
    let address = texture.start.wrapping_add(row).wrapping_add(inside[0] as u64);
    if !skip && !address.is_multiple_of(u64::from(bytes)) {
        return Err(Trouble::Misaligned { address, bytes: usize::from(bytes) });
    }
    let size = usize::from(bytes.min(4));
    for word in 0..u16::from(bytes.div_ceil(4)) {
        let place = address + 4 * u64::from(word);
        if store {
            let value = u64::from(lanes.row(pool, inst.src[1].row + word)[lane]);
            if !skip {
                memories.write(Space::Global, place, size, value, thread)?;
            }
        } else {
            let raw = if skip { 0 } else { memories.read(Space::Global, place, size, thread)? as u32 };
            let signed = matches!(image.access, ImageAccess::Load { signed: true, .. });
            lanes.put(inst.dst + word, lane, if signed { extended(raw, size) as u32 } else { raw });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(outside: Outside, normalized: bool) -> Texture {
        let element = Element::Unsigned(1);
        Texture { start: 0, element, channels: 1, size: [4, 2, 1], layered: false, outside, normalized, fractions: false }
    }

    #[test]
    fn places_outside_of_an_image_are_what_its_mode_says() {
        let along = |outside, normalized, place| texture(outside, normalized).along(place, 0);
        let clamped = [-7.0, 0.0, 0.99, 3.5, 4.0, f32::INFINITY, f32::NAN].map(|place| along(Outside::Clamp, false, place));
        assert_eq!(clamped, [0, 0, 0, 3, 3, 3, 0].map(Some));
        assert_eq!([-0.1, 0.1, 4.0].map(|place| along(Outside::Border, false, place)), [None, Some(0), None]);
        assert_eq!([-0.25, 1.25, 2.5, 0.75].map(|place| along(Outside::Wrap, true, place)), [3, 1, 2, 3].map(Some));
        assert_eq!([-0.25, 1.0, 1.25, 2.25].map(|place| along(Outside::Mirror, true, place)), [0, 3, 2, 1].map(Some));
    }

    #[test]
    fn integers_become_fractions_where_that_is_asked_for() {
        let of = |element, raw| f32::from_bits(Texture { element, fractions: true, ..texture(Outside::Clamp, false) }.number(raw));
        assert_eq!((of(Element::Unsigned(1), 255), of(Element::Unsigned(2), 0)), (1.0, 0.0));
        assert_eq!(
            (of(Element::Signed(1), 0x80), of(Element::Signed(1), 127), of(Element::Signed(2), 0xffff)),
            (-1.0, 1.0, -1.0 / 32767.0)
        );
        assert_eq!(Texture { element: Element::Signed(1), ..texture(Outside::Clamp, false) }.number(0xfe), -2_i32 as u32);
    }
}
