//! Decoder that binds the text of a kernel to register rows and to the constants of a launch.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::super::error::ProgramError;
use super::super::listing::{KernelText, TextInst};
use super::super::operand::{Half, Kind, Operand, PT, RZ, URZ};
use super::banks::Banks;
use super::inst::{Address, FIRST_CONSTANT_ROW, Inst, PREDICATE_SINK, PredicateSource, Rows, Source};
use super::kinds::{AtomicOp, Special, SummationRule};
use super::op::Op;
use super::parts::MnemonicParts;
use super::table::lookup;

/// Maximum instructions of a kernel, which streams number in 24 bits.
const MAX_INSTRUCTIONS: usize = 1 << 23;
/// Maximum rows of constants.
const MAX_CONSTANTS: usize = 0x7f00;
/// Maximum distance in instructions from a load to the compare-and-swap that checks its value.
const MAX_SWAP_DISTANCE: usize = 64;

/// A constant operand. The rows of its two words follow the rows of the previous constants, from [`FIRST_CONSTANT_ROW`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Constant {
    /// An immediate number.
    Value(u64),
    /// 64 bits of a constant bank; a high half beyond the end of the bank is 0.
    Bank(u8, i64),
    /// 32 bits of a constant bank.
    Word(u8, i64),
}

impl Constant {
    /// Returns the value of the constant in the banks of a launch, or `None` beyond the end of its bank.
    pub(in super::super) fn value(self, banks: &Banks) -> Option<u64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Word(bank, offset) => banks.read(bank, offset, 4),
            Self::Bank(bank, offset) => Some(banks.read(bank, offset, 4)? | banks.read(bank, offset + 4, 4).unwrap_or(0) << 32),
        }
    }
}

/// The decoded instructions of a kernel, which execute with the constant banks of any launch.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct DecodedKernel {
    pub(in super::super) code: Box<[Inst]>,
    pub(in super::super) constants: Box<[Constant]>,
    pub(in super::super) rows: Rows,
    /// For each instruction the index of the operand that is its destination register.
    pub(in super::super) destinations: Box<[Option<usize>]>,
}

/// Decodes a kernel of the architecture `arch` (80 for sm_80).
pub(in super::super) fn decode(file: &Path, kernel: &KernelText, banks: &Banks, arch: u32) -> Result<DecodedKernel, ProgramError> {
    let named = kernel.code.iter().flat_map(|inst| &inst.operands).filter_map(highest_register).max().unwrap_or(0);
    let sums = kernel.code.iter().filter_map(super::hopper::last_register).max().unwrap_or(0);
    let registers = (u16::from(named) + 8).max(sums + 1);
    let uniform = kernel.code.iter().any(|inst| inst.operands.iter().any(names_uniform));
    let rows = Rows { registers, uniform: if uniform { 72 } else { 0 } };
    let mut binder = Binder { rows, banks, rule: SummationRule::of(arch), constants: Vec::new(), places: FxHashMap::default() };
    if kernel.code.len() > MAX_INSTRUCTIONS {
        return Err(ProgramError::new(file, 0, format!("kernel {} is too long", kernel.name))
            .found(format!("{} instructions", kernel.code.len()))
            .expected(format!("at most {MAX_INSTRUCTIONS}")));
    }
    let mut code = Vec::with_capacity(kernel.code.len());
    let mut destinations = Vec::with_capacity(kernel.code.len());
    for text in &kernel.code {
        let (inst, destination) = binder.inst(text).map_err(|problem| {
            let found = format!("`{}` at pc {:#06x} of kernel {}", text.mnemonic, text.pc, kernel.name);
            ProgramError::new(file, text.line, problem.what()).found(found).help(problem.help())
        })?;
        code.push(inst);
        destinations.push(destination);
    }
    mark_rechecked(&mut code);
    // Reads beyond the last constant return zeros.
    Ok(DecodedKernel { code: code.into(), constants: binder.constants.into(), rows, destinations: destinations.into() })
}

