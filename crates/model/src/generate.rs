//! Executes a compiled kernel and records the instructions of each warp.
//!
//! A CTA depends only on the seed, the launch and its index. A fault during execution (a division by zero, an index beyond its buffer) is
//! stored as the failure of the source, and the CTA gets empty streams.

use std::sync::{Arc, OnceLock};

use warpshard_base::{CtaIndex, LaneMask, WARP_SIZE};
use warpshard_state::{Reader, StateError, Writer};
use warpshard_workload::{AddressForm, CtaProgram, CtaSource, StreamBuilder, WarpStream};

use super::address::Sum;
use super::error::{ModelError, Problem};
use super::program::{BodyNode, Bound, CompiledKernel, LetSlot, MemoryAccess};
use super::value::{EvaluationFault, Frame, Lanes, lanes, uniform};

/// Maximum instructions of a warp's stream: a longer stream comes from a wrong trip count.
pub(super) const MAX_WARP_INSTRUCTIONS: u32 = 1 << 24;
/// Maximum instructions of all warps of a CTA, which are in memory at the same time: 1 to 4 GiB if all of them are accesses.
const MAX_CTA_INSTRUCTIONS: u32 = 1 << 26;

/// Generator of the CTAs of one kernel launch.
#[derive(Debug)]
pub(super) struct Generator {
    program: Arc<CompiledKernel>,
    /// Number of the launch in the workload.
    launch: u64,
    failure: OnceLock<Problem>,
}

impl Generator {
    /// Creates a generator that executes `program` for the CTAs of launch number `launch` of the workload.
    pub(super) fn new(program: Arc<CompiledKernel>, launch: u64) -> Self {
        Self { program, launch, failure: OnceLock::new() }
    }

    /// Returns the first problem that occurred.
    pub(super) fn problem(&self) -> Option<&Problem> {
        self.failure.get()
    }

    fn generate(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let program = &*self.program;
        let warps = match warps(program, self.launch, index) {
            Ok(warps) => warps,
            Err(trouble) => {
                let _ = self.failure.set(trouble.describe(program, self.launch, index));
                vec![WarpStream::default(); program.threads.len()].into()
            }
        };
        Arc::new(CtaProgram { code: Arc::clone(&program.code), warps, ..CtaProgram::default() })
    }
}

impl CtaSource for Generator {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let CompiledKernel { sharing, common_program, .. } = &*self.program;
        if sharing.ctas { Arc::clone(common_program.get_or_init(|| self.generate(index))) } else { self.generate(index) }
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }

    fn blocks(&self) -> Option<&[u32]> {
        Some(&self.program.blocks)
    }

    fn failure(&self) -> Option<String> {
        self.problem().map(|problem| ModelError::new(&self.program.file, vec![problem.clone()]).to_string())
    }
}

/// Causes for which the generation of a warp stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultCause {
    Fault(EvaluationFault),
    Outside { index: i64, limit: i64 },
    Count(i64),
    TooLong,
    CtaTooLong,
}

/// A cause that stopped a warp, and its location: an index into [`CompiledKernel::origins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WarpFault {
    origin: u32,
    warp: u32,
    cause: FaultCause,
}

impl WarpFault {
    fn describe(self, program: &CompiledKernel, launch: u64, cta: CtaIndex) -> Problem {
        let origin = &program.origins[self.origin as usize];
        let cause = match self.cause {
            FaultCause::Fault(fault) => fault.to_string(),
            FaultCause::Outside { index, limit } => {
                format!("element {index} lies outside of the buffer, whose last element for this width is {}", limit - 1)
            }
            FaultCause::Count(count) => format!("a trip count of {count}"),
            FaultCause::TooLong => format!("the warp executes more than {MAX_WARP_INSTRUCTIONS} instructions"),
            FaultCause::CtaTooLong => format!("the warps of the CTA execute more than {MAX_CTA_INSTRUCTIONS} instructions"),
        };
        let place = format!("this happens in kernel {} (launch {}), {cta}, warp {}", program.info.name, launch, self.warp);
        Problem::new(origin.line, &origin.key, cause).given(&origin.text).help(place)
    }
}

/// Generates the streams of one CTA.
fn warps(program: &CompiledKernel, launch: u64, cta: CtaIndex) -> Result<Box<[WarpStream]>, WarpFault> {
    let grid = program.info.grid;
    let mut frame = Frame {
        uniform: vec![0; usize::from(program.uniform_slots)],
        positions: &[],
        lanes: vec![[0; WARP_SIZE as usize]; usize::from(program.lane_slots - lanes::COUNT)],
        seed: program.seed,
        kernel: launch,
        occurrence: 0,
    };
    frame.uniform[usize::from(uniform::CTA)] = i64::from(cta.0);
    frame.uniform[usize::from(uniform::CTA_X)] = i64::from(cta.0 % grid.x);
    frame.uniform[usize::from(uniform::CTA_Y)] = i64::from(cta.0 / grid.x % grid.y);
    frame.uniform[usize::from(uniform::CTA_Z)] = i64::from(cta.0 / grid.x / grid.y);
    let mut walk = WarpWalk { program, frame, builder: StreamBuilder::default(), live: LaneMask(0), warp: 0, instructions_before: 0 };
    let count = program.threads.len();
    let mut streams: Vec<WarpStream> = Vec::with_capacity(count);
    for warp in 0..count {
        if warp > 0 && program.sharing.warps {
            streams.push(streams[0].clone());
        } else {
            let stream = walk.warp(warp)?;
            walk.instructions_before += stream.len();
            streams.push(stream);
        }
    }
    Ok(streams.into())
}

