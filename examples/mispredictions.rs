//! Branch mispredictions by source line, for hosts whose hardware counters are not accessible.
//!
//! valgrind's lackey writes the address of every executed basic block. This program finds each block's last instruction in a
//! disassembly and feeds its outcome to a simulated TAGE predictor (a table of counters per branch, and tables for histories of 4
//! to 1000 branches). The measured program has to be built with line numbers; valgrind, objdump and addr2line must be installed.
//!
//! ```text
//! CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release --example mispredictions --bin warpshard
//! valgrind --tool=lackey --basic-counts=no --trace-superblocks=yes --vex-guest-chase=no --log-fd=9 \
//!     target/release/warpshard run --workload stream --threads 1 --max-cycles 9000 9>&1 >results.txt 2>/dev/null |
//!     target/release/examples/mispredictions target/release/warpshard 40
//! ```
#![expect(clippy::disallowed_types, reason = "keys are looked up, and nothing depends on their order")]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, ErrorKind, Write, stdin, stdout};
use std::process::Command;

/// The load address of position-independent programs under valgrind.
const LOAD_ADDRESS: u64 = 0x10_8000;

/// The control flow of an instruction.
#[derive(Clone, Copy, PartialEq)]
enum ControlFlow {
    Straight,
    /// A conditional branch.
    Branch,
    /// An indirect jump.
    Computed,
    /// A direct jump or a return.
    Jump,
}

/// An instruction of the program: its control flow, the next instruction, and the first non-sequential instruction at or after it.
#[derive(Clone, Copy)]
struct Instruction {
    flow: ControlFlow,
    behind: u64,
    end: u64,
}

