//! Bound formulas: names are resolved to constants and frame slots, and a formula is evaluated once for a warp or for each of its lanes.

use warpshard_base::{LaneMask, Rng, WARP_SIZE};

use super::error::Problem;
use super::expr::{Expr, Op};

/// One value per lane.
pub(super) type Lanes = [i64; WARP_SIZE as usize];

/// Uniform slots of every warp; loop counters and uniform `let`s follow.
pub(super) mod uniform {
    pub(in super::super) const CTA: u16 = 0;
    pub(in super::super) const CTA_X: u16 = 1;
    pub(in super::super) const CTA_Y: u16 = 2;
    pub(in super::super) const CTA_Z: u16 = 3;
    pub(in super::super) const WARP: u16 = 4;
    pub(in super::super) const COUNT: u16 = 5;
}

/// Lane slots that depend only on the warp's position in the CTA; lane-varying `let`s follow.
pub(super) mod lanes {
    pub(in super::super) const LANE: u16 = 0;
    pub(in super::super) const THREAD: u16 = 1;
    pub(in super::super) const THREAD_X: u16 = 2;
    pub(in super::super) const THREAD_Y: u16 = 3;
    pub(in super::super) const THREAD_Z: u16 = 4;
    pub(in super::super) const COUNT: u16 = 5;
}

/// A bound formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A constant.
    Const(i64),
    /// A slot with one value for the warp.
    Uniform(u16),
    /// A slot with one value per lane.
    Lane(u16),
    /// A binary operation.
    Binary(Op, Box<(Value, Value)>),
    /// A random draw per lane, below the bound.
    Random(Box<Value>),
    /// A random draw for the warp, below the bound.
    RandomWarp(Box<Value>),
}

/// Faults of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EvaluationFault {
    /// An undefined or overflowing operation.
    Arithmetic(Op, i64, i64),
    /// A random draw with a bound that is not positive.
    Bound(i64),
}

impl std::fmt::Display for EvaluationFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Arithmetic(op, a, b) => f.write_str(&op.failure_reason(a, b)),
            Self::Bound(bound) => write!(f, "random({bound}); the argument must be at least 1"),
        }
    }
}

/// Meanings of a name in a formula that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameMeaning {
    /// A compile-time constant.
    Const(i64),
    /// A uniform slot.
    Uniform(u16),
    /// A lane slot.
    Lane(u16),
    /// `cta * threads + thread`, for this number of threads.
    GlobalThread(i64),
}

/// Resolves the names of `expr` and folds constants. The caller adds the location of a problem.
pub(super) fn bind(expr: &Expr, resolve: &dyn Fn(&str) -> Result<NameMeaning, Problem>) -> Result<Value, Problem> {
    Ok(match expr {
        Expr::Int(value) => Value::Const(*value),
        Expr::Name(name) => match resolve(name)? {
            NameMeaning::Const(value) => Value::Const(value),
            NameMeaning::Uniform(slot) => Value::Uniform(slot),
            NameMeaning::Lane(slot) => Value::Lane(slot),
            NameMeaning::GlobalThread(threads) => {
                let base = Value::Binary(Op::Mul, Box::new((Value::Uniform(uniform::CTA), Value::Const(threads))));
                Value::Binary(Op::Add, Box::new((base, Value::Lane(lanes::THREAD))))
            }
        },
        Expr::Binary(op, sides) => match (bind(&sides.0, resolve)?, bind(&sides.1, resolve)?) {
            (Value::Const(a), Value::Const(b)) => {
                Value::Const(op.apply(a, b).ok_or_else(|| fault(EvaluationFault::Arithmetic(*op, a, b)))?)
            }
            sides => Value::Binary(*op, Box::new(sides)),
        },
        Expr::Random { per_warp, bound } => {
            let bound = bind(bound, resolve)?;
            if let Value::Const(bound @ ..=0) = bound {
                return Err(fault(EvaluationFault::Bound(bound)));
            }
            if *per_warp {
                if bound.varies() {
                    let problem = Problem::new(0, "", "random_warp draws one number for the warp, but its argument varies by lane");
                    return Err(problem.help("use random(...), which draws for each lane"));
                }
                Value::RandomWarp(Box::new(bound))
            } else {
                Value::Random(Box::new(bound))
            }
        }
    })
}

