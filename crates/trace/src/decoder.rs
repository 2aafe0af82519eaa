//! Decodes a kernel's file batch by batch: read text, split it into CTA blocks, decode these in parallel, merge in CTA order.
//!
//! The same programs come out for every number of threads and every size of batch: static instructions are numbered in
//! the order in which they occur in the file. Besides the text of one batch the decoder holds the static table only.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::unbounded;
use memchr::memmem;
use rayon::ThreadPool;
use rustc_hash::FxHashMap;

use warpshard_workload::{CtaProgram, StaticInst, WarpStream};

use super::block::{Block, BlockParser, Layout, Parsed};
use super::error::{Fault, ProblemKind, TraceError, unreadable};
use super::native::NativeKernel;
use super::reader::Feed;
use super::table::{Dialect, StaticTable};

/// Opens a CTA's block.
const OPEN: &[u8] = b"#BEGIN_TB";
/// Closes a CTA's block.
const CLOSE: &[u8] = b"#END_TB";

/// Text without a CTA's opening mark after which no mark is expected any more.
const UNGROUPED: usize = 1 << 20;

/// Bytes of text that a CTA has at most, and one of its lines.
const LONGEST_CTA: usize = 1 << 30;
const LONGEST_LINE: usize = 1 << 20;

/// All that decoding a kernel's file needs to know.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) file: PathBuf,
    pub(super) dialect: Dialect,
    pub(super) layout: Layout,
    /// CTAs by the header.
    pub(super) ctas: u32,
    /// The header's grid, for messages.
    pub(super) grid: String,
    pub(super) chunk: usize,
    /// The kernel in a native file; without one `file` is text.
    pub(super) native: Option<Arc<NativeKernel>>,
    /// The threads that decode; none decodes on the caller's.
    pub(super) pool: Option<Arc<ThreadPool>>,
}

/// How a file ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// All CTAs came out, and nothing follows them.
    Finished,
    /// Nothing can be decoded from CTA `from` on.
    Failed {
        /// The first CTA that is missing.
        from: u32,
        /// Why.
        error: TraceError,
    },
}

/// A CTA and what was unusual in it.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) program: Arc<CtaProgram>,
    /// Counts for a tally, when there are any.
    pub(super) notes: Option<Box<[u64]>>,
}

/// Consecutive CTAs, and the end if it was reached.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) ctas: Vec<Decoded>,
    pub(super) end: Option<End>,
}

/// Decodes one file of text from its start to its end.
#[derive(Debug)]
pub(super) struct TextDecoder {
    setup: Arc<Setup>,
    feed: Option<Feed>,
    text: Arc<Vec<u8>>,
    /// Where the first block that is not decoded starts.
    start: usize,
    /// Lines before the text.
    lines: u64,
    read: u64,
    produced: u32,
    table: Arc<StaticTable>,
    code: Arc<[StaticInst]>,
    sharing: Sharing,
    /// The blocks of the last batch.
    spans: Vec<Range<usize>>,
    /// What follows the last CTA, when that is wanted.
    tail: Option<Vec<u8>>,
    promise: Promise,
}

/// What the first block that is not decoded promises, as far as its text was read.
#[derive(Clone, Copy, Debug, Default)]
struct Promise {
    /// Bytes of the block that were looked at: whole lines.
    seen: usize,
    lines: u64,
    warps: u64,
    instructions: u64,
}

impl Promise {
    /// Looks at what was read since the last call; returns what is wrong with a block that goes on like this, at a place of `block`.
    fn overrun(&mut self, block: &[u8]) -> Option<(usize, String)> {
        for end in memchr::memchr_iter(b'\n', &block[self.seen..]).map(|end| self.seen + end).collect::<Vec<_>>() {
            let line = &block[self.seen..end];
            if let Some(rest) = line.strip_prefix(b"insts") {
                let digits = std::str::from_utf8(rest).unwrap_or_default().trim_start_matches([' ', '=']);
                self.instructions = self.instructions.saturating_add(digits.trim().parse().unwrap_or(0));
                self.warps += 1;
            }
            self.lines += 1;
            self.seen = end + 1;
            // Blank lines and comments may come between those that are promised.
            let most = self.instructions.saturating_mul(2).saturating_add(64 * self.warps + 65_536);
            if self.lines > most {
                let Self { lines, warps, instructions, .. } = self;
                return Some((
                    self.seen,
                    format!("more than {lines} lines, of {instructions} instructions in {warps} warps that it promises"),
                ));
            }
        }
        if block.len() - self.seen > LONGEST_LINE {
            return Some((self.seen, format!("a line of more than {LONGEST_LINE} bytes")));
        }
        (block.len() > LONGEST_CTA).then(|| (self.seen, format!("more than {LONGEST_CTA} bytes of text")))
    }
}

