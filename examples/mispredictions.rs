//! Branches that the host cannot foretell, by place: what hardware counters would say, on hosts that have none.
//!
//! valgrind's lackey writes the address of every block of instructions that is run; this finds each block's last instruction in a
//! disassembly, and gives what it did to a predictor of the kind that today's processors have (TAGE: a table of bits per branch, and
//! tables for 4 to 1000 branches of history). The program has to be built with line numbers; the tools needed are valgrind, objdump
//! and addr2line.
//!
//! ```text
//! CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release --example mispredictions --bin warpshard
//! valgrind --tool=lackey --basic-counts=no --trace-superblocks=yes --vex-guest-chase=no --log-fd=9 \
//!     target/release/warpshard run --workload stream --threads 1 --max-cycles 9000 9>&1 >results.txt 2>/dev/null |
//!     target/release/examples/mispredictions target/release/warpshard 40
//! ```

use std::cmp::Reverse;
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, ErrorKind, Write, stdin, stdout};
use std::process::Command;

/// Where valgrind puts programs that may lie anywhere.
const BASE: u64 = 0x10_8000;

/// How an instruction goes on.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Straight,
    /// To one of two places.
    Branch,
    /// To a place that is computed.
    Computed,
    /// To a fixed place, or back.
    Jump,
}

/// An instruction of the program: how it goes on, the one behind it, and the first one from it on that does not go straight on.
#[derive(Clone, Copy)]
struct Instruction {
    flow: Flow,
    behind: u64,
    end: u64,
}