/// Marks loads whose value a compare-and-swap checks: the last load before it from the same address, or into the compared register.
fn mark_rechecked(code: &mut [Inst]) {
    for place in 0..code.len() {
        let swap = code[place];
        if !matches!(swap.op, Op::Atomic { op: AtomicOp::Swap | AtomicOp::Cast, .. }) {
            continue;
        }
        let mut same_address = true;
        for load in code[..place].iter_mut().rev().take(MAX_SWAP_DISTANCE) {
            let compared = load.dst == swap.src[0].row;
            if matches!(load.op, Op::Load { .. }) && (compared || same_address && load.address == swap.address) {
                load.rechecked = true;
            }
            if load.rechecked || compared {
                break;
            }
            same_address &= load.dst != swap.address.row;
        }
    }
}

/// Returns the instructions of a kernel that cannot be executed: opcode with modifiers, line and reason.
pub(in super::super) fn unsupported_instructions(kernel: &KernelText, banks: &Banks) -> Vec<(String, u32, String)> {
    let mut refused = Vec::new();
    for text in &kernel.code {
        // Each instruction has separate constants, so their number is not limited here.
        let rows = Rows { registers: 256, uniform: 72 };
        let mut binder = Binder { rows, banks, rule: SummationRule::VOLTA, constants: Vec::new(), places: FxHashMap::default() };
        if let Err(problem) = binder.inst(text) {
            refused.push((text.mnemonic.clone(), text.line, problem.what()));
        }
    }
    refused
}

fn highest_register(operand: &Operand) -> Option<u8> {
    match operand.kind {
        Kind::Register(number) if number != RZ => Some(number),
        Kind::Memory { register: Some(number), .. } | Kind::Constant { register: Some(number), .. } if number != RZ => Some(number),
        _ => None,
    }
}

fn names_uniform(operand: &Operand) -> bool {
    matches!(
        operand.kind,
        Kind::Uniform(_) | Kind::Descriptor(..) | Kind::Memory { uniform: Some(_), .. } | Kind::Constant { uniform: Some(_), .. }
    )
}

/// The reason why an instruction cannot be decoded.
pub(super) enum DecodeError {
    Opcode,
    Modifier(String),
    Operands(&'static str),
    Constant,
    Constants,
}

impl DecodeError {
    fn what(&self) -> String {
        match self {
            Self::Opcode => "the opcode is not implemented".into(),
            Self::Modifier(part) => format!("the modifier `.{part}` of the opcode is not implemented"),
            Self::Operands(shape) => format!("the operands do not have the form of the opcode, `{shape}`"),
            Self::Constants => "the kernel has too many constants".into(),
            Self::Constant => "a constant lies beyond the end of its bank".into(),
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Opcode | Self::Modifier(_) => {
                "docs/programs.md lists what is implemented; write the source so that it is not needed, or record a trace on a GPU"
            }
            Self::Constants => "split the kernel in two",
            Self::Operands(_) | Self::Constant => "the listing is damaged or of an architecture that writes it otherwise: compile it again",
        }
    }
}

pub(super) struct Binder<'a> {
    rows: Rows,
    pub(super) banks: &'a Banks,
    /// Summation rule of the architecture's matrix unit.
    rule: SummationRule,
    constants: Vec<Constant>,
    places: FxHashMap<Constant, u16>,
}

