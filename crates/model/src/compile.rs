//! Translates a kernel's steps to static instructions and binds its formulas.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use warpshard_base::WARP_SIZE;
use warpshard_workload::{Control, KernelInfo, MemInst, MemSpace, RegisterSets, StaticInst};

use super::address::{Comparison, Pattern};
use super::error::{Problem, suggest};
use super::kernel::{Buffer, Constants, bounded_value};
use super::ops::{self, OpInfo};
use super::program::{BodyNode, Bound, CompiledKernel, DivergenceBracket, FormulaOrigin, LetSlot, MemoryAccess, Sharing};
use super::registers::{REGISTER_LIMIT, RegisterOperand, Registers};
use super::schema::{KernelText, ModelText};
use super::step::{Step, StepKind};
use super::text::Formula;
use super::value::{Lanes, NameMeaning, bind, lanes, uniform};

/// Maximum static instructions of a kernel; a larger kernel has a loop that should not be unrolled.
const MAX_STATIC_INSTRUCTIONS: usize = 1 << 18;
/// Bytes of an instruction on Volta.
const INSTRUCTION_BYTES: u32 = 16;
/// Maximum nesting depth of steps, including blocks.
pub(super) const MAX_DEPTH: u32 = 32;

/// A compiled launch, and the mnemonic of each static instruction.
#[derive(Debug)]
pub(super) struct CompiledLaunch {
    /// The program that the generator executes.
    pub(super) program: CompiledKernel,
    /// The mnemonic of each static instruction.
    pub(super) mnemonics: Arc<[String]>,
}

/// Inputs of the compilation of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchInput<'a> {
    /// Name of the file, for messages during generation.
    pub(super) file: &'a str,
    /// The parsed model.
    pub(super) model: &'a ModelText,
    /// The launched kernel of the model.
    pub(super) kernel: &'a KernelText,
    /// Parameters, `launch`, and the sizes of grid and block.
    pub(super) constants: &'a Constants,
    /// Buffers, with shared arrays first.
    pub(super) buffers: &'a [Buffer],
    /// Random seed of the run.
    pub(super) seed: u64,
}

pub(super) struct DraftInstruction {
    pub(super) mnemonic: String,
    /// True for a load through the texture cache, which has no mnemonic of its own.
    pub(super) texture: bool,
    pub(super) dst: RegisterOperand,
    pub(super) src: [RegisterOperand; 4],
}

pub(super) struct Compiler<'a> {
    pub(super) launch: LaunchInput<'a>,
    pub(super) info: KernelInfo,
    pub(super) positions: Box<[[Lanes; lanes::COUNT as usize]]>,
    /// Masks of the lanes with threads, per warp.
    pub(super) threads: Box<[u32]>,
    /// Loop counters, with the innermost last.
    pub(super) scope: Vec<(String, NameMeaning)>,
    /// Names defined by `let`s, and true if they vary by lane.
    pub(super) lets: Vec<(String, bool, LetSlot)>,
    /// `let`s defined so far in the order of the text.
    pub(super) defined: FxHashSet<String>,
    pub(super) uniform_slots: u16,
    pub(super) lane_slots: u16,
    pub(super) drafts: Vec<DraftInstruction>,
    /// Static instructions that start a basic block, ascending; the last may be one past the end.
    pub(super) blocks: Vec<u32>,
    pub(super) registers: Registers,
    pub(super) stretches: Vec<u32>,
    pub(super) accesses: Vec<MemoryAccess>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) known_patterns: FxHashMap<(Lanes, i64), u32>,
    pub(super) origins: Vec<FormulaOrigin>,
    pub(super) sharing: Sharing,
    pub(super) problems: Vec<Problem>,
    pub(super) depth: u32,
}

