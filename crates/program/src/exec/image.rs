//! Execution of texture and surface instructions, lane by lane.

use super::super::isa::{Image, ImageAccess, Inst, Space, SurfaceOverrun};
use super::access::{LaneFault, Memories};
use super::cta::ExecFault;
use super::lanes::{Lanes, RegisterRow};
use super::texture::{TexelPair, Texture, sign_extended};

/// The operands of one lane: its number, its thread in the CTA, and the image of its object.
struct LaneImage<'a> {
    number: usize,
    thread: usize,
    texture: &'a Texture,
}

/// Executes a texture or surface instruction in the lanes of `mask`; lane 0 is thread `thread` of the CTA. Returns the address of each
/// lane's access for the timing model.
pub(super) fn execute(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    (memories, textures): (&mut Memories<'_>, &[Texture]),
    thread: usize,
) -> Result<[u64; 32], LaneFault> {
    let mut places = [0; 32];
    for number in (0..32).filter(|number| mask >> number & 1 != 0) {
        let handle = lanes.row(pool, inst.address.uniform)[number];
        let place = (handle as usize).wrapping_sub(1);
        let texture = textures.get(place).ok_or((number, ExecFault::Object(handle, textures.len())))?;
        let lane = LaneImage { number, thread: thread + number, texture };
        let done = match image.access {
            ImageAccess::Load { .. } | ImageAccess::Store { .. } => access_surface(inst, image, lanes, pool, &lane, memories),
            ImageAccess::Query => {
                let [width, height, depth] = texture.size;
                // The last value is the number of mipmap levels.
                write_components(inst, image, lanes, number, [width, height, depth, 1]);
                Ok(0)
            }
            _ => sample_image(inst, image, lanes, pool, &lane, memories),
        };
        places[number] = done.map_err(|fault| (number, fault))?;
    }
    Ok(places)
}

/// Writes the requested components side by side, two in each destination.
fn write_components(inst: &Inst, image: Image, lanes: &mut Lanes, lane: usize, values: [u32; 4]) {
    let wanted = (0..4).filter(|channel| image.mask >> channel & 1 != 0);
    for (number, channel) in wanted.enumerate() {
        let row = if number < 2 { inst.dst } else { inst.address.row };
        lanes.set_lane(row + number as u16 % 2, lane, values[channel]);
    }
}

/// Samples an image at the coordinates in registers; returns the address of the access for the timing model.
fn sample_image(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    &LaneImage { number, thread, texture }: &LaneImage<'_>,
    memories: &mut Memories<'_>,
) -> Result<u64, ExecFault> {
    let coordinate = |place: u8| {
        let row = if place < image.first { inst.src[0].row + u16::from(place) } else { inst.src[1].row + u16::from(place - image.first) };
        lanes.row(pool, row)[number]
    };
    let from = u8::from(image.layered);
    let mut around = [TexelPair::default(); 3];
    if image.layered {
        around[2] = TexelPair::single(coordinate(0).min(texture.size[2] - 1));
    }
    for dimension in 0..image.dimensions {
        let (place, dimension) = (coordinate(from + dimension), usize::from(dimension));
        around[dimension] = match image.access {
            ImageAccess::Fetch => TexelPair::single(place),
            ImageAccess::Gather(_) => TexelPair { share: 0.0, ..texture.surrounding_texels(f32::from_bits(place), dimension) },
            _ => texture.filter_texels(f32::from_bits(place), dimension),
        };
    }
    let values = match image.access {
        ImageAccess::Gather(channel) => {
            // The texels are ordered counter-clockwise from the lower left.
            let mut values = [0; 4];
            for (value, corner) in values.iter_mut().zip([0b10, 0b11, 0b01, 0b00]) {
                *value = texture.read(texture.corner_texel(&around, corner), memories, thread)?[usize::from(channel)];
            }
            values
        }
        // Integer coordinates select one texel, or none outside of the image.
        ImageAccess::Fetch => texture.read(texture.first_texel(&around), memories, thread)?,
        _ => texture.filtered_components(&around, memories, thread)?,
    };
    write_components(inst, image, lanes, number, values);
    Ok(texture.address_of(&around))
}

/// Reads or writes bytes of a surface; returns the address, or the address of the nearest bytes inside for an access outside of the
/// surface.
fn access_surface(
    inst: &Inst,
    image: Image,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    &LaneImage { number, thread, texture }: &LaneImage<'_>,
    memories: &mut Memories<'_>,
) -> Result<u64, ExecFault> {
    let (bytes, beyond, store) = match image.access {
        ImageAccess::Store { bytes, beyond } => (bytes, beyond, true),
        ImageAccess::Load { bytes, beyond, .. } => (bytes, beyond, false),
        _ => return Ok(0),
    };
    let places: [i32; 3] = std::array::from_fn(|place| lanes.row(pool, inst.src[0].row + place as u16)[number] as i32);
    let mut limits = [i64::from(texture.size[0]) * texture.texel_bytes() as i64 - i64::from(bytes), 0, 0];
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
                SurfaceOverrun::Trap => return Err(ExecFault::BeyondSurface(places)),
                SurfaceOverrun::Zero => skip = true,
                SurfaceOverrun::Clamp => {}
            }
            *place = (*place).clamp(0, limit.max(0));
        }
    }
    let row = (inside[2] as u64 * u64::from(texture.size[1]) + inside[1] as u64) * u64::from(texture.size[0]) * texture.texel_bytes();
    let address = texture.start.wrapping_add(row).wrapping_add(inside[0] as u64);
    if !skip && !address.is_multiple_of(u64::from(bytes)) {
        return Err(ExecFault::Misaligned { address, bytes: usize::from(bytes) });
    }
    let size = usize::from(bytes.min(4));
    for word in 0..u16::from(bytes.div_ceil(4)) {
        let place = address + 4 * u64::from(word);
        if store {
            let value = u64::from(lanes.row(pool, inst.src[1].row + word)[number]);
            if !skip {
                memories.write(Space::Global, place, size, value, thread)?;
            }
        } else {
            let raw = if skip { 0 } else { memories.read(Space::Global, place, size, thread)? as u32 };
            let signed = matches!(image.access, ImageAccess::Load { signed: true, .. });
            lanes.set_lane(inst.dst + word, number, if signed { sign_extended(raw, size) as u32 } else { raw });
        }
    }
    Ok(address)
}
