//! One CTA's block of text, decoded into one stream per warp.
//!
//! Decoding sees a frozen table of static instructions. A block that meets others reports them as fresh; they are merged
//! into the table in CTA order, and the block is decoded once more.

use std::ops::Range;

use warpshard_base::LaneMask;
use warpshard_workload::{AddressForm, StreamBuilder, WarpStream};

use super::error::{Fault, ProblemKind};
use super::notes::{FIXED, GAPS, UNLISTED};
use super::table::{Dialect, Entry, StaticTable, malformed};
use super::text::{decimal, hex, is_end, next_line, quote, skip_blanks, skip_token, token};

/// What the blocks of a kernel look like.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Tokens before the program counter: CTA coordinates and warp up to tracer version 2, the source line if recorded.
    pub(super) lead: usize,
    /// Warps of a CTA by the header.
    pub(super) warps: u32,
}

/// A block to decode.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Which CTA it is.
    pub(super) cta: u32,
    /// Its text, without the closing line.
    pub(super) range: Range<usize>,
    /// The file ended before the closing line.
    pub(super) cut: bool,
}

/// What a block holds.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// One stream per warp, each with its fingerprint; empty when there are fresh instructions or a fault.
    pub(super) warps: Vec<(WarpStream, u64)>,
    /// Instructions that the table lacks, in the order of occurrence.
    pub(super) fresh: Vec<Entry>,
    /// How often each note occurred, when any did.
    pub(super) notes: Option<Box<[u64]>>,
    /// The first thing that is wrong.
    pub(super) fault: Option<Fault>,
}

/// How an instruction was written when it was met last, and what followed it. Warps mostly execute the same instructions one
/// after the other, so that the next line often begins with bytes that were read before.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Where its line begins.
    at: usize,
    /// Bytes up to its addresses, or of the whole line when it has none; 0 when nothing is known.
    len: usize,
    mask: LaneMask,
    /// Whether addresses follow.
    is_access: bool,
    /// As in [`Entry::note`].
    note: u32,
    /// The instruction that followed it.
    next: u32,
    /// The differences of its addresses.
    tail: Tail,
}

/// The differences between the addresses of an access of all lanes, as they were written last. Where they were the same twice, they
/// are kept as numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// Where they begin, and their bytes with the end of the line.
    at: usize,
    len: usize,
    form: AddressForm,
    /// Their place among [`BlockParser::tails`], plus one; it stays theirs when other differences come.
    place: u32,
    /// Whether that place holds them.
    kept: bool,
}

/// Decodes blocks of one text.
pub(super) struct BlockParser<'a> {
    text: &'a [u8],
    table: &'a StaticTable,
    dialect: &'a Dialect,
    layout: &'a Layout,
    builder: StreamBuilder,
    extra: StaticTable,
    notes: Vec<u64>,
    /// By index of the static instruction; the last represents the beginning of a warp.
    seen: Box<[Seen]>,
    /// The place in `seen` of the instruction before.
    before: usize,
    /// The words that encode the differences that are kept.
    tails: Vec<[u32; 31]>,
}

impl<'a> BlockParser<'a> {
    pub(super) fn new(text: &'a [u8], table: &'a StaticTable, dialect: &'a Dialect, layout: &'a Layout) -> Self {
        let notes = vec![0; FIXED + table.notes().len()];
        let beginning = table.entries().len();
        let seen = vec![Seen::default(); beginning + 1].into();
        let (builder, extra) = Default::default();
        Self { text, table, dialect, layout, builder, extra, notes, seen, before: beginning, tails: Vec::new() }
    }

    /// Decodes one block.
    pub(super) fn parse(&mut self, block: &Block) -> Parsed {
        self.extra = StaticTable::default();
        self.notes.fill(0);
        self.builder.finish();
        let mut streams = vec![None; self.layout.warps as usize];
        let fault = self.warps(block, &mut streams).err();
        let fresh = self.extra.entries().to_vec();
        if fault.is_some() || !fresh.is_empty() {
            return Parsed { fresh, fault, ..Parsed::default() };
        }
        self.notes[UNLISTED] = streams.iter().filter(|stream| stream.is_none()).count() as u64;
        let notes = self.notes.iter().any(|&times| times > 0).then(|| self.notes.as_slice().into());
        let warps = streams.into_iter().map(|stream| stream.unwrap_or_default());
        let warps = warps.map(|stream: WarpStream| (stream.fingerprint(), stream)).map(|(print, stream)| (stream, print));
        Parsed { warps: warps.collect(), fresh, notes, fault: None }
    }

