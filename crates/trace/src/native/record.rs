//! The block format of CTAs: each warp is a path (templates, masks, address modes and strides) with its addresses.
//!
//! Warps of a block that execute the same instructions share a path, and equal warps are written once. A block depends only on the kernel's
//! templates, so blocks can be decoded in any order and in parallel.

use rustc_hash::FxHashMap;

use super::template::TemplateMeaning;
use super::wire::{ByteReader, write_number, write_signed, zigzag};

/// Bits of the control byte for the address mode.
const MODE_BITS: u8 = 3;
/// Bit of the control byte for a following mask; without it the mask of the previous step applies.
const MASK_FOLLOWS: u8 = 4;
/// Bit position of the jump in the control byte.
const JUMP_SHIFT: u32 = 3;
/// Jump value of the control byte for a jump that does not fit and follows separately.
const JUMP_ESCAPE: u64 = 31;

/// The text form of a step's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum AddressMode {
    /// No addresses: the step is not an access or has no active lanes.
    #[default]
    None,
    /// One address per active lane.
    List,
    /// A base address and a stride.
    Affine,
    /// A base address and differences.
    Deltas,
}

/// One instruction of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PathStep {
    pub(super) template: u32,
    pub(super) mask: u32,
    pub(super) mode: AddressMode,
    /// Stride of [`AddressMode::Affine`], otherwise 0.
    pub(super) stride: i64,
}

impl PathStep {
    /// Returns how many values the step takes from the warp's addresses: the first address, and differences to further ones.
    pub(super) fn address_count(&self) -> usize {
        match self.mode {
            AddressMode::None => 0,
            AddressMode::Affine => 1,
            AddressMode::List | AddressMode::Deltas => self.mask.count_ones() as usize,
        }
    }
}

/// A CTA in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CtaRecord {
    pub(super) coordinates: [u64; 3],
    pub(super) warps: Vec<WarpRecord>,
}

/// A warp in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WarpRecord {
    pub(super) number: u32,
    pub(super) steps: Vec<PathStep>,
    /// For each access the first address, and in the modes `List` and `Deltas` the difference from each lane to the next.
    pub(super) addresses: Vec<u64>,
}

/// A builder of a block from its CTAs.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    body: Vec<u8>,
    ctas: u32,
    paths: FxHashMap<Vec<PathStep>, u64>,
    warps: FxHashMap<(u64, Vec<u64>), u64>,
    last: Vec<u64>,
}

impl BlockBuilder {
    /// Returns the number of CTAs since the last block.
    pub(super) fn ctas(&self) -> u32 {
        self.ctas
    }

    /// Returns the number of bytes since the last block.
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Appends a CTA; `templates` is the current number of templates.
    pub(super) fn add(&mut self, cta: CtaRecord, templates: usize) {
        self.last.resize(templates, 0);
        self.ctas += 1;
        cta.coordinates.iter().for_each(|&coordinate| write_number(&mut self.body, coordinate));
        write_number(&mut self.body, cta.warps.len() as u64);
        let mut expected = 0;
        for warp in cta.warps {
            write_signed(&mut self.body, i64::from(warp.number) - expected);
            expected = i64::from(warp.number) + 1;
            self.warp(warp);
        }
    }

    fn warp(&mut self, warp: WarpRecord) {
        let known = self.paths.get(&warp.steps).copied();
        let path = known.unwrap_or(self.paths.len() as u64);
        let key = (path, warp.addresses);
        if let Some(&same) = self.warps.get(&key) {
            return write_number(&mut self.body, 2 + 2 * same);
        }
        match known {
            Some(path) => write_number(&mut self.body, 1 + 2 * path),
            None => {
                write_number(&mut self.body, 0);
                write_steps(&mut self.body, &warp.steps);
            }
        }
        let mut numbers = key.1.iter();
        for step in &warp.steps {
            let mut own = numbers.by_ref().take(step.address_count());
            if let Some(&first) = own.next() {
                let last = &mut self.last[step.template as usize];
                write_signed(&mut self.body, first.wrapping_sub(*last) as i64);
                *last = first;
            }
            own.for_each(|&difference| write_signed(&mut self.body, difference as i64));
        }
        if known.is_none() {
            self.paths.insert(warp.steps, path);
        }
        let number = self.warps.len() as u64;
        self.warps.insert(key, number);
    }

    /// Returns a block with all CTAs since the last block.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut block = Vec::with_capacity(self.body.len() + 5);
        write_number(&mut block, self.ctas.into());
        block.append(&mut self.body);
        self.ctas = 0;
        self.paths.clear();
        self.warps.clear();
        self.last.clear();
        block
    }
}

