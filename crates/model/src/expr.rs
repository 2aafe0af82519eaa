//! Formulas: integer arithmetic over names, with which models express sizes, indices, trip counts and conditions.
//!
//! Precedence, tightest first: unary `-` and `!`; `* / %`; `+ -`; `<< >>`; comparisons; `&`; `^`; `|`. Functions: `min(a, b)`, `max(a, b)`,
//! `hash(a, n)`, `random(n)`, `random_warp(n)`. Division rounds down and `%` is never negative for a positive divisor, so that `(i - 1) %
//! n` wraps. Comparisons yield 1 or 0. All arithmetic is checked: an overflow is an error, not a wrapped value.

use std::fmt;

/// A binary operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Xor,
    Or,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    Min,
    Max,
    Hash,
}

impl Op {
    /// Returns the result, or `None` if it is undefined or overflows.
    #[inline]
    pub(super) fn apply(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            Self::Add => return a.checked_add(b),
            Self::Sub => return a.checked_sub(b),
            Self::Mul => return a.checked_mul(b),
            Self::Div => return a.checked_div_euclid(b),
            Self::Rem => return a.checked_rem_euclid(b),
            Self::Shl => {
                let shift = u32::try_from(b).ok().filter(|&shift| shift < 63)?;
                return a.checked_mul(1 << shift);
            }
            Self::Shr => a >> u32::try_from(b).ok()?.min(63),
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::Or => a | b,
            Self::Lt => i64::from(a < b),
            Self::Le => i64::from(a <= b),
            Self::Gt => i64::from(a > b),
            Self::Ge => i64::from(a >= b),
            Self::Eq => i64::from(a == b),
            Self::Ne => i64::from(a != b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Hash => return u64::try_from(b).ok().filter(|&b| b > 0).map(|b| (scramble(a as u64) % b) as i64),
        })
    }

    /// Describes why `apply` returned `None` for these operands.
    pub(super) fn failure_reason(self, a: i64, b: i64) -> String {
        match self {
            Self::Div | Self::Rem if b == 0 => format!("{a} is divided by zero"),
            Self::Shl | Self::Shr if !(0..63).contains(&b) => format!("a shift by {b}; shifts go from 0 to 62"),
            Self::Hash => format!("hash({a}, {b}); the second argument must be at least 1"),
            _ => format!("{a} {self} {b} does not fit 64 bits"),
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::And => "&",
            Self::Xor => "^",
            Self::Or => "|",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Min => "min",
            Self::Max => "max",
            Self::Hash => "hash",
        }
    }
}

/// Hashes a number to 64 bits with a step of SplitMix64.
fn scramble(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// Binary operators by precedence level, loosest first; longer symbols precede their prefixes.
const PRECEDENCE_LEVELS: [&[Op]; 7] = [
    &[Op::Or],
    &[Op::Xor],
    &[Op::And],
    &[Op::Le, Op::Ge, Op::Eq, Op::Ne, Op::Lt, Op::Gt],
    &[Op::Shl, Op::Shr],
    &[Op::Add, Op::Sub],
    &[Op::Mul, Op::Div, Op::Rem],
];

/// Maximum nesting depth of a formula; deeper formulas would exhaust the stack of the parser.
const MAX_DEPTH: u32 = 64;

/// A parsed formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    /// An integer literal.
    Int(i64),
    /// A parameter, a loop counter, a `let`, or a position in the grid.
    Name(String),
    /// A binary operation.
    Binary(Op, Box<(Expr, Expr)>),
    /// A random number below the bound, drawn for each lane, or with `per_warp` once for the warp.
    Random { per_warp: bool, bound: Box<Expr> },
}

impl Expr {
    /// Calls `see` with every name, and with "random" or "random_warp" for draws.
    pub(super) fn names(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Int(_) => {}
            Self::Name(name) => see(name),
            Self::Binary(_, sides) => {
                sides.0.names(see);
                sides.1.names(see);
            }
            Self::Random { per_warp, bound } => {
                see(if *per_warp { "random_warp" } else { "random" });
                bound.names(see);
            }
        }
    }
}

/// Parses a formula; the error is a lower-case sentence.
pub(super) fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expr = parser.level(0)?;
    parser.skip_blanks();
    match parser.remaining_text().chars().next() {
        None => Ok(expr),
        Some(found) => Err(format!("`{found}` at column {} is not expected after a complete formula", parser.at + 1)),
    }
}