impl TextDecoder {
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        Self {
            setup,
            feed: None,
            text: Arc::default(),
            start: 0,
            lines: 0,
            read: 0,
            produced: 0,
            table: Arc::default(),
            code: Arc::default(),
            sharing: Sharing::default(),
            spans: Vec::new(),
            tail: None,
            promise: Promise::default(),
        }
    }

    /// Bytes of text read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The static instructions and their notes.
    pub(super) fn table(&self) -> &StaticTable {
        &self.table
    }

    /// What decoding the file needs to know.
    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Keeps the text after the last CTA for [`Self::take_tail`].
    pub(super) fn keep_tail(&mut self) {
        self.tail = Some(Vec::new());
    }

    /// The text after the last CTA, once the end is reached.
    pub(super) fn take_tail(&mut self) -> Vec<u8> {
        self.tail.take().unwrap_or_default()
    }

    /// The text of a CTA of the last batch, from the end of the CTA before it to its closing mark.
    pub(super) fn text_of(&self, number: usize) -> &[u8] {
        let span = &self.spans[number];
        &self.text[span.start..(span.end + CLOSE.len()).min(self.text.len())]
    }

    /// Goes back to the start of the file; the static instructions and their numbers stay.
    pub(super) fn rewind(&mut self) {
        let (table, code) = (Arc::clone(&self.table), Arc::clone(&self.code));
        *self = Self { table, code, ..Self::new(Arc::clone(&self.setup)) };
    }

    /// Decodes the next CTAs: at least one, further ones while their text stays below `budget` bytes and is at hand.
    pub(super) fn next_batch(&mut self, budget: usize) -> Batch {
        match self.blocks(budget) {
            Ok(Blocks::Some(blocks)) => self.decode(blocks),
            Ok(Blocks::End(end)) => self.finish(end),
            Err(error) => {
                let error = unreadable(&self.setup.file, &error).into();
                let from = self.produced.min(self.setup.ctas.saturating_sub(1));
                self.finish(End::Failed { from, error })
            }
        }
    }

    fn finish(&mut self, end: End) -> Batch {
        self.feed = Some(Feed::Done);
        self.text = Arc::default();
        self.start = 0;
        Batch { ctas: Vec::new(), end: Some(end) }
    }

    /// Finds the next blocks of the text, reading on if none is complete.
    fn blocks(&mut self, budget: usize) -> std::io::Result<Blocks> {
        let mut blocks = Vec::new();
        let (mut from, mut scanned) = (self.start, self.start);
        loop {
            let cta = self.produced + blocks.len() as u32;
            if cta == self.setup.ctas {
                return if blocks.is_empty() { self.after_last() } else { Ok(Blocks::Some(blocks)) };
            }
            if let Some(n) = memmem::find(&self.text[scanned..], CLOSE) {
                let stop = scanned + n;
                blocks.push(Block { cta, range: from..stop, cut: false });
                from = stop + CLOSE.len();
                scanned = from;
                // The first CTA of a file fills the table that the others find most of their instructions in.
                if from - self.start >= budget || self.table.entries().is_empty() {
                    return Ok(Blocks::Some(blocks));
                }
            } else if !blocks.is_empty() {
                return Ok(Blocks::Some(blocks));
            } else {
                // Without an opening mark this is no grouped trace; do not read all of it to find that out.
                let first = &self.text[self.start..self.text.len().min(self.start + UNGROUPED)];
                if first.len() == UNGROUPED && memmem::find(first, OPEN).is_none() {
                    return Ok(self.tail(cta));
                }
                if let Some((at, found)) = self.promise.overrun(&self.text[self.start..]) {
                    return Ok(Blocks::End(self.endless(cta, self.start + at, found)));
                }
                // The marker may straddle two chunks.
                scanned = self.text.len().saturating_sub(CLOSE.len()).max(from) - self.start;
                if !self.fill()? {
                    return Ok(self.tail(cta));
                }
                from = self.start;
                scanned += self.start;
            }
        }
    }

    /// Drops decoded text and appends the next chunk; false at the end of the file.
    fn fill(&mut self) -> std::io::Result<bool> {
        let Self { setup, feed, text, start, lines, .. } = self;
        if feed.is_none() {
            *feed = Some(Feed::open(&setup.file, setup.chunk, setup.pool.is_some())?);
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

    /// What follows the last CTA of the grid must be blank.
    fn after_last(&mut self) -> std::io::Result<Blocks> {
        loop {
            if let Some(n) = self.text[self.start..].iter().position(|&b| b > b' ') {
                let (grid, ctas) = (self.setup.grid.clone(), self.setup.ctas);
                let fault = Fault {
                    at: self.start + n,
                    kind: ProblemKind::Count,
                    what: "the file goes on after the last CTA of the grid".into(),
                    found: super::text::quote(super::text::token(&self.text, self.start + n)),
                    expected: format!("the end of the file, as `-grid dim = {grid}` says"),
                    help: "the header's grid dim or the file is wrong: trace the kernel again".into(),
                };
                return Ok(Blocks::End(self.failed(ctas - 1, fault)));
            }
            if let Some(tail) = &mut self.tail {
                tail.extend_from_slice(&self.text[self.start..]);
                if tail.len() > LONGEST_LINE {
                    let fault = Fault {
                        at: self.text.len(),
                        kind: ProblemKind::Count,
                        what: "the file goes on after the last CTA of the grid".into(),
                        found: format!("more than {LONGEST_LINE} bytes of blanks"),
                        expected: "the end of the file".into(),
                        help: "remove them: they mean nothing".into(),
                    };
                    return Ok(Blocks::End(self.failed(self.setup.ctas - 1, fault)));
                }
            }
            self.start = self.text.len();
            if !self.fill()? {
                return Ok(Blocks::End(End::Finished));
            }
        }
    }

    /// CTA `cta` goes on for longer than it can.
    fn endless(&self, cta: u32, at: usize, found: String) -> End {
        let fault = Fault {
            at,
            kind: ProblemKind::Count,
            what: "a CTA goes on after what it promises".into(),
            found: format!("{found}, in cta {cta}"),
            expected: format!("`#END_TB` after the instructions that its lines `insts = N` count, in at most {LONGEST_CTA} bytes of text"),
            help: "the file is damaged: trace or copy it again".into(),
        };
        self.failed(cta, fault)
    }

    /// The file ended without closing CTA `cta`: cut inside it, or before it.
    fn tail(&mut self, cta: u32) -> Blocks {
        let rest = &self.text[self.start..];
        if memmem::find(rest, OPEN).is_some() || rest.iter().any(|&b| b > b' ') && !is_comments(rest) {
            let block = Block { cta, range: self.start..self.text.len(), cut: true };
            return Blocks::Some(vec![block]);
        }
        let fault = Fault {
            at: self.text.len(),
            kind: ProblemKind::Count,
            what: "the file has fewer CTAs than its grid".into(),
            found: format!("{cta} CTAs"),
            expected: format!("{}, as `-grid dim = {}` says", self.setup.ctas, self.setup.grid),
            help: "the tracer was stopped or the copy is incomplete: trace or copy it again".into(),
        };
        Blocks::End(self.failed(cta, fault))
    }

    fn failed(&self, from: u32, fault: Fault) -> End {
        let before = &self.text[..fault.at.min(self.text.len())];
        let mut line = self.lines + 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        // At the end of the file the fault is in the last line, not in the empty one after its line end.
        if before.len() == self.text.len() && matches!(before.last(), None | Some(b'\n')) {
            line = line.saturating_sub(1).max(1);
        }
        End::Failed { from, error: fault.in_file(&self.setup.file, Some(line)).into() }
    }

    fn decode(&mut self, blocks: Vec<Block>) -> Batch {
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
            let blocks: Vec<Block> = again.iter().map(|&i| blocks[i].clone()).collect();
            for (&i, second) in again.iter().zip(self.parse(&blocks)) {
                parsed[i] = second;
            }
        }
        let end = parsed.get_mut(faulty).and_then(|p| p.fault.take()).map(|fault| {
            let from = blocks[faulty].cta;
            self.failed(from, fault)
        });
        self.spans = blocks.iter().map(|block| block.range.clone()).collect();
        self.start = blocks.last().map_or(self.start, |block| (block.range.end + CLOSE.len()).min(self.text.len()));
        self.promise = Promise::default();
        self.produced += faulty as u32;
        parsed.truncate(faulty);
        let ctas = parsed.into_iter().map(|p| self.program(p)).collect();
        if let Some(end) = end {
            return Batch { ctas, ..self.finish(end) };
        }
        Batch { ctas, end: None }
    }

    fn program(&mut self, parsed: Parsed) -> Decoded {
        let warps = parsed.warps.into_iter().map(|(stream, print)| self.sharing.share(stream, print)).collect();
        Decoded { program: Arc::new(CtaProgram { code: Arc::clone(&self.code), warps, ..CtaProgram::default() }), notes: parsed.notes }
    }

    /// Decodes blocks against the table as it is, in parallel if there is a pool; results come in the order of `blocks`.
    fn parse(&self, blocks: &[Block]) -> Vec<Parsed> {
        let Some(pool) = self.setup.pool.as_ref().filter(|_| blocks.len() > 1) else {
            return parse_all(&self.text, &self.table, &self.setup, blocks);
        };
        // The caller waits on a channel and not in the pool: a worker of another pool that waited there might take up
        // another job meanwhile, which might want this very kernel.
        let share = blocks.len().div_ceil(pool.current_num_threads() * 4);
        let (send, receive) = unbounded();
        for (number, part) in blocks.chunks(share).enumerate() {
            let (text, table, setup) = (Arc::clone(&self.text), Arc::clone(&self.table), Arc::clone(&self.setup));
            let (part, send) = (part.to_vec(), send.clone());
            pool.spawn(move || {
                let parsed = parse_all(&text, &table, &setup, &part);
                // Released first, so that the text can grow in place when the results are in.
                drop((text, table, setup));
                drop(send.send((number, parsed)));
            });
        }
        drop(send);
        let mut parts: Vec<(usize, Vec<Parsed>)> = receive.iter().collect();
        parts.sort_unstable_by_key(|&(number, _)| number);
        let parsed: Vec<Parsed> = parts.into_iter().flat_map(|(_, parsed)| parsed).collect();
        assert_eq!(parsed.len(), blocks.len(), "a decoding thread of {} was lost", self.setup.file.display());
        parsed
    }
}