/// What a tool prints.
fn said_by(tool: &mut Command) -> Result<String, Box<dyn Error>> {
    let name = tool.get_program().to_string_lossy().into_owned();
    let output = tool.output().map_err(|error| format!("cannot run {name}, which is part of binutils: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} fails: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The instructions of a program by address, from its disassembly.
fn instructions(program: &str) -> Result<HashMap<u64, Instruction>, Box<dyn Error>> {
    let text = said_by(Command::new("objdump").args(["-d", "--no-show-raw-insn", program]))?;
    let mut all = HashMap::new();
    let (mut behind, mut end) = (0, 0);
    for line in text.lines().rev() {
        let Some((address, rest)) = line.split_once(':') else { continue };
        let (Ok(address), mut words) = (u64::from_str_radix(address.trim(), 16), rest.split_whitespace()) else { continue };
        let Some(name) = words.find(|word| !["bnd", "notrack"].contains(word)) else { continue };
        let computed = words.next().is_some_and(|target| target.starts_with('*'));
        let flow = match name {
            _ if name.starts_with("ret") => Flow::Jump,
            _ if name.starts_with("jmp") || name.starts_with("call") => {
                if computed {
                    Flow::Computed
                } else {
                    Flow::Jump
                }
            }
            _ if name.starts_with('j') => Flow::Branch,
            _ => Flow::Straight,
        };
        if flow != Flow::Straight {
            end = address;
        }
        all.insert(address, Instruction { flow, behind, end });
        behind = address;
    }
    Ok(all)
}

/// The lengths of history of the tables.
const LENGTHS: [u32; 14] = [4, 7, 11, 17, 26, 40, 60, 90, 134, 200, 300, 450, 670, 1000];
const TABLE: usize = 4096;

/// What a table says of a branch with a history.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// Where a computed jump went.
    target: u64,
    /// Taken where not negative, and how surely.
    sure: i8,
    useful: u8,
}

/// The last `length` directions, folded into `bits` bits.
struct Folded {
    length: u32,
    bits: u32,
    value: u64,
}

impl Folded {
    fn push(&mut self, history: &[bool; 4096], at: u32) {
        let direction = |back: u32| u64::from(history[(at - back) as usize % history.len()]);
        self.value = self.value << 1 | direction(0);
        self.value ^= direction(self.length) << (self.length % self.bits);
        self.value = (self.value ^ self.value >> self.bits) & ((1 << self.bits) - 1);
    }
}

/// A predictor of the kind of TAGE (Seznec and Michaud, JILP 2006), for branches and computed jumps alike.
struct Predictor {
    history: [bool; 4096],
    at: u32,
    places: Vec<Folded>,
    tags: Vec<Folded>,
    tables: Vec<Vec<Entry>>,
    /// What is known of a place without history.
    plain: HashMap<u64, Entry>,
    random: u32,
}

impl Predictor {
    fn new() -> Self {
        let folded = |bits| LENGTHS.map(|length| Folded { length, bits, value: 0 }).into();
        Self {
            history: [false; 4096],
            at: 4096,
            places: folded(12),
            tags: folded(11),
            tables: vec![vec![Entry::default(); TABLE]; LENGTHS.len()],
            plain: HashMap::new(),
            random: 12345,
        }
    }

    fn push(&mut self, direction: bool) {
        self.at += 1;
        self.history[self.at as usize % 4096] = direction;
        self.places.iter_mut().chain(&mut self.tags).for_each(|folded| folded.push(&self.history, self.at));
    }

    fn chance(&mut self, of: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random.is_multiple_of(of)
    }

    /// Whether what happened at `site` is foretold; learns it. Branches have target 1 where they are taken, else 0.
    fn foretells(&mut self, site: u64, target: u64, computed: bool) -> bool {
        let spot = |table: usize| {
            let place = (site ^ (site >> 7) ^ self.places[table].value ^ (table as u64 * 977)) as usize % TABLE;
            (place, ((site ^ (site >> 3) ^ self.tags[table].value) % 2048) as u16 | 1 << 11)
        };
        let spots: [(usize, u16); LENGTHS.len()] = std::array::from_fn(spot);
        let said = |entry: &Entry| if computed { entry.target } else { u64::from(entry.sure >= 0) };
        let fitting = (0..LENGTHS.len()).rev().find(|table| self.tables[*table][spots[*table].0].tag == spots[*table].1);
        let plain = self.plain.entry(site).or_default();
        let fallback = said(plain);
        let entry = match fitting {
            Some(table) => &mut self.tables[table][spots[table].0],
            None => plain,
        };
        // One that has just been made says less than what was known before.
        let unsure = fitting.is_some() && entry.useful == 0 && (entry.sure == 0 || entry.sure == -1) && !computed;
        let right = if unsure { fallback == target } else { said(entry) == target };
        if said(entry) == target && fallback != target {
            entry.useful = (entry.useful + 1).min(3);
        }
        if !computed {
            entry.sure = if target == 1 { (entry.sure + 1).min(3) } else { (entry.sure - 1).max(-4) };
        } else if !right {
            entry.target = target;
        }
        if !right {
            let more = 1 + usize::from(self.chance(2)) + usize::from(self.chance(4));
            let first = fitting.map_or(more - 1, |table| table + more).min(LENGTHS.len() - 1);
            let made = Entry { tag: 0, target, sure: if target == 1 { 0 } else { -1 }, useful: 0 };
            let mut left = 2;
            for (table, (place, tag)) in spots.into_iter().enumerate().skip(first.max(fitting.map_or(0, |table| table + 1))) {
                let forget = self.chance(8);
                let entry = &mut self.tables[table][place];
                if entry.useful == 0 {
                    *entry = Entry { tag, ..made };
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

/// How often an instruction was run, went elsewhere than straight on, and was not foretold.
#[derive(Clone, Copy, Default)]
struct Count {
    runs: u64,
    taken: u64,
    missed: u64,
}

/// What the branches in a trace of blocks did, the least foretold first.
fn follow(trace: impl BufRead, instructions: &HashMap<u64, Instruction>) -> Result<Vec<(u64, Count)>, Box<dyn Error>> {
    let (mut predictor, mut counts) = (Predictor::new(), HashMap::<u64, Count>::new());
    let mut before = None::<(u64, Instruction)>;
    for line in trace.lines() {
        let line = line?;
        let Some(address) = line.strip_prefix("SB ").and_then(|address| u64::from_str_radix(address, 16).ok()) else { continue };
        let now = address.wrapping_sub(BASE);
        let instruction = instructions.get(&now).copied();
        // A block that ends before its branch goes straight on.
        if let Some((start, Instruction { end: site, .. })) = before
            && !(start < now && now <= site)
            && let Some(Instruction { flow, behind, .. }) = instructions.get(&site)
        {
            let taken = now != *behind;
            let mut count = |target, computed| {
                let count = counts.entry(site).or_default();
                count.runs += 1;
                count.taken += u64::from(taken);
                count.missed += u64::from(!predictor.foretells(site, target, computed));
            };
            match flow {
                Flow::Branch => {
                    count(u64::from(taken), false);
                    predictor.push(taken);
                }
                Flow::Computed if instruction.is_some() => {
                    count(now, true);
                    predictor.push(now & 16 != 0);
                    predictor.push(now & 64 != 0);
                }
                Flow::Jump | Flow::Computed => predictor.push(site & 4 != 0),
                Flow::Straight => {}
            }
        }
        before = instruction.map(|instruction| (now, instruction));
    }
    let mut sites: Vec<(u64, Count)> = counts.into_iter().collect();
    sites.sort_by_key(|(site, count)| (Reverse(count.missed), *site));
    Ok(sites)
}

/// The lines of the program's own source that an instruction stands for, the innermost first.
fn lines(program: &str, sites: impl Iterator<Item = u64>) -> Result<Vec<String>, Box<dyn Error>> {
    let addresses = sites.map(|site| format!("{site:#x}"));
    let text = said_by(Command::new("addr2line").args(["-a", "-i", "-e", program]).args(addresses))?;
    let own = |line: &str| line.rfind("/src/").filter(|_| !line.contains("/library/")).map(|at| line[at + 1..].to_owned());
    Ok(text.split("\n0x").map(|block| block.lines().skip(1).filter_map(own).take(4).collect::<Vec<_>>().join(" < ")).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else { return Err("name the program that was run, then how many places to show".into()) };
    let shown = arguments.next().map_or(Ok(40), |count| count.parse())?;
    let sites = follow(stdin().lock(), &instructions(&program)?)?;
    if sites.is_empty() {
        return Err("there is no branch of this program in what was read: see the head of the source for how to make it".into());
    }
    let (runs, missed) = sites.iter().fold((0, 0), |(runs, missed), (_, count)| (runs + count.runs, missed + count.missed));
    let mut text = format!("{runs} branches and computed jumps, {missed} not foretold\n    missed        run taken %  place\n");
    let sites = &sites[..sites.len().min(shown)];
    for ((_, count), lines) in sites.iter().zip(lines(&program, sites.iter().map(|(site, _)| *site))?) {
        let percent = 100.0 * count.taken as f64 / count.runs as f64;
        text += &format!("{:>10} {:>10} {percent:>7.0}  {lines}\n", count.missed, count.runs);
    }
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
