//! Formulas of a launch file over its parameters: `(n + 255) / 256`.

use warpshard_base::Rng;

/// Maximum nesting depth of a formula.
const MAX_DEPTH: u32 = 32;

/// Elements whose values are computed together.
const BLOCK_ELEMENTS: usize = 256;

const OVERFLOW_MESSAGE: &str = "the value is beyond 64 bits";

/// A formula with bound parameters: the steps of a stack machine.
#[derive(Clone, Debug)]
pub(super) struct Formula(Vec<FormulaStep>);

#[derive(Clone, Copy, Debug)]
enum FormulaStep {
    Number(i64),
    /// The index of the element.
    Element,
    Negate,
    Hash,
    Binary(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Left,
    Right,
    Least,
    Most,
}

/// Evaluates a formula: `+ - * / % << >>`, parentheses, `min(a, b)`, `max(a, b)`, `hash(a)` (31 pseudo-random bits), decimal and
/// hexadecimal numbers and names.
///
/// # Errors
/// A description of the problem: an unknown name, a division by zero, a value beyond 64 bits, or a syntax error.
pub(super) fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, String> {
    Formula::parse(text, None, value_of)?.value(0)
}

impl Formula {
    /// Parses a formula in which `element` is the name of the element index.
    ///
    /// # Errors
    /// An unknown name, or a syntax error.
    pub(super) fn parse(text: &str, element: Option<&str>, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<Self, String> {
        let mut reader = FormulaParser { rest: text.trim(), element, value_of, depth: 0, steps: Vec::new() };
        reader.shift()?;
        if reader.rest.is_empty() { Ok(Self(reader.steps)) } else { Err(format!("`{}` cannot be read", reader.rest)) }
    }

    /// Returns the value for one element.
    ///
    /// # Errors
    /// A division by zero, or a value beyond 64 bits.
    pub(super) fn value(&self, element: i64) -> Result<i64, String> {
        let mut stack = Vec::with_capacity(8);
        for step in &self.0 {
            let value = match *step {
                FormulaStep::Number(number) => number,
                FormulaStep::Element => element,
                FormulaStep::Negate => pop(&mut stack).checked_neg().ok_or(OVERFLOW_MESSAGE)?,
                FormulaStep::Hash => hash(pop(&mut stack)),
                FormulaStep::Binary(operator) => {
                    let right = pop(&mut stack);
                    operator.apply(pop(&mut stack), right)?
                }
            };
            stack.push(value);
        }
        Ok(pop(&mut stack))
    }

    /// Returns the values for `count` elements from `first` on, computed step by step for all of them; `None` if an element has no value.
    fn block(&self, first: i64, count: usize) -> Option<Vec<i64>> {
        let mut stack: Vec<Vec<i64>> = Vec::with_capacity(8);
        for step in &self.0 {
            match *step {
                FormulaStep::Number(number) => stack.push(vec![number; count]),
                FormulaStep::Element => stack.push((first..first.checked_add_unsigned(count as u64)?).collect()),
                FormulaStep::Negate => {
                    stack.last_mut()?.iter_mut().try_for_each(|value| value.checked_neg().map(|negative| *value = negative))?
                }
                FormulaStep::Hash => stack.last_mut()?.iter_mut().for_each(|value| *value = hash(*value)),
                FormulaStep::Binary(operator) => {
                    let right = stack.pop()?;
                    operator.apply_to_all(stack.last_mut()?, &right)?;
                }
            }
        }
        stack.pop()
    }

    /// Returns the values for the elements 0 to `count` - 1, up to the first element without a value.
    pub(super) fn values(&self, count: usize) -> impl Iterator<Item = Result<i64, String>> + '_ {
        (0..count).step_by(BLOCK_ELEMENTS).flat_map(move |first| {
            let here = BLOCK_ELEMENTS.min(count - first);
            let block = self.block(first as i64, here);
            // Computes the elements one by one if an element has no value, to find the first such element.
            (0..here).map(move |at| block.as_ref().map_or_else(|| self.value((first + at) as i64), |block| Ok(block[at])))
        })
    }
}

/// Returns 31 pseudo-random bits.
fn hash(value: i64) -> i64 {
    (Rng::keyed(value as u64, &[]).next_u64() >> 33) as i64
}

fn pop(stack: &mut Vec<i64>) -> i64 {
    stack.pop().expect("a formula that was read has its operands on the stack")
}

impl Operator {
    fn apply(self, left: i64, right: i64) -> Result<i64, &'static str> {
        if right == 0 && matches!(self, Self::Divide | Self::Remainder) {
            return Err("a division by zero");
        }
        let count = u32::try_from(right).ok().filter(|count| *count < 63);
        let value = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            Self::Remainder => left.checked_rem(right),
            Self::Left => return count.and_then(|count| left.checked_mul(1_i64.checked_shl(count)?)).ok_or("a shift by more than 62 bits"),
            Self::Right => return count.map(|count| left >> count).ok_or("a shift by more than 62 bits"),
            Self::Least => Some(left.min(right)),
            Self::Most => Some(left.max(right)),
        };
        value.ok_or(OVERFLOW_MESSAGE)
    }

    /// Replaces each left number by the result of the operator with the right one; returns `None` if a result is undefined.
    fn apply_to_all(self, left: &mut [i64], right: &[i64]) -> Option<()> {
        fn combine_elements(left: &mut [i64], right: &[i64], value: impl Fn(i64, i64) -> Option<i64>) -> Option<()> {
            left.iter_mut().zip(right).try_for_each(|(left, right)| value(*left, *right).map(|value| *left = value))
        }
        // A separate loop for each operator that is common in formulas.
        match self {
            Self::Add => combine_elements(left, right, i64::checked_add),
            Self::Subtract => combine_elements(left, right, i64::checked_sub),
            Self::Multiply => combine_elements(left, right, i64::checked_mul),
            Self::Divide => combine_elements(left, right, i64::checked_div),
            Self::Remainder => combine_elements(left, right, i64::checked_rem),
            _ => combine_elements(left, right, |left, right| self.apply(left, right).ok()),
        }
    }
}

