//! Decoder of a block of CTAs into the streams that the simulator executes.
//!
//! The streams equal those decoded from the text, in instructions and in address form.

use std::ops::Range;

use warpshard_base::LaneMask;
use warpshard_workload::{StreamBuilder, WarpStream};

use super::super::block::ParsedBlock;
use super::super::notes::{FIXED_NOTES, GAPS_NOTE, UNLISTED_NOTE};
use super::record::{AddressMode, BlockSink, PathStep, fits, read_block};
use super::template::{TemplateMeanings, has_gaps};
use super::wire::ByteReader;

/// Decodes the block `raw` into one [`ParsedBlock`] per CTA, or `None` if it is malformed. `warps` is the number of warps per CTA according to
/// the kernel's header.
pub(super) fn decode(raw: &[u8], meanings: &TemplateMeanings, warps: u32) -> Option<Vec<ParsedBlock>> {
    let mut programs = ProgramDecoder {
        meanings,
        warps: warps as usize,
        notes: vec![0; FIXED_NOTES + meanings.table.notes().len()],
        builder: StreamBuilder::default(),
        paths: Vec::new(),
        distinct_warps: Vec::new(),
        listed_warps: Vec::new(),
        parsed_ctas: Vec::new(),
    };
    read_block(raw, meanings.of.len(), &mut programs)?;
    Some(programs.parsed_ctas)
}

/// A part of a path in the form in which it is appended to a stream.
#[derive(Debug)]
enum PathPiece {
    /// Instructions with all lanes active and without addresses: a range of the path's indices.
    Run(Range<usize>),
    /// An instruction without addresses.
    Op(u32, LaneMask),
    /// An access.
    Access { template: usize, index: u32, mask: LaneMask, mode: AddressMode, stride: i64 },
    /// Addresses of an instruction that this program does not treat as an access.
    Skipped { template: usize, numbers: usize },
}

#[derive(Debug)]
struct DecodedPath {
    indices: Vec<u32>,
    pieces: Vec<PathPiece>,
    /// Indices of notes with their number of occurrences.
    notes: Vec<(usize, u64)>,
    /// Index of the decoded stream, for a path without addresses that has been decoded.
    stream: Option<usize>,
    addresses: bool,
}

struct ProgramDecoder<'a> {
    meanings: &'a TemplateMeanings,
    warps: usize,
    notes: Vec<u64>,
    builder: StreamBuilder,
    paths: Vec<DecodedPath>,
    /// Distinct warps of the block, each with fingerprint and path.
    distinct_warps: Vec<(WarpStream, u64, usize)>,
    listed_warps: Vec<Option<(WarpStream, u64)>>,
    parsed_ctas: Vec<ParsedBlock>,
}

impl DecodedPath {
    fn new(steps: &[PathStep], meanings: &TemplateMeanings) -> Self {
        let mut path = Self { indices: Vec::new(), pieces: Vec::new(), notes: Vec::new(), stream: None, addresses: false };
        for step in steps {
            let meaning = &meanings.of[step.template as usize];
            let (template, index, mask) = (step.template as usize, meaning.index, LaneMask(step.mask));
            if meaning.note != 0 {
                path.count(meaning.note as usize);
            }
            path.addresses |= step.mode != AddressMode::None;
            match step.mode {
                AddressMode::None if mask == LaneMask::FULL => path.run(index),
                AddressMode::None => path.pieces.push(PathPiece::Op(index, mask)),
                _ if !meaning.access => {
                    path.pieces.push(PathPiece::Op(index, mask));
                    path.pieces.push(PathPiece::Skipped { template, numbers: step.address_count() });
                }
                mode => {
                    if mode == AddressMode::Affine && has_gaps(mask) {
                        path.count(GAPS_NOTE);
                    }
                    path.pieces.push(PathPiece::Access { template, index, mask, mode, stride: step.stride });
                }
            }
        }
        path
    }

    fn count(&mut self, place: usize) {
        match self.notes.iter_mut().find(|(known, _)| *known == place) {
            Some((_, times)) => *times += 1,
            None => self.notes.push((place, 1)),
        }
    }