/// Returns the output of a tool.
fn tool_output(tool: &mut Command) -> Result<String, Box<dyn Error>> {
    let name = tool.get_program().to_string_lossy().into_owned();
    let output = tool.output().map_err(|error| format!("cannot run {name}, which is part of binutils: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} fails: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the instructions of a program by address, from its disassembly.
fn disassembled_instructions(program: &str) -> Result<HashMap<u64, Instruction>, Box<dyn Error>> {
    let text = tool_output(Command::new("objdump").args(["-d", "--no-show-raw-insn", program]))?;
    let mut all = HashMap::new();
    let (mut behind, mut end) = (0, 0);
    for line in text.lines().rev() {
        let Some((address, rest)) = line.split_once(':') else { continue };
        let (Ok(address), mut words) = (u64::from_str_radix(address.trim(), 16), rest.split_whitespace()) else { continue };
        let Some(name) = words.find(|word| !["bnd", "notrack"].contains(word)) else { continue };
        let indirect = words.next().is_some_and(|target| target.starts_with('*'));
        let flow = match name {
            _ if name.starts_with("ret") => ControlFlow::Jump,
            _ if name.starts_with("jmp") || name.starts_with("call") => {
                if indirect {
                    ControlFlow::Computed
                } else {
                    ControlFlow::Jump
                }
            }
            _ if name.starts_with('j') => ControlFlow::Branch,
            _ => ControlFlow::Straight,
        };
        if flow != ControlFlow::Straight {
            end = address;
        }
        all.insert(address, Instruction { flow, behind, end });
        behind = address;
    }
    Ok(all)
}

/// The history lengths of the tables.
const HISTORY_LENGTHS: [u32; 14] = [4, 7, 11, 17, 26, 40, 60, 90, 134, 200, 300, 450, 670, 1000];
const TABLE_ENTRIES: usize = 4096;

/// An entry of a table: the prediction for a branch with a history.
#[derive(Clone, Copy, Default)]
struct TableEntry {
    tag: u16,
    /// Target of an indirect jump.
    target: u64,
    /// A saturating counter; taken when not negative.
    counter: i8,
    useful: u8,
}

/// The last `length` directions, folded into `bits` bits.
struct FoldedHistory {
    length: u32,
    bits: u32,
    value: u64,
}

impl FoldedHistory {
    fn push(&mut self, history: &[bool; 4096], at: u32) {
        let direction = |back: u32| u64::from(history[(at - back) as usize % history.len()]);
        self.value = self.value << 1 | direction(0);
        self.value ^= direction(self.length) << (self.length % self.bits);
        self.value = (self.value ^ self.value >> self.bits) & ((1 << self.bits) - 1);
    }
}

/// A TAGE predictor (Seznec and Michaud, JILP 2006) for branches and indirect jumps.
struct Predictor {
    history: [bool; 4096],
    at: u32,
    index_histories: Vec<FoldedHistory>,
    tags: Vec<FoldedHistory>,
    tables: Vec<Vec<TableEntry>>,
    /// The base predictor, without history.
    base_predictions: HashMap<u64, TableEntry>,
    random: u32,
}

impl Predictor {
    fn new() -> Self {
        let folded = |bits| HISTORY_LENGTHS.map(|length| FoldedHistory { length, bits, value: 0 }).into();
        Self {
            history: [false; 4096],
            at: 4096,
            index_histories: folded(12),
            tags: folded(11),
            tables: vec![vec![TableEntry::default(); TABLE_ENTRIES]; HISTORY_LENGTHS.len()],
            base_predictions: HashMap::new(),
            random: 12345,
        }
    }

    fn push(&mut self, direction: bool) {
        self.at += 1;
        self.history[self.at as usize % 4096] = direction;
        self.index_histories.iter_mut().chain(&mut self.tags).for_each(|folded| folded.push(&self.history, self.at));
    }

    fn one_in(&mut self, of: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random.is_multiple_of(of)
    }

    /// Returns `true` if the outcome at `site` was predicted, and updates the tables. Branches have target 1 when taken, else 0.
    fn predicts(&mut self, site: u64, target: u64, indirect: bool) -> bool {
        let spot = |table: usize| {
            let place = (site ^ (site >> 7) ^ self.index_histories[table].value ^ (table as u64 * 977)) as usize % TABLE_ENTRIES;
            (place, ((site ^ (site >> 3) ^ self.tags[table].value) % 2048) as u16 | 1 << 11)
        };
        let spots: [(usize, u16); HISTORY_LENGTHS.len()] = std::array::from_fn(spot);
        let predicted = |entry: &TableEntry| if indirect { entry.target } else { u64::from(entry.counter >= 0) };
        let fitting = (0..HISTORY_LENGTHS.len()).rev().find(|table| self.tables[*table][spots[*table].0].tag == spots[*table].1);
        let plain = self.base_predictions.entry(site).or_default();
        let fallback = predicted(plain);
        let entry = match fitting {
            Some(table) => &mut self.tables[table][spots[table].0],
            None => plain,
        };
        // A new entry is less reliable than the alternate prediction.
        let weak = fitting.is_some() && entry.useful == 0 && (entry.counter == 0 || entry.counter == -1) && !indirect;
        let right = if weak { fallback == target } else { predicted(entry) == target };
        if predicted(entry) == target && fallback != target {
            entry.useful = (entry.useful + 1).min(3);
        }
        if !indirect {
            entry.counter = if target == 1 { (entry.counter + 1).min(3) } else { (entry.counter - 1).max(-4) };
        } else if !right {
            entry.target = target;
        }
        if !right {
            let more = 1 + usize::from(self.one_in(2)) + usize::from(self.one_in(4));
            let first = fitting.map_or(more - 1, |table| table + more).min(HISTORY_LENGTHS.len() - 1);
            let made = TableEntry { tag: 0, target, counter: if target == 1 { 0 } else { -1 }, useful: 0 };
            let mut left = 2;
            for (table, (place, tag)) in spots.into_iter().enumerate().skip(first.max(fitting.map_or(0, |table| table + 1))) {
                let forget = self.one_in(8);
                let entry = &mut self.tables[table][place];
                if entry.useful == 0 {
                    *entry = TableEntry { tag, ..made };
                    left -= 1;
                    if left == 0 {
                        break;
                    }
                } else if forget {
                    entry.useful -= 1;
                }
            }
        }
        right
    }
}

/// Executions, taken branches and mispredictions of an instruction.
#[derive(Clone, Copy, Default)]
struct BranchCounts {
    runs: u64,
    taken: u64,
    mispredictions: u64,
}

/// Returns the statistics of the branches in a trace of blocks, the most mispredicted first.
fn branch_statistics(trace: impl BufRead, instructions: &HashMap<u64, Instruction>) -> Result<Vec<(u64, BranchCounts)>, Box<dyn Error>> {
    let (mut predictor, mut counts) = (Predictor::new(), HashMap::<u64, BranchCounts>::new());
    let mut before = None::<(u64, Instruction)>;
    for line in trace.lines() {
        let line = line?;
        let Some(address) = line.strip_prefix("SB ").and_then(|address| u64::from_str_radix(address, 16).ok()) else { continue };
        let now = address.wrapping_sub(LOAD_ADDRESS);
        let instruction = instructions.get(&now).copied();
        // A block that ends before its branch continues sequentially.
        if let Some((start, Instruction { end: site, .. })) = before
            && !(start < now && now <= site)
            && let Some(Instruction { flow, behind, .. }) = instructions.get(&site)
        {
            let taken = now != *behind;
            let mut count = |target, indirect| {
                let count = counts.entry(site).or_default();
                count.runs += 1;
                count.taken += u64::from(taken);
                count.mispredictions += u64::from(!predictor.predicts(site, target, indirect));
            };
            match flow {
                ControlFlow::Branch => {
                    count(u64::from(taken), false);
                    predictor.push(taken);
                }
                ControlFlow::Computed if instruction.is_some() => {
                    count(now, true);
                    predictor.push(now & 16 != 0);
                    predictor.push(now & 64 != 0);
                }
                ControlFlow::Jump | ControlFlow::Computed => predictor.push(site & 4 != 0),
                ControlFlow::Straight => {}
            }
        }
        before = instruction.map(|instruction| (now, instruction));
    }
    let mut sites: Vec<(u64, BranchCounts)> = counts.into_iter().collect();
    sites.sort_by_key(|(site, count)| (Reverse(count.mispredictions), *site));
    Ok(sites)
}

/// Returns the source lines that each instruction was compiled from, the innermost first.
fn source_lines(program: &str, sites: impl Iterator<Item = u64>) -> Result<Vec<String>, Box<dyn Error>> {
    let addresses = sites.map(|site| format!("{site:#x}"));
    let text = tool_output(Command::new("addr2line").args(["-a", "-i", "-e", program]).args(addresses))?;
    let own = |line: &str| line.rfind("/src/").filter(|_| !line.contains("/library/")).map(|at| line[at + 1..].to_owned());
    Ok(text.split("\n0x").map(|block| block.lines().skip(1).filter_map(own).take(4).collect::<Vec<_>>().join(" < ")).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else { return Err("name the program that was run, then how many places to show".into()) };
    let shown = arguments.next().map_or(Ok(40), |count| count.parse())?;
    let sites = branch_statistics(stdin().lock(), &disassembled_instructions(&program)?)?;
    if sites.is_empty() {
        return Err("there is no branch of this program in what was read: see the head of the source for how to make it".into());
    }
    let (runs, missed) = sites.iter().fold((0, 0), |(runs, missed), (_, count)| (runs + count.runs, missed + count.mispredictions));
    let mut text = format!("{runs} branches and indirect jumps, {missed} mispredicted\n    missed        run taken %  place\n");
    let sites = &sites[..sites.len().min(shown)];
    for ((_, count), lines) in sites.iter().zip(source_lines(&program, sites.iter().map(|(site, _)| *site))?) {
        let percent = 100.0 * count.taken as f64 / count.runs as f64;
        text += &format!("{:>10} {:>10} {percent:>7.0}  {lines}\n", count.mispredictions, count.runs);
    }
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