impl Binder<'_> {
    fn inst(&mut self, text: &TextInst) -> Result<(Inst, Option<usize>), DecodeError> {
        let parts = MnemonicParts::new(&text.mnemonic);
        let (mut op, shape) =
            lookup(parts).map_err(|modifier| modifier.map_or(DecodeError::Opcode, |part| DecodeError::Modifier(part.into())))?;
        // `BMOV R16, B6` reads a convergence barrier and `BMOV B6, R16` writes it.
        let shape = match (op, text.operands.first().map(|operand| &operand.kind)) {
            (Op::RegisterToBarrier, Some(Kind::Register(_))) => {
                op = Op::BarrierToRegister { clear: false };
                "DB"
            }
            // A call through a function pointer.
            (Op::Call, Some(Kind::Register(_))) => {
                op = Op::JumpTo;
                "SI"
            }
            _ if parts.name() == "ULDC" && text.operands.get(1).is_some_and(is_indexed) => {
                let (number, words) = parts.access();
                op = Op::LoadConstant { number, words };
                "DC"
            }
            _ => shape,
        };
        let uniform = parts.name().starts_with('U') || matches!(parts.name(), "S2UR" | "R2UR" | "VOTEU" | "REDUX");
        let mut inst = Inst {
            op,
            group: op.group(),
            guard: predicate(&text.guard).unwrap_or(PredicateSource::TRUE),
            dst: self.rows.sink(),
            predicates: [PREDICATE_SINK; 2],
            src: [self.zero_source(); 3],
            conditions: [PredicateSource::TRUE; 3],
            address: Address { row: self.rows.zero(), uniform: self.rows.zero(), ..Address::default() },
            immediate: 0,
            uniform: uniform && !matches!(parts.name(), "REDUX" | "VOTEU" | "R2UR"),
            rechecked: false,
        };
        if let Op::GroupProduct(product) = op {
            self.product(text, &mut inst, product)?;
            return Ok((inst, Some(0)));
        }
        if let Op::Bulk(_) = op {
            self.bulk(text, &mut inst)?;
            return Ok((inst, None));
        }
        if let Op::Image(image) = op {
            let destination = self.image(text, &mut inst, image)?;
            return Ok((inst, destination));
        }
        let raw = (text.words[0] >> 32) as u32;
        let (mut sources, mut conditions, mut destinations) = (0, 0, 0);
        let mut destination = None;
        let mut operands = text.operands.iter().peekable();
        let wrong = DecodeError::Operands(shape);
        for letter in shape.chars() {
            let optional = letter.is_ascii_lowercase();
            let next = operands.peek().copied();
            let fits = next.is_some_and(|operand| fits(letter.to_ascii_uppercase(), operand));
            if !fits {
                // Unused carries and unused registers are omitted.
                if optional || letter == '*' {
                    continue;
                }
                return Err(wrong);
            }
            let Some(operand) = operands.next() else { return Err(wrong) };
            match letter.to_ascii_uppercase() {
                'D' => {
                    inst.dst = self.destination(operand);
                    destination = text.operands.iter().position(|other| std::ptr::eq(other, operand));
                }
                'P' => {
                    let number = predicate(operand).map_or(PREDICATE_SINK, |predicate| predicate.index);
                    inst.predicates[destinations] = if number & 7 == PT { PREDICATE_SINK } else { number };
                    destinations += 1;
                }
                'S' => {
                    inst.src[sources] = self.source(operand, op, raw)?;
                    sources += 1;
                    // The two halves of a half-precision immediate are written separately.
                    if matches!(operand.kind, Kind::Float | Kind::Integer(_)) && op.has_half_operands() {
                        operands.next_if(|next| matches!(next.kind, Kind::Float | Kind::Integer(_)));
                    }
                }
                'Q' => {
                    inst.conditions[conditions] = predicate(operand).ok_or(DecodeError::Operands(shape))?;
                    conditions += 1;
                }
                'M' => inst.address = self.address(operand, parts.has("E")),
                'N' => {
                    let place = self.address(operand, false);
                    inst.src[0].row = place.row;
                    inst.src[1].row = place.uniform;
                    inst.immediate = place.offset as u32;
                }
                'C' => inst.address = self.address(operand, false),
                'B' => {
                    let (Kind::Barrier(number) | Kind::Scoreboard(number)) = operand.kind else { return Err(wrong) };
                    inst.address.bank = number;
                }
                'I' => {
                    let value = match operand.kind {
                        Kind::Integer(value) => value as u32,
                        Kind::Label(place) => place,
                        _ => return Err(wrong),
                    };
                    // Two truth tables share the field.
                    inst.immediate = if op == Op::PredicateLogic { inst.immediate << 8 | value & 0xff } else { value };
                }
                'R' => {
                    let Kind::Special(name) = &operand.kind else { return Err(wrong) };
                    let wide = matches!(op, Op::Special(_, true));
                    inst.op = Op::Special(special(name).ok_or_else(|| DecodeError::Modifier(format!("SR_{name}")))?, wide);
                }
                _ => {}
            }
            if letter == '*' && shape == "*" {
                // The duration of a sleep has no effect; the immediate only marks NANOSLEEP.
                inst.immediate = u32::from(parts.name() == "NANOSLEEP");
                return Ok((inst, None));
            }
        }
        if operands.next().is_some() && !shape.ends_with('*') {
            return Err(wrong);
        }
        match &mut inst.op {
            Op::LoadConstant { .. } => inst.address.uniform_wide = false,
            Op::Tensor(tensor) => tensor.rule = self.rule,
            Op::Quad { a_column, b_column, .. } => (*a_column, *b_column) = (text.operands[1].column, text.operands[2].column),
            _ => {}
        }
        Ok((inst, destination))
    }

    fn zero_source(&self) -> Source {
        Source { row: self.rows.zero(), ..Source::default() }
    }

    pub(super) fn row(&self, number: u8) -> u16 {
        if number == RZ { self.rows.zero() } else { u16::from(number) }
    }

    pub(super) fn uniform_row(&self, number: u8) -> u16 {
        if number == URZ { self.rows.zero() } else { self.rows.first_uniform() + u16::from(number) }
    }

    pub(super) fn destination(&self, operand: &Operand) -> u16 {
        match operand.kind {
            Kind::Register(RZ) | Kind::Uniform(URZ) => self.rows.sink(),
            Kind::Register(number) => u16::from(number),
            Kind::Uniform(number) => self.uniform_row(number),
            _ => self.rows.sink(),
        }
    }

    fn source(&mut self, operand: &Operand, op: Op, raw: u32) -> Result<Source, DecodeError> {
        if operand.byte != 0 && !op.accepts_bytes() {
            return Err(DecodeError::Modifier(format!("B{}", operand.byte)));
        }
        if operand.half != Half::Both && !op.accepts_half(operand.half) {
            let part = match operand.half {
                Half::High => "H1",
                Half::Single => "F32",
                _ => "H0",
            };
            return Err(DecodeError::Modifier(part.into()));
        }
        let floats = op.has_float_operands();
        let mut source = Source {
            row: 0,
            negate: operand.negate,
            absolute: operand.absolute,
            invert: operand.invert,
            half: operand.half,
            byte: operand.byte,
        };
        source.row = match operand.kind {
            Kind::Register(number) => self.row(number),
            Kind::Uniform(number) => self.uniform_row(number),
            Kind::Constant { bank, register: None, uniform: None, offset } => self.constant(Constant::Bank(bank, offset))?,
            Kind::Float | Kind::Integer(_) if floats => {
                source.half = if operand.half == Half::Both { Half::Both } else { operand.half };
                self.constant(Constant::Value(if op.has_double_operands() { u64::from(raw) << 32 } else { u64::from(raw) }))?
            }
            Kind::Integer(value) => self.constant(Constant::Value(value as u64))?,
            Kind::AllPredicates => self.rows.zero(),
            _ => return Err(DecodeError::Operands("S")),
        };
        Ok(source)
    }

    /// Returns the first row of a 64-bit constant; the next row holds its high word.
    pub(super) fn constant(&mut self, constant: Constant) -> Result<u16, DecodeError> {
        if let Some(&row) = self.places.get(&constant) {
            return Ok(row);
        }
        if 2 * self.constants.len() >= MAX_CONSTANTS {
            return Err(DecodeError::Constants);
        }
        constant.value(self.banks).ok_or(DecodeError::Constant)?;
        let row = FIRST_CONSTANT_ROW + 2 * self.constants.len() as u16;
        self.constants.push(constant);
        self.places.insert(constant, row);
        Ok(row)
    }

    /// Binds an address; with `extended` a register without a width suffix is a pair, as on Volta.
    fn address(&self, operand: &Operand, extended: bool) -> Address {
        let (register, wide, scale, uniform, offset, bank) = match operand.kind {
            Kind::Memory { register, wide, narrow, scale, uniform, offset } => {
                (register, wide || extended && !narrow, scale, uniform, offset, 0)
            }
            Kind::Constant { bank, register, uniform, offset } => (register, false, 1, uniform, offset, bank),
            _ => (None, false, 1, None, 0, 0),
        };
        Address {
            row: register.map_or(self.rows.zero(), |number| self.row(number)),
            wide,
            scale,
            uniform: uniform.map_or(self.rows.zero(), |number| self.uniform_row(number)),
            uniform_wide: wide || register.is_none() || extended,
            offset,
            bank,
        }
    }
}

