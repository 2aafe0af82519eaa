//! Templates of instruction lines: all that the lines of one static instruction have in common, text included.
//!
//! A line is `before`, the mask, `middle`, for accesses the addresses, and `end`. A kernel's templates are numbered in the
//! order in which they first occur, so the next instruction of a program mostly has the next number.

use warpshard_base::LaneMask;

use super::super::table::{Dialect, Entry, StaticTable};
use super::super::text::{hex, skip_blanks};
use super::wire::{Bytes, put, put_text};

/// The line begins with the CTA's coordinates and the warp (tracer versions up to 2).
const COORDINATES: u8 = 1;
/// Addresses are written with 16 digits.
const PADDED: u8 = 2;

/// What the lines of a static instruction have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Template {
    /// The line begins with the CTA's coordinates and the warp, each followed by a blank.
    pub(super) coordinates: bool,
    /// Addresses are written with 16 digits.
    pub(super) padded: bool,
    /// From there to the mask; the program counter is its last token.
    pub(super) before: Box<[u8]>,
    /// From the mask to the addresses, or to the line's end.
    pub(super) middle: Box<[u8]>,
    /// From the addresses to the line's end.
    pub(super) end: Box<[u8]>,
}

impl Template {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put(out, u64::from((u8::from(self.coordinates) * COORDINATES) | (u8::from(self.padded) * PADDED)));
        put_text(out, &self.before);
        put_text(out, &self.middle);
        put_text(out, &self.end);
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let flags = bytes.byte().filter(|flags| flags & !(COORDINATES | PADDED) == 0)?;
        Some(Self {
            coordinates: flags & COORDINATES != 0,
            padded: flags & PADDED != 0,
            before: bytes.text()?.into(),
            middle: bytes.text()?.into(),
            end: bytes.text()?.into(),
        })
    }
}

/// What decoding needs of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The static instruction.
    pub(super) index: u32,
    /// Place of the note to be counted at each execution, or 0.
    pub(super) note: u32,
    /// Accesses memory, so that its executions with active lanes have addresses.
    pub(super) access: bool,
}

/// The meanings of templates, by number, with the static instructions that they refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Meanings {
    pub(super) table: StaticTable,
    pub(super) of: Vec<Meaning>,
}

impl Meanings {
    /// Reads the static instruction of the next template; what is wrong with it in words.
    pub(super) fn add(&mut self, template: &Template, dialect: &Dialect) -> Result<(), (String, String)> {
        let before = template.before.trim_ascii_end();
        let start = before.iter().rposition(|&b| b <= b' ').map_or(0, |at| at + 1);
        let pc = hex(before, start).and_then(|(pc, _)| u32::try_from(pc).ok());
        let Some(pc) = pc else { return Err(("the program counter cannot be read".into(), before.escape_ascii().to_string())) };
        let at = skip_blanks(&template.middle, 0);
        let index = match self.table.find(pc, &template.middle, at) {
            Some((index, _)) => index,
            None => {
                let parsed = Entry::parse(pc, &template.middle, at, dialect);
                self.table.insert(parsed.map_err(|fault| (fault.what, fault.found))?.0)
            }
        };
        let entry = &self.table.entries()[index as usize];
        self.of.push(Meaning { index, note: entry.note, access: entry.inst.mem.is_some() });
        Ok(())
    }
}

/// Whether the active lanes are not one run.
pub(super) fn has_gaps(mask: LaneMask) -> bool {
    let low = mask.0.checked_shr(mask.0.trailing_zeros()).unwrap_or(0);
    low & low.wrapping_add(1) != 0
}
