//! Recorded memory traces of a CPU core in the format of Ramulator, plain or compressed.
//!
//! [`CpuTrace::open`] reads the whole file once, so that every mistake is found before anything is simulated; the streams
//! read it again piece by piece and keep one piece of text, and start over at its end.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use warpshard_state::{State, StateError, Writer};
use warpshard_trace::{Problem, ProblemKind, TraceError, open, unreadable};

use super::trace_line::{self, Fault, Line};
use super::{CpuInst, CpuOp};

/// Bytes of text that a stream holds.
const PIECE: usize = 1 << 16;

/// Bytes of a record of ChampSim, which has zeros among them.
const RECORD: usize = 64;

/// Bubbles that a broken stream yields at a time.
const ENDLESS: u64 = 1 << 40;

/// A checked trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTrace {
    path: PathBuf,
    lines: u64,
    bubbles: u64,
    writebacks: u64,
}

impl CpuTrace {
    /// Checks the trace in `path`, plain or compressed as `.gz`, `.xz` or `.zst`.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, or has a broken line; the first broken line is named.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let mut trace = Self { path: path.to_path_buf(), lines: 0, bubbles: 0, writebacks: 0 };
        let mut text = Text::open(path).map_err(|error| unreadable(path, &error))?;
        loop {
            match text.next_line() {
                Ok(Some(line)) => {
                    trace.lines += 1;
                    trace.bubbles = trace.bubbles.saturating_add(line.bubbles);
                    trace.writebacks += u64::from(line.writeback.is_some());
                }
                Ok(None) if trace.lines == 0 => {
                    let fault = Fault {
                        what: "the trace is empty",
                        found: "no line".into(),
                        expected: "at least one line",
                        help: "check that the file was copied whole",
                    };
                    return Err(problem(path, None, ProblemKind::Cut, fault).into());
                }
                Ok(None) => return Ok(trace),
                Err(Stop::Fault(fault)) => return Err(problem(path, Some(text.number), ProblemKind::Instruction, fault).into()),
                Err(Stop::Io(error)) => {
                    return Err(Problem { line: Some(text.number), ..unreadable(path, &error) }.into());
                }
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, one per line.
    pub fn reads(&self) -> u64 {
        self.lines
    }

    /// Lines with a writeback.
    pub fn writebacks(&self) -> u64 {
        self.writebacks
    }

    /// Instructions of one pass, writebacks not counted.
    pub fn instructions(&self) -> u64 {
        self.lines.saturating_add(self.bubbles)
    }

    /// The trace from its start, for ever; with `dependent` each load waits for the one before it.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub fn stream(&self, dependent: bool) -> Result<TraceStream, TraceError> {
        let text = Text::open(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        Ok(TraceStream { path: self.path.clone(), text, writeback: None, dependent, failure: None })
    }
}

fn problem(path: &Path, line: Option<u64>, kind: ProblemKind, fault: Fault) -> Problem {
    let Fault { what, found, expected, help } = fault;
    Problem { kind, file: path.to_path_buf(), line, what: what.into(), found, expected: expected.into(), help: help.into() }
}

/// A trace as an endless stream of instructions.
#[derive(Debug)]
pub struct TraceStream {
    path: PathBuf,
    text: Text,
    writeback: Option<CpuInst>,
    dependent: bool,
    failure: Option<String>,
}

impl TraceStream {
    /// The next instruction; a line with a writeback yields two.
    #[inline]
    pub(super) fn next_inst(&mut self) -> CpuInst {
        if let Some(writeback) = self.writeback.take() {
            return writeback;
        }
        let Line { bubbles, read, writeback } = self.line();
        let back = |addr| CpuInst { bubbles: 0, addr, op: CpuOp::WriteBack, dependent: false };
        self.writeback = writeback.map(back);
        CpuInst { bubbles, addr: read, op: CpuOp::Load, dependent: self.dependent }
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The next line, the first again after the last.
    fn line(&mut self) -> Line {
        const NOTHING: Line = Line { bubbles: ENDLESS, read: warpshard_base::Addr(0), writeback: None };
        if self.failure.is_some() {
            return NOTHING;
        }
        let mut read = self.text.next_line();
        if matches!(read, Ok(None)) {
            match Text::open(&self.path) {
                Ok(text) => {
                    self.text = text;
                    read = self.text.next_line();
                }
                Err(error) => read = Err(Stop::Io(error)),
            }
        }
        let why = match read {
            Ok(Some(line)) => return line,
            Ok(None) => "it is empty now".to_owned(),
            Err(Stop::Io(error)) => error.to_string(),
            Err(Stop::Fault(fault)) => format!("{}: {}", fault.what, fault.found),
        };
        self.failure = Some(format!("{}:{}: the trace changed while it was used: {why}", self.path.display(), self.text.number));
        NOTHING
    }
}

impl State for TraceStream {
    fn save(&self, to: &mut Writer) {
        let Self { path: _, text: Text { number, .. }, writeback, dependent: _, failure } = self;
        number.save(to);
        writeback.save(to);
        failure.save(to);
    }

    /// Reads the file again up to the line.
    fn load(&mut self, from: &mut warpshard_state::Reader<'_>) -> Result<(), StateError> {
        let lines = u64::read(from)?;
        self.writeback.load(from)?;
        self.failure.load(from)?;
        let again = |why: String| StateError::new(format!("{} cannot be read again up to line {lines}: {why}", self.path.display()));
        self.text = Text::open(&self.path).map_err(|error| again(error.to_string()))?;
        while self.text.number < lines && self.failure.is_none() {
            match self.text.next_line() {
                Ok(Some(_)) => {}
                Ok(None) => return Err(again("it is shorter now".into())),
                Err(Stop::Io(error)) => return Err(again(error.to_string())),
                Err(Stop::Fault(fault)) => return Err(again(fault.what.to_string())),
            }
        }
        Ok(())
    }
}

enum Stop {
    Io(io::Error),
    Fault(Fault),
}

/// The lines of a file, held piece by piece.
struct Text {
    reader: Box<dyn Read + Send>,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
    /// Number of the line read last, counted from 1.
    number: u64,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Text {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { reader: open(path)?, piece: Vec::with_capacity(PIECE), at: 0, ended: false, number: 0 })
    }

    /// The next line, or `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Line>, Stop> {
        loop {
            if self.number == 0 && self.piece.iter().take(RECORD).any(|byte| *byte == 0) {
                self.number = 1;
                return Err(Stop::Fault(Fault {
                    what: "the trace is binary, as those of ChampSim are, and not text",
                    found: format!("a zero byte among the first {RECORD}"),
                    expected: trace_line::LINE,
                    help: "ChampSim's records of 64 bytes have an instruction pointer, four registers, two addresses of stores and four of loads: \
                           docs/cpu.md has a program that makes text of them",
                }));
            }
            let rest = &self.piece[self.at..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !self.ended {
                self.fill().map_err(|error| {
                    self.number += 1;
                    Stop::Io(error)
                })?;
                continue;
            }
            if rest.is_empty() {
                return Ok(None);
            }
            let length = end.unwrap_or(rest.len());
            let line = trace_line::parse(&rest[..length]);
            self.at += length + usize::from(end.is_some());
            self.number += 1;
            return line.map(Some).map_err(Stop::Fault);
        }
    }

    /// Reads more text after the beginning of the current line.
    fn fill(&mut self) -> io::Result<()> {
        /// No line of a trace is nearly as long; a file without line ends must not be held as a whole.
        const LONGEST_LINE: usize = 4096;
        self.piece.drain(..self.at);
        self.at = 0;
        if self.piece.len() > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line of more than {LONGEST_LINE} bytes")));
        }
        let space = (PIECE - self.piece.len()) as u64;
        self.ended = (&mut self.reader).take(space).read_to_end(&mut self.piece)? == 0;
        Ok(())
    }
}
