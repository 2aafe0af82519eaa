//! Labels of an axis: numbers with SI prefixes and the decimals that distinguish its ticks.
//!
//! Different ticks have different labels, and a label differs from its tick by at most a hundredth of the distance to the next tick, so
//! that 100.25 is not labelled 100.2.

use plotters::coord::ranged1d::{BoldPoints, Ranged};

/// Maximum error of a label, as a fraction of the distance to the next tick.
const MAX_LABEL_ERROR: f64 = 0.01;
/// Maximum number of decimals; numbers that need more are written with an exponent.
const MAX_DECIMALS: usize = 6;
/// SI prefixes from large to small.
const PREFIXES: [(f64, &str); 5] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];

/// The format of the numbers of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct TickLabels {
    /// The ticks from low to high.
    ticks: Vec<f64>,
    /// The common format of ticks at equal distances; `None` for a logarithmic axis, whose ticks have individual formats.
    common: Option<LabelFormat>,
}

/// A number format.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LabelFormat {
    /// The divisor of a number and its SI prefix.
    prefix: (f64, &'static str),
    /// Number of decimals.
    decimals: usize,
}

impl TickLabels {
    /// Returns the labels of an axis that draws at most `count` ticks.
    pub fn of_axis(axis: &impl Ranged<ValueType = f64>, count: usize) -> Self {
        Self::new(axis.key_points(BoldPoints(count)))
    }

    /// Returns the labels of these ticks.
    pub fn new(mut ticks: Vec<f64>) -> Self {
        ticks.sort_unstable_by(f64::total_cmp);
        let steps = || ticks.windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = steps().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), step| (least.min(step), most.max(step)));
        let greatest = ticks.iter().fold(0.0, |greatest: f64, tick| greatest.max(tick.abs()));
        let prefix = prefix(greatest);
        let decimals = |tick: &f64| decimals(tick / prefix.0, least / prefix.0 * MAX_LABEL_ERROR);
        let even = ticks.len() > 1 && most < 1.5 * least;
        let common = even.then(|| LabelFormat { prefix, decimals: ticks.iter().map(decimals).max().unwrap_or(0) });
        Self { ticks, common }
    }

    /// Returns the label of `tick`, one of the ticks of the axis.
    pub fn text(&self, tick: f64) -> String {
        if tick == 0.0 {
            return "0".to_owned();
        }
        let form = self.common.unwrap_or_else(|| self.individual_format(tick));
        if form.decimals > MAX_DECIMALS {
            let value = tick / form.prefix.0;
            let digits = form.decimals.saturating_add_signed(value.abs().log10().floor() as isize);
            return format!("{value:.digits$e}{}", form.prefix.1);
        }
        format!("{:.*}{}", form.decimals, tick / form.prefix.0, form.prefix.1)
    }

    /// Returns the format of `tick` without regard to other ticks.
    fn individual_format(&self, tick: f64) -> LabelFormat {
        let away = |other: &f64| (other - tick).abs();
        let step = self.ticks.iter().map(away).filter(|step| *step > 0.0).fold(tick.abs(), f64::min);
        let prefix = prefix(tick.abs());
        LabelFormat { prefix, decimals: decimals(tick / prefix.0, step / prefix.0 * MAX_LABEL_ERROR) }
    }
}

/// Returns the SI prefix for a number of this size.
fn prefix(size: f64) -> (f64, &'static str) {
    let [.., none] = PREFIXES;
    // A tick is a sum of steps and may be below the thousand by a rounding error.
    PREFIXES.into_iter().find(|(scale, _)| size >= scale * (1.0 - 1e-9)).unwrap_or(none)
}

/// Returns the decimals that write `value` with an error of at most `off`.
fn decimals(value: f64, off: f64) -> usize {
    /// A number of decimals that exceeds the precision of a 64-bit number.
    const MAX_DECIMAL_DIGITS: usize = 20;
    let written = |decimals: &usize| {
        let scale = 10f64.powi(*decimals as i32);
        ((value * scale).round() / scale - value).abs() <= off
    };
    (0..MAX_DECIMAL_DIGITS).find(written).unwrap_or(MAX_DECIMAL_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[f64]) -> Vec<String> {
        let labels = TickLabels::new(ticks.to_vec());
        ticks.iter().map(|tick| labels.text(*tick)).collect()
    }

    #[test]
    fn narrow_ranges_have_enough_digits_to_distinguish_ticks() {
        assert_eq!(texts(&[99.0, 99.5, 100.0, 100.5]), ["99.0", "99.5", "100.0", "100.5"]);
        assert_eq!(texts(&[100.0, 100.25, 100.5]), ["100.00", "100.25", "100.50"], "a quarter is not a fifth");
        assert_eq!(texts(&[0.0, 0.0005, 0.001]), ["0", "0.0005", "0.0010"]);
        assert_eq!(texts(&[999.8, 1000.0, 1000.2]), ["0.9998 k", "1.0000 k", "1.0002 k"]);
        assert_eq!(texts(&[1e6, 1e6 + 1.0]), ["1.000000 M", "1.000001 M"]);
    }

    #[test]
    fn wide_ranges_have_few_digits_and_one_prefix() {
        assert_eq!(texts(&[0.0, 20.0, 40.0]), ["0", "20", "40"]);
        assert_eq!(texts(&[-500.0, 0.0, 500.0, 1000.0]), ["-0.5 k", "0", "0.5 k", "1.0 k"]);
        assert_eq!(texts(&[0.0, 2e9, 4e9]), ["0", "2 G", "4 G"]);
        assert_eq!(texts(&[0.1, 0.2, 0.1 + 0.2]), ["0.1", "0.2", "0.3"], "roundings of sums are not shown");
    }

    #[test]
    fn ticks_of_logarithmic_axes_have_individual_prefixes() {
        assert_eq!(texts(&[0.1, 1.0, 10.0, 1000.0, 1e6]), ["0.1", "1", "10", "1 k", "1 M"]);
        assert_eq!(texts(&[2500.0]), ["2.5 k"], "nor has one tick others to go by");
    }

    #[test]
    fn small_numbers_have_exponents() {
        assert_eq!(texts(&[1e-9, 1.5e-9, 2e-9]), ["1.0e-9", "1.5e-9", "2.0e-9"]);
        assert_eq!(texts(&[1e12, 1e12 + 1.0]), ["1.000000000000e0 T", "1.000000000001e0 T"]);
    }

    #[test]
    fn labels_differ_wherever_the_drawing_library_puts_ticks() {
        use plotters::coord::types::RangedCoordf64;

        let mut narrow = 0;
        for at in [-1000.0, -0.3, 0.0, 1.0, 98.7, 999.0, 123_456.0] {
            for width in [1e-3, 0.02, 0.3, 1.0, 1.7, 4.0, 77.0, 900.0] {
                for count in [3, 6, 11] {
                    let axis = RangedCoordf64::from(at..at + width);
                    let ticks = axis.key_points(BoldPoints(count));
                    let labels = TickLabels::of_axis(&axis, count);
                    let mut texts: Vec<String> = ticks.iter().map(|tick| labels.text(*tick)).collect();
                    narrow += usize::from(texts.iter().any(|text| text.len() > 5));
                    texts.sort_unstable();
                    texts.dedup();
                    assert_eq!(texts.len(), ticks.len(), "{ticks:?} are {texts:?}");
                }
            }
        }
        assert!(narrow > 10, "some need more than three digits");
    }
}
