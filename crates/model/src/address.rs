//! Address functions, split so that an access costs a few additions: a part for the warp, and a pattern over the lanes.
//!
//! An index is rewritten as a constant, plus uniform terms (CTA, loop counters), plus terms that depend only on the position of the thread
//! in its CTA, plus all other terms. The terms by position are tabulated per warp when the kernel is compiled, in the format of streams.
//! Only the last terms (random draws, lane-varying `let`s, products of lanes and counters) are evaluated lane by lane.

use warpshard_base::{LaneMask, WARP_SIZE};
use warpshard_workload::AddressForm;

use super::expr::Op;
use super::value::{EvaluationFault, Frame, Lanes, Value};

/// A sum of products.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// The constant term.
    pub(super) constant: i64,
    /// Uniform slots and their factors.
    pub(super) slots: Vec<(u16, i64)>,
    /// Other uniform formulas and their factors.
    pub(super) uniform: Vec<(Value, i64)>,
    /// Terms that depend only on the position of the thread in its CTA.
    pub(super) fixed: Vec<(Value, i64)>,
    /// Terms that are evaluated lane by lane.
    pub(super) varying: Vec<(Value, i64)>,
}

impl Sum {
    /// Splits `value` into a sum of terms.
    pub(super) fn of(value: &Value) -> Result<Self, EvaluationFault> {
        let mut sum = Self::default();
        sum.add(value, 1)?;
        Ok(sum)
    }

    fn add(&mut self, value: &Value, factor: i64) -> Result<(), EvaluationFault> {
        let times = |a: i64, b: i64| a.checked_mul(b).ok_or(EvaluationFault::Arithmetic(Op::Mul, a, b));
        match value {
            Value::Const(constant) => {
                let term = times(*constant, factor)?;
                self.constant = self.constant.checked_add(term).ok_or(EvaluationFault::Arithmetic(Op::Add, self.constant, term))?;
            }
            Value::Uniform(slot) => match self.slots.iter_mut().find(|(known, _)| known == slot) {
                Some((_, known)) => *known = known.checked_add(factor).ok_or(EvaluationFault::Arithmetic(Op::Add, *known, factor))?,
                None => self.slots.push((*slot, factor)),
            },
            Value::Binary(op, sides) => match (op, &sides.0, &sides.1) {
                (Op::Add, a, b) => {
                    self.add(a, factor)?;
                    self.add(b, factor)?;
                }
                (Op::Sub, a, b) => {
                    self.add(a, factor)?;
                    self.add(b, times(factor, -1)?)?;
                }
                (Op::Mul, Value::Const(k), other) | (Op::Mul, other, Value::Const(k)) => self.add(other, times(*k, factor)?)?,
                (Op::Shl, other, Value::Const(k @ 0..=62)) => self.add(other, times(1 << k, factor)?)?,
                _ => self.atom(value, factor),
            },
            _ => self.atom(value, factor),
        }
        Ok(())
    }

    fn atom(&mut self, value: &Value, factor: i64) {
        let terms = match value {
            _ if !value.varies() => &mut self.uniform,
            _ if value.is_fixed() => &mut self.fixed,
            _ => &mut self.varying,
        };
        terms.push((value.clone(), factor));
    }

    /// Evaluates the constant and uniform terms.
    #[inline]
    pub(super) fn base(&self, frame: &mut Frame<'_>) -> Result<i64, EvaluationFault> {
        let mut total = self.constant;
        for &(slot, factor) in &self.slots {
            total = accumulate(total, frame.uniform[usize::from(slot)], factor)?;
        }
        for (value, factor) in &self.uniform {
            total = accumulate(total, value.scalar(frame)?, *factor)?;
        }
        Ok(total)
    }

