//! Instructions of a body: operands, mnemonics, and the address functions of accesses.

use warpshard_base::{LaneMask, WARP_SIZE};
use warpshard_workload::{MemKind, MemSpace};

use super::address::{Pattern, Sum};
use super::compile::Compiler;
use super::error::{Problem, suggest};
use super::kernel::Buffer;
use super::ops::{self, OpEffect};
use super::program::{BodyNode, MemoryAccess};
use super::registers::{REGISTER_LIMIT, RegisterOperand};
use super::step::{AccessStep, LoadCache, OpStep, RegisterUse};
use super::value::{EvaluationFault, Frame};

/// Allowed widths of an access in bytes per lane.
const WIDTHS: [i64; 5] = [1, 2, 4, 8, 16];
/// Allowed widths of an atomic operation or reduction in bytes per lane.
const ATOMIC_WIDTHS: [i64; 2] = [4, 8];

/// An access whose buffer and width are known.
struct Target<'a> {
    step: &'a AccessStep,
    kind: MemKind,
    buffer: Buffer,
    width: u8,
}

impl Compiler<'_> {
    /// Appends an instruction.
    pub(super) fn operation(&mut self, step: &OpStep, line: u32, nodes: &mut Vec<BodyNode>) {
        let target = match (&step.access, step.op.effect) {
            (Some(access), OpEffect::Memory(kind)) => match self.target(access, kind) {
                Some(target) => Some(target),
                None => return,
            },
            _ => None,
        };
        let mut src = [RegisterOperand::None; 4];
        for (slot, register) in src.iter_mut().zip(&step.src) {
            *slot = self.operand(register, 1);
        }
        let result = target.as_ref().map_or(u32::from(step.op.result), |target| u32::from(target.width).div_ceil(4));
        let dst = step.dst.as_ref().map_or(RegisterOperand::None, |dst| self.operand(dst, result));
        if matches!(step.op.effect, OpEffect::Memory(MemKind::Load | MemKind::Atomic)) && step.dst.is_none() {
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
        if step.op.effect == OpEffect::Exit || step.op.name == "bra" {
            self.start_block();
        }
        match (target, step.op.effect, when) {
            (Some(target), _, when) => {
                let (access, draft) = (target.step, &mut self.drafts[index as usize]);
                let skip_l1 = access.cache == LoadCache::Llc;
                draft.mnemonic = ops::memory_mnemonic(target.kind, target.buffer.space, target.width, skip_l1, access.function);
                draft.texture = access.cache == LoadCache::Texture;
                if let Some(access) = self.access(&target) {
                    nodes.push(BodyNode::Access { index, access, when });
                }
            }
            (None, OpEffect::Exit, when) => nodes.push(BodyNode::Exit { index, when }),
            (None, _, Some(when)) => nodes.push(BodyNode::Predicated { index, when }),
            (None, _, None) => self.plain(index, nodes),
        }
    }

    /// Appends an instruction without predicate or address to the last stretch of `nodes`, or starts a new stretch.
    fn plain(&mut self, index: u32, nodes: &mut Vec<BodyNode>) {
        let at = self.stretches.len() as u32;
        self.stretches.push(index);
        match nodes.last_mut() {
            Some(BodyNode::Stretch(range)) if range.end == at => range.end += 1,
            _ => nodes.push(BodyNode::Stretch(at..at + 1)),
        }
    }

    fn operand(&mut self, register: &RegisterUse, width: u32) -> RegisterOperand {
        match self.known_value(&register.index, 0, i64::from(REGISTER_LIMIT) - 1) {
            Some(index) => self.registers.record_use(&register.name, index as u32, width.max(1)),
            None => RegisterOperand::None,
        }
    }

    /// Returns the buffer and width of an access.
    fn target<'s>(&mut self, step: &'s AccessStep, kind: MemKind) -> Option<Target<'s>> {
        let Some(buffer) = self.launch.buffers.iter().find(|buffer| buffer.name == step.buffer) else {
            let names = self.launch.buffers.iter().map(|buffer| buffer.name.as_str());
            let help = suggest(&step.buffer, names.clone(), "declare it under [buffers], or under `shared` of the kernel");
            let problem = Problem::new(step.line, "buffer", "there is no such buffer").given(format!("\"{}\"", step.buffer));
            let problem = problem.allowed(names).help(help);
            self.problems.push(problem);
            return None;
        };
        let buffer = buffer.clone();
        let atomic = matches!(kind, MemKind::Atomic | MemKind::Reduction);
        let (key, line, width) = match &step.width {
            Some(width) => ("width", width.line, self.known_value(width, i64::MIN, i64::MAX)?),
            None => ("element_bytes", step.line, buffer.element_bytes),
        };
        let allowed = if atomic { &ATOMIC_WIDTHS[..] } else { &WIDTHS[..] };
        if !allowed.contains(&width) {
            let problem = Problem::new(line, key, "not a width in bytes that a lane can access").given(width.to_string());
            self.problems.push(problem.allowed(allowed.iter().map(i64::to_string)).help("set `width` of the access"));
            return None;
        }
        if kind == MemKind::Reduction && buffer.space == MemSpace::Shared {
            let problem = Problem::new(step.line, "op", "there are no reductions on shared memory").given("\"reduction\"");
            self.problems.push(problem.help("use \"atomic\" with dst = \"rz\""));
            return None;
        }
        if atomic && buffer.space == MemSpace::Local {
            let problem = Problem::new(step.line, "op", "there are no atomics and reductions on local memory");
            self.problems.push(problem.help("use a load and a store: no other thread sees the array"));
            return None;
        }
        if step.cache == LoadCache::Texture && buffer.space != MemSpace::Global {
            let problem = Problem::new(step.line, "cache", "a texture is in device memory").given(format!("\"{}\"", step.buffer));
            self.problems.push(problem.help("load it from a buffer of the model, or remove `cache`"));
            return None;
        }
        Some(Target { step, kind, buffer, width: width as u8 })
    }

    /// Splits the index of an access and tabulates its fixed part for each warp.
    fn access(&mut self, target: &Target<'_>) -> Option<u32> {
        let (formula, buffer) = (&target.step.index, &target.buffer);
        let bound = self.bind(formula)?;
        let index = Sum::of(&bound.value).map_err(|fault| self.problems.push(formula.problem(fault.to_string()))).ok()?;
        let patterns = self.tabulate(&index, buffer.element_bytes);
        let patterns = patterns.map_err(|fault| self.problems.push(formula.problem(fault.to_string()))).ok()?;
        let covered = (i64::from(target.width) + buffer.element_bytes - 1) / buffer.element_bytes;
        self.accesses.push(MemoryAccess {
            base: buffer.base,
            element_bytes: buffer.element_bytes,
            limit: (buffer.elements - covered + 1).max(0),
            index,
            patterns,
            origin: bound.origin,
        });
        Some(self.accesses.len() as u32 - 1)
    }

    /// Returns the pattern indices of the fixed part of `sum`, one per warp of the CTA; equal patterns are stored once.
    pub(super) fn tabulate(&mut self, sum: &Sum, element_bytes: i64) -> Result<Box<[u32]>, EvaluationFault> {
        let mut tabulated = Vec::with_capacity(self.positions.len());
        for (positions, &threads) in self.positions.iter().zip(&self.threads) {
            let mut frame = Frame { positions, ..Frame::default() };
            let mut offsets = [0; WARP_SIZE as usize];
            Sum::add_terms(&sum.fixed, &mut frame, LaneMask(threads), &mut offsets)?;
            let next = self.patterns.len() as u32;
            let known = *self.known_patterns.entry((offsets, element_bytes)).or_insert(next);
            if known == next {
                self.patterns.push(Pattern::of(offsets, element_bytes));
            }
            tabulated.push(known);
        }
        Ok(tabulated.into())
    }
}