/// Returns the problem of a fault among constants; the caller adds the location.
fn fault(fault: EvaluationFault) -> Problem {
    Problem::new(0, "", fault.to_string()).help("change the formula, or the parameters that determine it")
}

impl Value {
    /// Calls `see` with every node of the formula.
    fn visit(&self, see: &mut dyn FnMut(&Self)) {
        see(self);
        match self {
            Self::Binary(_, sides) => {
                sides.0.visit(see);
                sides.1.visit(see);
            }
            Self::Random(bound) | Self::RandomWarp(bound) => bound.visit(see),
            _ => {}
        }
    }

    fn any_node(&self, holds: impl Fn(&Self) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |value| found |= holds(value));
        found
    }

    /// Returns true if lanes of a warp may get different values.
    pub(super) fn varies(&self) -> bool {
        self.any_node(|value| matches!(value, Self::Lane(_) | Self::Random(_)))
    }

    /// Returns true if the value depends only on the position of the thread in its CTA.
    pub(super) fn is_fixed(&self) -> bool {
        !self.any_node(|value| match value {
            Self::Lane(slot) => *slot >= lanes::COUNT,
            Self::Uniform(_) | Self::Random(_) | Self::RandomWarp(_) => true,
            _ => false,
        })
    }

    /// Returns true if CTAs may get different values.
    pub(super) fn differs_by_cta(&self) -> bool {
        self.any_node(|value| match value {
            Self::Uniform(slot) => *slot < uniform::WARP,
            Self::Random(_) | Self::RandomWarp(_) => true,
            _ => false,
        })
    }

    /// Returns true if warps of a CTA may get different values.
    pub(super) fn differs_by_warp(&self) -> bool {
        self.any_node(|value| match value {
            Self::Uniform(slot) => *slot == uniform::WARP,
            Self::Lane(slot) => (lanes::THREAD..lanes::COUNT).contains(slot),
            Self::Random(_) | Self::RandomWarp(_) => true,
            _ => false,
        })
    }

    /// Evaluates a formula that does not vary by lane.
    pub(super) fn scalar(&self, frame: &mut Frame<'_>) -> Result<i64, EvaluationFault> {
        match self {
            Self::Const(value) => Ok(*value),
            Self::Uniform(slot) => Ok(frame.uniform[usize::from(*slot)]),
            Self::Binary(op, sides) => {
                let (a, b) = (sides.0.scalar(frame)?, sides.1.scalar(frame)?);
                op.apply(a, b).ok_or(EvaluationFault::Arithmetic(*op, a, b))
            }
            Self::RandomWarp(bound) => {
                let bound = bound.scalar(frame)?;
                let mut rng = frame.draw();
                positive_bound(bound).map(|bound| rng.below(bound) as i64)
            }
            Self::Lane(_) | Self::Random(_) => unreachable!("a formula that varies by lane is evaluated by lane"),
        }
    }

    /// Evaluates the formula for every lane in `mask`; the values of other lanes are arbitrary.
    pub(super) fn lanes(&self, frame: &mut Frame<'_>, mask: LaneMask, out: &mut Lanes) -> Result<(), EvaluationFault> {
        match self {
            Self::Lane(slot) => *out = *frame.lane_slot(*slot),
            Self::Binary(op, sides) => {
                let mut right = [0; WARP_SIZE as usize];
                sides.0.lanes(frame, mask, out)?;
                sides.1.lanes(frame, mask, &mut right)?;
                combine(*op, mask, out, &right)?;
            }
            Self::Random(bound) if matches!(**bound, Self::Const(_)) => {
                let bound = positive_bound(bound.scalar(frame)?)?;
                let mut rng = frame.draw();
                out.fill_with(|| rng.below(bound) as i64);
            }
            Self::Random(bound) => {
                bound.lanes(frame, mask, out)?;
                let mut rng = frame.draw();
                for (lane, slot) in out.iter_mut().enumerate() {
                    let active = mask.0 >> lane & 1 != 0;
                    let bound = if active { positive_bound(*slot)? } else { 1 };
                    *slot = rng.below(bound) as i64;
                }
            }
            Self::Const(_) | Self::Uniform(_) | Self::RandomWarp(_) => *out = [self.scalar(frame)?; WARP_SIZE as usize],
        }
        Ok(())
    }

    /// Returns the lanes of `mask` for which the value is not 0.
    pub(super) fn select(&self, frame: &mut Frame<'_>, mask: LaneMask) -> Result<LaneMask, EvaluationFault> {
        if !self.varies() {
            return Ok(if self.scalar(frame)? != 0 { mask } else { LaneMask(0) });
        }
        let mut values = [0; WARP_SIZE as usize];
        self.lanes(frame, mask, &mut values)?;
        let chosen = values.iter().enumerate().fold(0, |bits, (lane, &value)| bits | u32::from(value != 0) << lane);
        Ok(LaneMask(chosen & mask.0))
    }
}

