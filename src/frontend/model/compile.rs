//! Lays a kernel's steps out as static instructions and binds its formulas.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::WARP_SIZE;
use crate::frontend::{CachePolicy, KernelInfo, MemInst, MemKind, MemSpace, OpClass, StaticInst};

use super::address::{Pattern, Sum};
use super::error::{Problem, suggest};
use super::kernel::{Buffer, Constants, bounded, unknown};
use super::ops::{self, Effect, OpInfo};
use super::program::{Access, Bound, Bracket, Node, Origin, Program, Sharing, Slot};
use super::registers::{LIMIT, Operand, Registers};
use super::schema::{KernelText, ModelText};
use super::step::{AccessStep, OpStep, RegisterUse, Step, StepKind};
use super::text::Formula;
use super::value::{Frame, Lanes, Meaning, bind, lanes, uniform};

/// Most static instructions of a kernel; more means a loop that should not be unrolled.
const MAX_STATIC: usize = 1 << 18;
/// Bytes of an instruction on Volta.
const INSTRUCTION_BYTES: u32 = 16;
/// How deep steps may nest, blocks included.
const MAX_DEPTH: u32 = 32;

/// Names that every formula of a body may use, and what they mean.
const PLACES: &[(&str, Meaning)] = &[
    ("cta", Meaning::Uniform(uniform::CTA)),
    ("cta_x", Meaning::Uniform(uniform::CTA_X)),
    ("cta_y", Meaning::Uniform(uniform::CTA_Y)),
    ("cta_z", Meaning::Uniform(uniform::CTA_Z)),
    ("warp", Meaning::Uniform(uniform::WARP)),
    ("lane", Meaning::Lane(lanes::LANE)),
    ("thread", Meaning::Lane(lanes::THREAD)),
    ("thread_x", Meaning::Lane(lanes::THREAD_X)),
    ("thread_y", Meaning::Lane(lanes::THREAD_Y)),
    ("thread_z", Meaning::Lane(lanes::THREAD_Z)),
];

/// A compiled launch, and the mnemonic of each static instruction.
#[derive(Debug)]
pub(super) struct Compiled {
    /// What the generator executes.
    pub(super) program: Program,
    /// One mnemonic per static instruction.
    pub(super) mnemonics: Arc<[String]>,
}

/// What a launch is compiled from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch<'a> {
    /// The file, for messages met while generating.
    pub(super) file: &'a str,
    /// The model.
    pub(super) model: &'a ModelText,
    /// Its kernel.
    pub(super) kernel: &'a KernelText,
    /// Parameters, `launch`, and the sizes of grid and block.
    pub(super) constants: &'a Constants,
    /// Buffers, shared arrays first.
    pub(super) buffers: &'a [Buffer],
    /// The launch, counted over the workload.
    pub(super) launch: u64,
    /// Seed of the run.
    pub(super) seed: u64,
}

/// Whether formulas of a body give the name a meaning of its own.
pub(super) fn is_place(name: &str) -> bool {
    name == "global_thread" || PLACES.iter().any(|(known, _)| *known == name)
}

struct Draft {
    class: OpClass,
    packed_half: bool,
    mnemonic: String,
    dst: Operand,
    src: [Operand; 4],
    mem: Option<MemInst>,
}

struct Compiler<'a> {
    launch: Launch<'a>,
    info: KernelInfo,
    places: Box<[[Lanes; lanes::COUNT as usize]]>,
    /// Loop counters, innermost last.
    scope: Vec<(String, Meaning)>,
    /// Names that `let`s give values to, and whether these vary by lane.
    lets: Vec<(String, bool, Slot)>,
    /// `let`s met so far in the order of the text.
    defined: FxHashSet<String>,
    uniform_slots: u16,
    lane_slots: u16,
    drafts: Vec<Draft>,
    registers: Registers,
    stretches: Vec<u32>,
    accesses: Vec<Access>,
    patterns: Vec<Pattern>,
    known_patterns: FxHashMap<(Lanes, i64), u32>,
    origins: Vec<Origin>,
    sharing: Sharing,
    problems: Vec<Problem>,
    depth: u32,
}

