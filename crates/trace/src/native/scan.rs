//! Scanner that splits a CTA's text into templates, masks and addresses, and records the ends of its pieces.
//!
//! The decoder has already accepted the text, so all of it can be parsed. Parts that the decoder ignores become part of templates, or of
//! patches if they vary too much.

use super::super::table::Dialect;
use super::super::text::{decimal, hex, next_line, skip_blanks, skip_token};
use super::record::{AddressMode, CtaRecord, PathStep, WarpRecord};
use super::render::coordinates;
use super::template::{Template, TemplateMeanings};

/// Maximum bytes of a line end that is stored in a template.
const MAX_LINE_END_BYTES: usize = 24;
/// Maximum templates per static instruction; more variants are data rather than spelling.
const MAX_TEMPLATES: usize = 16;

/// The templates of a kernel, collected from the text scanned so far.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) templates: Vec<Template>,
    pub(super) meanings: TemplateMeanings,
    dialect: Dialect,
    /// Tokens before the program counter.
    lead: usize,
    /// Template numbers of each static instruction.
    of_static: Vec<Vec<u32>>,
}

/// A text that the decoder accepts but the scanner cannot split; contains the byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unscannable(pub(super) usize);

impl Scanner {
    pub(super) fn new(dialect: Dialect, lead: usize) -> Self {
        Self { templates: Vec::new(), meanings: TemplateMeanings::default(), dialect, lead, of_static: Vec::new() }
    }

    /// Splits a CTA's text and appends the ends of its pieces to `marks`.
    pub(super) fn cta(&mut self, text: &[u8], marks: &mut Vec<usize>) -> Result<CtaRecord, Unscannable> {
        let mut cta = CtaRecord::default();
        let mut at = opening(text).ok_or(Unscannable(0))?;
        loop {
            while at < text.len() && text[at] <= b' ' {
                at += 1;
            }
            let rest = &text[at..];
            if rest.starts_with(b"#END_TB") {
                marks.push(text.len());
                return Ok(cta);
            }
            let after = next_line(text, at);
            if rest.starts_with(b"thread block") {
                cta.coordinates = triple(&text[at..after]).unwrap_or(cta.coordinates);
                at = after;
                continue;
            }
            let number = assigned(rest).ok_or(Unscannable(at))?;
            at = after;
            while at < text.len() && text[at] <= b' ' {
                at += 1;
            }
            let steps = assigned(&text[at..]).ok_or(Unscannable(at))?;
            at = next_line(text, at);
            marks.push(at);
            let mut warp = WarpRecord { number, steps: Vec::with_capacity(steps as usize), addresses: Vec::new() };
            let lead = coordinates(cta.coordinates, number);
            let mut predicted = 0;
            for _ in 0..steps {
                let begin = at;
                while at < text.len() && text[at] <= b' ' {
                    at += 1;
                }
                let end = next_line(text, at);
                let line = text[at..end].strip_suffix(b"\n").unwrap_or(&text[at..end]);
                let step = match self.predicted(line, predicted, &lead, &mut warp.addresses) {
                    Some(step) => step,
                    None => self.line(line, &lead, &mut warp.addresses).ok_or(Unscannable(begin))?,
                };
                predicted = step.template + 1;
                warp.steps.push(step);
                at = end;
                marks.push(at);
            }
            cta.warps.push(warp);
        }
    }

    /// Parses a line with template `number`, which is predicted from the previous line; returns `None` if it does not match.
    fn predicted(&self, line: &[u8], number: u32, lead: &str, addresses: &mut Vec<u64>) -> Option<PathStep> {
        let template = self.templates.get(number as usize)?;
        let access = self.meanings.of[number as usize].access;
        let line = if template.coordinates { line.strip_prefix(lead.as_bytes())? } else { line };
        let rest = line.strip_prefix(&*template.before)?;
        let at = skip_token(rest, 0);
        let (mask, _) = hex(rest, 0).filter(|_| at == 8)?;
        let mask = mask as u32;
        let rest = rest[at..].strip_prefix(&*template.middle)?;
        if !access || mask == 0 {
            return rest.is_empty().then_some(PathStep { template: number, mask, mode: AddressMode::None, stride: 0 });
        }
        let before = addresses.len();
        let found = read_addresses(rest, mask, addresses);
        match found.filter(|(.., end)| *shortened_end(&rest[*end..]) == *template.end) {
            Some((mode, stride, _)) => Some(PathStep { template: number, mask, mode, stride }),
            None => {
                addresses.truncate(before);
                None
            }
        }
    }

