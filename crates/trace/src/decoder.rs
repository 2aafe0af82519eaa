//! Batch decoder of a kernel's text file: it reads text, splits it into CTA blocks, decodes these in parallel and merges the results in CTA
//! order.
//!
//! The decoded programs do not depend on the number of threads or the batch size: static instructions are numbered in the order in which
//! they occur in the file. Besides the text of one batch the decoder holds only the static table.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::unbounded;
use memchr::memmem;
use rayon::ThreadPool;
use rustc_hash::FxHashMap;

use warpshard_workload::{CtaProgram, StaticInst, WarpStream};

use super::block::{BlockLayout, BlockParser, CtaBlock, ParsedBlock};
use super::error::{ProblemKind, TextFault, TraceError, unreadable};
use super::native::NativeKernel;
use super::reader::TextFeed;
use super::table::{Dialect, StaticTable};

/// Marker that opens a CTA's block.
const BLOCK_OPENING: &[u8] = b"#BEGIN_TB";
/// Marker that closes a CTA's block.
const BLOCK_CLOSING: &[u8] = b"#END_TB";

/// Bytes of text without an opening marker after which the file is rejected.
const MAX_UNGROUPED_BYTES: usize = 1 << 20;

/// Maximum bytes of text of a CTA, and of a line.
const MAX_CTA_BYTES: usize = 1 << 30;
const MAX_LINE_BYTES: usize = 1 << 20;

/// Settings for decoding a kernel's file.
#[derive(Clone, Debug)]
pub(super) struct DecoderSetup {
    pub(super) file: PathBuf,
    pub(super) dialect: Dialect,
    pub(super) layout: BlockLayout,
    /// CTAs of the grid according to the header.
    pub(super) ctas: u32,
    /// The grid's dimensions as text for messages.
    pub(super) grid: String,
    pub(super) chunk: usize,
    /// The kernel in a native file, or `None` if `file` is text.
    pub(super) native: Option<Arc<NativeKernel>>,
    /// Thread pool for decoding; without a pool the caller's thread decodes.
    pub(super) pool: Option<Arc<ThreadPool>>,
}

/// The outcome at the end of a file.
#[derive(Clone, Debug)]
pub(super) enum DecodeEnd {
    /// All CTAs are decoded, and no text follows them.
    Finished,
    /// CTAs from `from` on cannot be decoded.
    Failed {
        /// Index of the first CTA that cannot be decoded.
        from: u32,
        /// The error that stopped decoding.
        error: TraceError,
    },
}

/// A decoded CTA with the counts of its notes.
#[derive(Debug)]
pub(super) struct DecodedCta {
    pub(super) program: Arc<CtaProgram>,
    /// Counts of notes for a tally, if any note occurred.
    pub(super) notes: Option<Box<[u64]>>,
}

/// Consecutive decoded CTAs, and the end of the file if it was reached.
#[derive(Debug)]
pub(super) struct DecodedBatch {
    pub(super) ctas: Vec<DecodedCta>,
    pub(super) end: Option<DecodeEnd>,
}

/// A decoder of one text file from its start to its end.
#[derive(Debug)]
pub(super) struct TextDecoder {
    setup: Arc<DecoderSetup>,
    feed: Option<TextFeed>,
    text: Arc<Vec<u8>>,
    /// Offset of the first block that is not decoded.
    start: usize,
    /// Lines of the file before the buffered text.
    lines: u64,
    read: u64,
    decoded_ctas: u32,
    table: Arc<StaticTable>,
    code: Arc<[StaticInst]>,
    sharing: StreamCache,
    /// Byte ranges of the blocks of the last batch.
    spans: Vec<Range<usize>>,
    /// Text after the last CTA, if the caller requested it.
    tail: Option<Vec<u8>>,
    declared: DeclaredSize,
}

/// Declared sizes of the first block that is not decoded, as far as its text has been read.
#[derive(Clone, Copy, Debug, Default)]
struct DeclaredSize {
    /// Bytes of the block that were examined, in whole lines.
    examined_bytes: usize,
    lines: u64,
    warps: u64,
    instructions: u64,
}