/// Returns true if an operand fits a letter of an operand shape.
fn fits(letter: char, operand: &Operand) -> bool {
    match letter {
        'D' => matches!(operand.kind, Kind::Register(_) | Kind::Uniform(_)),
        'P' | 'Q' => matches!(operand.kind, Kind::Predicate(_) | Kind::UniformPredicate(_)),
        'S' => !matches!(
            operand.kind,
            Kind::Predicate(_)
                | Kind::UniformPredicate(_)
                | Kind::Memory { .. }
                | Kind::Special(_)
                | Kind::Barrier(_)
                | Kind::Scoreboard(_)
                | Kind::Label(_)
        ),
        'M' | 'N' => matches!(operand.kind, Kind::Memory { .. }),
        'C' => matches!(operand.kind, Kind::Constant { .. }),
        'B' => matches!(operand.kind, Kind::Barrier(_) | Kind::Scoreboard(_)),
        'I' => matches!(operand.kind, Kind::Integer(_) | Kind::Label(_)),
        'R' => matches!(operand.kind, Kind::Special(_)),
        '*' => true,
        _ => false,
    }
}

/// Returns true for a constant with a register in its address: `c[0x3][UR4+0x8]`.
fn is_indexed(operand: &Operand) -> bool {
    matches!(operand.kind, Kind::Constant { register: Some(_), .. } | Kind::Constant { uniform: Some(_), .. })
}

