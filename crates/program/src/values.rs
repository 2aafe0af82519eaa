//! Static analysis of a kernel for timing that depends on the results of its matrix products, or on clocks that it reads.
//!
//! The input is the decoded instructions of a kernel. The output is the first instruction whose address, branch, guard or barrier depends
//! on such a result, if there is one. Without such an instruction a run can skip the products without changing its cycles, and its
//! instructions are independent of clock values.
//!
//! This is a taint analysis over the control-flow graph. A source taints its results, and an instruction taints its results if an operand
//! is tainted. Registers and predicates are tracked individually per instruction; memory is tracked per space: one tainted store taints all
//! loads of that space.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::ProgramError;
use super::isa::{
    Amount, Bulk, Element, ExecutorGroup, GroupProduct, Inst, Mbarrier, Number, Op, PREDICATE_SINK, PredicateSource, Rows, Space, Tensor,
};
use super::{BoundLaunch, Program};

/// Maximum register rows: 256 registers, the zero and sink rows, and the uniform registers.
const MAX_ROWS: usize = 384;

/// Consecutive register rows: the first row and their number.
type RowSpan = (u16, u16);

/// The tainted memory spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TaintedSpaces {
    global: bool,
    shared: bool,
    local: bool,
}

impl TaintedSpaces {
    fn of(self, space: Space) -> bool {
        match space {
            Space::Global => self.global,
            Space::Shared => self.shared,
            Space::Local => self.local,
            Space::Generic => self.global || self.shared || self.local,
        }
    }

    fn add(&mut self, space: Space) {
        self.global |= matches!(space, Space::Global | Space::Generic);
        self.shared |= matches!(space, Space::Shared | Space::Generic);
        self.local |= matches!(space, Space::Local | Space::Generic);
    }
}

/// The tainted registers and predicates before an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TaintState {
    rows: [u64; MAX_ROWS / 64],
    predicates: u32,
}

impl TaintState {
    fn is_tainted(&self, (first, count): RowSpan) -> bool {
        (first..first + count).map(usize::from).any(|row| row < MAX_ROWS && self.rows[row / 64] >> (row % 64) & 1 != 0)
    }

    fn set_taint(&mut self, (first, count): RowSpan, unknown: bool) {
        for row in (first..first + count).map(usize::from).filter(|row| *row < MAX_ROWS) {
            self.rows[row / 64] = self.rows[row / 64] & !(1 << (row % 64)) | u64::from(unknown) << (row % 64);
        }
    }

    fn is_predicate_tainted(&self, predicate: PredicateSource) -> bool {
        self.predicates >> predicate.index & 1 != 0
    }

    /// Adds the taint of another path; returns true if the state has changed.
    fn merge(&mut self, other: &Self) -> bool {
        let before = *self;
        self.rows.iter_mut().zip(other.rows).for_each(|(row, other)| *row |= other);
        self.predicates |= other.predicates;
        *self != before
    }
}

/// The registers, predicates and memory that an instruction reads and writes.
#[derive(Debug, Default)]
pub(super) struct InstructionUses {
    /// Registers of the results.
    pub(super) results: Vec<RowSpan>,
    /// Registers that affect only the results.
    pub(super) data: Vec<RowSpan>,
    /// Registers that determine control flow, addresses or synchronisation.
    pub(super) steering: Vec<RowSpan>,
    /// True if guard and conditions also determine control flow, addresses or synchronisation.
    pub(super) steers: bool,
    reads: Option<Space>,
    writes: Option<Space>,
    /// Flags that are true if the instruction reads, and if it writes, all predicates.
    pub(super) all_predicates: [bool; 2],
    /// True for a matrix product.
    pub(super) product: bool,
}