impl DeclaredSize {
    /// Examines the text read since the last call. Returns the offset in `block` and a description if the block exceeds its declared size.
    fn overrun(&mut self, block: &[u8]) -> Option<(usize, String)> {
        for end in memchr::memchr_iter(b'\n', &block[self.examined_bytes..]).map(|end| self.examined_bytes + end).collect::<Vec<_>>() {
            let line = &block[self.examined_bytes..end];
            if let Some(rest) = line.strip_prefix(b"insts") {
                let digits = std::str::from_utf8(rest).unwrap_or_default().trim_start_matches([' ', '=']);
                self.instructions = self.instructions.saturating_add(digits.trim().parse().unwrap_or(0));
                self.warps += 1;
            }
            self.lines += 1;
            self.examined_bytes = end + 1;
            // Blank lines and comments may come between the declared lines.
            let most = self.instructions.saturating_mul(2).saturating_add(64 * self.warps + 65_536);
            if self.lines > most {
                let Self { lines, warps, instructions, .. } = self;
                return Some((
                    self.examined_bytes,
                    format!("more than {lines} lines, of {instructions} instructions in {warps} warps that it declares"),
                ));
            }
        }
        if block.len() - self.examined_bytes > MAX_LINE_BYTES {
            return Some((self.examined_bytes, format!("a line of more than {MAX_LINE_BYTES} bytes")));
        }
        (block.len() > MAX_CTA_BYTES).then(|| (self.examined_bytes, format!("more than {MAX_CTA_BYTES} bytes of text")))
    }
}

impl TextDecoder {
    pub(super) fn new(setup: Arc<DecoderSetup>) -> Self {
        Self {
            setup,
            feed: None,
            text: Arc::default(),
            start: 0,
            lines: 0,
            read: 0,
            decoded_ctas: 0,
            table: Arc::default(),
            code: Arc::default(),
            sharing: StreamCache::default(),
            spans: Vec::new(),
            tail: None,
            declared: DeclaredSize::default(),
        }
    }

    /// Returns the bytes of text read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns the static instructions and their notes.
    pub(super) fn table(&self) -> &StaticTable {
        &self.table
    }

    /// Returns the settings for decoding the file.
    pub(super) fn setup(&self) -> &DecoderSetup {
        &self.setup
    }

    /// Makes the decoder keep the text after the last CTA for [`Self::take_tail`].
    pub(super) fn keep_tail(&mut self) {
        self.tail = Some(Vec::new());
    }

    /// Takes the text after the last CTA; complete only at the end of the file.
    pub(super) fn take_tail(&mut self) -> Vec<u8> {
        self.tail.take().unwrap_or_default()
    }

    /// Returns the text of block `number` of the last batch, from the end of the previous block to the closing marker.
    pub(super) fn text_of(&self, number: usize) -> &[u8] {
        let span = &self.spans[number];
        &self.text[span.start..(span.end + BLOCK_CLOSING.len()).min(self.text.len())]
    }

    /// Rewinds to the start of the file; the static instructions keep their indices.
    pub(super) fn rewind(&mut self) {
        let (table, code) = (Arc::clone(&self.table), Arc::clone(&self.code));
        *self = Self { table, code, ..Self::new(Arc::clone(&self.setup)) };
    }

    /// Decodes at least one CTA, and further CTAs that are already in memory while their text stays below `budget` bytes.
    pub(super) fn next_batch(&mut self, budget: usize) -> DecodedBatch {
        match self.blocks(budget) {
            Ok(NextBlocks::Some(blocks)) => self.decode(blocks),
            Ok(NextBlocks::End(end)) => self.finish(end),
            Err(error) => {
                let error = unreadable(&self.setup.file, &error).into();
                let from = self.decoded_ctas.min(self.setup.ctas.saturating_sub(1));
                self.finish(DecodeEnd::Failed { from, error })
            }
        }
    }