    fn warps(&mut self, block: &Block, streams: &mut [Option<WarpStream>]) -> Result<(), Fault> {
        let mut at = self.open(block)?;
        loop {
            at = self.skip_empty(at, block.range.end);
            if at >= block.range.end {
                break;
            }
            let rest = &self.text[at..block.range.end];
            if rest.starts_with(b"thread block") {
                at = next_line(self.text, at);
                continue;
            }
            let Some(number) = self.assigned(rest, at, b"warp") else {
                return Err(self.not_a_warp(at, block));
            };
            let warp = self.warp_number(number, at, block, streams)?;
            let line = self.skip_empty(next_line(self.text, at), block.range.end);
            let Some(promised) = self.assigned(&self.text[line..block.range.end], line, b"insts") else {
                return Err(self.no_count(line, warp, block));
            };
            at = self.instructions(next_line(self.text, line).min(block.range.end), warp, promised, block)?;
            streams[warp as usize] = Some(self.builder.finish());
        }
        if block.cut { Err(self.cut(at, block, "after the warps that it lists".into())) } else { Ok(()) }
    }

    /// Finds the opening line; comments may precede it.
    fn open(&self, block: &Block) -> Result<usize, Fault> {
        let mut at = block.range.start;
        loop {
            at = self.skip_empty(at, block.range.end);
            let rest = &self.text[at..block.range.end];
            if rest.starts_with(b"#BEGIN_TB") {
                return Ok(next_line(self.text, at).min(block.range.end));
            }
            // The kernel's header precedes the first CTA.
            let before = rest.starts_with(b"#") || block.cta == 0 && rest.starts_with(b"-");
            if !before {
                return Err(Fault {
                    at,
                    kind: ProblemKind::Count,
                    what: "instructions are outside of a CTA's block".into(),
                    found: quote(&self.text[at..next_line(self.text, at).min(block.range.end)]),
                    expected: format!("`#BEGIN_TB`, which opens cta {}", block.cta),
                    help: "a raw .trace must pass through the tracer's post-traces-processing tool first".into(),
                });
            }
            at = next_line(self.text, at).min(block.range.end);
        }
    }

    /// The instruction lines of a warp into the builder; returns the place after them.
    fn instructions(&mut self, mut at: usize, warp: u32, promised: u32, block: &Block) -> Result<usize, Fault> {
        let end = block.range.end;
        self.before = self.seen.len() - 1;
        for found in 0..promised {
            if let Some(after) = self.repeated(at) {
                at = after;
                continue;
            }
            at = self.skip_empty(at, end);
            if at >= end || !self.text[at].is_ascii_hexdigit() {
                return Err(self.too_few(at, warp, promised, found, block));
            }
            let line = at;
            at = match self.instruction(at) {
                Ok(after) => next_line(self.text, after),
                // A killed tracer leaves half a line.
                Err(_) if block.cut && next_line(self.text, line) == self.text.len() => {
                    return Err(self.too_few(line, warp, promised, found, block));
                }
                Err(mut fault) => {
                    fault.found = format!("{} in cta {}, warp {warp}", fault.found, block.cta);
                    return Err(fault);
                }
            };
        }
        Ok(at.min(end))
    }

    /// The line at `at` into the builder if it is the one that followed last time, but for its addresses; returns the place
    /// after it. Otherwise does nothing.
    #[inline]
    fn repeated(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let index = self.seen[self.before].next;
        let seen = *self.seen.get(index as usize)?;
        if seen.len == 0 || !text[at..].starts_with(&text[seen.at..seen.at + seen.len]) {
            return None;
        }
        let mut after = at + seen.len;
        if seen.is_access {
            after = match self.same_differences(after, index, &seen) {
                Some(after) => after,
                None => {
                    // Addresses that cannot be read are read once more where the error is reported.
                    let end = next_line(text, self.addresses(after, index, seen.mask).ok()?);
                    self.learn_differences(after, end, index, &seen);
                    end
                }
            };
        } else {
            self.builder.op(index, seen.mask);
        }
        if seen.note != 0 {
            self.notes[seen.note as usize] += 1;
        }
        self.before = index as usize;
        Some(after)
    }