/// Compiles a launch that needs `info`.
pub(super) fn compile(launch: Launch<'_>, mut info: KernelInfo) -> Result<Compiled, Vec<Problem>> {
    let places = places(&info);
    let threads: Box<[u32]> = (0..info.warps_per_cta())
        .map(|warp| (info.threads_per_cta() - warp * WARP_SIZE).min(WARP_SIZE))
        .map(|count| if count == WARP_SIZE { u32::MAX } else { (1 << count) - 1 })
        .collect();
    let mut compiler = Compiler {
        launch,
        info: info.clone(),
        places,
        scope: Vec::new(),
        lets: Vec::new(),
        defined: FxHashSet::default(),
        uniform_slots: uniform::COUNT,
        lane_slots: lanes::COUNT,
        drafts: Vec::new(),
        registers: Registers::default(),
        stretches: Vec::new(),
        accesses: Vec::new(),
        patterns: Vec::new(),
        known_patterns: FxHashMap::default(),
        origins: Vec::new(),
        sharing: Sharing { ctas: true, warps: threads.iter().all(|&mask| mask == threads[0]) },
        problems: Vec::new(),
        depth: 0,
    };
    compiler.find_lets();
    let mut body = compiler.steps(&launch.kernel.body);
    let exit = compiler.emit(ops::known("exit"), Operand::None, [Operand::None; 4]);
    body.push(Node::Exit { index: exit, when: None });
    let needed = compiler.registers.assign();
    let line = launch.kernel.registers.as_ref().map_or(launch.kernel.line, |formula| formula.line);
    if needed > LIMIT || (info.registers > 0 && needed > info.registers) {
        let most = if info.registers > 0 { info.registers } else { LIMIT };
        let problem = Problem::new(line, "registers", format!("the body needs {needed} registers of a thread's {most}"));
        compiler.problems.push(problem.help("raise `registers` (at most 255), or reuse register names"));
    }
    if info.registers == 0 {
        info.registers = needed;
    }
    if !compiler.problems.is_empty() {
        return Err(compiler.problems);
    }
    Ok(compiler.finish(body, info, threads))
}

/// The fixed lane slots of each warp.
fn places(info: &KernelInfo) -> Box<[[Lanes; lanes::COUNT as usize]]> {
    let (x, y) = (i64::from(info.block.x), i64::from(info.block.y));
    let place = |warp: u32| {
        let mut slots = [[0; WARP_SIZE as usize]; lanes::COUNT as usize];
        for lane in 0..WARP_SIZE as usize {
            let thread = i64::from(warp * WARP_SIZE) + lane as i64;
            for (slot, value) in [
                (lanes::LANE, lane as i64),
                (lanes::THREAD, thread),
                (lanes::THREAD_X, thread % x),
                (lanes::THREAD_Y, thread / x % y),
                (lanes::THREAD_Z, thread / (x * y)),
            ] {
                slots[usize::from(slot)][lane] = value;
            }
        }
        slots
    };
    (0..info.warps_per_cta()).map(place).collect()
}

impl<'a> Compiler<'a> {
    fn finish(self, body: Vec<Node>, info: KernelInfo, threads: Box<[u32]>) -> Compiled {
        let code = self.drafts.iter().enumerate().map(|(i, draft)| StaticInst {
            pc: i as u32 * INSTRUCTION_BYTES,
            class: draft.class,
            packed_half: draft.packed_half,
            dst: self.registers.number(draft.dst),
            src: draft.src.map(|operand| self.registers.number(operand)),
            mem: draft.mem,
            immediate: 0,
        });
        let program = Program {
            info,
            launch: self.launch.launch,
            seed: self.launch.seed,
            code: code.collect(),
            body,
            stretches: self.stretches,
            accesses: self.accesses,
            patterns: self.patterns,
            file: self.launch.file.to_owned(),
            origins: self.origins,
            uniform_slots: self.uniform_slots,
            lane_slots: self.lane_slots,
            places: self.places,
            threads,
            sharing: self.sharing,
        };
        Compiled { program, mnemonics: self.drafts.into_iter().map(|draft| draft.mnemonic).collect() }
    }