struct WarpWalk<'p> {
    program: &'p CompiledKernel,
    frame: Frame<'p>,
    builder: StreamBuilder,
    /// Lanes whose threads have not exited.
    live: LaneMask,
    warp: usize,
    /// Instructions of the previous warps of the CTA.
    instructions_before: u32,
}

fn intersect_masks(a: LaneMask, b: LaneMask) -> LaneMask {
    LaneMask(a.0 & b.0)
}

fn subtract_mask(a: LaneMask, b: LaneMask) -> LaneMask {
    LaneMask(a.0 & !b.0)
}

impl WarpWalk<'_> {
    fn warp(&mut self, warp: usize) -> Result<WarpStream, WarpFault> {
        self.warp = warp;
        self.live = LaneMask(self.program.threads[warp]);
        self.frame.uniform[usize::from(uniform::WARP)] = warp as i64;
        self.frame.uniform[usize::from(uniform::COUNT)..].fill(0);
        self.frame.positions = &self.program.positions[warp];
        self.frame.lanes.fill([0; WARP_SIZE as usize]);
        self.frame.occurrence = 0;
        let program = self.program;
        self.nodes(&program.body, self.live)?;
        Ok(self.builder.finish())
    }

    fn warp_fault(&self, origin: u32, cause: FaultCause) -> WarpFault {
        WarpFault { origin, warp: self.warp as u32, cause }
    }

    fn select(&mut self, bound: &Bound, mask: LaneMask) -> Result<LaneMask, WarpFault> {
        if let Some(comparison) = &bound.comparison {
            let pattern = &self.program.patterns[comparison.patterns[self.warp] as usize];
            if let Some(chosen) = comparison.select(&mut self.frame, pattern, mask) {
                return Ok(chosen);
            }
        }
        bound.value.select(&mut self.frame, mask).map_err(|fault| self.warp_fault(bound.origin, FaultCause::Fault(fault)))
    }

    fn scalar(&mut self, bound: &Bound) -> Result<i64, WarpFault> {
        bound.value.scalar(&mut self.frame).map_err(|fault| self.warp_fault(bound.origin, FaultCause::Fault(fault)))
    }

    /// Executes `nodes` for the live lanes of `mask`.
    fn nodes(&mut self, nodes: &[BodyNode], mask: LaneMask) -> Result<(), WarpFault> {
        let program = self.program;
        for node in nodes {
            let mask = intersect_masks(mask, self.live);
            if mask.0 == 0 {
                return Ok(());
            }
            match node {
                BodyNode::Stretch(range) => {
                    let indices = &program.stretches[range.start as usize..range.end as usize];
                    self.append_stretch(indices, mask);
                }
                BodyNode::Predicated { index, when } => {
                    let mask = self.select(when, mask)?;
                    self.builder.op(*index, mask);
                }
                BodyNode::Access { index, access, when } => {
                    let mask = match when {
                        Some(when) => self.select(when, mask)?,
                        None => mask,
                    };
                    self.access(*index, &program.accesses[*access as usize], mask)?;
                }
                BodyNode::Exit { index, when } => {
                    let mask = match when {
                        Some(when) => self.select(when, mask)?,
                        None => mask,
                    };
                    self.builder.op(*index, mask);
                    self.live = subtract_mask(self.live, mask);
                }
                BodyNode::Let { slot, value } => self.assign(*slot, value, mask)?,
                BodyNode::Loop { .. } => self.repeat(node, mask)?,
                BodyNode::If { .. } => self.choose(node, mask)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn append_stretch(&mut self, indices: &[u32], mask: LaneMask) {
        if mask == LaneMask::FULL {
            self.builder.ops(indices);
        } else {
            for &index in indices {
                self.builder.op(index, mask);
            }
        }
    }

    fn assign(&mut self, slot: LetSlot, value: &Bound, mask: LaneMask) -> Result<(), WarpFault> {
        match slot {
            LetSlot::Uniform(slot) => self.frame.uniform[usize::from(slot)] = self.scalar(value)?,
            LetSlot::Lane(slot) => {
                let mut values = [0; WARP_SIZE as usize];
                let done = value.value.lanes(&mut self.frame, mask, &mut values);
                done.map_err(|fault| self.warp_fault(value.origin, FaultCause::Fault(fault)))?;
                let kept = &mut self.frame.lanes[usize::from(slot - lanes::COUNT)];
                for lane in mask.iter() {
                    kept[lane as usize] = values[lane as usize];
                }
            }
        }
        Ok(())
    }

    fn repeat(&mut self, node: &BodyNode, mask: LaneMask) -> Result<(), WarpFault> {
        let BodyNode::Loop { counter, count, body, step, branch, bracket } = node else { return Ok(()) };
        let mut counts = [0; WARP_SIZE as usize];
        if count.varies {
            let done = count.value.lanes(&mut self.frame, mask, &mut counts);
            done.map_err(|fault| self.warp_fault(count.origin, FaultCause::Fault(fault)))?;
        } else {
            counts = [self.scalar(count)?; WARP_SIZE as usize];
        }
        if let Some(lane) = mask.iter().find(|&lane| counts[lane as usize] < 0) {
            return Err(self.warp_fault(count.origin, FaultCause::Count(counts[lane as usize])));
        }
        if let Some(bracket) = bracket {
            self.builder.op(bracket.open, mask);
        }
        let uniform_count = (!count.varies).then_some(counts[0]);
        let staying = |iteration: i64, live: LaneMask| {
            let wanted = match uniform_count {
                Some(count) => LaneMask(if iteration < count { u32::MAX } else { 0 }),
                None => LaneMask((0..WARP_SIZE).fold(0, |bits, lane| bits | u32::from(counts[lane as usize] > iteration) << lane)),
            };
            intersect_masks(intersect_masks(wanted, mask), live)
        };
        let mut iteration = 0;
        let mut active = staying(0, self.live);
        while active.0 != 0 {
            if self.builder.instructions() > MAX_WARP_INSTRUCTIONS {
                return Err(self.warp_fault(count.origin, FaultCause::TooLong));
            }
            if self.instructions_before + self.builder.instructions() > MAX_CTA_INSTRUCTIONS {
                return Err(self.warp_fault(count.origin, FaultCause::CtaTooLong));
            }
            self.frame.uniform[usize::from(*counter)] = iteration;
            self.nodes(body, active)?;
            active = intersect_masks(active, self.live);
            if active.0 == 0 {
                break;
            }
            self.append_stretch(step, active);
            iteration += 1;
            active = staying(iteration, active);
            self.builder.op(*branch, active);
        }
        let left = intersect_masks(mask, self.live);
        if let Some(bracket) = bracket.filter(|_| left.0 != 0) {
            self.builder.op(bracket.close, left);
        }
        Ok(())
    }

    fn choose(&mut self, node: &BodyNode, mask: LaneMask) -> Result<(), WarpFault> {
        let BodyNode::If { condition, branch, then, skip, otherwise, bracket } = node else { return Ok(()) };
        let taken = self.select(condition, mask)?;
        let rest = subtract_mask(mask, taken);
        if let Some(bracket) = bracket {
            self.builder.op(bracket.open, mask);
        }
        self.builder.op(*branch, rest);
        if taken.0 != 0 {
            self.nodes(then, taken)?;
            let left = intersect_masks(taken, self.live);
            if let Some(skip) = skip.filter(|_| left.0 != 0) {
                self.builder.op(skip, left);
            }
        }
        if rest.0 != 0 {
            self.nodes(otherwise, rest)?;
        }
        let left = intersect_masks(mask, self.live);
        if let Some(bracket) = bracket.filter(|_| left.0 != 0) {
            self.builder.op(bracket.close, left);
        }
        Ok(())
    }

    fn access(&mut self, index: u32, access: &MemoryAccess, mask: LaneMask) -> Result<(), WarpFault> {
        if mask.0 == 0 {
            self.builder.op(index, mask);
            return Ok(());
        }
        let faulty = |warp: usize, fault| WarpFault { origin: access.origin, warp: warp as u32, cause: FaultCause::Fault(fault) };
        let base = access.index.base(&mut self.frame).map_err(|fault| faulty(self.warp, fault))?;
        let pattern = &self.program.patterns[access.patterns[self.warp] as usize];
        if mask == LaneMask::FULL && access.index.varying.is_empty() && pattern.form != AddressForm::List {
            for extreme in [pattern.least, pattern.greatest] {
                self.element(access, base.checked_add(extreme))?;
            }
            let first = self.element(access, base.checked_add(pattern.offsets[0]))?;
            self.builder.encoded_access(index, pattern.form, first, &pattern.tail);
            return Ok(());
        }
        let mut offsets: Lanes = pattern.offsets;
        Sum::add_terms(&access.index.varying, &mut self.frame, mask, &mut offsets).map_err(|fault| faulty(self.warp, fault))?;
        let mut addresses = [0; WARP_SIZE as usize];
        let lanes = mask.count() as usize;
        for (slot, lane) in addresses.iter_mut().zip(mask.iter()) {
            *slot = self.element(access, base.checked_add(offsets[lane as usize]))?;
        }
        self.builder.access(index, mask, &addresses[..lanes]);
        Ok(())
    }

    /// Returns the address of an element, which must be inside its buffer.
    #[inline]
    fn element(&self, access: &MemoryAccess, index: Option<i64>) -> Result<u64, WarpFault> {
        let index = index.unwrap_or(i64::MAX);
        if index < 0 || index >= access.limit {
            return Err(self.warp_fault(access.origin, FaultCause::Outside { index, limit: access.limit }));
        }
        Ok(access.base + (index * access.element_bytes) as u64)
    }
}