fn positive_bound(bound: i64) -> Result<u64, EvaluationFault> {
    u64::try_from(bound).ok().filter(|&bound| bound > 0).ok_or(EvaluationFault::Bound(bound))
}

/// Computes `left = left op right` for the lanes of `mask`; the operation is selected outside of the loop over lanes.
fn combine(op: Op, mask: LaneMask, left: &mut Lanes, right: &Lanes) -> Result<(), EvaluationFault> {
    #[inline(always)]
    fn apply_to_lanes(
        op: Op,
        mask: LaneMask,
        left: &mut Lanes,
        right: &Lanes,
        apply: impl Fn(i64, i64) -> Option<i64>,
    ) -> Result<(), EvaluationFault> {
        for (lane, (a, &b)) in left.iter_mut().zip(right).enumerate() {
            match apply(*a, b) {
                Some(value) => *a = value,
                None if mask.0 >> lane & 1 != 0 => return Err(EvaluationFault::Arithmetic(op, *a, b)),
                None => *a = 0,
            }
        }
        Ok(())
    }
    match op {
        Op::Add => apply_to_lanes(op, mask, left, right, i64::checked_add),
        Op::Sub => apply_to_lanes(op, mask, left, right, i64::checked_sub),
        Op::Mul => apply_to_lanes(op, mask, left, right, i64::checked_mul),
        Op::Lt => apply_to_lanes(op, mask, left, right, |a, b| Some(i64::from(a < b))),
        _ => apply_to_lanes(op, mask, left, right, |a, b| op.apply(a, b)),
    }
}

/// The inputs of all formulas of one warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame<'p> {
    /// The fixed lane slots of the warp.
    pub(super) positions: &'p [Lanes],
    /// One value per uniform slot.
    pub(super) uniform: Vec<i64>,
    /// One vector per further lane slot.
    pub(super) lanes: Vec<Lanes>,
    /// Random seed of the run.
    pub(super) seed: u64,
    /// Number of the launch in the workload.
    pub(super) kernel: u64,
    /// Number of draws so far in this warp.
    pub(super) occurrence: u64,
}

impl Frame<'_> {
    #[inline]
    fn lane_slot(&self, slot: u16) -> &Lanes {
        let (slot, fixed) = (usize::from(slot), usize::from(lanes::COUNT));
        if slot < fixed { &self.positions[slot] } else { &self.lanes[slot - fixed] }
    }

    /// Returns the generator of the next draw, which is keyed by (kernel, CTA, warp, occurrence), so that it does not depend on other
    /// draws.
    fn draw(&mut self) -> Rng {
        let cta = self.uniform[usize::from(uniform::CTA)] as u64;
        let warp = self.uniform[usize::from(uniform::WARP)] as u64;
        self.occurrence += 1;
        Rng::keyed(self.seed, &[self.kernel, cta, warp, self.occurrence])
    }
}