/// Returns the registers, predicates and memory that an instruction reads and writes. The match is exhaustive, so that every new operation
/// must be added.
pub(super) fn uses(inst: &Inst) -> InstructionUses {
    let source = |place: usize, count: u16| (inst.src[place].row, count);
    let sources = |counts: [u16; 3]| (0..3).map(|place| source(place, counts[place])).collect::<Vec<_>>();
    let data = |result: u16, counts: [u16; 3]| InstructionUses {
        results: vec![(inst.dst, result)],
        data: sources(counts),
        ..InstructionUses::default()
    };
    let steers = |counts: [u16; 3]| InstructionUses { steering: sources(counts), steers: true, ..InstructionUses::default() };
    let address = [(inst.address.row, 1 + u16::from(inst.address.wide)), (inst.address.uniform, 1 + u16::from(inst.address.uniform_wide))];
    let access = |results: Vec<RowSpan>, data: Vec<RowSpan>, reads: Option<Space>, writes: Option<Space>| InstructionUses {
        results,
        data,
        steering: address.to_vec(),
        steers: true,
        reads,
        writes,
        ..InstructionUses::default()
    };
    let double = |number: Number| if matches!(number, Number::Integer(8, _) | Number::Float(8)) { 2 } else { 1 };
    match inst.op {
        Op::Nop | Op::RequestRegisters | Op::GroupCopies | Op::WaitCopies | Op::WaitProducts | Op::Yield | Op::SetSync => steers([0; 3]),
        Op::Mov
        | Op::ReadFirst
        | Op::Add3 { .. }
        | Op::MulAdd { .. }
        | Op::CompareInt { .. }
        | Op::Logic3 { .. }
        | Op::PredicateLogic
        | Op::Shift { .. }
        | Op::ShiftAdd { .. }
        | Op::MinMax { .. }
        | Op::AddHalves
        | Op::Pick(_)
        | Op::Abs
        | Op::PopCount
        | Op::FindLeading { .. }
        | Op::Reverse
        | Op::BitMask { .. }
        | Op::SignExtend { .. }
        | Op::Permute
        | Op::Select
        | Op::Extract(_)
        | Op::DotBytes { .. }
        | Op::DotHalves { .. }
        | Op::AbsDifference { .. }
        | Op::AbsDifferenceBytes { .. }
        | Op::FAdd(_)
        | Op::FMul(_)
        | Op::FMulScaled(..)
        | Op::FFma(_)
        | Op::FMinMax { .. }
        | Op::CompareFloat { .. }
        | Op::SetFloat { .. }
        | Op::FSelect
        | Op::CheckDivision
        | Op::Mufu(_)
        | Op::MufuHalf { .. }
        | Op::HAdd(_)
        | Op::HAddSingle
        | Op::HMul(_)
        | Op::HFma(_)
        | Op::HMinMax { .. }
        | Op::CompareHalf { .. }
        | Op::SetHalf { .. }
        | Op::PackHalves { .. }
        | Op::PackIntegers(_)
        | Op::Vote(_)
        | Op::Shuffle(_)
        | Op::Reduce { .. }
        | Op::TransposeMatrix => data(1, [1; 3]),
        Op::PredicatesToRegister { .. } => InstructionUses { all_predicates: [true, false], ..data(1, [1; 3]) },
        Op::RegisterToPredicates => InstructionUses { all_predicates: [false, true], ..data(1, [1; 3]) },
        Op::MovPair => data(2, [2, 1, 1]),
        Op::AddPairs => data(2, [2; 3]),
        // The form with carry-out adds a 64-bit third operand.
        Op::MulAddHigh { .. } => data(1, [1, 1, 2]),
        Op::MulAddWide { .. } => data(2, [1, 1, 2]),
        Op::DAdd(_) | Op::DMul(_) | Op::DFma(_) | Op::PickDouble { .. } => data(2, [2; 3]),
        Op::CompareDouble { .. } => data(1, [2; 3]),
        Op::FloatToFloat { to, from, .. } | Op::FloatToInt { to, from, .. } | Op::IntToFloat { to, from, .. } => {
            data(double(to), [double(from), 1, 1])
        }
        Op::IntToInt(number) => data(double(number), [double(number), 1, 1]),
        Op::Match { wide, .. } => data(1, [1 + u16::from(wide), 1, 1]),
        Op::Special(_, wide) => data(1 + u16::from(wide), [0; 3]),
        Op::LoadPlace => data(2, [0; 3]),
        Op::Elect => InstructionUses { steers: true, ..data(1, [0; 3]) },
        Op::Tensor(tensor) => InstructionUses { product: true, ..data(sum_registers(tensor), fragment_registers(tensor)) },
        Op::Quad { .. } => InstructionUses { product: true, ..data(2, [2; 3]) },
        Op::GroupProduct(product) => group_product_uses(inst, product),
        Op::Image(_) => image_uses(inst),
        Op::Load { space, words, .. } => access(vec![(inst.dst, u16::from(words.max(1)))], Vec::new(), Some(space), None),
        Op::LoadConstant { words, .. } => access(vec![(inst.dst, u16::from(words.max(1)))], Vec::new(), None, None),
        Op::Store { space, bytes } => access(Vec::new(), vec![source(0, u16::from(bytes.div_ceil(4)))], None, Some(space)),
        Op::Atomic { space, kind, .. } => {
            let words = 1 + u16::from(kind.is_wide());
            access(vec![(inst.dst, words)], vec![source(0, words), source(1, words)], Some(space), Some(space))
        }
        Op::QuerySpace(_) => access(Vec::new(), Vec::new(), None, None),
        Op::LoadMatrix { count, .. } => access(vec![(inst.dst, u16::from(count))], Vec::new(), Some(Space::Shared), None),
        Op::StoreMatrix { count, .. } => access(Vec::new(), vec![source(0, u16::from(count))], None, Some(Space::Shared)),
        Op::CopyAsync { .. } => {
            let mut uses = access(Vec::new(), Vec::new(), Some(Space::Global), Some(Space::Shared));
            uses.steering.extend([source(0, 1), source(1, 1)]);
            uses
        }
        Op::Mbarrier(op) => {
            let wide = matches!(op, Mbarrier::Write | Mbarrier::Arrive { arrivals: Amount::Register, .. });
            let mut uses = access(vec![(inst.dst, 2)], Vec::new(), None, None);
            uses.steering.push(source(0, 1 + u16::from(wide)));
            uses
        }
        Op::Bulk(op) => {
            let (reads, writes) = match op {
                Bulk::Prefetch => (None, None),
                Bulk::LoadTensor { .. } | Bulk::Load { .. } => (Some(Space::Global), Some(Space::Shared)),
                Bulk::Move => (Some(Space::Shared), Some(Space::Shared)),
                Bulk::StoreTensor { .. } | Bulk::ReduceTensor { .. } | Bulk::Store | Bulk::Reduce { .. } => {
                    (Some(Space::Shared), Some(Space::Global))
                }
            };
            InstructionUses { reads, writes, ..steers([8, 2, 2]) }
        }
        Op::Branch | Op::BranchAny | Op::Sync | Op::Break | Op::Call | Op::Exit | Op::WarpSyncAll | Op::Trap => steers([0; 3]),
        Op::ClusterArrive | Op::ClusterWait => steers([0; 3]),
        Op::BranchDiverged { .. } | Op::RegisterToBarrier | Op::WarpSync { .. } | Op::Barrier(_) => steers([1; 3]),
        Op::BranchIndirect | Op::JumpTo | Op::CallRuntime => steers([2; 3]),
        Op::BarrierToRegister { .. } | Op::BarrierResult => InstructionUses { steers: true, ..data(1, [0; 3]) },
    }
}