    /// Adds `terms` to the lanes of `mask`.
    pub(super) fn add_terms(terms: &[(Value, i64)], frame: &mut Frame<'_>, mask: LaneMask, out: &mut Lanes) -> Result<(), EvaluationFault> {
        let mut values = [0; WARP_SIZE as usize];
        for (value, factor) in terms {
            value.lanes(frame, mask, &mut values)?;
            // The loop collects overflow instead of branching on it, so that the compiler can vectorise the loop.
            let mut overflow = 0;
            for (lane, (total, &value)) in out.iter_mut().zip(&values).enumerate() {
                let (term, first) = value.overflowing_mul(*factor);
                let (sum, second) = total.overflowing_add(term);
                *total = sum;
                overflow |= u32::from(first | second) << lane;
            }
            if let Some(lane) = LaneMask(overflow & mask.0).iter().next() {
                return Err(EvaluationFault::Arithmetic(Op::Mul, values[lane as usize], *factor));
            }
        }
        Ok(())
    }
}

#[inline]
fn accumulate(total: i64, value: i64, factor: i64) -> Result<i64, EvaluationFault> {
    let term = value.checked_mul(factor).ok_or(EvaluationFault::Arithmetic(Op::Mul, value, factor))?;
    total.checked_add(term).ok_or(EvaluationFault::Arithmetic(Op::Add, total, term))
}

/// A comparison of two sums. For most warps the extremes of the fixed part decide it.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// Comparison operator between the difference and 0.
    pub(super) op: Op,
    /// Left side minus right side, without terms that are evaluated lane by lane.
    pub(super) difference: Sum,
    /// Index of the pattern of each warp of the CTA.
    pub(super) patterns: Box<[u32]>,
}

impl Comparison {
    /// Returns `value` as a comparison of a sum with 0; `None` for another kind of formula.
    pub(super) fn of(value: &Value) -> Option<(Op, Sum)> {
        let Value::Binary(op @ (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne), sides) = value else { return None };
        let mut difference = Sum::of(&sides.0).ok()?;
        difference.add(&sides.1, -1).ok()?;
        difference.varying.is_empty().then_some((*op, difference))
    }

    /// Returns the lanes of `mask` for which the comparison holds; `None` if a sum overflows.
    #[inline]
    pub(super) fn select(&self, frame: &mut Frame<'_>, pattern: &Pattern, mask: LaneMask) -> Option<LaneMask> {
        let base = self.difference.base(frame).ok()?;
        let (low, high) = (base.checked_add(pattern.least)?, base.checked_add(pattern.greatest)?);
        let holds = |difference: i64| self.op.apply(difference, 0) == Some(1);
        let one_sided = high < 0 || low > 0 || low == high;
        if one_sided {
            return Some(if holds(low) { mask } else { LaneMask(0) });
        }
        let chosen = pattern.offsets.iter().enumerate().fold(0, |bits, (lane, &offset)| bits | u32::from(holds(base + offset)) << lane);
        Some(LaneMask(chosen & mask.0))
    }
}

/// The fixed part of an access for one warp, with all lanes active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Offset of each lane from the base, in elements.
    pub(super) offsets: Lanes,
    /// Least of the offsets.
    pub(super) least: i64,
    /// Greatest of the offsets.
    pub(super) greatest: i64,
    /// The format in a stream; `List` if the addresses are stored lane by lane.
    pub(super) form: AddressForm,
    /// Words that a stream stores after the base: the stride, or 31 differences, in bytes.
    pub(super) tail: Box<[u32]>,
}

impl Pattern {
    /// Returns the pattern of `offsets`, which count elements of `element_bytes` bytes.
    pub(super) fn of(offsets: Lanes, element_bytes: i64) -> Self {
        let delta = |pair: &[i64]| {
            let bytes = pair[1].checked_sub(pair[0])?.checked_mul(element_bytes)?;
            i32::try_from(bytes).ok().map(|bytes| bytes as u32)
        };
        let deltas: Option<Box<[u32]>> = offsets.windows(2).map(delta).collect();
        let (form, tail) = match deltas {
            None => (AddressForm::List, Box::default()),
            Some(deltas) if deltas.windows(2).all(|pair| pair[0] == pair[1]) => (AddressForm::Affine, Box::from(&deltas[..1])),
            Some(deltas) => (AddressForm::Deltas, deltas),
        };
        let least = offsets.iter().copied().min().unwrap_or_default();
        let greatest = offsets.iter().copied().max().unwrap_or_default();
        Self { offsets, least, greatest, form, tail }
    }
}