fn write_steps(out: &mut Vec<u8>, steps: &[PathStep]) {
    write_number(out, steps.len() as u64);
    let (mut expected, mut mask) = (0, u32::MAX);
    for step in steps {
        let jump = zigzag(i64::from(step.template) - expected);
        let control = step.mode as u8 | if step.mask == mask { 0 } else { MASK_FOLLOWS } | (jump.min(JUMP_ESCAPE) as u8) << JUMP_SHIFT;
        out.push(control);
        if jump >= JUMP_ESCAPE {
            write_number(out, jump);
        }
        if step.mask != mask {
            out.extend_from_slice(&step.mask.to_le_bytes());
        }
        if step.mode == AddressMode::Affine {
            write_signed(out, step.stride);
        }
        (expected, mask) = (i64::from(step.template) + 1, step.mask);
    }
}

fn read_steps(bytes: &mut ByteReader<'_>, templates: usize) -> Option<Vec<PathStep>> {
    let count = bytes.count()?;
    let (mut expected, mut mask) = (0i64, u32::MAX);
    let mut steps = Vec::with_capacity(count);
    for _ in 0..count {
        let control = bytes.byte()?;
        let mut jump = u64::from(control >> JUMP_SHIFT);
        if jump == JUMP_ESCAPE {
            jump = bytes.number().filter(|&jump| jump >= JUMP_ESCAPE)?;
        }
        let template = expected.checked_add(super::wire::unzigzag(jump))?;
        let template = u32::try_from(template).ok().filter(|&template| (template as usize) < templates)?;
        if control & MASK_FOLLOWS != 0 {
            mask = bytes.word()?;
        }
        let mode = [AddressMode::None, AddressMode::List, AddressMode::Affine, AddressMode::Deltas][usize::from(control & MODE_BITS)];
        if mode != AddressMode::None && mask == 0 {
            return None;
        }
        let stride = if mode == AddressMode::Affine { bytes.signed()? } else { 0 };
        steps.push(PathStep { template, mask, mode, stride });
        expected = i64::from(template) + 1;
    }
    Some(steps)
}

/// A receiver of the contents of a block in their order. Functions return `None` if the block is malformed.
pub(super) trait BlockSink {
    /// Receives the next path of the block.
    fn path(&mut self, steps: Vec<PathStep>) -> Option<()>;
    /// Starts a CTA.
    fn cta(&mut self, coordinates: [u64; 3], warps: usize) -> Option<()>;
    /// Receives a warp of the CTA that executes a path. Its addresses follow in `bytes`, relative to `last`.
    fn warp(&mut self, number: u32, path: usize, bytes: &mut ByteReader<'_>, last: &mut [u64]) -> Option<()>;
    /// Receives a warp of the CTA that equals an earlier warp of the block.
    fn repeated_warp(&mut self, number: u32, warp: usize) -> Option<()>;
    /// Ends a CTA.
    fn end_cta(&mut self) -> Option<()>;
}

/// Reads a block into `sink`; returns the number of its CTAs, or `None` if it is malformed.
pub(super) fn read_block(raw: &[u8], templates: usize, sink: &mut dyn BlockSink) -> Option<u32> {
    let mut bytes = ByteReader::new(raw);
    let ctas = u32::try_from(bytes.count()?).ok()?;
    let mut last = vec![0; templates];
    let (mut paths, mut distinct) = (0, 0);
    for _ in 0..ctas {
        let coordinates = [bytes.number()?, bytes.number()?, bytes.number()?];
        let warps = bytes.count()?;
        sink.cta(coordinates, warps)?;
        let mut expected = 0i64;
        for _ in 0..warps {
            let number = u32::try_from(expected.checked_add(bytes.signed()?)?).ok()?;
            expected = i64::from(number) + 1;
            let reference = bytes.number()?;
            let place = usize::try_from(reference.wrapping_sub(1) / 2).ok()?;
            if reference != 0 && reference % 2 == 0 {
                if place >= distinct {
                    return None;
                }
                sink.repeated_warp(number, place)?;
                continue;
            }
            let path = if reference == 0 { paths } else { place };
            if reference == 0 {
                sink.path(read_steps(&mut bytes, templates)?)?;
                paths += 1;
            }
            if path >= paths {
                return None;
            }
            sink.warp(number, path, &mut bytes, &mut last)?;
            distinct += 1;
        }
        sink.end_cta()?;
    }
    (bytes.remaining() == 0).then_some(ctas)
}

/// Records of CTAs in the order of the text, for writing text.
#[derive(Debug, Default)]
pub(super) struct CtaRecords {
    pub(super) ctas: Vec<CtaRecord>,
    paths: Vec<Vec<PathStep>>,
    /// Path and addresses of each distinct warp.
    warps: Vec<(usize, Vec<u64>)>,
}

impl BlockSink for CtaRecords {
    fn path(&mut self, steps: Vec<PathStep>) -> Option<()> {
        self.paths.push(steps);
        Some(())
    }

    fn cta(&mut self, coordinates: [u64; 3], _: usize) -> Option<()> {
        self.ctas.push(CtaRecord { coordinates, warps: Vec::new() });
        Some(())
    }