    /// The access whose addresses begin at `at` into the builder, if its differences are those that are kept; returns the place
    /// after its line. Otherwise does nothing.
    #[inline]
    fn same_differences(&mut self, at: usize, index: u32, seen: &Seen) -> Option<usize> {
        let Tail { at: tail, len, form, place, kept } = seen.tail;
        if !kept || seen.mask != LaneMask::FULL {
            return None;
        }
        let words = self.tails.get(place as usize - 1)?;
        let at = after_mode(self.text, at)?;
        let (base, after) = hex(self.text, at)?;
        let at = skip_blanks(self.text, after);
        if !self.text[at..].starts_with(&self.text[tail..tail + len]) {
            self.seen[index as usize].tail.kept = false;
            return None;
        }
        self.builder.prepared(index, form, base, if form == AddressForm::Affine { &words[..1] } else { words });
        Some(at + len)
    }

    /// Notes the differences of the access that was read last, from `at` up to the end of its line; keeps them if they were the
    /// same the time before.
    #[inline]
    fn learn_differences(&mut self, at: usize, end: usize, index: u32, seen: &Seen) {
        let text = self.text;
        if seen.mask != LaneMask::FULL {
            return;
        }
        let Some(at) = after_mode(text, at).map(|base| skip_blanks(text, skip_token(text, base))) else { return };
        let before = &text[seen.tail.at..seen.tail.at + seen.tail.len];
        let again = !before.is_empty() && text.get(at..end) == Some(before) && before.ends_with(b"\n");
        let tail = &mut self.seen[index as usize].tail;
        (tail.at, tail.len, tail.kept) = (at, end.saturating_sub(at), false);
        if again && let Some((form, words)) = self.builder.last_tail() {
            if tail.place == 0 {
                self.tails.push(words);
                tail.place = self.tails.len() as u32;
            } else {
                self.tails[tail.place as usize - 1] = words;
            }
            (tail.form, tail.kept) = (form, true);
        }
    }

    /// Notes how the instruction of the line at `at` is written, whose static part ends at `end`.
    #[inline]
    fn remember(&mut self, index: u32, at: usize, end: usize, mask: LaneMask, is_access: bool) {
        let text = self.text;
        let after = if is_access { (end + 1).min(text.len()) } else { next_line(text, end) };
        // The last byte says that the token, or the line, ends here; at the end of the text there is none.
        let complete = text[after - 1] == if is_access { b' ' } else { b'\n' };
        let note = self.table.entries()[index as usize].note;
        self.seen[self.before].next = index;
        self.before = index as usize;
        let Seen { next, tail, .. } = self.seen[self.before];
        self.seen[self.before] = Seen { at, len: if complete { after - at } else { 0 }, mask, is_access, note, next, tail };
    }