    /// Finds every `let` of the body and decides which vary by lane: those whose value does, or that stand in divergent code.
    fn find_lets(&mut self) {
        let mut varying = FxHashSet::default();
        let mut names = Vec::new();
        loop {
            let before = varying.len();
            names.clear();
            let mut scan = LetScan { model: self.launch.model, varying: &mut varying, names: &mut names };
            scan.steps(&self.launch.kernel.body, false, 0);
            if varying.len() == before {
                break;
            }
        }
        for name in names {
            let varies = varying.contains(&name);
            let slot = if varies {
                self.lane_slots += 1;
                Slot::Lane(self.lane_slots - 1)
            } else {
                self.uniform_slots += 1;
                Slot::Uniform(self.uniform_slots - 1)
            };
            self.lets.push((name, varies, slot));
        }
    }

    fn resolve(&self, name: &str) -> Result<Meaning, String> {
        if let Some(&(_, meaning)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return Ok(meaning);
        }
        if let Some(&(_, _, slot)) = self.lets.iter().find(|(known, _, _)| known == name && self.defined.contains(name)) {
            return Ok(match slot {
                Slot::Uniform(slot) => Meaning::Uniform(slot),
                Slot::Lane(slot) => Meaning::Lane(slot),
            });
        }
        if let Some(&(_, value)) = self.launch.constants.iter().find(|(known, _)| known == name) {
            return Ok(Meaning::Const(value));
        }
        if name == "global_thread" {
            return Ok(Meaning::GlobalThread(i64::from(self.info.threads_per_cta())));
        }
        if let Some(&(_, meaning)) = PLACES.iter().find(|(known, _)| *known == name) {
            return Ok(meaning);
        }
        let scope = self.scope.iter().map(|(known, _)| known.as_str());
        let lets = self.lets.iter().map(|(known, _, _)| known.as_str()).filter(|known| self.defined.contains(*known));
        let constants = self.launch.constants.iter().map(|(known, _)| known.as_str());
        let places = PLACES.iter().map(|(known, _)| *known).chain(["global_thread"]);
        Err(unknown(name, scope.chain(lets).chain(constants).chain(places)))
    }

    /// Whether `name` may be given to a counter or a `let`.
    fn check_new_name(&mut self, key: &str, name: &str, line: u32, counter: bool) {
        let constant = self.launch.constants.iter().any(|(known, _)| known == name);
        let place = is_place(name);
        let counted = self.scope.iter().any(|(known, _)| known == name);
        let bound = counter && self.lets.iter().any(|(known, _, _)| known == name);
        let problem = if !super::expr::is_name(name) {
            Problem::new(line, key, "not a name").help("names are letters, digits and _, and start with a letter")
        } else if constant || place || counted || bound {
            Problem::new(line, key, "the name already means something here").help("choose another name")
        } else {
            return;
        };
        self.problems.push(problem.given(format!("\"{name}\"")));
    }

    fn bind(&mut self, formula: &Formula) -> Option<Bound> {
        match bind(&formula.expr, &|name| self.resolve(name)) {
            Ok(value) => {
                self.sharing.ctas &= !value.differs_by_cta();
                self.sharing.warps &= !value.differs_by_warp();
                self.origins.push(Origin { line: formula.line, key: formula.key.clone(), text: formula.text.clone() });
                Some(Bound { varies: value.varies(), value, origin: self.origins.len() as u32 - 1 })
            }
            Err(message) => {
                self.problems.push(formula.problem(message));
                None
            }
        }
    }

    /// The value of a formula that is known now: over parameters and the counters of unrolled loops.
    fn known(&mut self, formula: &Formula, low: i64, high: i64) -> Option<i64> {
        let mut constants = self.launch.constants.clone();
        for (name, meaning) in &self.scope {
            if let Meaning::Const(value) = meaning {
                constants.push((name.clone(), *value));
            }
        }
        bounded(formula, &constants, low, high).map_err(|problem| self.problems.push(problem)).ok()
    }