/// Returns the number of registers of a matrix fragment with `elements` elements of `bits` bits.
fn rows_of(elements: usize, bits: usize) -> u16 {
    (elements * bits / 1024) as u16
}

/// Returns the number of accumulator registers of a warp's product.
fn sum_registers(tensor: Tensor) -> u16 {
    let width = if tensor.a == Element::Double {
        64
    } else if tensor.half {
        16
    } else {
        32
    };
    rows_of(usize::from(tensor.m) * 8, width)
}

/// Returns the number of registers of the operands A, B and C of a warp's product.
fn fragment_registers(tensor: Tensor) -> [u16; 3] {
    let (m, k) = (usize::from(tensor.m), usize::from(tensor.k));
    [rows_of(m * k, tensor.a.bits()), rows_of(8 * k, tensor.b.bits()), sum_registers(tensor)]
}

fn group_product_uses(inst: &Inst, product: GroupProduct) -> InstructionUses {
    // A warp holds 16 of the 64 rows.
    let sums = rows_of(16 * usize::from(product.n), if product.half { 16 } else { 32 });
    let first = if product.registers { rows_of(16 * usize::from(product.k), product.a.bits()) } else { 0 };
    InstructionUses {
        results: vec![(inst.dst, sums)],
        data: vec![(inst.src[0].row, first), (inst.src[2].row, sums)],
        // The matrix descriptors.
        steering: vec![(inst.src[1].row, 4)],
        steers: true,
        product: true,
        ..InstructionUses::default()
    }
}

