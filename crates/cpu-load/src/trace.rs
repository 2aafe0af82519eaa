//! Recorded memory traces of a CPU core in the format of Ramulator, plain or compressed.
//!
//! [`CpuTrace::open`] reads the whole file once, so that all errors are found before the simulation. The streams read the file again in
//! blocks, keep one block of text, and restart at the end of the file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use warpshard_state::{State, StateError, Writer};
use warpshard_trace::{Problem, ProblemKind, TraceError, open, unreadable};

use super::trace_line::{self, LineFault, TraceLine};
use super::{CpuInst, CpuOp};

/// Size of a stream's text buffer in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Size in bytes of a ChampSim record, which contains zero bytes.
const CHAMPSIM_RECORD_BYTES: usize = 64;

/// Number of bubbles per instruction of a failed stream.
const FAILED_STREAM_BUBBLES: u64 = 1 << 40;

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
    /// The file cannot be read, is empty, or has an invalid line; the first invalid line is named.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let mut trace = Self { path: path.to_path_buf(), lines: 0, bubbles: 0, writebacks: 0 };
        let mut text = TraceText::open(path).map_err(|error| unreadable(path, &error))?;
        loop {
            match text.next_line() {
                Ok(Some(line)) => {
                    trace.lines += 1;
                    trace.bubbles = trace.bubbles.saturating_add(line.bubbles);
                    trace.writebacks += u64::from(line.writeback.is_some());
                }
                Ok(None) if trace.lines == 0 => {
                    let fault = LineFault {
                        what: "the trace is empty",
                        found: "no line".into(),
                        expected: "at least one line",
                        help: "check that the file was copied completely",
                    };
                    return Err(problem(path, None, ProblemKind::Cut, fault).into());
                }
                Ok(None) => return Ok(trace),
                Err(ReadStop::Fault(fault)) => return Err(problem(path, Some(text.number), ProblemKind::Instruction, fault).into()),
                Err(ReadStop::Io(error)) => {
                    return Err(Problem { line: Some(text.number), ..unreadable(path, &error) }.into());
                }
            }
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of reads, one per line.
    pub fn reads(&self) -> u64 {
        self.lines
    }

    /// Returns the number of lines with a writeback.
    pub fn writebacks(&self) -> u64 {
        self.writebacks
    }

    /// Returns the number of instructions of one pass, without writebacks.
    pub fn instructions(&self) -> u64 {
        self.lines.saturating_add(self.bubbles)
    }

    /// Returns the trace from its start as an endless stream; with `dependent`, each load waits for the preceding load.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn stream(&self, dependent: bool) -> Result<TraceStream, TraceError> {
        let text = TraceText::open(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        Ok(TraceStream { path: self.path.clone(), text, writeback: None, dependent, failure: None })
    }
}

fn problem(path: &Path, line: Option<u64>, kind: ProblemKind, fault: LineFault) -> Problem {
    let LineFault { what, found, expected, help } = fault;
    Problem { kind, file: path.to_path_buf(), line, what: what.into(), found, expected: expected.into(), help: help.into() }
}

/// A trace as an endless stream of instructions.
#[derive(Debug)]
pub struct TraceStream {
    path: PathBuf,
    text: TraceText,
    writeback: Option<CpuInst>,
    dependent: bool,
    failure: Option<String>,
}