    /// One instruction line into the builder; returns a place before its end.
    #[inline]
    fn instruction(&mut self, mut at: usize) -> Result<usize, Fault> {
        let (text, line) = (self.text, at);
        for _ in 0..self.layout.lead {
            at = skip_blanks(text, skip_token(text, at));
        }
        let Some((pc, after)) = hex(text, at).filter(|&(pc, _)| pc <= u64::from(u32::MAX)) else {
            return Err(malformed(text, at, "the program counter", "a hexadecimal number of at most 8 digits"));
        };
        at = skip_blanks(text, after);
        // Most instructions run with all lanes, so that spelling is tried first.
        let all = text.get(at..at + 8).is_some_and(|digits| digits == b"ffffffff") && is_end(text, at + 8);
        let mask = if all { Some((u64::from(u32::MAX), at + 8)) } else { hex(text, at) };
        let Some((mask, after)) = mask.filter(|&(mask, _)| mask <= u64::from(u32::MAX)) else {
            return Err(malformed(text, at, "the mask of active lanes", "8 hexadecimal digits"));
        };
        let (pc, mask) = (pc as u32, LaneMask(mask as u32));
        at = skip_blanks(text, after);
        let (index, is_access) = match self.table.find(pc, text, at) {
            Some((index, after)) => {
                at = after;
                let entry = &self.table.entries()[index as usize];
                if entry.note != 0 {
                    self.notes[entry.note as usize] += 1;
                }
                let is_access = entry.inst.mem.is_some();
                self.remember(index, line, at, mask, is_access && mask.0 != 0);
                (index, is_access)
            }
            None => match self.extra.find(pc, text, at) {
                Some((index, after)) => {
                    at = after;
                    (0, self.extra.entries()[index as usize].inst.mem.is_some())
                }
                None => {
                    let (entry, after) = Entry::parse(pc, text, at, self.dialect)?;
                    at = after;
                    let is_access = entry.inst.mem.is_some();
                    self.extra.insert(entry);
                    (0, is_access)
                }
            },
        };
        if !is_access || mask.0 == 0 {
            self.builder.op(index, mask);
            return Ok(at);
        }
        self.addresses(at, index, mask)
    }

    /// The addresses of an access, in any of the three modes.
    fn addresses(&mut self, at: usize, index: u32, mask: LaneMask) -> Result<usize, Fault> {
        let text = self.text;
        let lanes = mask.count() as usize;
        let at = skip_blanks(text, at);
        match text.get(at) {
            Some(b'0' | b'1' | b'2') if is_end(text, at + 1) => {}
            _ => return Err(malformed(text, at, "the address mode", "0 (list), 1 (base and stride) or 2 (base and differences)")),
        }
        let mode = text[at];
        let mut at = skip_blanks(text, at + 1);
        if mode == b'1' {
            return self.strided(at, index, mask);
        }
        let mut addresses = [0u64; 32];
        let mut given = 0;
        let listed = if mode == b'0' { lanes } else { 1 };
        while given < listed {
            let Some((address, after)) = hex(text, at) else { return Err(too_few_addresses(text, at, mode, given, lanes)) };
            addresses[given] = address;
            given += 1;
            at = skip_blanks(text, after);
        }
        while given < lanes {
            let Some((delta, after)) = decimal(text, at) else { return Err(too_few_addresses(text, at, mode, given, lanes)) };
            addresses[given] = addresses[given - 1].wrapping_add_signed(delta);
            given += 1;
            at = skip_blanks(text, after);
        }
        self.builder.access(index, mask, &addresses[..lanes]);
        Ok(at)
    }

    /// The base and the stride of an access.
    fn strided(&mut self, at: usize, index: u32, mask: LaneMask) -> Result<usize, Fault> {
        let (text, lanes) = (self.text, mask.count() as usize);
        let Some((base, after)) = hex(text, at) else { return Err(too_few_addresses(text, at, b'1', 0, lanes)) };
        let at = skip_blanks(text, after);
        let Some((stride, after)) = decimal(text, at) else { return Err(malformed(text, at, "the stride", "a decimal number")) };
        let low = mask.0 >> mask.0.trailing_zeros();
        self.notes[GAPS] += u64::from(low & low.wrapping_add(1) != 0);
        match i32::try_from(if lanes > 1 { stride } else { 0 }) {
            Ok(stride) => self.builder.affine(index, mask, base, stride),
            Err(_) => {
                let mut addresses = [base; 32];
                for lane in 1..lanes {
                    addresses[lane] = addresses[lane - 1].wrapping_add_signed(stride);
                }
                self.builder.access(index, mask, &addresses[..lanes]);
            }
        }
        Ok(after)
    }

    fn skip_empty(&self, mut at: usize, end: usize) -> usize {
        while at < end && self.text[at] <= b' ' {
            at += 1;
        }
        at.min(end)
    }