fn image_uses(inst: &Inst) -> InstructionUses {
    InstructionUses {
        results: vec![(inst.dst, 2), (inst.address.row, 2)],
        steering: vec![(inst.src[0].row, 4), (inst.src[1].row, 4), (inst.address.uniform, 1)],
        steers: true,
        reads: Some(Space::Global),
        writes: None,
        ..InstructionUses::default()
    }
}

/// Checks that the timing of a program does not depend on its matrix products; returns the number of product instructions in its code.
pub(super) fn check_products_unused(program: &Program) -> Result<u64, ProgramError> {
    let (mut global, mut products) = (false, 0);
    // A kernel is analysed once for each state of global memory, however often it is launched.
    let mut known = BTreeMap::new();
    for launch in program.launches.iter().filter(|launch| launch.copy.is_none()) {
        let kernel = &launch.kernel;
        let text = |place: usize| kernel.lines.get(place).map_or((0, ""), |(line, text)| (*line, text.as_str()));
        let calls = |place: usize| text(place).1.contains("CALL");
        let (code, rows) = (&kernel.decoded.code, kernel.decoded.rows);
        let after =
            known.entry((Arc::as_ptr(kernel), global)).or_insert_with(|| propagate(code, rows, global, (calls, |_, uses| uses.product)));
        global = *after.as_ref().map_err(|TimingDependence { place, why }| {
            let what = format!(
                "the cycles of kernel {} depend on the values of its matrix products, which --matrix-values skip leaves out",
                kernel.name
            );
            let (line, text) = text(*place);
            ProgramError::new(&kernel.file, line, what)
                .found(format!("`{text}` at pc {:#06x}, which {why}", 16 * place))
                .expected("addresses, branches and barriers that do not depend on a product")
                .help("leave out --matrix-values skip")
        })?;
        products += code.iter().filter(|inst| inst.op.is_product()).count() as u64;
    }
    Ok(products)
}

/// Returns, for each launch, the first instruction whose address, branch, guard or barrier depends on a clock that this launch or an
/// earlier one has read; `None` for copies and for launches without such an instruction.
pub(super) fn steered_by_clocks(program: &Program) -> Vec<Option<TimingDependence>> {
    let mut global = false;
    let mut known = BTreeMap::new();
    let one = |launch: &BoundLaunch| {
        if launch.copy.is_some() {
            return None;
        }
        let kernel = &launch.kernel;
        let calls = |place: usize| kernel.lines.get(place).is_some_and(|(_, text)| text.contains("CALL"));
        let (code, rows) = (&kernel.decoded.code, kernel.decoded.rows);
        let after = known
            .entry((Arc::as_ptr(kernel), global))
            .or_insert_with(|| propagate(code, rows, global, (calls, |inst: &Inst, _: &InstructionUses| inst.reads_clock())));
        match after {
            Ok(after) => {
                global = *after;
                None
            }
            Err(needed) => Some(*needed),
        }
    };
    program.launches.iter().map(one).collect()
}

/// An instruction whose effect on timing depends on a source, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimingDependence {
    pub(super) place: usize,
    pub(super) why: &'static str,
}