impl TraceStream {
    /// Returns the next instruction; a line with a writeback yields two.
    #[inline]
    pub(super) fn next_inst(&mut self) -> CpuInst {
        if let Some(writeback) = self.writeback.take() {
            return writeback;
        }
        let TraceLine { bubbles, read, writeback } = self.next_line();
        let back = |addr| CpuInst { bubbles: 0, addr, op: CpuOp::WriteBack, dependent: false };
        self.writeback = writeback.map(back);
        CpuInst { bubbles, addr: read, op: CpuOp::Load, dependent: self.dependent }
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns the next line, and the first line after the last.
    fn next_line(&mut self) -> TraceLine {
        const LINE_AFTER_LAST: TraceLine = TraceLine { bubbles: FAILED_STREAM_BUBBLES, read: warpshard_base::Addr(0), writeback: None };
        if self.failure.is_some() {
            return LINE_AFTER_LAST;
        }
        let mut read = self.text.next_line();
        if matches!(read, Ok(None)) {
            match TraceText::open(&self.path) {
                Ok(text) => {
                    self.text = text;
                    read = self.text.next_line();
                }
                Err(error) => read = Err(ReadStop::Io(error)),
            }
        }
        let why = match read {
            Ok(Some(line)) => return line,
            Ok(None) => "it is empty".to_owned(),
            Err(ReadStop::Io(error)) => error.to_string(),
            Err(ReadStop::Fault(fault)) => format!("{}: {}", fault.what, fault.found),
        };
        self.failure = Some(format!("{}:{}: the trace was changed during the run: {why}", self.path.display(), self.text.number));
        LINE_AFTER_LAST
    }
}

impl State for TraceStream {
    fn save(&self, to: &mut Writer) {
        let Self { path: _, text: TraceText { number, .. }, writeback, dependent: _, failure } = self;
        number.save(to);
        writeback.save(to);
        failure.save(to);
    }

    /// Reads the file again up to the saved line.
    fn load(&mut self, from: &mut warpshard_state::Reader<'_>) -> Result<(), StateError> {
        let lines = u64::read(from)?;
        self.writeback.load(from)?;
        self.failure.load(from)?;
        let again = |why: String| StateError::new(format!("{} cannot be read again up to line {lines}: {why}", self.path.display()));
        self.text = TraceText::open(&self.path).map_err(|error| again(error.to_string()))?;
        while self.text.number < lines && self.failure.is_none() {
            match self.text.next_line() {
                Ok(Some(_)) => {}
                Ok(None) => return Err(again("it has become shorter".into())),
                Err(ReadStop::Io(error)) => return Err(again(error.to_string())),
                Err(ReadStop::Fault(fault)) => return Err(again(fault.what.to_string())),
            }
        }
        Ok(())
    }
}

enum ReadStop {
    Io(io::Error),
    Fault(LineFault),
}

/// A reader of the lines of a file, which buffers one block.
struct TraceText {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    at_end: bool,
    /// Number of the last line read, counted from 1.
    number: u64,
}

impl std::fmt::Debug for TraceText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("number", &self.number).finish_non_exhaustive()
    }
}

impl TraceText {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { reader: open(path)?, buffer: Vec::with_capacity(BUFFER_BYTES), at: 0, at_end: false, number: 0 })
    }

    /// Returns the next line, or `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<TraceLine>, ReadStop> {
        loop {
            if self.number == 0 && self.buffer.iter().take(CHAMPSIM_RECORD_BYTES).any(|byte| *byte == 0) {
                self.number = 1;
                return Err(ReadStop::Fault(LineFault {
                    what: "the trace is binary, like ChampSim traces, and not text",
                    found: format!("a zero byte among the first {CHAMPSIM_RECORD_BYTES}"),
                    expected: trace_line::LINE_FORMAT,
                    help: "ChampSim's records of 64 bytes have an instruction pointer, four registers, two addresses of stores and four of loads: \
                           docs/cpu.md contains a program that converts them to text",
                }));
            }
            let rest = &self.buffer[self.at..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !self.at_end {
                self.fill().map_err(|error| {
                    self.number += 1;
                    ReadStop::Io(error)
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
            return line.map(Some).map_err(ReadStop::Fault);
        }
    }

    /// Reads more text after the beginning of the current line.
    fn fill(&mut self) -> io::Result<()> {
        /// Valid lines are much shorter; the limit prevents a file without line ends from being read into memory as a whole.
        const MAX_LINE_BYTES: usize = 4096;
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() > MAX_LINE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line of more than {MAX_LINE_BYTES} bytes")));
        }
        let space = (BUFFER_BYTES - self.buffer.len()) as u64;
        self.at_end = (&mut self.reader).take(space).read_to_end(&mut self.buffer)? == 0;
        Ok(())
    }
}