fn predicate(operand: &Operand) -> Option<PredicateSource> {
    let index = match operand.kind {
        Kind::Predicate(number) => number,
        Kind::UniformPredicate(number) => number + 8,
        _ => return None,
    };
    Some(PredicateSource { index, invert: operand.invert })
}

fn special(name: &str) -> Option<Special> {
    Some(match name {
        "SRZ" | "VIRTUALSMID" | "SMEMSZ" => Special::Zero,
        "CgaCtaId" => Special::ClusterRank,
        "TID.X" => Special::Thread(0),
        "TID.Y" => Special::Thread(1),
        "TID.Z" => Special::Thread(2),
        "CTAID.X" => Special::Cta(0),
        "CTAID.Y" => Special::Cta(1),
        "CTAID.Z" => Special::Cta(2),
        "LANEID" => Special::Lane,
        "VIRTID" | "WARPID" => Special::Warp,
        "CLOCKLO" | "GLOBALTIMERLO" => Special::Clock(0),
        "CLOCKHI" | "GLOBALTIMERHI" => Special::Clock(1),
        "EQMASK" => Special::LaneMask(0),
        "LTMASK" => Special::LaneMask(1),
        "LEMASK" => Special::LaneMask(2),
        "GTMASK" => Special::LaneMask(3),
        "GEMASK" => Special::LaneMask(4),
        "SWINHI" => Special::SharedWindow,
        _ => return None,
    })
}
