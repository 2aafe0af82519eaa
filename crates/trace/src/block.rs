//! Decoder of one CTA's text block into one instruction stream per warp.
//!
//! The decoder reads a frozen table of static instructions. A block with unknown instructions reports them as fresh; the caller merges them
//! into the table in CTA order and decodes the block once more.

use std::ops::Range;

use warpshard_base::LaneMask;
use warpshard_workload::{AddressForm, StreamBuilder, WarpStream};

use super::error::{ProblemKind, TextFault};
use super::notes::{FIXED_NOTES, GAPS_NOTE, UNLISTED_NOTE};
use super::table::{Dialect, StaticEntry, StaticTable, malformed};
use super::text::{decimal, hex, is_end, next_line, quote, skip_blanks, skip_token, token};

/// Layout of the CTA blocks of a kernel.
#[derive(Clone, Debug)]
pub(super) struct BlockLayout {
    /// Tokens before the program counter of a line: CTA coordinates and warp up to tracer version 2, and the source line if recorded.
    pub(super) lead: usize,
    /// Warps per CTA according to the header.
    pub(super) warps: u32,
}

/// A CTA's text block to decode.
#[derive(Clone, Debug)]
pub(super) struct CtaBlock {
    /// Index of the CTA in the grid.
    pub(super) cta: u32,
    /// Byte range of the block's text, without the closing line.
    pub(super) range: Range<usize>,
    /// True if the file ended before the closing line.
    pub(super) cut: bool,
}

/// The decoded contents of a block.
#[derive(Debug, Default)]
pub(super) struct ParsedBlock {
    /// One stream per warp with its fingerprint; empty if there are fresh instructions or a fault.
    pub(super) warps: Vec<(WarpStream, u64)>,
    /// Instructions that the table lacks, in the order of their first occurrence.
    pub(super) fresh: Vec<StaticEntry>,
    /// Number of occurrences of each note, or `None` if no note occurred.
    pub(super) notes: Option<Box<[u64]>>,
    /// The first fault of the block.
    pub(super) fault: Option<TextFault>,
}

/// The text of the last occurrence of an instruction and the instruction that followed it. Warps mostly execute the same instructions one
/// after the other, so the next line often begins with bytes that were already parsed.
#[derive(Clone, Copy, Debug, Default)]
struct LastLine {
    /// Offset of the start of the line in the text.
    at: usize,
    /// Bytes of the line up to its addresses, or of the whole line if it has none; 0 if no occurrence is stored.
    len: usize,
    mask: LaneMask,
    /// True if addresses follow the static part of the line.
    is_access: bool,
    /// Index of the instruction's note; see [`StaticEntry::note`].
    note: u32,
    /// Index of the instruction that followed the last occurrence.
    next: u32,
    /// Address differences of the last occurrence.
    tail: AddressTail,
}

/// The address differences of the last access by all lanes. Differences that occur twice in a row are cached as encoded words.
#[derive(Clone, Copy, Debug, Default)]
struct AddressTail {
    /// Offset of the differences in the text, and their bytes including the end of the line.
    at: usize,
    len: usize,
    form: AddressForm,
    /// Index of the encoded words in [`BlockParser::tails`], plus one. The index remains assigned to the instruction when its differences
    /// change.
    place: u32,
    /// True if the slot holds the words of these differences.
    is_cached: bool,
}

/// A decoder for the CTA blocks of one text.
pub(super) struct BlockParser<'a> {
    text: &'a [u8],
    table: &'a StaticTable,
    dialect: &'a Dialect,
    layout: &'a BlockLayout,
    builder: StreamBuilder,
    extra: StaticTable,
    notes: Vec<u64>,
    /// Last occurrences by index of the static instruction; the last element represents the start of a warp.
    last_lines: Box<[LastLine]>,
    /// Index in `seen` of the previous instruction.
    previous: usize,
    /// Encoded words of the cached address differences.
    tails: Vec<[u32; 31]>,
}

impl<'a> BlockParser<'a> {
    pub(super) fn new(text: &'a [u8], table: &'a StaticTable, dialect: &'a Dialect, layout: &'a BlockLayout) -> Self {
        let notes = vec![0; FIXED_NOTES + table.notes().len()];
        let beginning = table.entries().len();
        let last_lines = vec![LastLine::default(); beginning + 1].into();
        let (builder, extra) = Default::default();
        Self { text, table, dialect, layout, builder, extra, notes, last_lines, previous: beginning, tails: Vec::new() }
    }

