//! Table of a kernel's static instructions, indexed by program counter and by the text that all executions share.
//!
//! This text runs from the destination count to the memory width (up to the immediate for DEPBAR). A program counter may have several
//! entries because device functions and hand-made traces reuse counters. The table only grows, in the order in which instructions first
//! occur in the file, so indices do not depend on batch sizes or threads.

use rustc_hash::FxHashMap;

use warpshard_isa::{Generation, image};
use warpshard_workload::{Control, MemKind, MemSpace, NO_REGISTER, OpClass, RegisterSets, StaticInst};

use super::error::{ProblemKind, TextFault};
use super::notes::FIXED_NOTES;
use super::text::{decimal, is_end, quote, skip_blanks, skip_token, token};

/// Marker for the end of a chain of entries.
const END_OF_CHAIN: u32 = u32::MAX;
/// Program counters below this limit are looked up in an array, others in a hash map.
const DENSE_LIMIT: u32 = 1 << 21;
/// Upper limit of the number of copy groups; DEPBAR names fewer.
const MAX_GROUPS: u32 = 63;

/// Trace-format settings of a kernel for parsing instruction lines.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub(super) generation: Generation,
    pub(super) binary_version: u32,
    pub(super) lenient: bool,
    /// True if lines end with an immediate (tracer version 5).
    pub(super) immediate: bool,
    /// True if the header gives the windows of shared and local memory.
    pub(super) windows: bool,
    /// True if texture and surface instructions have addresses according to the header.
    pub(super) images: bool,
}

/// A static instruction and its text in the trace.
#[derive(Clone, Debug)]
pub(super) struct StaticEntry {
    pub(super) inst: StaticInst,
    pub(super) mnemonic: Box<str>,
    /// Index in a tally of a note that is counted at each execution, or 0.
    pub(super) note: u32,
    note_text: Option<String>,
    text: Box<[u8]>,
    next: u32,
}

/// All static instructions of a kernel decoded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct StaticTable {
    entries: Vec<StaticEntry>,
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
    notes: Vec<String>,
}

impl StaticTable {
    /// Returns all entries in the order of their indices.
    pub(super) fn entries(&self) -> &[StaticEntry] {
        &self.entries
    }

    /// Returns the texts of the notes that entries refer to.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the index of the entry at `pc` whose text starts at `at`, and the offset after that text.
    #[inline]
    pub(super) fn find(&self, pc: u32, text: &[u8], at: usize) -> Option<(u32, usize)> {
        let rest = text.get(at..)?;
        let mut index = self.first(pc);
        while let Some(entry) = self.entries.get(index as usize) {
            if entry.inst.pc == pc && rest.starts_with(&entry.text) && is_end(rest, entry.text.len()) {
                return Some((index, at + entry.text.len()));
            }
            index = entry.next;
        }
        None
    }

    /// Adds an entry unless an equal entry exists; returns the index.
    pub(super) fn insert(&mut self, mut entry: StaticEntry) -> u32 {
        if let Some((index, _)) = self.find(entry.inst.pc, &entry.text, 0) {
            return index;
        }
        let index = self.entries.len() as u32;
        entry.next = END_OF_CHAIN;
        entry.note = entry.note_text.as_ref().map_or(0, |note| self.note_number(note));
        let mut last = self.first(entry.inst.pc);
        if last == END_OF_CHAIN {
            self.set_first(entry.inst.pc, index);
        } else {
            while self.entries[last as usize].next != END_OF_CHAIN {
                last = self.entries[last as usize].next;
            }
            self.entries[last as usize].next = index;
        }
        self.entries.push(entry);
        index
    }

    fn note_number(&mut self, note: &str) -> u32 {
        let place = self.notes.iter().position(|known| known == note).unwrap_or_else(|| {
            self.notes.push(note.to_string());
            self.notes.len() - 1
        });
        (FIXED_NOTES + place) as u32
    }

    #[inline]
    fn first(&self, pc: u32) -> u32 {
        if pc < DENSE_LIMIT {
            self.dense.get((pc >> 3) as usize).copied().unwrap_or(END_OF_CHAIN)
        } else {
            self.sparse.get(&pc).copied().unwrap_or(END_OF_CHAIN)
        }
    }

    fn set_first(&mut self, pc: u32, index: u32) {
        if pc < DENSE_LIMIT {
            let place = (pc >> 3) as usize;
            if self.dense.len() <= place {
                self.dense.resize(place + 1, END_OF_CHAIN);
            }
            self.dense[place] = index;
        } else {
            self.sparse.insert(pc, index);
        }
    }
}