    fn run(&mut self, index: u32) {
        self.indices.push(index);
        let end = self.indices.len();
        match self.pieces.last_mut() {
            Some(PathPiece::Run(range)) => range.end = end,
            _ => self.pieces.push(PathPiece::Run(end - 1..end)),
        }
    }
}

impl BlockSink for ProgramDecoder<'_> {
    fn path(&mut self, steps: Vec<PathStep>) -> Option<()> {
        if !fits(&steps, &self.meanings.of) {
            return None;
        }
        self.paths.push(DecodedPath::new(&steps, self.meanings));
        Some(())
    }

    fn cta(&mut self, _: [u64; 3], _: usize) -> Option<()> {
        self.listed_warps = vec![None; self.warps];
        self.notes.fill(0);
        Some(())
    }

    fn warp(&mut self, number: u32, path: usize, bytes: &mut ByteReader<'_>, last: &mut [u64]) -> Option<()> {
        let place = self.distinct_warps.len();
        let known = self.paths[path].stream;
        if let Some(known) = known {
            let (stream, print, _) = &self.distinct_warps[known];
            let again = (stream.clone(), *print, path);
            self.distinct_warps.push(again);
            return self.repeated_warp(number, place);
        }
        let DecodedPath { indices, pieces, .. } = &self.paths[path];
        for piece in pieces {
            match piece {
                PathPiece::Run(range) => self.builder.ops(&indices[range.clone()]),
                PathPiece::Op(index, mask) => self.builder.op(*index, *mask),
                PathPiece::Access { template, index, mask, mode, stride } => {
                    let last = &mut last[*template];
                    *last = last.wrapping_add(bytes.signed()? as u64);
                    access(&mut self.builder, *index, *mask, *mode, *stride, *last, bytes)?;
                }
                PathPiece::Skipped { template, numbers } => {
                    last[*template] = last[*template].wrapping_add(bytes.signed()? as u64);
                    for _ in 1..*numbers {
                        bytes.signed()?;
                    }
                }
            }
        }
        let stream = self.builder.finish();
        let print = stream.fingerprint();
        if !self.paths[path].addresses {
            self.paths[path].stream = Some(place);
        }
        self.distinct_warps.push((stream, print, path));
        self.repeated_warp(number, place)
    }

    fn repeated_warp(&mut self, number: u32, warp: usize) -> Option<()> {
        let (stream, print, path) = &self.distinct_warps[warp];
        let slot = self.listed_warps.get_mut(number as usize).filter(|slot| slot.is_none())?;
        *slot = Some((stream.clone(), *print));
        for &(place, times) in &self.paths[*path].notes {
            self.notes[place] += times;
        }
        Some(())
    }

    fn end_cta(&mut self) -> Option<()> {
        self.notes[UNLISTED_NOTE] = self.listed_warps.iter().filter(|warp| warp.is_none()).count() as u64;
        let notes = self.notes.iter().any(|&times| times > 0).then(|| self.notes.as_slice().into());
        let unlisted = || {
            let stream = WarpStream::default();
            let print = stream.fingerprint();
            (stream, print)
        };
        let warps = std::mem::take(&mut self.listed_warps).into_iter().map(|warp| warp.unwrap_or_else(unlisted)).collect();
        self.parsed_ctas.push(ParsedBlock { warps, notes, ..ParsedBlock::default() });
        Some(())
    }
}

/// Appends an access to the builder in the same form as the text decoder.
#[inline]
fn access(
    builder: &mut StreamBuilder,
    index: u32,
    mask: LaneMask,
    mode: AddressMode,
    stride: i64,
    base: u64,
    bytes: &mut ByteReader<'_>,
) -> Option<()> {
    let lanes = mask.count() as usize;
    if mode == AddressMode::Affine
        && let Ok(stride) = i32::try_from(if lanes > 1 { stride } else { 0 })
    {
        builder.affine(index, mask, base, stride);
        return Some(());
    }
    let mut addresses = [base; 32];
    for lane in 1..lanes {
        let difference = if mode == AddressMode::Affine { stride } else { bytes.signed()? };
        addresses[lane] = addresses[lane - 1].wrapping_add_signed(difference);
    }
    builder.access(index, mask, &addresses[..lanes]);
    Some(())
}