    /// Decodes one block.
    pub(super) fn parse(&mut self, block: &CtaBlock) -> ParsedBlock {
        self.extra = StaticTable::default();
        self.notes.fill(0);
        self.builder.finish();
        let mut streams = vec![None; self.layout.warps as usize];
        let fault = self.warps(block, &mut streams).err();
        let fresh = self.extra.entries().to_vec();
        if fault.is_some() || !fresh.is_empty() {
            return ParsedBlock { fresh, fault, ..ParsedBlock::default() };
        }
        self.notes[UNLISTED_NOTE] = streams.iter().filter(|stream| stream.is_none()).count() as u64;
        let notes = self.notes.iter().any(|&times| times > 0).then(|| self.notes.as_slice().into());
        let warps = streams.into_iter().map(|stream| stream.unwrap_or_default());
        let warps = warps.map(|stream: WarpStream| (stream.fingerprint(), stream)).map(|(print, stream)| (stream, print));
        ParsedBlock { warps: warps.collect(), fresh, notes, fault: None }
    }

    fn warps(&mut self, block: &CtaBlock, streams: &mut [Option<WarpStream>]) -> Result<(), TextFault> {
        let mut at = self.find_opening(block)?;
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
            let Some(number) = self.assigned_number(rest, at, b"warp") else {
                return Err(self.not_a_warp(at, block));
            };
            let warp = self.warp_number(number, at, block, streams)?;
            let line = self.skip_empty(next_line(self.text, at), block.range.end);
            let Some(promised) = self.assigned_number(&self.text[line..block.range.end], line, b"insts") else {
                return Err(self.missing_count(line, warp, block));
            };
            at = self.instructions(next_line(self.text, line).min(block.range.end), warp, promised, block)?;
            streams[warp as usize] = Some(self.builder.finish());
        }
        if block.cut { Err(self.truncated_block(at, block, "after the warps that it lists".into())) } else { Ok(()) }
    }

    /// Finds the opening line of a block, which comments may precede.
    fn find_opening(&self, block: &CtaBlock) -> Result<usize, TextFault> {
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
                return Err(TextFault {
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

    /// Appends the instructions of a warp to the builder and returns the offset after their lines.
    fn instructions(&mut self, mut at: usize, warp: u32, promised: u32, block: &CtaBlock) -> Result<usize, TextFault> {
        let end = block.range.end;
        self.previous = self.last_lines.len() - 1;
        for found in 0..promised {
            if let Some(after) = self.append_repeated(at) {
                at = after;
                continue;
            }
            at = self.skip_empty(at, end);
            if at >= end || !self.text[at].is_ascii_hexdigit() {
                return Err(self.missing_instructions(at, warp, promised, found, block));
            }
            let line = at;
            at = match self.instruction(at) {
                Ok(after) => next_line(self.text, after),
                // A killed tracer leaves an incomplete last line.
                Err(_) if block.cut && next_line(self.text, line) == self.text.len() => {
                    return Err(self.missing_instructions(line, warp, promised, found, block));
                }
                Err(mut fault) => {
                    fault.found = format!("{} in cta {}, warp {warp}", fault.found, block.cta);
                    return Err(fault);
                }
            };
        }
        Ok(at.min(end))
    }

    /// Appends the instruction at `at` to the builder if its line equals, except for addresses, the line that followed the previous
    /// instruction last time. Returns the offset after the line, or `None` without a change.
    #[inline]
    fn append_repeated(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let index = self.last_lines[self.previous].next;
        let seen = *self.last_lines.get(index as usize)?;
        if seen.len == 0 || !text[at..].starts_with(&text[seen.at..seen.at + seen.len]) {
            return None;
        }
        let mut after = at + seen.len;
        if seen.is_access {
            after = match self.append_same_differences(after, index, &seen) {
                Some(after) => after,
                None => {
                    // Malformed addresses are parsed once more by the path that reports the error.
                    let end = next_line(text, self.addresses(after, index, seen.mask).ok()?);
                    self.record_differences(after, end, index, &seen);
                    end
                }
            };
        } else {
            self.builder.op(index, seen.mask);
        }
        if seen.note != 0 {
            self.notes[seen.note as usize] += 1;
        }
        self.previous = index as usize;
        Some(after)
    }

    /// Appends an access whose addresses begin at `at` to the builder if its differences equal the cached ones. Returns the offset after
    /// the line, or `None` without a change.
    #[inline]
    fn append_same_differences(&mut self, at: usize, index: u32, seen: &LastLine) -> Option<usize> {
        let AddressTail { at: tail, len, form, place, is_cached: kept } = seen.tail;
        if !kept || seen.mask != LaneMask::FULL {
            return None;
        }
        let words = self.tails.get(place as usize - 1)?;
        let at = after_mode(self.text, at)?;
        let (base, after) = hex(self.text, at)?;
        let at = skip_blanks(self.text, after);
        if !self.text[at..].starts_with(&self.text[tail..tail + len]) {
            self.last_lines[index as usize].tail.is_cached = false;
            return None;
        }
        self.builder.encoded_access(index, form, base, if form == AddressForm::Affine { &words[..1] } else { words });
        Some(at + len)
    }

    /// Records the differences of the last access, from `at` to the end of its line, and caches them if the previous occurrence had the
    /// same.
    #[inline]
    fn record_differences(&mut self, at: usize, end: usize, index: u32, seen: &LastLine) {
        let text = self.text;
        if seen.mask != LaneMask::FULL {
            return;
        }
        let Some(at) = after_mode(text, at).map(|base| skip_blanks(text, skip_token(text, base))) else { return };
        let before = &text[seen.tail.at..seen.tail.at + seen.tail.len];
        let again = !before.is_empty() && text.get(at..end) == Some(before) && before.ends_with(b"\n");
        let tail = &mut self.last_lines[index as usize].tail;
        (tail.at, tail.len, tail.is_cached) = (at, end.saturating_sub(at), false);
        if again && let Some((form, words)) = self.builder.last_tail() {
            if tail.place == 0 {
                self.tails.push(words);
                tail.place = self.tails.len() as u32;
            } else {
                self.tails[tail.place as usize - 1] = words;
            }
            (tail.form, tail.is_cached) = (form, true);
        }
    }

    /// Records the text of the instruction in the line at `at`, whose static part ends at `end`.
    #[inline]
    fn record_line(&mut self, index: u32, at: usize, end: usize, mask: LaneMask, is_access: bool) {
        let text = self.text;
        let after = if is_access { (end + 1).min(text.len()) } else { next_line(text, end) };
        // A blank or line end must terminate the token or line; at the end of the text it is missing.
        let complete = text[after - 1] == if is_access { b' ' } else { b'\n' };
        let note = self.table.entries()[index as usize].note;
        self.last_lines[self.previous].next = index;
        self.previous = index as usize;
        let LastLine { next, tail, .. } = self.last_lines[self.previous];
        self.last_lines[self.previous] = LastLine { at, len: if complete { after - at } else { 0 }, mask, is_access, note, next, tail };
    }

    /// Appends the instruction of one line to the builder and returns an offset inside that line.
    #[inline]
    fn instruction(&mut self, mut at: usize) -> Result<usize, TextFault> {
        let (text, line) = (self.text, at);
        for _ in 0..self.layout.lead {
            at = skip_blanks(text, skip_token(text, at));
        }
        let Some((pc, after)) = hex(text, at).filter(|&(pc, _)| pc <= u64::from(u32::MAX)) else {
            return Err(malformed(text, at, "the program counter", "a hexadecimal number of at most 8 digits"));
        };
        at = skip_blanks(text, after);
        // Most instructions have all lanes active, so this mask is tried first.
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
                self.record_line(index, line, at, mask, is_access && mask.0 != 0);
                (index, is_access)
            }
            None => match self.extra.find(pc, text, at) {
                Some((index, after)) => {
                    at = after;
                    (0, self.extra.entries()[index as usize].inst.mem.is_some())
                }
                None => {
                    let (entry, after) = StaticEntry::parse(pc, text, at, self.dialect)?;
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

    /// Appends an access with addresses in any of the three address modes to the builder.
    fn addresses(&mut self, at: usize, index: u32, mask: LaneMask) -> Result<usize, TextFault> {
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
            return self.strided_access(at, index, mask);
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

    /// Appends an access given by base and stride to the builder.
    fn strided_access(&mut self, at: usize, index: u32, mask: LaneMask) -> Result<usize, TextFault> {
        let (text, lanes) = (self.text, mask.count() as usize);
        let Some((base, after)) = hex(text, at) else { return Err(too_few_addresses(text, at, b'1', 0, lanes)) };
        let at = skip_blanks(text, after);
        let Some((stride, after)) = decimal(text, at) else { return Err(malformed(text, at, "the stride", "a decimal number")) };
        let low = mask.0 >> mask.0.trailing_zeros();
        self.notes[GAPS_NOTE] += u64::from(low & low.wrapping_add(1) != 0);
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

    /// Returns `N` of a line `word = N`.
    fn assigned_number(&self, rest: &[u8], at: usize, word: &[u8]) -> Option<u32> {
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

    fn warp_number(&self, number: u32, at: usize, block: &CtaBlock, streams: &[Option<WarpStream>]) -> Result<u32, TextFault> {
        let warps = self.layout.warps;
        let fault = |what: &str, expected: String| {
            let found = format!("warp {number} in cta {}", block.cta);
            let help = "the header's block dim or the file is wrong: trace the kernel again".into();
            Err(TextFault { at, kind: ProblemKind::Count, what: what.into(), found, expected, help })
        };
        match streams.get(number as usize) {
            None => fault("the warp lies outside of its block", format!("a number below {warps}, the warps of a block by the header")),
            Some(Some(_)) => fault("the warp is listed twice", "each warp once".into()),
            Some(None) => Ok(number),
        }
    }

    fn not_a_warp(&self, at: usize, block: &CtaBlock) -> TextFault {
        let line = &self.text[at..next_line(self.text, at).min(block.range.end)];
        if block.cut && line.len() < b"warp = 0\n".len() {
            return self.truncated_block(at, block, "between two warps".into());
        }
        let more = self.text[at].is_ascii_hexdigit();
        let what = if more { "a warp lists more instructions than it declares" } else { "this line does not belong to a CTA's block" };
        let found = format!("{} in cta {}", quote(line), block.cta);
        let help = "the file is damaged: trace or copy it again".into();
        TextFault { at, kind: ProblemKind::Count, what: what.into(), found, expected: "`warp = N` or `#END_TB`".into(), help }
    }

    fn missing_count(&self, at: usize, warp: u32, block: &CtaBlock) -> TextFault {
        if block.cut && next_line(self.text, at) >= block.range.end {
            return self.truncated_block(at, block, format!("before the instructions of warp {warp}"));
        }
        malformed(self.text, at.min(self.text.len()), &format!("the instruction count of cta {}, warp {warp}", block.cta), "`insts = N`")
    }

    fn missing_instructions(&self, at: usize, warp: u32, promised: u32, found: u32, block: &CtaBlock) -> TextFault {
        let cta = block.cta;
        if block.cut {
            return self.truncated_block(at, block, format!("after {found} of the {promised} instructions of warp {warp}"));
        }
        TextFault {
            at: at.min(self.text.len()),
            kind: ProblemKind::Count,
            what: "a warp lists fewer instructions than it declares".into(),
            found: format!("{found} instructions in cta {cta}, warp {warp}"),
            expected: format!("{promised}, by the line `insts = {promised}`"),
            help: "the file is damaged: trace or copy it again".into(),
        }
    }

    fn truncated_block(&self, at: usize, block: &CtaBlock, place: String) -> TextFault {
        TextFault {
            at: at.min(self.text.len()),
            kind: ProblemKind::Cut,
            what: "the file ends inside a CTA".into(),
            found: format!("the end of the file in cta {}, {place}", block.cta),
            expected: "all instructions of the warp, and `#END_TB`".into(),
            help: "the tracer was stopped or the copy is incomplete: trace or copy it again".into(),
        }
    }
}

/// Returns the offset of the base address if the address text at `at` has the mode of base and differences.
#[inline]
fn after_mode(text: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(text, at);
    (text.get(at) == Some(&b'2') && is_end(text, at + 1)).then(|| skip_blanks(text, at + 1))
}

fn too_few_addresses(text: &[u8], at: usize, mode: u8, given: usize, lanes: usize) -> TextFault {
    if mode == b'0' && token(text, at).is_empty() || mode == b'2' && given > 0 {
        return TextFault {
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