impl StaticEntry {
    /// Reads the static part of an instruction at `start`: `dest_num [Rd] opcode src_num [Rs ...] mem_width`.
    pub(super) fn parse(pc: u32, text: &[u8], start: usize, dialect: &Dialect) -> Result<(Self, usize), TextFault> {
        let (destinations, mut at) = parse_count(text, start, 1, "the number of destinations")?;
        let mut dst = NO_REGISTER;
        if destinations > 0 {
            (dst, at) = parse_register(text, at)?;
        }
        at = skip_blanks(text, at);
        let opcode_at = at;
        at = skip_token(text, at);
        let mnemonic = String::from_utf8_lossy(&text[opcode_at..at]).into_owned();
        if mnemonic.is_empty() {
            return Err(malformed(text, opcode_at, "the opcode", "a SASS mnemonic, as in LDG.E.SYS"));
        }
        let (sources, after) = parse_count(text, at, 4, "the number of sources")?;
        at = after;
        let mut src = [NO_REGISTER; 4];
        for slot in &mut src[..sources as usize] {
            (*slot, at) = parse_register(text, at)?;
        }
        let (width, mut end) = parse_count(text, at, i64::from(u16::MAX), "the memory width")?;
        let name = mnemonic.split('.').next().unwrap_or_default();
        let with_addresses = if dialect.images && width > 0 { image(name) } else { None };
        let (class, row, packed_half, mut note) = match with_addresses.or_else(|| dialect.generation.opcode(name)) {
            Some(known) => (known.class, known.mem, known.packed_half, None),
            None if dialect.lenient => (OpClass::Alu, None, false, Some(unknown_note(name, dialect))),
            None => return Err(unknown_opcode(pc, &mnemonic, opcode_at, dialect)),
        };
        let mut mem = row.map(|row| row.access(&mnemonic));
        if let Some(access) = &mut mem {
            if width == 0 {
                let expected = "a width in bytes, and addresses";
                return Err(malformed(text, skip_blanks(text, at), &format!("the memory width of {mnemonic}"), expected));
            }
            if name == "LDGSTS" {
                dst = NO_REGISTER;
                note = Some("LDGSTS: a copy completes when its data arrive; its writes take no shared-memory cycles".into());
            } else if access.space == MemSpace::Generic && !dialect.windows {
                let atomic = matches!(access.kind, MemKind::Atomic | MemKind::Reduction);
                access.space = if atomic { MemSpace::Global } else { MemSpace::Shared };
                note =
                    Some(format!("{name}: the header gives no memory windows, so the access is treated as {}", space_name(access.space)));
            } else if i64::from(access.width) != width {
                let by_name = access.width;
                note = Some(format!("{mnemonic}: recorded with {width} bytes per lane, simulated with the {by_name} of its mnemonic"));
            }
        }
        let mut immediate = 0;
        if dialect.immediate && name == "DEPBAR" {
            let value_at = skip_blanks(text, end);
            // A missing or negative immediate is 0: no copy group may remain in flight.
            if let Some((value, after)) = decimal(text, value_at) {
                (immediate, end) = (u32::try_from(value).unwrap_or(0), after);
            }
        }
        // Traces contain no counter: copy groups use the first one.
        let at_most = (name == "DEPBAR").then(|| (immediate.min(MAX_GROUPS) as u16) << 3);
        let inst = StaticInst {
            pc,
            class,
            packed_half,
            flops: warpshard_isa::flops(&mnemonic),
            dst,
            src,
            mem,
            immediate,
            control: Control { at_most, ..warpshard_isa::control(Control::NONE, &mnemonic, class) },
            registers: RegisterSets::new(dst, src),
        };
        let text = text[start..end].into();
        Ok((Self { inst, mnemonic: mnemonic.into(), note: 0, note_text: note, text, next: END_OF_CHAIN }, end))
    }
}

fn space_name(space: MemSpace) -> &'static str {
    if space == MemSpace::Global { "global" } else { "shared" }
}

fn unknown_note(name: &str, dialect: &Dialect) -> String {
    format!("the opcode {name} is unknown in binary version {} and runs as an ALU operation", dialect.binary_version)
}

fn unknown_opcode(pc: u32, mnemonic: &str, at: usize, dialect: &Dialect) -> TextFault {
    let Dialect { generation, binary_version, .. } = dialect;
    TextFault {
        at,
        kind: ProblemKind::Opcode,
        what: "the opcode is in no table of this binary version".into(),
        found: format!("`{mnemonic}` at pc {pc:#06x}"),
        expected: format!("an opcode of {} (binary version {binary_version})", generation.name()),
        help: "check the header's binary version, or pass --lenient to treat it as an ALU operation and count it".into(),
    }
}

/// Parses a count of at most `most` at `at`.
fn parse_count(text: &[u8], at: usize, most: i64, what: &str) -> Result<(i64, usize), TextFault> {
    let at = skip_blanks(text, at);
    match decimal(text, at) {
        Some((value, end)) if (0..=most).contains(&value) => Ok((value, end)),
        _ => Err(malformed(text, at, what, &format!("a number from 0 to {most}"))),
    }
}

fn parse_register(text: &[u8], at: usize) -> Result<(u16, usize), TextFault> {
    let at = skip_blanks(text, at);
    if text.get(at) == Some(&b'R')
        && let Some((number @ 0..=255, end)) = decimal(text, at + 1)
    {
        return Ok((number as u16, end));
    }
    Err(malformed(text, at, "a register", "R0 to R255"))
}

/// Returns the fault for a field that cannot be parsed.
pub(super) fn malformed(text: &[u8], at: usize, what: &str, expected: &str) -> TextFault {
    let found = token(text, at);
    TextFault {
        at,
        kind: ProblemKind::Instruction,
        what: format!("{what} cannot be read"),
        found: if found.is_empty() { "the end of the line".into() } else { quote(found) },
        expected: expected.into(),
        help: "the file is damaged or of another tracer version than its header says: trace or copy it again".into(),
    }
}