/// Returns true if `word` is a valid name of a parameter, a counter or a register.
pub(super) fn is_name(word: &str) -> bool {
    let start = |c: char| c.is_ascii_alphabetic() || c == '_';
    word.starts_with(start) && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn remaining_text(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.remaining_text();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn accept(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let found = self.remaining_text().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn level(&mut self, level: usize) -> Result<Expr, String> {
        let Some(ops) = PRECEDENCE_LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        loop {
            self.skip_blanks();
            let rest = self.remaining_text();
            // `<` of `<<` belongs to the shift level, which binds tighter and has already been parsed.
            let shift = rest.starts_with("<<") || rest.starts_with(">>");
            let found = ops.iter().find(|op| rest.starts_with(op.symbol()) && !(shift && op.symbol().len() == 1));
            let Some(&op) = found else { return Ok(left) };
            self.at += op.symbol().len();
            let right = self.level(level + 1)?;
            left = Expr::Binary(op, Box::new((left, right)));
        }
    }

    fn unary(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the formula nests deeper than {MAX_DEPTH}"));
        }
        let expr = if self.accept("-") {
            Expr::Binary(Op::Sub, Box::new((Expr::Int(0), self.unary()?)))
        } else if self.accept("!") {
            Expr::Binary(Op::Eq, Box::new((self.unary()?, Expr::Int(0))))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, String> {
        if self.accept("(") {
            let inner = self.level(0)?;
            return self.close().map(|()| inner);
        }
        let start = self.at;
        let word: &str = {
            let rest = self.remaining_text();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        };
        if word.is_empty() {
            return Err(match self.remaining_text().chars().next() {
                None => "the formula ends where a number or a name is expected".to_owned(),
                Some(found) => format!("`{found}` at column {} where a number or a name is expected", start + 1),
            });
        }
        self.at += word.len();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(word).map(Expr::Int);
        }
        if !self.accept("(") {
            return Ok(Expr::Name(word.to_owned()));
        }
        let first = self.level(0)?;
        let expr = match word {
            "random" | "random_warp" => Expr::Random { per_warp: word == "random_warp", bound: Box::new(first) },
            "min" | "max" | "hash" => {
                if !self.accept(",") {
                    return Err(format!("`{word}` takes two arguments"));
                }
                let op = [Op::Min, Op::Max, Op::Hash].into_iter().find(|op| op.symbol() == word).unwrap_or(Op::Min);
                Expr::Binary(op, Box::new((first, self.level(0)?)))
            }
            _ => return Err(format!("`{word}` is not a function; there are min, max, hash, random and random_warp")),
        };
        self.close().map(|()| expr)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.accept(")") { Ok(()) } else { Err(format!("a closing parenthesis is missing at column {}", self.at + 1)) }
    }
}

/// Parses a number: decimal, or hexadecimal after `0x`, with `_` between digits.
fn number(word: &str) -> Result<i64, String> {
    let digits = word.replace('_', "");
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map_err(|_| format!("`{word}` is not a number of 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> i64 {
        fn eval(expr: &Expr) -> i64 {
            match expr {
                Expr::Int(value) => *value,
                Expr::Binary(op, sides) => op.apply(eval(&sides.0), eval(&sides.1)).unwrap(),
                _ => panic!("not a constant"),
            }
        }
        eval(&parse(text).unwrap())
    }

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2"), 5);
        assert_eq!(value("(1 + 2) * -3"), -9);
        assert_eq!(value("1 << 4 + 1 | 1"), 33);
        assert_eq!(value("7 >= 3 & 2 < 3 ^ 0"), 1);
        assert_eq!(value("10 - 4 - 3"), 3);
        assert_eq!(value("0x1_0 >> 2 == 4"), 1);
        assert_eq!(value("max(3, min(9, 5)) + !0 + !7"), 6);
    }

    #[test]
    fn a_hash_is_the_same_every_time_and_covers_its_range() {
        assert_eq!(value("hash(5, 100)"), value("hash(2 + 3, 100)"));
        let mut seen = [0; 16];
        (0..1600).for_each(|a| seen[Op::Hash.apply(a, 16).unwrap() as usize] += 1);
        assert!(seen.iter().all(|&times| (60..140).contains(&times)), "{seen:?}");
    }

    #[test]
    fn remainders_wrap_for_halos() {
        assert_eq!(value("(0 - 1) % 8"), 7);
        assert_eq!(value("(0 - 1) / 8"), -1);
    }

    #[test]
    fn overflow_and_division_by_zero_have_no_value() {
        assert_eq!(Op::Mul.apply(1 << 40, 1 << 40), None);
        assert_eq!(Op::Div.apply(1, 0), None);
        assert_eq!(Op::Shl.apply(1, 63), None);
        assert_eq!(Op::Rem.failure_reason(7, 0), "7 is divided by zero");
        assert_eq!(Op::Hash.apply(3, 0), None);
    }

    #[test]
    fn malformed_formulas_report_the_column() {
        for (text, message) in [
            ("1 +", "the formula ends where a number or a name is expected"),
            ("(n", "a closing parenthesis is missing at column 3"),
            ("n 2", "`2` at column 3 is not expected after a complete formula"),
            ("log(n)", "`log` is not a function; there are min, max, hash, random and random_warp"),
            ("min(1)", "`min` takes two arguments"),
            ("99999999999999999999", "`99999999999999999999` is not a number of 64 bits"),
            ("2 * * 3", "`*` at column 5 where a number or a name is expected"),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
        assert!(parse(&"(".repeat(10_000)).is_err());
    }
}
