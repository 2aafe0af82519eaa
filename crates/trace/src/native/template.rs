//! Templates of instruction lines: the parts that all lines of one static instruction share, text included.
//!
//! A line consists of `before`, the mask, `middle`, the addresses of an access, and `end`. A kernel's templates are numbered in the order
//! of their first occurrence, so the next instruction of a program mostly has the next number.

use warpshard_base::LaneMask;

use super::super::table::{Dialect, StaticEntry, StaticTable};
use super::super::text::{hex, skip_blanks};
use super::wire::{ByteReader, write_number, write_text};

/// Flag of lines that begin with the CTA's coordinates and the warp (tracer versions up to 2).
const COORDINATES_FLAG: u8 = 1;
/// Flag of addresses with 16 digits.
const PADDED_FLAG: u8 = 2;

/// The shared parts of the lines of a static instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Template {
    /// True if the line begins with the CTA's coordinates and the warp, each followed by a blank.
    pub(super) coordinates: bool,
    /// True if addresses have 16 digits.
    pub(super) padded: bool,
    /// Text from the coordinates to the mask; the program counter is its last token.
    pub(super) before: Box<[u8]>,
    /// Text from the mask to the addresses, or to the end of the line.
    pub(super) middle: Box<[u8]>,
    /// Text from the addresses to the end of the line.
    pub(super) end: Box<[u8]>,
}

impl Template {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_number(out, u64::from((u8::from(self.coordinates) * COORDINATES_FLAG) | (u8::from(self.padded) * PADDED_FLAG)));
        write_text(out, &self.before);
        write_text(out, &self.middle);
        write_text(out, &self.end);
    }

    pub(super) fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let flags = bytes.byte().filter(|flags| flags & !(COORDINATES_FLAG | PADDED_FLAG) == 0)?;
        Some(Self {
            coordinates: flags & COORDINATES_FLAG != 0,
            padded: flags & PADDED_FLAG != 0,
            before: bytes.text()?.into(),
            middle: bytes.text()?.into(),
            end: bytes.text()?.into(),
        })
    }
}

/// The decoded properties of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TemplateMeaning {
    /// Index of the static instruction.
    pub(super) index: u32,
    /// Index of the note that is counted at each execution, or 0.
    pub(super) note: u32,
    /// True if the instruction accesses memory, so that executions with active lanes have addresses.
    pub(super) access: bool,
}

/// The decoded templates by number, with the static instructions that they refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplateMeanings {
    pub(super) table: StaticTable,
    pub(super) of: Vec<TemplateMeaning>,
}

impl TemplateMeanings {
    /// Parses the static instruction of the next template; the error is a description and the text found.
    pub(super) fn add(&mut self, template: &Template, dialect: &Dialect) -> Result<(), (String, String)> {
        let before = template.before.trim_ascii_end();
        let start = before.iter().rposition(|&b| b <= b' ').map_or(0, |at| at + 1);
        let pc = hex(before, start).and_then(|(pc, _)| u32::try_from(pc).ok());
        let Some(pc) = pc else { return Err(("the program counter cannot be read".into(), before.escape_ascii().to_string())) };
        let at = skip_blanks(&template.middle, 0);
        let index = match self.table.find(pc, &template.middle, at) {
            Some((index, _)) => index,
            None => {
                let parsed = StaticEntry::parse(pc, &template.middle, at, dialect);
                self.table.insert(parsed.map_err(|fault| (fault.what, fault.found))?.0)
            }
        };
        let entry = &self.table.entries()[index as usize];
        self.of.push(TemplateMeaning { index, note: entry.note, access: entry.inst.mem.is_some() });
        Ok(())
    }
}

/// Returns true if inactive lanes separate the active lanes.
pub(super) fn has_gaps(mask: LaneMask) -> bool {
    let low = mask.0.checked_shr(mask.0.trailing_zeros()).unwrap_or(0);
    low & low.wrapping_add(1) != 0
}