/// Propagates taint through a kernel; `global` is true if global memory is tainted before it. Returns true if global memory is tainted
/// afterwards. `calls(place)` is true if an indirect jump is a call through a pointer, as opposed to a return, and `source` is true if an
/// instruction's results are tainted.
fn propagate(
    code: &[Inst],
    rows: Rows,
    global: bool,
    (calls, source): (impl Fn(usize) -> bool, impl Fn(&Inst, &InstructionUses) -> bool),
) -> Result<bool, TimingDependence> {
    let mut spaces = TaintedSpaces { global, ..TaintedSpaces::default() };
    let returns: Vec<usize> =
        (0..code.len()).filter(|place| matches!(code[*place].op, Op::Call | Op::CallRuntime)).map(|place| place + 1).collect();
    // The propagation is repeated until no further memory space is tainted.
    loop {
        let before = spaces;
        let mut states: Vec<Option<TaintState>> = vec![None; code.len()];
        let mut open = vec![0];
        if let Some(first) = states.first_mut() {
            *first = Some(TaintState::default());
        }
        while let Some(place) = open.pop() {
            let (Some(inst), Some(Some(state))) = (code.get(place), states.get(place)) else { continue };
            let mut state = *state;
            propagate_through((inst, &source), rows, &mut state, &mut spaces).map_err(|why| TimingDependence { place, why })?;
            let ways = successors(inst, place, &returns).filter(|_| !(inst.op == Op::JumpTo && calls(place)));
            for next in ways.ok_or(TimingDependence { place, why: "jumps to an address in a register" })? {
                let Some(there) = states.get_mut(next) else { continue };
                let more = there.is_none();
                if there.get_or_insert(state).merge(&state) || more {
                    open.push(next);
                }
            }
        }
        if spaces == before {
            return Ok(spaces.global);
        }
    }
}

/// Propagates taint through one instruction.
fn propagate_through(
    (inst, source): (&Inst, &impl Fn(&Inst, &InstructionUses) -> bool),
    rows: Rows,
    state: &mut TaintState,
    spaces: &mut TaintedSpaces,
) -> Result<(), &'static str> {
    let uses = uses(inst);
    let conditions = inst.conditions.iter().any(|condition| state.is_predicate_tainted(*condition));
    let guard = state.is_predicate_tainted(inst.guard);
    if uses.steering.iter().any(|span| state.is_tainted(*span)) {
        return Err(if inst.group == ExecutorGroup::Access { "has an address" } else { "has an operand" });
    }
    if uses.steers && (guard || conditions) {
        return Err("has a condition");
    }
    let unknown = source(inst, &uses)
        || guard
        || conditions
        || uses.data.iter().any(|span| state.is_tainted(*span))
        || uses.all_predicates[0] && state.predicates & 0x7f != 0
        || uses.reads.is_some_and(|space| spaces.of(space));
    if unknown && let Some(space) = uses.writes {
        spaces.add(space);
    }
    // Under a guard, some lanes keep their old value and its taint.
    let whole = inst.guard == PredicateSource::TRUE;
    for span in uses.results.iter().filter(|(first, _)| *first < rows.zero() || *first >= rows.first_uniform()) {
        if unknown || whole {
            state.set_taint(*span, unknown);
        }
    }
    let written = if uses.all_predicates[1] {
        0x7f
    } else {
        inst.predicates.iter().filter(|to| **to != PREDICATE_SINK).fold(0, |set, to| set | 1 << to)
    };
    if unknown {
        state.predicates |= written;
    } else if whole {
        state.predicates &= !written;
    }
    Ok(())
}

/// Returns the successors of an instruction in the control-flow graph, or `None` for an indirect jump with unknown targets.
fn successors(inst: &Inst, place: usize, returns: &[usize]) -> Option<Vec<usize>> {
    let always = inst.guard == PredicateSource::TRUE && inst.conditions[0] == PredicateSource::TRUE;
    let target = inst.immediate as usize / 16;
    Some(match inst.op {
        Op::Branch if always => vec![target],
        Op::Branch | Op::BranchAny | Op::BranchDiverged { .. } => vec![target, place + 1],
        Op::Call if always => vec![target],
        Op::Call => vec![target, place + 1],
        Op::Exit if always => Vec::new(),
        Op::Trap if always => Vec::new(),
        // A return jumps to any call site.
        Op::JumpTo if !returns.is_empty() => returns.to_vec(),
        Op::JumpTo | Op::BranchIndirect => return None,
        _ => vec![place + 1],
    })
}