    fn finish(&mut self, end: DecodeEnd) -> DecodedBatch {
        self.feed = Some(TextFeed::Done);
        self.text = Arc::default();
        self.start = 0;
        DecodedBatch { ctas: Vec::new(), end: Some(end) }
    }

    /// Finds the next blocks of the text; reads more text if no block is complete.
    fn blocks(&mut self, budget: usize) -> std::io::Result<NextBlocks> {
        let mut blocks = Vec::new();
        let (mut from, mut scanned) = (self.start, self.start);
        loop {
            let cta = self.decoded_ctas + blocks.len() as u32;
            if cta == self.setup.ctas {
                return if blocks.is_empty() { self.check_end() } else { Ok(NextBlocks::Some(blocks)) };
            }
            if let Some(n) = memmem::find(&self.text[scanned..], BLOCK_CLOSING) {
                let stop = scanned + n;
                blocks.push(CtaBlock { cta, range: from..stop, cut: false });
                from = stop + BLOCK_CLOSING.len();
                scanned = from;
                // The first CTA is decoded alone: it fills the table in which the other CTAs find most of their instructions.
                if from - self.start >= budget || self.table.entries().is_empty() {
                    return Ok(NextBlocks::Some(blocks));
                }
            } else if !blocks.is_empty() {
                return Ok(NextBlocks::Some(blocks));
            } else {
                // Text without an opening marker is not a grouped trace; it is rejected without reading all of it.
                let first = &self.text[self.start..self.text.len().min(self.start + MAX_UNGROUPED_BYTES)];
                if first.len() == MAX_UNGROUPED_BYTES && memmem::find(first, BLOCK_OPENING).is_none() {
                    return Ok(self.missing_marker(cta));
                }
                if let Some((at, found)) = self.declared.overrun(&self.text[self.start..]) {
                    return Ok(NextBlocks::End(self.oversized(cta, self.start + at, found)));
                }
                // The closing marker may straddle two chunks.
                scanned = self.text.len().saturating_sub(BLOCK_CLOSING.len()).max(from) - self.start;
                if !self.fill()? {
                    return Ok(self.missing_marker(cta));
                }
                from = self.start;
                scanned += self.start;
            }
        }
    }

    /// Drops decoded text and appends the next chunk; returns false at the end of the file.
    fn fill(&mut self) -> std::io::Result<bool> {
        let Self { setup, feed, text, start, lines, .. } = self;
        if feed.is_none() {
            *feed = Some(TextFeed::open(&setup.file, setup.chunk, setup.pool.is_some())?);
        }
        let text = Arc::make_mut(text);
        *lines += memchr::memchr_iter(b'\n', &text[..*start]).count() as u64;
        text.drain(..*start);
        *start = 0;
        let before = text.len();
        let more = feed.as_mut().map_or(Ok(false), |feed| feed.fill(text, setup.chunk))?;
        self.read += (text.len() - before) as u64;
        Ok(more)
    }

    /// Checks that only blanks follow the last CTA of the grid.
    fn check_end(&mut self) -> std::io::Result<NextBlocks> {
        loop {
            if let Some(n) = self.text[self.start..].iter().position(|&b| b > b' ') {
                let (grid, ctas) = (self.setup.grid.clone(), self.setup.ctas);
                let fault = TextFault {
                    at: self.start + n,
                    kind: ProblemKind::Count,
                    what: "the file continues after the last CTA of the grid".into(),
                    found: super::text::quote(super::text::token(&self.text, self.start + n)),
                    expected: format!("the end of the file, as `-grid dim = {grid}` says"),
                    help: "the header's grid dim or the file is wrong: trace the kernel again".into(),
                };
                return Ok(NextBlocks::End(self.decode_failure(ctas - 1, fault)));
            }
            if let Some(tail) = &mut self.tail {
                tail.extend_from_slice(&self.text[self.start..]);
                if tail.len() > MAX_LINE_BYTES {
                    let fault = TextFault {
                        at: self.text.len(),
                        kind: ProblemKind::Count,
                        what: "the file continues after the last CTA of the grid".into(),
                        found: format!("more than {MAX_LINE_BYTES} bytes of blanks"),
                        expected: "the end of the file".into(),
                        help: "remove them: they have no meaning".into(),
                    };
                    return Ok(NextBlocks::End(self.decode_failure(self.setup.ctas - 1, fault)));
                }
            }
            self.start = self.text.len();
            if !self.fill()? {
                return Ok(NextBlocks::End(DecodeEnd::Finished));
            }
        }
    }

