//! Text of a CTA taken apart: templates, masks and addresses, and where its pieces end.
//!
//! The text has passed the decoder before, so all of it can be read; what the decoder passes over lands in templates or, where
//! it varies too much for these, in patches.

use super::super::table::Dialect;
use super::super::text::{decimal, hex, next_line, skip_blanks, skip_token};
use super::record::{CtaRecord, Mode, Step, WarpRecord};
use super::render::coordinates;
use super::template::{Meanings, Template};

/// The end of a line that is longer than this is not worth a template.
const LONGEST_END: usize = 24;
/// Templates of one static instruction; more would be data and no spelling.
const MOST_TEMPLATES: usize = 16;

/// The templates of a kernel, as far as its text was seen.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) templates: Vec<Template>,
    pub(super) meanings: Meanings,
    dialect: Dialect,
    /// Tokens before the program counter.
    lead: usize,
    /// Templates of each static instruction.
    of_static: Vec<Vec<u32>>,
}

/// A text that cannot be taken apart though the decoder accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unscannable(pub(super) usize);

impl Scanner {
    pub(super) fn new(dialect: Dialect, lead: usize) -> Self {
        Self { templates: Vec::new(), meanings: Meanings::default(), dialect, lead, of_static: Vec::new() }
    }

    /// Takes a CTA's text apart; the ends of its pieces go to `marks`.
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

    /// A line of the template that mostly comes next.
    fn predicted(&self, line: &[u8], number: u32, lead: &str, addresses: &mut Vec<u64>) -> Option<Step> {
        let template = self.templates.get(number as usize)?;
        let access = self.meanings.of[number as usize].access;
        let line = if template.coordinates { line.strip_prefix(lead.as_bytes())? } else { line };
        let rest = line.strip_prefix(&*template.before)?;
        let at = skip_token(rest, 0);
        let (mask, _) = hex(rest, 0).filter(|_| at == 8)?;
        let mask = mask as u32;
        let rest = rest[at..].strip_prefix(&*template.middle)?;
        if !access || mask == 0 {
            return rest.is_empty().then_some(Step { template: number, mask, mode: Mode::None, stride: 0 });
        }
        let before = addresses.len();
        let found = read_addresses(rest, mask, addresses);
        match found.filter(|(.., end)| *short(&rest[*end..]) == *template.end) {
            Some((mode, stride, _)) => Some(Step { template: number, mask, mode, stride }),
            None => {
                addresses.truncate(before);
                None
            }
        }
    }

    /// Any line: finds or makes its template.
    fn line(&mut self, line: &[u8], lead: &str, addresses: &mut Vec<u64>) -> Option<Step> {
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
                let (entry, end) = super::super::table::Entry::parse(pc, line, static_at, &self.dialect).ok()?;
                (entry.inst.mem.is_some(), end)
            }
        };
        let (mut mode, mut stride) = (Mode::None, 0);
        if is_access && mask != 0 {
            let mode_at = skip_blanks(line, static_end);
            let end;
            (mode, stride, end) = read_addresses(&line[mode_at..], mask, addresses)?;
            let first_at = skip_blanks(line, mode_at + 1);
            template.padded = skip_token(line, first_at) - first_at == 18;
            template.middle = line[after..mode_at].into();
            template.end = short(&line[mode_at + end..]).into();
        } else {
            template.middle = [&line[after..static_end], short(&line[static_end..])].concat().into();
        }
        let template = self.number(template, pc)?;
        Some(Step { template, mask, mode, stride })
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
            if known.len() >= MOST_TEMPLATES {
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

/// Where the line after `#BEGIN_TB` starts.
fn opening(text: &[u8]) -> Option<usize> {
    begin(text).map(|at| next_line(text, at))
}

/// Where the line `#BEGIN_TB` starts; comments and the kernel's header may precede it.
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

/// N of a line `word = N`.
fn assigned(rest: &[u8]) -> Option<u32> {
    let equals = memchr::memchr(b'=', rest)?;
    let (value, _) = decimal(rest, skip_blanks(rest, equals + 1))?;
    u32::try_from(value).ok()
}

/// The numbers of a line `thread block = x,y,z`.
fn triple(line: &[u8]) -> Option<[u64; 3]> {
    let text = std::str::from_utf8(line.get(memchr::memchr(b'=', line)? + 1..)?).ok()?;
    let mut numbers = text.trim().split(',').map(|part| part.trim().parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The end of a line, but only its first token where it is long.
fn short(end: &[u8]) -> &[u8] {
    if end.len() <= LONGEST_END {
        return end;
    }
    let token = skip_token(end, skip_blanks(end, 0)).min(LONGEST_END);
    &end[..skip_blanks(end, token).min(LONGEST_END)]
}

/// Mode, stride and end of the addresses at the start of `text`, which go to `out`.
fn read_addresses(text: &[u8], mask: u32, out: &mut Vec<u64>) -> Option<(Mode, i64, usize)> {
    let mode = match text.first()? {
        b'0' => Mode::List,
        b'1' => Mode::Affine,
        b'2' => Mode::Deltas,
        _ => return None,
    };
    let (first, mut at) = hex(text, skip_blanks(text, 1))?;
    out.push(first);
    if mode == Mode::Affine {
        let (stride, end) = decimal(text, skip_blanks(text, at))?;
        return Some((mode, stride, end));
    }
    let mut address = first;
    for _ in 1..mask.count_ones() {
        let next = skip_blanks(text, at);
        if mode == Mode::Deltas {
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