    fn emit(&mut self, op: &OpInfo, dst: Operand, src: [Operand; 4]) -> u32 {
        let packed_half = matches!(op.name, "hadd2" | "hmul2" | "hfma2");
        self.drafts.push(Draft { class: op.class, packed_half, mnemonic: op.mnemonic.to_owned(), dst, src, mem: None });
        self.drafts.len() as u32 - 1
    }

    fn branch(&mut self, name: &str) -> u32 {
        self.emit(ops::known(name), Operand::None, [Operand::None; 4])
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.append(steps, &mut nodes);
        nodes
    }

    fn append(&mut self, steps: &[Step], nodes: &mut Vec<Node>) {
        self.depth += 1;
        for step in steps {
            if self.drafts.len() > MAX_STATIC || self.depth > MAX_DEPTH {
                let what = if self.depth > MAX_DEPTH { "the steps nest too deeply" } else { "the body has too many instructions" };
                let limits =
                    format!("at most {MAX_DEPTH} levels and {MAX_STATIC} instructions; does a block use itself, or an `unroll` too much?");
                self.problems.push(Problem::new(step.line, "", what).help(limits));
                break;
            }
            match &step.kind {
                StepKind::Op(op) => self.operation(op, step.line, nodes),
                StepKind::Loop { counter, count, unroll, body } => self.repeat(step.line, counter, count, *unroll, body, nodes),
                StepKind::If { condition, then, otherwise } => self.choose(condition, then, otherwise, nodes),
                StepKind::Let { name, value } => self.assign(step.line, name, value, nodes),
                StepKind::Use(name) => self.inline(step.line, name, nodes),
            }
            if self.problems.len() > 20 {
                break;
            }
        }
        self.depth -= 1;
    }

    fn inline(&mut self, line: u32, name: &str, nodes: &mut Vec<Node>) {
        let blocks = &self.launch.model.blocks;
        match blocks.iter().find(|(known, _)| known == name) {
            Some((_, steps)) => self.append(steps, nodes),
            None => {
                let names = blocks.iter().map(|(known, _)| known.as_str());
                let help = suggest(name, names.clone(), "declare it under [blocks]");
                let problem = Problem::new(line, "use", "there is no such block").given(format!("\"{name}\""));
                let problem = problem.allowed(names).help(help);
                self.problems.push(problem);
            }
        }
    }

    fn assign(&mut self, line: u32, name: &str, value: &Formula, nodes: &mut Vec<Node>) {
        if !self.defined.contains(name) {
            self.check_new_name("let", name, line, false);
        }
        let bound = self.bind(value);
        self.defined.insert(name.to_owned());
        let slot = self.lets.iter().find(|(known, _, _)| known == name).map(|&(_, _, slot)| slot);
        if let (Some(slot), Some(value)) = (slot, bound) {
            nodes.push(Node::Let { slot, value });
        }
    }

    fn repeat(&mut self, line: u32, counter: &str, count: &Formula, unroll: bool, body: &[Step], nodes: &mut Vec<Node>) {
        self.check_new_name("loop", counter, line, true);
        if unroll {
            let Some(count) = self.known(count, 0, MAX_STATIC as i64) else { return };
            for i in 0..count {
                self.scope.push((counter.to_owned(), Meaning::Const(i)));
                self.append(body, nodes);
                self.scope.pop();
                if !self.problems.is_empty() {
                    return;
                }
            }
            return;
        }
        let Some(count) = self.bind(count) else { return };
        let slot = self.uniform_slots;
        self.uniform_slots += 1;
        let open = count.varies.then(|| self.branch("bssy"));
        self.scope.push((counter.to_owned(), Meaning::Uniform(slot)));
        let body = self.steps(body);
        self.scope.pop();
        let register = self.registers.note(&format!("loop {counter}"), 0, 1);
        let none = Operand::None;
        let advance = self.emit(ops::known("iadd"), register, [register, Operand::Zero, none, none]);
        let test = self.emit(ops::known("isetp"), none, [register, none, none, none]);
        let branch = self.branch("bra");
        let bracket = open.map(|open| Bracket { open, close: self.branch("bsync") });
        nodes.push(Node::Loop { counter: slot, count, body, step: [advance, test], branch, bracket });
    }

