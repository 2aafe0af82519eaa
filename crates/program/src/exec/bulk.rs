//! Copies by the tensor memory accelerator: linear pieces, and boxes of tensors that tensor maps describe.
//!
//! A copy completes together with its instruction: its bytes then count at its barrier in shared memory. Elements outside of a tensor are
//! read as zeros or NaN, and are not written (PTX ISA, "cp.async.bulk.tensor"). A box is stored in shared memory row by row, with its
//! pieces of 16 bytes swizzled as the map specifies.

use super::super::isa::{AtomicType, Banks, Bulk, BulkType, Inst, Round, Space};
use super::super::tensor_map::{ELEMENT_TYPES, MAP_BYTES, MAX_RANK, TensorMap};
use super::access::{Memories, apply_atomic};
use super::cta::{CONSTANT_WINDOW, ExecFault};
use super::half;
use super::lanes::{Lanes, RegisterRow};
use super::mbarrier;
use super::products::swizzle;

/// Granularity of copies in device memory, in bytes.
pub(super) const COPY_UNIT_BYTES: u64 = 16;

/// Executes a bulk copy of a warp.
pub(super) fn execute(
    inst: &Inst,
    op: Bulk,
    lanes: &Lanes,
    pool: &[RegisterRow],
    (memories, banks): (&mut Memories<'_>, &Banks),
) -> Result<(), ExecFault> {
    let word = |source: usize, offset: u16| lanes.row(pool, inst.src[source].row + offset)[0];
    let wide = |source: usize| u64::from(word(source, 0)) | u64::from(word(source, 1)) << 32;
    let shared = |source: usize, offset: u16| u64::from(word(source, offset));
    match op {
        Bulk::Prefetch => {}
        Bulk::LoadTensor { rank, multicast } => {
            let map = tensor(wide(1), rank, memories, banks)?;
            let corner = |place: usize| word(0, 2 + place as u16) as i32;
            let bytes = box_bytes(&map, corner, memories)?;
            for (to, barrier) in destinations(shared(0, 0), shared(0, 1), multicast.then(|| word(2, 0) >> 16), memories)? {
                for (place, piece) in bytes.chunks(16).enumerate() {
                    let address = swizzle(to + 16 * place as u64, map.swizzle);
                    memories.cta_bytes(Space::Shared, address, piece.len(), 0)?.copy_from_slice(piece);
                }
                mbarrier::complete(memories, barrier, bytes.len() as i64)?;
            }
        }
        Bulk::StoreTensor { rank } | Bulk::ReduceTensor { rank, .. } => {
            let map = tensor(wide(1), rank, memories, banks)?;
            let corner = |place: usize| word(0, 1 + place as u16) as i32;
            let from = shared(0, 0);
            let size = map.size();
            let mut elements = Vec::new();
            for_each_run(&map, corner, |number, address, count| {
                elements.extend((0..count).filter_map(|place| address.map(|address| (number + place, address + place * size))));
            });
            for (number, address) in elements {
                let place = swizzle(from + number * size, map.swizzle);
                let value = memories.read(Space::Shared, place, size as usize, 0)?;
                let value = match op {
                    Bulk::ReduceTensor { op, .. } => {
                        let old = memories.read(Space::Global, address, size as usize, 0)?;
                        reduce_element(op, reduction_type(&map)?, old, value)
                    }
                    _ => value,
                };
                memories.write(Space::Global, address, size as usize, value, 0)?;
            }
        }
        Bulk::Load { multicast } => {
            let (from, size) = (wide(1), 16 * u64::from(word(2, 0) & 0xffff));
            for (to, barrier) in destinations(shared(0, 0), shared(0, 1), multicast.then(|| word(2, 0) >> 16), memories)? {
                copy_linear(Space::Shared, to, Space::Global, from, size, memories)?;
                mbarrier::complete(memories, barrier, size as i64)?;
            }
        }
        Bulk::Store => copy_linear(Space::Global, wide(0), Space::Shared, shared(1, 0), 16 * u64::from(word(2, 0) & 0xffff), memories)?,
        Bulk::Move => {
            let size = 16 * u64::from(word(2, 0) & 0xffff);
            copy_linear(Space::Shared, shared(0, 0), Space::Shared, shared(1, 0), size, memories)?;
            mbarrier::complete(memories, shared(0, 1), size as i64)?;
        }
        Bulk::Reduce { op, kind } => {
            let (to, from, size) = (wide(0), shared(1, 0), 16 * u64::from(word(2, 0) & 0xffff));
            let width = match kind {
                BulkType::Half | BulkType::Bfloat => 2,
                BulkType::Atomic(kind) if kind.is_wide() => 8,
                BulkType::Atomic(_) => 4,
            };
            for offset in (0..size).step_by(width) {
                let value = memories.read(Space::Shared, from + offset, width, 0)?;
                let old = memories.read(Space::Global, to + offset, width, 0)?;
                memories.write(Space::Global, to + offset, width, reduce_element(op, kind, old, value), 0)?;
            }
        }
    }
    Ok(())
}

/// Returns the tensor map at an address of device memory or of constant bank 0.
pub(super) fn tensor(address: u64, rank: u8, memories: &mut Memories<'_>, banks: &Banks) -> Result<TensorMap, ExecFault> {
    if !address.is_multiple_of(64) {
        return Err(ExecFault::Misaligned { address, bytes: 64 });
    }
    let mut bytes = [0; MAP_BYTES];
    for (place, eight) in bytes.chunks_exact_mut(8).enumerate() {
        let at = address + 8 * place as u64;
        let word = match at.checked_sub(CONSTANT_WINDOW).and_then(|offset| banks.read(0, offset as i64, 8)) {
            Some(word) => word,
            None => memories.read(Space::Global, at, 8, 0)?,
        };
        eight.copy_from_slice(&word.to_le_bytes());
    }
    let map = TensorMap::decode(&bytes)
        .ok_or(ExecFault::Unsupported("a tensor map whose type of elements or number of dimensions is unknown"))?;
    if map.rank != usize::from(rank) {
        return Err(ExecFault::Unsupported("a copy with another number of dimensions than its tensor map"));
    }
    if map.interleave != 0 {
        return Err(ExecFault::Unsupported("a tensor map of an interleaved tensor"));
    }
    Ok(map)
}

/// Returns the destination addresses of a copy and the barrier of each: in the CTAs of `mask`, or at the given addresses.
fn destinations(to: u64, barrier: u64, mask: Option<u32>, memories: &Memories<'_>) -> Result<Vec<(u64, u64)>, ExecFault> {
    let Some(mask) = mask else { return Ok(vec![(to, barrier)]) };
    if u64::from(mask) >> memories.peers.len() != 0 {
        return Err(ExecFault::Unsupported("a copy to a CTA that the cluster does not have"));
    }
    let within = |address: u64, rank: u64| address & 0xff_ffff | rank << 24;
    Ok((0..16).filter(|rank| mask >> rank & 1 != 0).map(|rank| (within(to, rank), within(barrier, rank))).collect())
}

/// Visits the elements of a box in order, in runs of consecutive addresses. `visit` receives the index of a run's first element in the box,
/// its address (`None` if the run is outside of the tensor), and the number of elements.
fn for_each_run(map: &TensorMap, corner: impl Fn(usize) -> i32, mut visit: impl FnMut(u64, Option<u64>, u64)) {
    let counts = map.counts();
    let (first, row) = (i64::from(corner(0)), counts[0]);
    let rows: u64 = counts[1..].iter().product();
    let mut at = [0; MAX_RANK];
    for number in (0..rows).map(|number| number * row) {
        let mut start = Some(map.address);
        for (place, at) in at.iter().enumerate().take(map.rank).skip(1) {
            let index = i64::from(corner(place)) + (at * u64::from(map.steps[place])) as i64;
            let inside = index >= 0 && (index as u64) < map.sizes[place];
            start = start.filter(|_| inside).map(|start| start.wrapping_add(index as u64 * map.strides[place - 1]));
        }
        let address = |index: i64| start.map(|start| start.wrapping_add(index as u64 * map.size()));
        let end = map.sizes[0] as i64;
        if map.steps[0] == 1 {
            // Bounds of the row's parts before, inside and after the tensor.
            let bounds = [first, first.max(0), (first + row as i64).min(end), first + row as i64];
            let bounds = [bounds[0], bounds[1].min(bounds[3]), bounds[2].max(bounds[1]).min(bounds[3]), bounds[3]];
            for (part, from) in bounds[..3].iter().enumerate().filter(|(part, from)| bounds[part + 1] > **from) {
                let inside = if part == 1 { address(*from) } else { None };
                visit(number + (from - first) as u64, inside, (bounds[part + 1] - from) as u64);
            }
        } else {
            for place in 0..row {
                let index = first + (place * u64::from(map.steps[0])) as i64;
                visit(number + place, if (0..end).contains(&index) { address(index) } else { None }, 1);
            }
        }
        for (at, count) in at.iter_mut().zip(counts).skip(1) {
            *at += 1;
            if *at < count {
                break;
            }
            *at = 0;
        }
    }
}

/// Returns the bytes of a box.
fn box_bytes(map: &TensorMap, corner: impl Fn(usize) -> i32, memories: &mut Memories<'_>) -> Result<Vec<u8>, ExecFault> {
    let size = map.size();
    let total: u64 = map.counts().iter().product();
    let mut bytes = vec![0; (total * size) as usize];
    let (name, ..) = ELEMENT_TYPES[map.kind];
    let nan: u64 = match name {
        _ if !map.fills_nan => 0,
        "f16" | "bf16" => 0x7fff,
        "f64" => 0x7fff_ffff_ffff_ffff,
        _ => 0x7fff_ffff,
    };
    // Consecutive elements are read together.
    let mut runs: Vec<(u64, u64, u64)> = Vec::new();
    for_each_run(map, corner, |number, address, count| match (address, runs.last_mut()) {
        (Some(address), Some((first, from, so_far))) if *first + *so_far == number && *from + *so_far * size == address => *so_far += count,
        (Some(address), _) => runs.push((number, address, count)),
        (None, _) => {
            let nan = &nan.to_le_bytes()[..size as usize];
            bytes[(number * size) as usize..((number + count) * size) as usize]
                .chunks_exact_mut(size as usize)
                .for_each(|to| to.copy_from_slice(nan));
        }
    });
    for (first, from, count) in runs {
        let (at, length) = ((first * size) as usize, (count * size) as usize);
        read_linear(from, &mut bytes[at..at + length], memories)?;
    }
    if name.ends_with("_ftz") {
        for four in bytes.chunks_exact_mut(4) {
            let value = f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            if value.is_subnormal() {
                four.copy_from_slice(&0.0_f32.copysign(value).to_le_bytes());
            }
        }
    }
    Ok(bytes)
}

/// Reads a linear piece of device memory.
fn read_linear(from: u64, to: &mut [u8], memories: &mut Memories<'_>) -> Result<(), ExecFault> {
    if let Some(window) = memories.global.window(from, to.len()) {
        to.copy_from_slice(window);
        return Ok(());
    }
    let (mut at, mut rest) = (from, to);
    while !rest.is_empty() {
        let step = [8, 4, 2].into_iter().find(|step| at.is_multiple_of(*step as u64) && rest.len() >= *step).unwrap_or(1);
        let value = memories.read(Space::Global, at, step, 0)?;
        let (piece, after) = rest.split_at_mut(step);
        piece.copy_from_slice(&value.to_le_bytes()[..step]);
        (at, rest) = (at + step as u64, after);
    }
    Ok(())
}

/// Copies a linear piece.
fn copy_linear(to_space: Space, to: u64, from_space: Space, from: u64, size: u64, memories: &mut Memories<'_>) -> Result<(), ExecFault> {
    for address in [to, from] {
        if !address.is_multiple_of(COPY_UNIT_BYTES) {
            return Err(ExecFault::Misaligned { address, bytes: COPY_UNIT_BYTES as usize });
        }
    }
    for offset in (0..size).step_by(8) {
        let value = memories.read(from_space, from + offset, 8, 0)?;
        memories.write(to_space, to + offset, 8, value, 0)?;
    }
    Ok(())
}

/// Returns the element type for reductions with a map.
fn reduction_type(map: &TensorMap) -> Result<BulkType, ExecFault> {
    Ok(match ELEMENT_TYPES[map.kind].0 {
        "u32" => BulkType::Atomic(AtomicType::U32),
        "i32" => BulkType::Atomic(AtomicType::S32),
        "u64" => BulkType::Atomic(AtomicType::U64),
        "i64" => BulkType::Atomic(AtomicType::S64),
        "f32" | "f32_ftz" => BulkType::Atomic(AtomicType::F32),
        "f64" => BulkType::Atomic(AtomicType::F64),
        "f16" => BulkType::Half,
        "bf16" => BulkType::Bfloat,
        _ => return Err(ExecFault::Unsupported("a reduction of a tensor of this type")),
    })
}

/// Returns the reduction of an old and a new element.
fn reduce_element(op: super::super::isa::AtomicOp, kind: BulkType, old: u64, value: u64) -> u64 {
    use super::super::isa::AtomicOp;
    let choose = |a: f64, b: f64| match op {
        AtomicOp::Min => a.min(b),
        AtomicOp::Max => a.max(b),
        _ => a + b,
    };
    let single = |bits: u64| f64::from(f32::from_bits((bits as u32) << 16));
    match kind {
        BulkType::Atomic(kind) => apply_atomic(op, kind, old, value, 0).0,
        BulkType::Half => u64::from(half::from_f64(choose(half::to_f64(old as u16), half::to_f64(value as u16)), Round::Near)),
        BulkType::Bfloat => u64::from(half::bfloat(choose(single(old), single(value)), Round::Near)),
    }
}
