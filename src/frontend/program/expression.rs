//! Numbers of a launch file that are written as formulas of its parameters: `(n + 255) / 256`.

/// Deepest nesting of a formula.
const DEEPEST: u32 = 32;

/// The value of a formula with `+ - * / %`, parentheses, decimal and hexadecimal numbers and names.
///
/// # Errors
/// What is wrong, in words: an unknown name, a division by zero, a value beyond 64 bits, or what cannot be read.
pub(super) fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, String> {
    let mut reader = Reader { rest: text.trim(), value_of, depth: 0 };
    let value = reader.sum()?;
    if reader.rest.is_empty() { Ok(value) } else { Err(format!("`{}` cannot be read", reader.rest)) }
}

struct Reader<'a> {
    rest: &'a str,
    value_of: &'a dyn Fn(&str) -> Option<i64>,
    depth: u32,
}

impl Reader<'_> {
    fn take(&mut self, symbols: &[char]) -> Option<char> {
        let first = self.rest.chars().next().filter(|c| symbols.contains(c))?;
        self.rest = self.rest[1..].trim_start();
        Some(first)
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        while let Some(symbol) = self.take(&['+', '-']) {
            let other = self.product()?;
            let result = if symbol == '+' { value.checked_add(other) } else { value.checked_sub(other) };
            value = result.ok_or("the value is beyond 64 bits")?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.atom()?;
        while let Some(symbol) = self.take(&['*', '/', '%']) {
            let other = self.atom()?;
            if other == 0 && symbol != '*' {
                return Err("a division by zero".into());
            }
            let result = match symbol {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = result.ok_or("the value is beyond 64 bits")?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the formula is nested too deeply".into());
        }
        let value = self.inner();
        self.depth -= 1;
        value
    }

    fn inner(&mut self) -> Result<i64, String> {
        if self.take(&['(']).is_some() {
            let value = self.sum()?;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "a `)` is missing".into());
        }
        if self.take(&['-']).is_some() {
            return self.atom()?.checked_neg().ok_or_else(|| "the value is beyond 64 bits".into());
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err("a number or name is missing".into());
        }
        self.rest = rest.trim_start();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.strip_prefix("0x").map_or_else(|| word.parse(), |hex| i64::from_str_radix(hex, 16));
            return number.map_err(|_| format!("`{word}` is no number of 64 bits"));
        }
        (self.value_of)(word).ok_or_else(|| format!("no parameter is called `{word}`"))
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
        for wrong in ["", "n +", "m", "1 / 0", "9223372036854775807 + 1", "(1", "1 2", "0xg"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert!(of(&"(".repeat(10_000)).is_err());
        assert!(of(&"-".repeat(10_000)).is_err());
    }
}