    /// Returns the failure of CTA `cta` whose block exceeds its declared or maximum size.
    fn oversized(&self, cta: u32, at: usize, found: String) -> DecodeEnd {
        let fault = TextFault {
            at,
            kind: ProblemKind::Count,
            what: "a CTA is longer than it declares".into(),
            found: format!("{found}, in cta {cta}"),
            expected: format!(
                "`#END_TB` after the instructions that its lines `insts = N` count, in at most {MAX_CTA_BYTES} bytes of text"
            ),
            help: "the file is damaged: trace or copy it again".into(),
        };
        self.decode_failure(cta, fault)
    }

    /// Handles the end of the file without a closing marker for CTA `cta`: the file is cut inside this CTA or before it.
    fn missing_marker(&mut self, cta: u32) -> NextBlocks {
        let rest = &self.text[self.start..];
        if memmem::find(rest, BLOCK_OPENING).is_some() || rest.iter().any(|&b| b > b' ') && !is_comments(rest) {
            let block = CtaBlock { cta, range: self.start..self.text.len(), cut: true };
            return NextBlocks::Some(vec![block]);
        }
        let fault = TextFault {
            at: self.text.len(),
            kind: ProblemKind::Count,
            what: "the file has fewer CTAs than its grid".into(),
            found: format!("{cta} CTAs"),
            expected: format!("{}, as `-grid dim = {}` says", self.setup.ctas, self.setup.grid),
            help: "the tracer was stopped or the copy is incomplete: trace or copy it again".into(),
        };
        NextBlocks::End(self.decode_failure(cta, fault))
    }

    fn decode_failure(&self, from: u32, fault: TextFault) -> DecodeEnd {
        let before = &self.text[..fault.at.min(self.text.len())];
        let mut line = self.lines + 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        // At the end of the file the fault is in the last line, not in the empty line after its line end.
        if before.len() == self.text.len() && matches!(before.last(), None | Some(b'\n')) {
            line = line.saturating_sub(1).max(1);
        }
        DecodeEnd::Failed { from, error: fault.in_file(&self.setup.file, Some(line)).into() }
    }

    fn decode(&mut self, blocks: Vec<CtaBlock>) -> DecodedBatch {
        let mut parsed = self.parse(&blocks);
        let faulty = parsed.iter().position(|p| p.fault.is_some()).unwrap_or(parsed.len());
        let again: Vec<usize> = (0..faulty).filter(|&i| !parsed[i].fresh.is_empty()).collect();
        if !again.is_empty() {
            let table = Arc::make_mut(&mut self.table);
            for &i in &again {
                for entry in parsed[i].fresh.drain(..) {
                    table.insert(entry);
                }
            }
            self.code = table.entries().iter().map(|entry| entry.inst).collect();
            let blocks: Vec<CtaBlock> = again.iter().map(|&i| blocks[i].clone()).collect();
            for (&i, second) in again.iter().zip(self.parse(&blocks)) {
                parsed[i] = second;
            }
        }
        let end = parsed.get_mut(faulty).and_then(|p| p.fault.take()).map(|fault| {
            let from = blocks[faulty].cta;
            self.decode_failure(from, fault)
        });
        self.spans = blocks.iter().map(|block| block.range.clone()).collect();
        self.start = blocks.last().map_or(self.start, |block| (block.range.end + BLOCK_CLOSING.len()).min(self.text.len()));
        self.declared = DeclaredSize::default();
        self.decoded_ctas += faulty as u32;
        parsed.truncate(faulty);
        let ctas = parsed.into_iter().map(|p| self.program(p)).collect();
        if let Some(end) = end {
            return DecodedBatch { ctas, ..self.finish(end) };
        }
        DecodedBatch { ctas, end: None }
    }

