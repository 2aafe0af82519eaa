//! Integer and bit operations, selections, and integer comparisons.

use super::super::isa::{Inst, MinMaxOperands, Number, Op, Pick};
use super::lanes::{Lanes, RegisterPair, RegisterRow};

/// Executes an integer operation in the lanes of `mask`; returns false if `inst` is not one. Sources with modifiers are stored in
/// `buffers`.
#[inline(always)]
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, buffers: &mut [RegisterRow; 3]) -> bool {
    let [ba, bb, bc] = buffers;
    let [sa, sb, sc] = &inst.src;
    macro_rules! map {
        (|$a:ident| $value:expr) => {{
            let a = lanes.int(pool, sa, ba);
            let mut out = [0_u32; 32];
            for lane in 0..32 {
                let $a = a[lane];
                out[lane] = $value;
            }
            lanes.set(inst.dst, mask, &out);
        }};
        (|$a:ident, $b:ident| $value:expr) => {{
            let (a, b) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb));
            let mut out = [0_u32; 32];
            for lane in 0..32 {
                let ($a, $b) = (a[lane], b[lane]);
                out[lane] = $value;
            }
            lanes.set(inst.dst, mask, &out);
        }};
        (|$a:ident, $b:ident, $c:ident| $value:expr) => {{
            let (a, b, c) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
            let mut out = [0_u32; 32];
            for lane in 0..32 {
                let ($a, $b, $c) = (a[lane], b[lane], c[lane]);
                out[lane] = $value;
            }
            lanes.set(inst.dst, mask, &out);
        }};
    }
    match inst.op {
        Op::ReadFirst => {
            let values = lanes.int(pool, sa, ba);
            let first = values[mask.trailing_zeros() as usize & 31];
            let differ = (0..32).any(|lane| mask >> lane & 1 != 0 && values[lane] != first);
            if mask != 0 {
                lanes.set(inst.dst, u32::MAX, &[first; 32]);
                lanes.set_predicate(inst.predicates[0], mask, if differ { u32::MAX } else { 0 });
            }
        }
        Op::Mov => {
            let value = *lanes.int(pool, sa, ba);
            lanes.set(inst.dst, mask, &value);
        }
        Op::MovPair => {
            let value = lanes.int_pair(pool, sa);
            lanes.set_pair(inst.dst, mask, &value);
        }
        Op::Add3 { extended: false } if inst.predicates == [16; 2] => map!(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
        Op::Add3 { extended } => add3(inst, lanes, pool, mask, extended),
        Op::MulAdd { extended: false } => map!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Op::MulAdd { .. } => {
            let carry = lanes.predicate(inst.conditions[0]);
            let (a, b, c) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane]).wrapping_add(carry >> lane & 1);
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::MulAddHigh { signed, extended } if extended || inst.predicates[0] != 16 => {
            let out = wide_with_carry(inst, lanes, pool, mask, signed, extended);
            lanes.set(inst.dst, mask, &out.map(|value| (value >> 32) as u32));
        }
        Op::MulAddHigh { signed, .. } => {
            let out = multiply_add(inst, lanes, pool, signed).map(|value| (value >> 32) as u32);
            lanes.set(inst.dst, mask, &out);
        }
        Op::MulAddWide { signed, extended: false } if inst.predicates[0] == 16 => {
            let out = multiply_add(inst, lanes, pool, signed);
            lanes.set_pair(inst.dst, mask, &out);
        }
        Op::MulAddWide { signed, extended } => {
            let out = wide_with_carry(inst, lanes, pool, mask, signed, extended);
            lanes.set_pair(inst.dst, mask, &out);
        }
        Op::CompareInt { compare, signed, logic, extended } => {
            let (a, b) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb));
            // With flipped sign bits a signed comparison orders unsigned numbers.
            let flip = if signed { 0 } else { 0x8000_0000 };
            let (mut less, mut equal) = (0_u32, 0_u32);
            for lane in 0..32 {
                less |= u32::from(((a[lane] ^ flip) as i32) < (b[lane] ^ flip) as i32) << lane;
                equal |= u32::from(a[lane] == b[lane]) << lane;
            }
            let mut holds = compare.holds(less, equal, !less & !equal);
            if extended {
                // The low words decide if the high words are equal.
                holds = holds & !equal | lanes.predicate(inst.conditions[1]) & equal;
            }
            let other = lanes.predicate(inst.conditions[0]);
            lanes.set_predicate(inst.predicates[0], mask, logic.apply(holds, other));
            lanes.set_predicate(inst.predicates[1], mask, logic.apply(!holds, other));
        }
        Op::Logic3 { logic } => {
            let (a, b, c) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
            let out = logic3(inst.immediate as u8, a, b, c);
            if inst.predicates[0] != 16 {
                let other = lanes.predicate(inst.conditions[0]);
                let nonzero = out.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(*value != 0) << lane);
                lanes.set_predicate(inst.predicates[0], mask, logic.apply(nonzero, other));
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::PredicateLogic => {
            let [a, b, c] = inst.conditions.map(|condition| lanes.predicate(condition));
            let tables = [inst.immediate >> 8, inst.immediate].map(|table| apply_truth_table(table as u8, a, b, c));
            lanes.set_predicate(inst.predicates[0], mask, tables[0]);
            lanes.set_predicate(inst.predicates[1], mask, tables[1]);
        }
        Op::Shift { left: true, high: false, wrap: false, .. } => map!(|a, b| if b < 32 { a << b } else { 0 }),
        Op::Shift { left: false, high: true, wrap: false, wide: false, signed: false } => {
            let (b, c) = (lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = if b[lane] < 32 { c[lane] >> b[lane] } else { 0 };
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::Shift { left: false, high: true, wrap: false, wide: false, signed: true } => {
            let (b, c) = (lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = (c[lane] as i32 >> b[lane].min(31)) as u32;
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::Shift { left, high, wrap, wide, signed } => map!(|a, b, c| shift(a, b, c, left, high, wrap, wide, signed)),
        Op::ShiftAdd { high, extended, sign } => shift_add(inst, lanes, pool, mask, high, extended, sign),
        Op::MinMax { signed } => {
            let low = lanes.predicate(inst.conditions[0]);
            let (a, b) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = min_max(a[lane], b[lane], low >> lane & 1 != 0, signed);
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::Pick(pick) => execute_pick(inst, lanes, pool, mask, pick),
        Op::AddHalves => map!(|a, b| a.wrapping_add(b) & 0xffff | (a >> 16).wrapping_add(b >> 16) << 16),
        Op::Abs => map!(|a| (a as i32).unsigned_abs()),
        Op::PopCount => map!(|a| a.count_ones()),
        Op::FindLeading { signed, shift } => map!(|a| find_leading(a, signed, shift)),
        Op::Reverse => map!(|a| a.reverse_bits()),
        Op::BitMask { wrap } => map!(|a, b| bit_mask(a, b, wrap)),
        Op::SignExtend { signed, wrap } => map!(|a, b| sign_extend(a, b, signed, wrap)),
        Op::Permute => map!(|a, b, c| permute(a, b, c)),
        Op::Extract(Number::Integer(bytes, signed)) => {
            let bits = 8 * u32::from(bytes);
            map!(|a| sign_extend(a, bits, signed, false));
        }
        Op::IntToInt(Number::Integer(bytes, signed)) => map!(|a| saturate_signed(a, bytes, signed)),
        Op::PackIntegers(Number::Integer(bytes, signed)) => {
            let bits = 8 * u32::from(bytes);
            let part = |value: u32| saturate_signed(value, bytes, signed) & (u32::MAX >> (32 - bits.min(32)));
            map!(|a, b, c| part(b) | part(a).checked_shl(bits).unwrap_or(0) | c.checked_shl(2 * bits).unwrap_or(0));
        }
        Op::DotHalves { a: first, b: second, high } => map!(|a, b, c| dot_halves(a, b >> if high { 16 } else { 0 }, c, first, second)),
        Op::AbsDifferenceBytes { signed, sum } => map!(|a, b, c| abs_difference_bytes(a, b, c, signed, sum)),
        Op::Select | Op::FSelect => {
            let first = lanes.predicate(inst.conditions[0]);
            let float = inst.op == Op::FSelect;
            let a = if float { lanes.float(pool, sa, ba) } else { lanes.int(pool, sa, ba) };
            let b = if float { lanes.float(pool, sb, bb) } else { lanes.int(pool, sb, bb) };
            let mut out = [0; 32];
            for lane in 0..32 {
                let chosen = (first >> lane & 1).wrapping_neg();
                out[lane] = a[lane] & chosen | b[lane] & !chosen;
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::DotBytes { a: first, b: second } => map!(|a, b, c| dot_bytes(a, b, c, first, second)),
        Op::AbsDifference { signed } => map!(|a, b, c| {
            let difference = if signed { (a as i32).abs_diff(b as i32) } else { a.abs_diff(b) };
            difference.wrapping_add(c)
        }),
        Op::AddPairs => {
            let [a, b, c] = [sa, sb, sc].map(|source| lanes.int_pair(pool, source));
            let sums = std::array::from_fn(|lane| a[lane].wrapping_add(b[lane]).wrapping_add(c[lane]));
            lanes.set_pair(inst.dst, mask, &sums);
        }
        Op::PredicatesToRegister { byte } => {
            let (a, b) = (*lanes.int(pool, sa, ba), *lanes.int(pool, sb, bb));
            let first = if inst.uniform { 8 } else { 0 };
            let mut out = [0; 32];
            for lane in 0..32 {
                let shift = 8 * u32::from(byte);
                out[lane] = a[lane] & !(b[lane] << shift) | (lanes.all_predicates(first, lane) & b[lane]) << shift;
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::RegisterToPredicates => {
            let (a, b) = (*lanes.int(pool, sa, ba), *lanes.int(pool, sb, bb));
            let a = a.map(|word| word >> (8 * sa.byte));
            for index in 0..7_u8 {
                let bits =
                    |row: &RegisterRow| row.iter().enumerate().fold(0_u32, |bits, (lane, value)| bits | (value >> index & 1) << lane);
                lanes.set_predicate(if inst.uniform { 8 + index } else { index }, mask & bits(&b), bits(&a));
            }
        }
        _ => return false,
    }
    true
}

#[inline(always)]
fn add3(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, extended: bool) {
    let rows = inst.src.map(|source| *lanes.row(pool, source.row));
    let carry = inst.conditions.map(|condition| if extended { lanes.predicate(condition) } else { 0 });
    let (mut out, mut first, mut second) = ([0; 32], 0, 0);
    for lane in 0..32 {
        // A negated operand is its complement plus one, so the carry is 1 if no borrow occurs.
        let value = |i: usize| {
            let (source, word) = (&inst.src[i], rows[i][lane]);
            if source.negate {
                u64::from(!word) + 1
            } else if source.invert {
                u64::from(!word)
            } else {
                u64::from(word)
            }
        };
        let carries = u64::from(carry[0] >> lane & 1) + u64::from(carry[1] >> lane & 1);
        let sum = value(0) + value(1) + value(2) + carries;
        out[lane] = sum as u32;
        first |= u32::from(sum >> 32 >= 1) << lane;
        second |= u32::from(sum >> 32 >= 2) << lane;
    }
    lanes.set_predicate(inst.predicates[0], mask, first);
    lanes.set_predicate(inst.predicates[1], mask, second);
    lanes.set(inst.dst, mask, &out);
}

/// Returns `a * b + c` in 64 bits.
#[inline(always)]
fn multiply_add(inst: &Inst, lanes: &Lanes, pool: &[RegisterRow], signed: bool) -> RegisterPair {
    let (mut ba, mut bb) = ([0; 32], [0; 32]);
    let (a, b) = (lanes.int(pool, &inst.src[0], &mut ba), lanes.int(pool, &inst.src[1], &mut bb));
    let c = lanes.int_pair(pool, &inst.src[2]);
    let mut out = [0; 32];
    for lane in 0..32 {
        let product =
            if signed { (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64 } else { u64::from(a[lane]) * u64::from(b[lane]) };
        out[lane] = product.wrapping_add(c[lane]);
    }
    out
}

/// Returns `a * b + c` plus a carry in 64 bits; sets the predicate of the carry-out.
fn wide_with_carry(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, signed: bool, extended: bool) -> RegisterPair {
    let (mut ba, mut bb) = ([0; 32], [0; 32]);
    let (a, b) = (lanes.int(pool, &inst.src[0], &mut ba), lanes.int(pool, &inst.src[1], &mut bb));
    let c = lanes.int_pair(pool, &inst.src[2]);
    let carry = if extended { lanes.predicate(inst.conditions[0]) } else { 0 };
    let (mut out, mut over) = ([0; 32], 0);
    for lane in 0..32 {
        let product =
            if signed { (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64 } else { u64::from(a[lane]) * u64::from(b[lane]) };
        let sum = u128::from(product) + u128::from(c[lane]) + u128::from(carry >> lane & 1);
        out[lane] = sum as u64;
        over |= u32::from(sum >> 64 != 0) << lane;
    }
    lanes.set_predicate(inst.predicates[0], mask, over);
    out
}

#[inline(always)]
fn logic3(table: u8, a: &RegisterRow, b: &RegisterRow, c: &RegisterRow) -> RegisterRow {
    let mut out = [0; 32];
    match table {
        0xc0 => {
            for lane in 0..32 {
                out[lane] = a[lane] & b[lane];
            }
        }
        0xfc => {
            for lane in 0..32 {
                out[lane] = a[lane] | b[lane];
            }
        }
        0x3c => {
            for lane in 0..32 {
                out[lane] = a[lane] ^ b[lane];
            }
        }
        _ => {
            for row in (0..8).filter(|row| table >> row & 1 != 0) {
                let flip = |bit: u32| if row & bit != 0 { 0 } else { u32::MAX };
                for lane in 0..32 {
                    out[lane] |= (a[lane] ^ flip(4)) & (b[lane] ^ flip(2)) & (c[lane] ^ flip(1));
                }
            }
        }
    }
    out
}

/// Applies a function of three bits to each bit of a word; its result is bit `4a + 2b + c` of `table`.
#[inline(always)]
fn apply_truth_table(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut out = 0;
    for row in 0..8 {
        if table >> row & 1 != 0 {
            let pick = |value: u32, bit: u8| if row & bit != 0 { value } else { !value };
            out |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    out
}

/// Shifts the pair `high:low` by `amount` and returns the low or the high word of the result.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the modifiers of one opcode")]
fn shift(low: u32, amount: u32, high: u32, left: bool, upper: bool, wrap: bool, wide: bool, signed: bool) -> u32 {
    let value = u64::from(low) | u64::from(high) << 32;
    let limit = if wide { 64 } else { 32 };
    let amount = if wrap { amount % limit } else { amount.min(limit) };
    let shifted = if left {
        value.checked_shl(amount).unwrap_or(0)
    } else if signed {
        ((value as i64) >> amount.min(63)) as u64
    } else {
        value.checked_shr(amount).unwrap_or(0)
    };
    if upper { (shifted >> 32) as u32 } else { shifted as u32 }
}

#[inline(always)]
fn shift_add(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, high: bool, extended: bool, sign: bool) {
    let mut buffers = [[0; 32]; 3];
    let [ba, bb, bc] = &mut buffers;
    let (a, b) = (lanes.int(pool, &inst.src[0], ba), lanes.int(pool, &inst.src[1], bb));
    let c = lanes.int(pool, &inst.src[2], bc);
    let carry = if extended { lanes.predicate(inst.conditions[0]) } else { 0 };
    let (mut out, mut over) = ([0; 32], 0);
    for lane in 0..32 {
        let upper = if sign { ((a[lane] as i32) >> 31) as u32 } else { c[lane] };
        let shifted = if high {
            ((u64::from(a[lane]) | u64::from(upper) << 32) << (inst.immediate & 31) >> 32) as u32
        } else {
            a[lane] << (inst.immediate & 31)
        };
        let sum = u64::from(shifted) + u64::from(b[lane]) + u64::from(carry >> lane & 1);
        out[lane] = sum as u32;
        over |= u32::from(sum >> 32 != 0) << lane;
    }
    lanes.set_predicate(inst.predicates[0], mask, over);
    lanes.set(inst.dst, mask, &out);
}

#[inline(always)]
fn min_max(a: u32, b: u32, low: bool, signed: bool) -> u32 {
    let first = if signed { (a as i32) < (b as i32) } else { a < b };
    if first == low { a } else { b }
}

/// Executes minima and maxima of sums, of three numbers, or of halves. The predicates are true if the first number is the result, for the
/// low and the high half.
fn execute_pick(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, pick: Pick) {
    let mut buffers = [[0; 32]; 3];
    let [ba, bb, bc] = &mut buffers;
    let low = lanes.predicate(inst.conditions[0]);
    let [sa, sb, sc] = &inst.src;
    let (a, b, c) = (lanes.int(pool, sa, ba), lanes.int(pool, sb, bb), lanes.int(pool, sc, bc));
    let (mut out, mut first) = ([0; 32], [0; 2]);
    // A half is processed in the upper half of a word.
    let kept = if pick.halves { 0xffff_0000 } else { u32::MAX };
    for lane in 0..32 {
        let low = low >> lane & 1 != 0;
        let one = |a: u32, b: u32, c: u32| {
            let (left, right) = match pick.of {
                MinMaxOperands::Two => (a, b),
                MinMaxOperands::Three => (min_max(a, b, low, pick.signed), c),
                MinMaxOperands::Sum => (a.wrapping_add(b) & kept, c),
            };
            let best = min_max(left, right, low, pick.signed);
            (if pick.rectify && (best as i32) < 0 { 0 } else { best }, best == left)
        };
        let (upper, upper_first) = one(a[lane] & kept, b[lane] & kept, c[lane] & kept);
        out[lane] = upper;
        first[1] |= u32::from(upper_first) << lane;
        if pick.halves {
            let (lower, lower_first) = one(a[lane] << 16, b[lane] << 16, c[lane] << 16);
            out[lane] |= lower >> 16;
            first[0] |= u32::from(lower_first) << lane;
        }
    }
    lanes.set_predicate(inst.predicates[0], mask, first[0]);
    lanes.set_predicate(inst.predicates[1], mask, first[1]);
    lanes.set(inst.dst, mask, &out);
}

#[inline(always)]
fn find_leading(value: u32, signed: bool, shift: bool) -> u32 {
    let value = if signed && (value as i32) < 0 { !value } else { value };
    match (value, shift) {
        (0, _) => u32::MAX,
        (_, true) => value.leading_zeros(),
        (_, false) => 31 - value.leading_zeros(),
    }
}

fn bit_mask(place: u32, width: u32, wrap: bool) -> u32 {
    let (place, width) = if wrap { (place % 32, width % 32) } else { (place.min(32), width.min(32)) };
    let ones = 1_u64.checked_shl(width).unwrap_or(0).wrapping_sub(1);
    (ones << place) as u32
}

fn sign_extend(value: u32, bits: u32, signed: bool, wrap: bool) -> u32 {
    let bits = if wrap { bits % 32 } else { bits.min(32) };
    if bits == 0 {
        return 0;
    }
    let up = value << (32 - bits);
    if signed { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) }
}

#[inline(always)]
fn permute(a: u32, selector: u32, c: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(c) << 32;
    (0..4).fold(0, |out, i| {
        let nibble = selector >> (4 * i) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        out | u32::from(byte) << (8 * i)
    })
}

fn dot_bytes(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let part = |word: u32, i: u32, signed: bool| {
        let byte = (word >> (8 * i)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    (0..4).fold(c, |sum, i| sum.wrapping_add((part(a, i, a_signed) * part(b, i, b_signed)) as u32))
}

/// Returns `c` plus two products of 16-bit parts of `a` and 8-bit parts of `b`.
fn dot_halves(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..2).fold(c, |sum, i| {
        let (wide, byte) = ((a >> (16 * i)) as u16, (b >> (8 * i)) as u8);
        let wide = if a_signed { i32::from(wide as i16) } else { i32::from(wide) };
        let byte = if b_signed { i32::from(byte as i8) } else { i32::from(byte) };
        sum.wrapping_add((wide * byte) as u32)
    })
}

fn abs_difference_bytes(a: u32, b: u32, c: u32, signed: bool, sum: bool) -> u32 {
    let part = |i: u32| {
        let (a, b) = ((a >> (8 * i)) as u8, (b >> (8 * i)) as u8);
        u32::from(if signed { (a as i8).abs_diff(b as i8) } else { a.abs_diff(b) })
    };
    if sum { (0..4).fold(c, |sum, i| sum.wrapping_add(part(i))) } else { (0..4).fold(c, |word, i| word.wrapping_add(part(i) << (8 * i))) }
}

/// Saturates a signed integer to the range of an integer of `bytes` bytes, at most 2.
fn saturate_signed(value: u32, bytes: u8, signed: bool) -> u32 {
    let bits = 8 * u32::from(bytes);
    let (least, most) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1_i64 << bits) - 1) };
    i64::from(value as i32).clamp(least, most) as u32
}