    /// N of a line `word = N`.
    fn assigned(&self, rest: &[u8], at: usize, word: &[u8]) -> Option<u32> {
        if !rest.starts_with(word) {
            return None;
        }
        let mut at = skip_blanks(self.text, at + word.len());
        if self.text.get(at) != Some(&b'=') {
            return None;
        }
        at = skip_blanks(self.text, at + 1);
        decimal(self.text, at).and_then(|(value, _)| u32::try_from(value).ok())
    }

    fn warp_number(&self, number: u32, at: usize, block: &Block, streams: &[Option<WarpStream>]) -> Result<u32, Fault> {
        let warps = self.layout.warps;
        let fault = |what: &str, expected: String| {
            let found = format!("warp {number} in cta {}", block.cta);
            let help = "the header's block dim or the file is wrong: trace the kernel again".into();
            Err(Fault { at, kind: ProblemKind::Count, what: what.into(), found, expected, help })
        };
        match streams.get(number as usize) {
            None => fault("the warp lies outside of its block", format!("a number below {warps}, the warps of a block by the header")),
            Some(Some(_)) => fault("the warp is listed twice", "each warp once".into()),
            Some(None) => Ok(number),
        }
    }

    fn not_a_warp(&self, at: usize, block: &Block) -> Fault {
        let line = &self.text[at..next_line(self.text, at).min(block.range.end)];
        if block.cut && line.len() < b"warp = 0\n".len() {
            return self.cut(at, block, "between two warps".into());
        }
        let more = self.text[at].is_ascii_hexdigit();
        let what = if more { "a warp lists more instructions than it promises" } else { "this is no line of a CTA's block" };
        let found = format!("{} in cta {}", quote(line), block.cta);
        let help = "the file is damaged: trace or copy it again".into();
        Fault { at, kind: ProblemKind::Count, what: what.into(), found, expected: "`warp = N` or `#END_TB`".into(), help }
    }

    fn no_count(&self, at: usize, warp: u32, block: &Block) -> Fault {
        if block.cut && next_line(self.text, at) >= block.range.end {
            return self.cut(at, block, format!("before the instructions of warp {warp}"));
        }
        malformed(self.text, at.min(self.text.len()), &format!("the instruction count of cta {}, warp {warp}", block.cta), "`insts = N`")
    }

    fn too_few(&self, at: usize, warp: u32, promised: u32, found: u32, block: &Block) -> Fault {
        let cta = block.cta;
        if block.cut {
            return self.cut(at, block, format!("after {found} of the {promised} instructions of warp {warp}"));
        }
        Fault {
            at: at.min(self.text.len()),
            kind: ProblemKind::Count,
            what: "a warp lists fewer instructions than it promises".into(),
            found: format!("{found} instructions in cta {cta}, warp {warp}"),
            expected: format!("{promised}, by the line `insts = {promised}`"),
            help: "the file is damaged: trace or copy it again".into(),
        }
    }

    fn cut(&self, at: usize, block: &Block, place: String) -> Fault {
        Fault {
            at: at.min(self.text.len()),
            kind: ProblemKind::Cut,
            what: "the file ends inside a CTA".into(),
            found: format!("the end of the file in cta {}, {place}", block.cta),
            expected: "all instructions of the warp, and `#END_TB`".into(),
            help: "the tracer was stopped or the copy is incomplete: trace or copy it again".into(),
        }
    }
}

/// The base of an access whose addresses, at `at`, are given by differences.
#[inline]
fn after_mode(text: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(text, at);
    (text.get(at) == Some(&b'2') && is_end(text, at + 1)).then(|| skip_blanks(text, at + 1))
}

fn too_few_addresses(text: &[u8], at: usize, mode: u8, given: usize, lanes: usize) -> Fault {
    if mode == b'0' && token(text, at).is_empty() || mode == b'2' && given > 0 {
        return Fault {
            at,
            kind: ProblemKind::Instruction,
            what: "an access has fewer addresses than active lanes".into(),
            found: format!("{given} {}", if given == 1 { "address" } else { "addresses" }),
            expected: format!("{lanes}, one for each active lane (address mode {})", char::from(mode)),
            help: "the file is damaged: trace or copy it again".into(),
        };
    }
    malformed(text, at, "an address", "a hexadecimal number of at most 16 digits")
}