    fn choose(&mut self, condition: &Formula, then: &[Step], otherwise: &[Step], nodes: &mut Vec<Node>) {
        let Some(condition) = self.bind(condition) else { return };
        let open = condition.varies.then(|| self.branch("bssy"));
        let branch = self.branch("bra");
        let then = self.steps(then);
        let skip = (!otherwise.is_empty()).then(|| self.branch("bra"));
        let otherwise = self.steps(otherwise);
        let bracket = open.map(|open| Bracket { open, close: self.branch("bsync") });
        nodes.push(Node::If { condition, branch, then, skip, otherwise, bracket });
    }

    fn operand(&mut self, register: &RegisterUse, width: u32) -> Operand {
        match self.known(&register.index, 0, i64::from(LIMIT) - 1) {
            Some(index) => self.registers.note(&register.name, index as u32, width),
            None => Operand::None,
        }
    }

    fn operation(&mut self, step: &OpStep, line: u32, nodes: &mut Vec<Node>) {
        let access = step.access.as_ref().map(|access| (access, self.memory(step, access)));
        if matches!(access, Some((_, None))) {
            return;
        }
        let width = access.as_ref().and_then(|(_, mem)| mem.as_ref()).map(|(mem, _)| u32::from(mem.width).div_ceil(4));
        let mut src = [Operand::None; 4];
        for (slot, register) in src.iter_mut().zip(&step.src) {
            *slot = self.operand(register, 1);
        }
        let result = u32::from(step.op.result);
        let dst = step.dst.as_ref().map_or(Operand::None, |dst| self.operand(dst, width.unwrap_or(result).max(1)));
        if matches!(step.op.effect, Effect::Memory(MemKind::Load | MemKind::Atomic)) && step.dst.is_none() {
            let problem = Problem::new(line, "dst", format!("`{}` returns a value and needs this key", step.op.name));
            self.problems.push(problem.help("add `dst = \"x\"`, or \"rz\" to drop the value"));
        }
        let when = match &step.when {
            Some(when) => match self.bind(when) {
                Some(when) => Some(when),
                None => return,
            },
            None => None,
        };
        let index = self.emit(step.op, dst, src);
        if let Some((access, Some((mem, buffer)))) = access {
            let draft = &mut self.drafts[index as usize];
            draft.mnemonic = ops::memory_mnemonic(mem, access.function);
            draft.mem = Some(mem);
            if let Some(access) = self.access(access, mem, buffer) {
                nodes.push(Node::Access { index, access, when });
            }
            return;
        }
        match (step.op.effect, when) {
            (Effect::Exit, when) => nodes.push(Node::Exit { index, when }),
            (_, Some(when)) => nodes.push(Node::Predicated { index, when }),
            (_, None) => {
                let at = self.stretches.len() as u32;
                self.stretches.push(index);
                match nodes.last_mut() {
                    Some(Node::Stretch(range)) if range.end == at => range.end += 1,
                    _ => nodes.push(Node::Stretch(at..at + 1)),
                }
            }
        }
    }