struct FormulaParser<'a> {
    rest: &'a str,
    element: Option<&'a str>,
    value_of: &'a dyn Fn(&str) -> Option<i64>,
    depth: u32,
    steps: Vec<FormulaStep>,
}

impl FormulaParser<'_> {
    fn accept(&mut self, symbol: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(symbol) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// Parses operands and operators of one precedence.
    fn operator_chain(&mut self, operators: &[(&str, Operator)], operand: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        operand(self)?;
        while let Some(&(_, operator)) = operators.iter().find(|(symbol, _)| self.accept(symbol)) {
            operand(self)?;
            self.steps.push(FormulaStep::Binary(operator));
        }
        Ok(())
    }

    fn shift(&mut self) -> Result<(), String> {
        self.operator_chain(&[("<<", Operator::Left), (">>", Operator::Right)], Self::sum)
    }

    fn sum(&mut self) -> Result<(), String> {
        self.operator_chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<(), String> {
        self.operator_chain(&[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)], Self::atom)
    }

    fn atom(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the formula is nested too deeply".into());
        }
        let done = self.operand();
        self.depth -= 1;
        done
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.accept(symbol) { Ok(()) } else { Err(format!("a `{symbol}` is missing")) }
    }

    fn operand(&mut self) -> Result<(), String> {
        if self.accept("(") {
            self.shift()?;
            return self.expect(")");
        }
        if self.accept("-") {
            self.atom()?;
            self.steps.push(FormulaStep::Negate);
            return Ok(());
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err("a number or name is missing".into());
        }
        self.rest = rest.trim_start();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.strip_prefix("0x").map_or_else(|| word.parse(), |hex| i64::from_str_radix(hex, 16));
            self.steps.push(FormulaStep::Number(number.map_err(|_| format!("`{word}` is no number of 64 bits"))?));
            return Ok(());
        }
        if self.accept("(") {
            self.shift()?;
            let step = match word {
                "hash" => FormulaStep::Hash,
                "min" | "max" => {
                    self.expect(",")?;
                    self.shift()?;
                    FormulaStep::Binary(if word == "min" { Operator::Least } else { Operator::Most })
                }
                _ => return Err(format!("the function `{word}` is unknown; the functions are min, max and hash")),
            };
            self.steps.push(step);
            return self.expect(")");
        }
        let value = (self.value_of)(word).map(FormulaStep::Number);
        let value = if self.element == Some(word) { Some(FormulaStep::Element) } else { value };
        self.steps.push(value.ok_or_else(|| format!("no parameter is called `{word}`"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_evaluated_and_wrong_ones_explained() {
        let of = |text: &str| evaluate(text, &|name| (name == "n").then_some(1000));
        assert_eq!(of("(n + 255) / 256"), Ok(4));
        assert_eq!(of("-2 * (n - 0x10) % 7"), Ok(-1968 % 7));
        assert_eq!(of("1 + 1 << 3 >> 1"), Ok(8));
        assert_eq!(of("min(n, max(3, 2 * 4)) + 1"), Ok(9));
        let random = of("hash(n) % 100").unwrap();
        assert!((0..100).contains(&random) && of("hash(n + 1) % 100") != Ok(random));
        for wrong in ["", "n +", "m", "1 / 0", "9223372036854775807 + 1", "(1", "1 2", "0xg", "1 << 64", "1 << 63", "min(1)", "sin(1)"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert!(of(&"(".repeat(10_000)).is_err());
        assert!(of(&"-".repeat(10_000)).is_err());
    }

    #[test]
    fn a_formula_of_an_element_has_a_value_per_element() {
        let formula = Formula::parse("i * n + 1", Some("i"), &|name| (name == "n").then_some(10)).unwrap();
        assert_eq!([formula.value(0), formula.value(3)], [Ok(1), Ok(31)]);
        assert!(Formula::parse("100 / i", Some("i"), &|_| None).unwrap().value(0).is_err());
        for text in ["(i * 7 + i / n * 3) % 15 - 7", "-hash(i) << 2", "max(i, 300) >> 1", "100 / (i - 700)", "i * 9223372036854775807 + 5"]
        {
            let formula = Formula::parse(text, Some("i"), &|_| Some(10)).unwrap();
            let each: Vec<_> = (0..1000).map(|i| formula.value(i)).collect();
            assert_eq!(formula.values(1000).collect::<Vec<_>>(), each, "{text}");
        }
    }
}