/// Compiles a launch with the resources in `info`.
pub(super) fn compile(launch: LaunchInput<'_>, mut info: KernelInfo) -> Result<CompiledLaunch, Vec<Problem>> {
    let positions = positions(&info);
    let threads: Box<[u32]> = (0..info.warps_per_cta())
        .map(|warp| (info.threads_per_cta() - warp * WARP_SIZE).min(WARP_SIZE))
        .map(|count| if count == WARP_SIZE { u32::MAX } else { (1 << count) - 1 })
        .collect();
    let mut compiler = Compiler {
        launch,
        info: info.clone(),
        positions,
        threads: threads.clone(),
        scope: Vec::new(),
        lets: Vec::new(),
        defined: FxHashSet::default(),
        uniform_slots: uniform::COUNT,
        lane_slots: lanes::COUNT,
        drafts: Vec::new(),
        blocks: vec![0],
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
    let exit = compiler.emit(ops::known_operation("exit"), RegisterOperand::None, [RegisterOperand::None; 4]);
    body.push(BodyNode::Exit { index: exit, when: None });
    let needed = compiler.registers.assign();
    let line = launch.kernel.registers.as_ref().map_or(launch.kernel.line, |formula| formula.line);
    if needed > REGISTER_LIMIT || (info.registers > 0 && needed > info.registers) {
        let most = if info.registers > 0 { info.registers } else { REGISTER_LIMIT };
        let problem = Problem::new(line, "registers", format!("the body needs {needed} registers, but a thread has {most}"));
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

/// Returns the fixed lane slots of each warp.
fn positions(info: &KernelInfo) -> Box<[[Lanes; lanes::COUNT as usize]]> {
    let (x, y) = (i64::from(info.block.x), i64::from(info.block.y));
    let place = |warp: u32| {
        let mut slots = [[0; WARP_SIZE as usize]; lanes::COUNT as usize];
        for lane in 0..WARP_SIZE {
            let thread = i64::from(warp * WARP_SIZE + lane);
            for (slot, value) in [
                (lanes::LANE, i64::from(lane)),
                (lanes::THREAD, thread),
                (lanes::THREAD_X, thread % x),
                (lanes::THREAD_Y, thread / x % y),
                (lanes::THREAD_Z, thread / (x * y)),
            ] {
                slots[usize::from(slot)][lane as usize] = value;
            }
        }
        slots
    };
    (0..info.warps_per_cta()).map(place).collect()
}

impl<'a> Compiler<'a> {
    fn finish(self, body: Vec<BodyNode>, info: KernelInfo, threads: Box<[u32]>) -> CompiledLaunch {
        let code = self.drafts.iter().enumerate().map(|(i, draft)| {
            let opcode = ops::volta(&draft.mnemonic);
            let mem = opcode.mem.map(|row| row.access(&draft.mnemonic));
            let (dst, src) = (self.registers.number(draft.dst), draft.src.map(|operand| self.registers.number(operand)));
            StaticInst {
                pc: i as u32 * INSTRUCTION_BYTES,
                class: opcode.class,
                packed_half: opcode.packed_half,
                flops: warpshard_isa::flops(&draft.mnemonic),
                dst,
                src,
                mem: if draft.texture { mem.map(|mem| MemInst { space: MemSpace::Texture, ..mem }) } else { mem },
                immediate: 0,
                control: warpshard_isa::control(Control::NONE, &draft.mnemonic, opcode.class),
                registers: RegisterSets::new(dst, src),
            }
        });
        let program = CompiledKernel {
            info,
            seed: self.launch.seed,
            code: code.collect(),
            blocks: self.blocks.into_iter().filter(|&start| (start as usize) < self.drafts.len()).collect(),
            body,
            stretches: self.stretches,
            accesses: self.accesses,
            patterns: self.patterns,
            file: self.launch.file.to_owned(),
            origins: self.origins,
            uniform_slots: self.uniform_slots,
            lane_slots: self.lane_slots,
            positions: self.positions,
            threads,
            sharing: self.sharing,
            common_program: OnceLock::new(),
        };
        CompiledLaunch { program, mnemonics: self.drafts.into_iter().map(|draft| draft.mnemonic).collect() }
    }

    pub(super) fn bind(&mut self, formula: &Formula) -> Option<Bound> {
        match bind(&formula.expr, &|name| self.resolve(name)) {
            Ok(value) => {
                self.sharing.ctas &= !value.differs_by_cta();
                self.sharing.warps &= !value.differs_by_warp();
                self.origins.push(FormulaOrigin { line: formula.line, key: formula.key.clone(), text: formula.text.clone() });
                let origin = self.origins.len() as u32 - 1;
                let varies = value.varies();
                // The evaluation of the formula itself reports a fault that occurs here.
                let comparison = Comparison::of(&value).filter(|_| varies).and_then(|(op, difference)| {
                    let patterns = self.tabulate(&difference, 1).ok()?;
                    Some(Box::new(Comparison { op, difference, patterns }))
                });
                Some(Bound { value, varies, comparison, origin })
            }
            Err(problem) => {
                self.problems.push(formula.place(problem));
                None
            }
        }
    }

    /// Returns the compile-time value of a formula over parameters and the counters of unrolled loops.
    pub(super) fn known_value(&mut self, formula: &Formula, low: i64, high: i64) -> Option<i64> {
        let mut constants = self.launch.constants.clone();
        for (name, meaning) in &self.scope {
            if let NameMeaning::Const(value) = meaning {
                constants.push((name.clone(), *value));
            }
        }
        bounded_value(formula, &constants, low, high).map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Adds a static instruction.
    pub(super) fn emit(&mut self, op: &OpInfo, dst: RegisterOperand, src: [RegisterOperand; 4]) -> u32 {
        self.drafts.push(DraftInstruction { mnemonic: op.mnemonic.to_owned(), texture: false, dst, src });
        self.drafts.len() as u32 - 1
    }

    fn branch(&mut self, name: &str) -> u32 {
        self.emit(ops::known_operation(name), RegisterOperand::None, [RegisterOperand::None; 4])
    }

    /// Starts a basic block at the next instruction.
    pub(super) fn start_block(&mut self) {
        let next = self.drafts.len() as u32;
        if self.blocks.last() != Some(&next) {
            self.blocks.push(next);
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<BodyNode> {
        let mut nodes = Vec::new();
        self.append(steps, &mut nodes);
        nodes
    }

    fn append(&mut self, steps: &[Step], nodes: &mut Vec<BodyNode>) {
        self.depth += 1;
        for step in steps {
            if self.drafts.len() > MAX_STATIC_INSTRUCTIONS || self.depth > MAX_DEPTH {
                let what = if self.depth > MAX_DEPTH { "the steps nest too deeply" } else { "the body has too many instructions" };
                let limits = format!(
                    "at most {MAX_DEPTH} levels and {MAX_STATIC_INSTRUCTIONS} instructions; does a block use itself, or an `unroll` too much?"
                );
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

    fn inline(&mut self, line: u32, name: &str, nodes: &mut Vec<BodyNode>) {
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

    fn assign(&mut self, line: u32, name: &str, value: &Formula, nodes: &mut Vec<BodyNode>) {
        if !self.defined.contains(name) {
            self.check_new_name("let", name, line, false);
        }
        let bound = self.bind(value);
        self.defined.insert(name.to_owned());
        let slot = self.lets.iter().find(|(known, _, _)| known == name).map(|&(_, _, slot)| slot);
        if let (Some(slot), Some(value)) = (slot, bound) {
            nodes.push(BodyNode::Let { slot, value });
        }
    }

    fn repeat(&mut self, line: u32, counter: &str, count: &Formula, unroll: bool, body: &[Step], nodes: &mut Vec<BodyNode>) {
        self.check_new_name("loop", counter, line, true);
        if unroll {
            let Some(count) = self.known_value(count, 0, MAX_STATIC_INSTRUCTIONS as i64) else { return };
            for i in 0..count {
                self.scope.push((counter.to_owned(), NameMeaning::Const(i)));
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
        self.scope.push((counter.to_owned(), NameMeaning::Uniform(slot)));
        self.start_block();
        let body = self.steps(body);
        self.scope.pop();
        let register = self.registers.record_use(&format!("loop {counter}"), 0, 1);
        let none = RegisterOperand::None;
        let advance = self.emit(ops::known_operation("iadd"), register, [register, RegisterOperand::Zero, none, none]);
        let test = self.emit(ops::known_operation("isetp"), none, [register, none, none, none]);
        let branch = self.branch("bra");
        self.start_block();
        let bracket = open.map(|open| DivergenceBracket { open, close: self.branch("bsync") });
        nodes.push(BodyNode::Loop { counter: slot, count, body, step: [advance, test], branch, bracket });
    }

    fn choose(&mut self, condition: &Formula, then: &[Step], otherwise: &[Step], nodes: &mut Vec<BodyNode>) {
        let Some(condition) = self.bind(condition) else { return };
        let open = condition.varies.then(|| self.branch("bssy"));
        let branch = self.branch("bra");
        self.start_block();
        let then = self.steps(then);
        let skip = (!otherwise.is_empty()).then(|| self.branch("bra"));
        self.start_block();
        let otherwise = self.steps(otherwise);
        self.start_block();
        let bracket = open.map(|open| DivergenceBracket { open, close: self.branch("bsync") });
        nodes.push(BodyNode::If { condition, branch, then, skip, otherwise, bracket });
    }
}