    fn program(&mut self, parsed: ParsedBlock) -> DecodedCta {
        let warps = parsed.warps.into_iter().map(|(stream, print)| self.sharing.share(stream, print)).collect();
        DecodedCta { program: Arc::new(CtaProgram { code: Arc::clone(&self.code), warps, ..CtaProgram::default() }), notes: parsed.notes }
    }

    /// Decodes blocks with the current table, in parallel if there is a pool; results come in the order of `blocks`.
    fn parse(&self, blocks: &[CtaBlock]) -> Vec<ParsedBlock> {
        let Some(pool) = self.setup.pool.as_ref().filter(|_| blocks.len() > 1) else {
            return parse_all(&self.text, &self.table, &self.setup, blocks);
        };
        // The caller waits on a channel instead of in the pool: a waiting worker of another pool could execute another job that needs this
        // kernel.
        let share = blocks.len().div_ceil(pool.current_num_threads() * 4);
        let (send, receive) = unbounded();
        for (number, part) in blocks.chunks(share).enumerate() {
            let (text, table, setup) = (Arc::clone(&self.text), Arc::clone(&self.table), Arc::clone(&self.setup));
            let (part, send) = (part.to_vec(), send.clone());
            pool.spawn(move || {
                let parsed = parse_all(&text, &table, &setup, &part);
                // Releases the references first, so that the text can grow in place when the results have arrived.
                drop((text, table, setup));
                drop(send.send((number, parsed)));
            });
        }
        drop(send);
        let mut parts: Vec<(usize, Vec<ParsedBlock>)> = receive.iter().collect();
        parts.sort_unstable_by_key(|&(number, _)| number);
        let parsed: Vec<ParsedBlock> = parts.into_iter().flat_map(|(_, parsed)| parsed).collect();
        assert_eq!(parsed.len(), blocks.len(), "a decoding thread of {} was lost", self.setup.file.display());
        parsed
    }
}

enum NextBlocks {
    Some(Vec<CtaBlock>),
    End(DecodeEnd),
}

fn parse_all(text: &[u8], table: &StaticTable, setup: &DecoderSetup, blocks: &[CtaBlock]) -> Vec<ParsedBlock> {
    let mut parser = BlockParser::new(text, table, &setup.dialect, &setup.layout);
    blocks.iter().map(|block| parser.parse(block)).collect()
}

/// Returns true if only blank lines, comments and header lines remain.
fn is_comments(text: &[u8]) -> bool {
    text.split(|&b| b == b'\n').all(|line| matches!(line.trim_ascii().first(), None | Some(b'#' | b'-')))
}

/// Cache of decoded streams: warps that execute the same instructions share one allocation.
#[derive(Debug, Default)]
pub(super) struct StreamCache {
    streams: FxHashMap<u64, WarpStream>,
    lookups: u64,
    hits: u64,
}

impl StreamCache {
    /// Maximum number of cached streams.
    const MAX_STREAMS: usize = 4096;
    /// Streams after which the cache is disabled if fewer than one in 16 was found in it.
    const TRIAL_STREAMS: u64 = 8192;

    pub(super) fn share(&mut self, stream: WarpStream, print: u64) -> WarpStream {
        if self.lookups >= Self::TRIAL_STREAMS && self.hits * 16 < self.lookups {
            self.streams = FxHashMap::default();
            return stream;
        }
        self.lookups += 1;
        match self.streams.get(&print) {
            Some(known) if *known == stream => {
                self.hits += 1;
                known.clone()
            }
            _ => {
                if self.streams.len() >= Self::MAX_STREAMS {
                    self.streams.clear();
                }
                self.streams.insert(print, stream.clone());
                stream
            }
        }
    }
}