    /// Parses any line and finds or creates its template.
    fn line(&mut self, line: &[u8], lead: &str, addresses: &mut Vec<u64>) -> Option<PathStep> {
        let coordinates = self.lead >= 4 && line.starts_with(lead.as_bytes());
        let mut at = 0;
        for _ in 0..self.lead {
            at = skip_blanks(line, skip_token(line, at));
        }
        let start = if coordinates { lead.len() } else { 0 };
        let (pc, after) = hex(line, at)?;
        let pc = u32::try_from(pc).ok()?;
        let mask_at = skip_blanks(line, after);
        let (mask, after) = hex(line, mask_at)?;
        let mask = u32::try_from(mask).ok()?;
        let static_at = skip_blanks(line, after);
        let mut template = Template { coordinates, before: line.get(start..mask_at)?.into(), ..Template::default() };
        let known = self.meanings.table.find(pc, line, static_at);
        let (is_access, static_end) = match known {
            Some((index, end)) => (self.meanings.table.entries()[index as usize].inst.mem.is_some(), end),
            None => {
                let (entry, end) = super::super::table::StaticEntry::parse(pc, line, static_at, &self.dialect).ok()?;
                (entry.inst.mem.is_some(), end)
            }
        };
        let (mut mode, mut stride) = (AddressMode::None, 0);
        if is_access && mask != 0 {
            let mode_at = skip_blanks(line, static_end);
            let end;
            (mode, stride, end) = read_addresses(&line[mode_at..], mask, addresses)?;
            let first_at = skip_blanks(line, mode_at + 1);
            template.padded = skip_token(line, first_at) - first_at == 18;
            template.middle = line[after..mode_at].into();
            template.end = shortened_end(&line[mode_at + end..]).into();
        } else {
            template.middle = [&line[after..static_end], shortened_end(&line[static_end..])].concat().into();
        }
        let template = self.number(template, pc)?;
        Some(PathStep { template, mask, mode, stride })
    }

    fn number(&mut self, template: Template, pc: u32) -> Option<u32> {
        let at = skip_blanks(&template.middle, 0);
        if let Some((index, _)) = self.meanings.table.find(pc, &template.middle, at)
            && let Some(known) = self.of_static.get(index as usize)
        {
            let same = |&&number: &&u32| self.templates[number as usize] == template;
            if let Some(&number) = known.iter().find(same) {
                return Some(number);
            }
            if known.len() >= MAX_TEMPLATES {
                return known.first().copied();
            }
        }
        let number = self.templates.len() as u32;
        self.meanings.add(&template, &self.dialect).ok()?;
        let index = self.meanings.of[number as usize].index as usize;
        if self.of_static.len() <= index {
            self.of_static.resize(index + 1, Vec::new());
        }
        self.of_static[index].push(number);
        self.templates.push(template);
        Some(number)
    }
}

/// Returns the offset of the line after `#BEGIN_TB`.
fn opening(text: &[u8]) -> Option<usize> {
    begin(text).map(|at| next_line(text, at))
}

/// Returns the offset of the line `#BEGIN_TB`, which comments and the kernel's header may precede.
pub(super) fn begin(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].iter().position(|&b| b > b' ')?;
        if text[at..].starts_with(b"#BEGIN_TB") {
            return Some(at);
        }
        at = next_line(text, at);
    }
}

/// Returns `N` of a line `word = N`.
fn assigned(rest: &[u8]) -> Option<u32> {
    let equals = memchr::memchr(b'=', rest)?;
    let (value, _) = decimal(rest, skip_blanks(rest, equals + 1))?;
    u32::try_from(value).ok()
}

/// Parses the numbers of a line `thread block = x,y,z`.
fn triple(line: &[u8]) -> Option<[u64; 3]> {
    let text = std::str::from_utf8(line.get(memchr::memchr(b'=', line)? + 1..)?).ok()?;
    let mut numbers = text.trim().split(',').map(|part| part.trim().parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// Returns the end of a line, shortened to its first token if it is long.
fn shortened_end(end: &[u8]) -> &[u8] {
    if end.len() <= MAX_LINE_END_BYTES {
        return end;
    }
    let token = skip_token(end, skip_blanks(end, 0)).min(MAX_LINE_END_BYTES);
    &end[..skip_blanks(end, token).min(MAX_LINE_END_BYTES)]
}

/// Parses the addresses at the start of `text` into `out`; returns their mode, stride and end offset.
fn read_addresses(text: &[u8], mask: u32, out: &mut Vec<u64>) -> Option<(AddressMode, i64, usize)> {
    let mode = match text.first()? {
        b'0' => AddressMode::List,
        b'1' => AddressMode::Affine,
        b'2' => AddressMode::Deltas,
        _ => return None,
    };
    let (first, mut at) = hex(text, skip_blanks(text, 1))?;
    out.push(first);
    if mode == AddressMode::Affine {
        let (stride, end) = decimal(text, skip_blanks(text, at))?;
        return Some((mode, stride, end));
    }
    let mut address = first;
    for _ in 1..mask.count_ones() {
        let next = skip_blanks(text, at);
        if mode == AddressMode::Deltas {
            let (delta, end) = decimal(text, next)?;
            out.push(delta as u64);
            at = end;
        } else {
            let (value, end) = hex(text, next)?;
            out.push(value.wrapping_sub(address));
            (address, at) = (value, end);
        }
    }
    Some((mode, 0, at))
}