enum Blocks {
    Some(Vec<Block>),
    End(End),
}

fn parse_all(text: &[u8], table: &StaticTable, setup: &Setup, blocks: &[Block]) -> Vec<Parsed> {
    let mut parser = BlockParser::new(text, table, &setup.dialect, &setup.layout);
    blocks.iter().map(|block| parser.parse(block)).collect()
}

/// Whether only blank lines, comments and header lines are left.
fn is_comments(text: &[u8]) -> bool {
    text.split(|&b| b == b'\n').all(|line| matches!(line.trim_ascii().first(), None | Some(b'#' | b'-')))
}

/// Streams seen before, so that warps that execute the same share one allocation.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    seen: FxHashMap<u64, WarpStream>,
    asked: u64,
    found: u64,
}

impl Sharing {
    /// Streams remembered at most.
    const MOST: usize = 4096;
    /// Streams after which the search is given up if fewer than one in 16 was known.
    const TRIAL: u64 = 8192;

    pub(super) fn share(&mut self, stream: WarpStream, print: u64) -> WarpStream {
        if self.asked >= Self::TRIAL && self.found * 16 < self.asked {
            self.seen = FxHashMap::default();
            return stream;
        }
        self.asked += 1;
        match self.seen.get(&print) {
            Some(known) if *known == stream => {
                self.found += 1;
                known.clone()
            }
            _ => {
                if self.seen.len() >= Self::MOST {
                    self.seen.clear();
                }
                self.seen.insert(print, stream.clone());
                stream
            }
        }
    }
}