    fn warp(&mut self, number: u32, path: usize, bytes: &mut ByteReader<'_>, last: &mut [u64]) -> Option<()> {
        let mut addresses = Vec::new();
        for step in &self.paths[path] {
            for lane in 0..step.address_count() {
                let value = bytes.signed()? as u64;
                let last = &mut last[step.template as usize];
                if lane == 0 {
                    *last = last.wrapping_add(value);
                }
                addresses.push(if lane == 0 { *last } else { value });
            }
        }
        self.warps.push((path, addresses));
        self.repeated_warp(number, self.warps.len() - 1)
    }

    fn repeated_warp(&mut self, number: u32, warp: usize) -> Option<()> {
        let (path, addresses) = &self.warps[warp];
        let record = WarpRecord { number, steps: self.paths[*path].clone(), addresses: addresses.clone() };
        self.ctas.last_mut()?.warps.push(record);
        Some(())
    }

    fn end_cta(&mut self) -> Option<()> {
        Some(())
    }
}

/// Returns true if the steps agree with the current meanings of their templates: accesses with active lanes have addresses.
pub(super) fn fits(steps: &[PathStep], meanings: &[TemplateMeaning]) -> bool {
    let lacks = |step: &PathStep| step.mode == AddressMode::None && step.mask != 0 && meanings[step.template as usize].access;
    !steps.iter().any(lacks)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const TEMPLATE_COUNT: u32 = 100;

    fn step() -> impl Strategy<Value = (PathStep, Vec<u64>)> {
        let mask = prop_oneof![Just(u32::MAX), any::<u32>(), Just(0), (0..32u32).prop_map(|lane| 1 << lane)];
        let mode = prop_oneof![Just(AddressMode::None), Just(AddressMode::List), Just(AddressMode::Affine), Just(AddressMode::Deltas)];
        let number = prop_oneof![any::<u64>(), 0..256u64, any::<u32>().prop_map(u64::from)];
        (0..TEMPLATE_COUNT, mask, mode, any::<i64>(), vec(number, 32)).prop_map(|(template, mask, mode, stride, numbers)| {
            let mode = if mask == 0 { AddressMode::None } else { mode };
            let step = PathStep { template, mask, mode, stride: if mode == AddressMode::Affine { stride } else { 0 } };
            (step, numbers[..step.address_count()].to_vec())
        })
    }

    fn cta() -> impl Strategy<Value = CtaRecord> {
        let warp = (any::<u32>(), vec(step(), 0..20)).prop_map(|(number, steps)| {
            let (steps, addresses): (Vec<PathStep>, Vec<Vec<u64>>) = steps.into_iter().unzip();
            WarpRecord { number, steps, addresses: addresses.concat() }
        });
        (any::<[u64; 3]>(), vec(warp, 0..6)).prop_map(|(coordinates, warps)| CtaRecord { coordinates, warps })
    }

    fn encoded(ctas: &[CtaRecord]) -> Vec<u8> {
        let mut builder = BlockBuilder::default();
        ctas.iter().for_each(|cta| builder.add(cta.clone(), TEMPLATE_COUNT as usize));
        builder.finish()
    }

    proptest! {
        #[test]
        fn ctas_round_trip(ctas in vec(cta(), 0..5)) {
            // Duplicates the CTAs, so that paths and warps are shared.
            let ctas = [ctas.clone(), ctas].concat();
            let block = encoded(&ctas);
            let mut records = CtaRecords::default();
            prop_assert_eq!(read_block(&block, TEMPLATE_COUNT as usize, &mut records), Some(ctas.len() as u32));
            prop_assert_eq!(&records.ctas, &ctas);
            prop_assert_eq!(encoded(&records.ctas), block);
        }

        #[test]
        fn damaged_blocks_are_read_safely(ctas in vec(cta(), 1..3), at: prop::sample::Index, with: u8, cut: prop::sample::Index) {
            let mut block = encoded(&ctas);
            let at = at.index(block.len());
            block[at] = with;
            read_block(&block, TEMPLATE_COUNT as usize, &mut CtaRecords::default());
            block.truncate(cut.index(block.len()));
            read_block(&block, TEMPLATE_COUNT as usize, &mut CtaRecords::default());
        }
    }

    #[test]
    fn straight_line_code_takes_one_byte_per_instruction() {
        let warp = |number: u32| {
            let op = |template| PathStep { template, mask: u32::MAX, mode: AddressMode::None, stride: 0 };
            let mut steps: Vec<PathStep> = (0..99).map(op).collect();
            steps.push(PathStep { template: 99, mask: u32::MAX, mode: AddressMode::Affine, stride: 4 });
            WarpRecord { number, steps, addresses: vec![0x7f00_0000_0000 + u64::from(number) * 128] }
        };
        let cta = CtaRecord { coordinates: [0; 3], warps: (0..32).map(warp).collect() };
        let bytes = encoded(&[cta]).len();
        // The block contains one path of 99 single bytes and an access with its stride; each warp takes its number, its path and two bytes
        // of address.
        assert!(bytes < 101 + 32 * 4 + 16, "{bytes}");
    }
}
