//! A figure that the thesis states beside ours: one row, with a verdict.

use serde::Deserialize;

/// What a published figure claims.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A number.
    Number,
    /// What is the greater one.
    Direction,
}

impl Kind {
    /// As tables show it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Direction => "direction",
        }
    }
}

/// The columns of a comparison.
pub(super) const COLUMNS: [&str; 7] = ["figure", "ours", "published", "kind", "section", "kernels", "verdict"];

/// A published figure and ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated<'a> {
    /// What it is, with its unit.
    pub(super) figure: String,
    /// Ours, when there was a kernel to make it from.
    pub(super) ours: Option<f64>,
    /// Kernels, or pairs of kernel and machine, that ours is the mean of.
    pub(super) kernels: usize,
    /// The published value.
    pub(super) published: f64,
    /// What it claims.
    pub(super) kind: Kind,
    /// Where ours is to lie when it claims a number.
    pub(super) within: (f64, f64),
    /// The section it stands in.
    pub(super) section: &'a str,
}

impl Stated<'_> {
    /// Whether ours agrees; of a number also when at least its sign does.
    pub(super) fn verdict(&self) -> &'static str {
        let Some(ours) = self.ours else { return "not run" };
        let (low, high) = self.within;
        let sign = ours * self.published > 0.0;
        match self.kind {
            Kind::Number if low <= ours && ours <= high => "holds",
            Kind::Number if sign => "direction holds",
            Kind::Direction if sign => "holds",
            _ => "misses",
        }
    }

    /// The cells of its row.
    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.figure.clone(),
            self.ours.map_or_else(|| "-".into(), |ours| format!("{ours:.2}")),
            format!("{:.2}", self.published),
            self.kind.name().into(),
            self.section.into(),
            self.kernels.to_string(),
            self.verdict().into(),
        ]
    }
}

/// From half of a value to one and a half of it.
pub(super) fn half_and_half_again(value: f64) -> (f64, f64) {
    let (a, b) = (0.5 * value, 1.5 * value);
    (a.min(b), a.max(b))
}

/// The arithmetic mean; `None` of nothing.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// How many percent `a` is above `b`.
pub(super) fn percent_over(a: f64, b: f64) -> f64 {
    100.0 * (a / b - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(kind: Kind, ours: Option<f64>, published: f64) -> &'static str {
        let within = half_and_half_again(published);
        Stated { figure: String::new(), ours, kernels: 1, published, kind, within, section: "" }.verdict()
    }

    #[test]
    fn numbers_are_to_be_near_and_directions_to_have_the_sign() {
        assert_eq!(verdict(Kind::Number, Some(5.0), 10.0), "holds");
        assert_eq!(verdict(Kind::Number, Some(4.9), 10.0), "direction holds");
        assert_eq!(verdict(Kind::Number, Some(-1.0), 10.0), "misses");
        assert_eq!(verdict(Kind::Number, Some(-30.0), -21.0), "holds");
        assert_eq!(verdict(Kind::Direction, Some(0.1), 10.0), "holds");
        assert_eq!(verdict(Kind::Direction, Some(-0.1), 10.0), "misses");
        assert_eq!(verdict(Kind::Direction, None, 10.0), "not run");
    }

    #[test]
    fn means_are_arithmetic() {
        assert_eq!(mean([1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean([]), None);
        assert_eq!(percent_over(3.0, 2.0), 50.0);
    }
}