    /// What an access does, and the buffer that it goes to.
    fn memory(&mut self, step: &OpStep, access: &AccessStep) -> Option<(MemInst, Buffer)> {
        let Effect::Memory(kind) = step.op.effect else { return None };
        let Some(buffer) = self.launch.buffers.iter().find(|buffer| buffer.name == access.buffer) else {
            let names = self.launch.buffers.iter().map(|buffer| buffer.name.as_str());
            let help = suggest(&access.buffer, names.clone(), "declare it under [buffers], or under `shared` of the kernel");
            let problem = Problem::new(access.line, "buffer", "there is no such buffer").given(format!("\"{}\"", access.buffer));
            let problem = problem.allowed(names).help(help);
            self.problems.push(problem);
            return None;
        };
        let width = match &access.width {
            Some(width) => self.known(width, 1, 16)?,
            None => buffer.element_bytes,
        };
        let key = if access.width.is_some() { "width" } else { "element_bytes" };
        if ![1, 2, 4, 8, 16].contains(&width) {
            let problem = Problem::new(access.line, key, "not a width that a lane can access").given(width.to_string());
            self.problems.push(problem.allowed(["1", "2", "4", "8", "16"]).help("set `width` in bytes"));
            return None;
        }
        if kind == MemKind::Reduction && buffer.space == MemSpace::Shared {
            let problem = Problem::new(access.line, "op", "there are no reductions on shared memory").given("\"reduction\"");
            self.problems.push(problem.help("use `atomic` with dst = \"rz\""));
            return None;
        }
        let atomic = matches!(kind, MemKind::Atomic | MemKind::Reduction) && buffer.space == MemSpace::Global;
        let cache = if access.skip_l1 || atomic { CachePolicy::Global } else { CachePolicy::All };
        Some((MemInst { space: buffer.space, kind, width: width as u8, cache }, buffer.clone()))
    }

    fn access(&mut self, step: &AccessStep, mem: MemInst, buffer: Buffer) -> Option<u32> {
        let bound = self.bind(&step.index)?;
        let index = Sum::of(&bound.value).map_err(|fault| self.problems.push(step.index.problem(fault.to_string()))).ok()?;
        let mut patterns = Vec::new();
        for warp in 0..self.places.len() {
            let mut frame = Frame { lanes: self.places[warp].to_vec(), ..Frame::default() };
            let mut offsets = [0; WARP_SIZE as usize];
            let mask = crate::base::LaneMask::FULL;
            if let Err(fault) = Sum::spread(&index.fixed, &mut frame, mask, &mut offsets) {
                self.problems.push(step.index.problem(fault.to_string()));
                return None;
            }
            let next = self.patterns.len() as u32;
            let known = *self.known_patterns.entry((offsets, buffer.element_bytes)).or_insert(next);
            if known == next {
                self.patterns.push(Pattern::of(offsets, buffer.element_bytes));
            }
            patterns.push(known);
        }
        let covered = (i64::from(mem.width) + buffer.element_bytes - 1) / buffer.element_bytes;
        self.accesses.push(Access {
            base: buffer.base,
            element_bytes: buffer.element_bytes,
            limit: (buffer.elements - covered + 1).max(0),
            index,
            patterns: patterns.into(),
            origin: bound.origin,
        });
        Some(self.accesses.len() as u32 - 1)
    }
}

/// Finds `let`s and which of them vary by lane, without binding anything.
struct LetScan<'s> {
    model: &'s ModelText,
    varying: &'s mut FxHashSet<String>,
    names: &'s mut Vec<String>,
}

impl LetScan<'_> {
    fn varies(&self, formula: &Formula) -> bool {
        let mut found = false;
        formula.expr.names(&mut |name| {
            let place = PLACES.iter().any(|(known, meaning)| *known == name && matches!(meaning, Meaning::Lane(_)));
            found |= place || matches!(name, "random" | "global_thread") || self.varying.contains(name);
        });
        found
    }

    fn steps(&mut self, steps: &[Step], divergent: bool, depth: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        for step in steps {
            match &step.kind {
                StepKind::Op(_) => {}
                StepKind::Loop { count, body, .. } => {
                    let divergent = divergent || self.varies(count);
                    self.steps(body, divergent, depth + 1);
                }
                StepKind::If { condition, then, otherwise } => {
                    let divergent = divergent || self.varies(condition);
                    self.steps(then, divergent, depth + 1);
                    self.steps(otherwise, divergent, depth + 1);
                }
                StepKind::Let { name, value } => {
                    if divergent || self.varies(value) {
                        self.varying.insert(name.clone());
                    }
                    if !self.names.contains(name) {
                        self.names.push(name.clone());
                    }
                }
                StepKind::Use(name) => {
                    if let Some((_, steps)) = self.model.blocks.iter().find(|(known, _)| known == name) {
                        self.steps(steps, divergent, depth + 1);
                    }
                }
            }
        }
    }
}
