//! Grades our figures against published values, and summarises means over kernels with statistics that show which points dominate them.
//!
//! The inputs are a [`Claim`] and our value, or the points of a headline; the outputs are rows of the comparison table. No other module
//! grades values or computes headlines.

use super::output::StudyOutput;
use super::published::{Claim, Value};
use super::statistics::{mean, median};

/// Agreement of our value with the published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Our value is within the band, the bound or the direction.
    Holds,
    /// Our value is outside of the band, the bound or the direction.
    Misses,
    /// The publication contradicts itself.
    Contradicted,
    /// There is no value of ours.
    NotRun,
}

impl Verdict {
    /// Returns the name of the verdict in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
            Self::Contradicted => "contradicted",
            Self::NotRun => "not run",
        }
    }

    /// Returns `Holds` for true and `Misses` for false.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Misses }
    }
}

impl Claim {
    /// Grades our number. A direction is graded by its sign; the published direction is positive.
    pub fn grade(&self, ours: Option<f64>) -> Verdict {
        let Some(ours) = ours.filter(|ours| ours.is_finite()) else { return Verdict::NotRun };
        Verdict::of(match *self {
            Self::Number { low, high, .. } | Self::Range(low, high) => (low..=high).contains(&ours),
            Self::AtLeast(bound) => ours >= bound,
            Self::AtMost(bound) => ours <= bound,
            Self::Direction => ours > 0.0,
        })
    }

    /// Returns the kind of the claim in tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Number { .. } => "number",
            Self::AtLeast(_) | Self::AtMost(_) => "bound",
            Self::Range(..) => "range",
            Self::Direction => "direction",
        }
    }

    /// Formats the published value.
    pub fn published(&self) -> String {
        match self {
            Self::Number { value, .. } => number(*value),
            Self::AtLeast(bound) => format!("at least {}", number(*bound)),
            Self::AtMost(bound) => format!("at most {}", number(*bound)),
            Self::Range(low, high) => format!("{} to {}", number(*low), number(*high)),
            Self::Direction => "direction".into(),
        }
    }

    /// Formats the range of our values that hold.
    pub fn band(&self) -> String {
        match self {
            Self::Number { low, high, .. } | Self::Range(low, high) => format!("{} to {}", number(*low), number(*high)),
            Self::AtLeast(bound) => format!(">= {}", number(*bound)),
            Self::AtMost(bound) => format!("<= {}", number(*bound)),
            Self::Direction => "-".into(),
        }
    }
}

/// Formats a number with up to two decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').replace("-0", if value.abs() < 0.005 { "0" } else { "-0" })
}

/// Ends of a point's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The workload ended.
    Whole,
    /// The run was cut, and its figures cover only the simulated part.
    Cut,
    /// The run was cut, and the rest of the workload is extrapolated.
    Extrapolated,
}

/// The computation of a headline from its points.
pub struct Aggregate<'a, P> {
    /// Computes the figure of several points; for a single point, returns its value.
    pub of: &'a dyn Fn(&[&P]) -> Option<f64>,
    /// Returns true if a point's model was fitted to this figure.
    pub fitted: &'a dyn Fn(&P) -> bool,
    /// Returns the end of a point's runs.
    pub ended: &'a dyn Fn(&P) -> RunEnd,
    /// Name and value of the trivial guess.
    pub trivial: Option<(&'a str, f64)>,
}

/// A figure over several points, with statistics about its robustness.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// The figure over all points.
    pub all: Option<f64>,
    /// Number of points.
    pub count: usize,
    /// The figure over the points that are not fitted to it, and their number.
    pub unfitted: (Option<f64>, usize),
    /// The figure without the two points whose removal lowers its magnitude most.
    pub without_two: Option<f64>,
    /// The median of the points.
    pub median: Option<f64>,
    /// The trivial guess, formatted.
    pub trivial: String,
    /// Number of points whose runs were cut, and number of extrapolated points.
    pub marked: (usize, usize),
}

impl Headline {
    /// Computes the headline from the points.
    pub fn new<P>(points: &[&P], by: &Aggregate<'_, P>) -> Self {
        let all = (by.of)(points);
        let unfitted: Vec<&P> = points.iter().copied().filter(|point| !(by.fitted)(point)).collect();
        let without =
            |left_out: usize| -> Vec<&P> { points.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, point)| *point).collect() };
        let sign = all.unwrap_or(0.0).signum();
        let mut by_contribution: Vec<(f64, usize)> =
            (0..points.len()).map(|i| ((by.of)(&without(i)).map_or(f64::INFINITY, |rest| rest * sign), i)).collect();
        by_contribution.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let largest: Vec<usize> = by_contribution.iter().take(2).map(|(_, i)| *i).collect();
        let rest: Vec<&P> = points.iter().enumerate().filter(|(i, _)| !largest.contains(i)).map(|(_, point)| *point).collect();
        let single: Vec<f64> = points.iter().filter_map(|point| (by.of)(&[*point])).collect();
        let marked = |ended| points.iter().filter(|point| (by.ended)(point) == ended).count();
        Self {
            all,
            count: points.len(),
            unfitted: ((by.of)(&unfitted), unfitted.len()),
            without_two: (by.of)(&rest),
            median: median(&single),
            trivial: by.trivial.map_or_else(|| "-".into(), |(name, value)| format!("{value:.2} ({name})")),
            marked: (marked(RunEnd::Cut), marked(RunEnd::Extrapolated)),
        }
    }

    /// Describes the ends of the runs.
    fn runs(&self) -> String {
        let (cut, extrapolated) = self.marked;
        let part = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let parts: Vec<String> = [part(cut, "cut"), part(extrapolated, "extrapolated")].into_iter().flatten().collect();
        if parts.is_empty() { "whole".into() } else { parts.join(", ") }
    }
}

/// Returns the headline of the mean absolute error, where no error is fitted or cut; `trivial` is the name and value of a trivial guess.
pub fn magnitude_headline(errors: &[f64], trivial: Option<(&str, f64)>) -> Headline {
    let points: Vec<&f64> = errors.iter().collect();
    let mean = |points: &[&f64]| mean(points.iter().map(|error| error.abs()));
    Headline::new(&points, &Aggregate { of: &mean, fitted: &|_| false, ended: &|_| RunEnd::Whole, trivial })
}

/// Columns of the comparison table.
const GRADING_COLUMNS: [&str; 12] = [
    "figure",
    "ours",
    "published",
    "band",
    "kind",
    "source",
    "verdict",
    "not fitted",
    "without 2 largest",
    "median",
    "trivial guess",
    "runs",
];

fn cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

impl StudyOutput {
    /// Counts a verdict for the summary; `NotRun` and `Contradicted` are not graded.
    pub fn count_verdict(&mut self, verdict: Verdict) {
        if matches!(verdict, Verdict::Holds | Verdict::Misses) {
            self.count_graded(verdict == Verdict::Holds);
        }
    }

    /// Adds a graded headline.
    pub fn grade_headline<S>(&mut self, value: &Value<S>, headline: &Headline) -> Verdict {
        self.grade_headline_with(value, headline, "")
    }

    /// Adds a graded headline with a remark after our number.
    pub fn grade_headline_with<S>(&mut self, value: &Value<S>, headline: &Headline, remark: &str) -> Verdict {
        let verdict = value.claim.grade(headline.all);
        let ours = format!("{} ({}){remark}", cell(headline.all), headline.count);
        self.add_graded_row(value, ours, verdict, Some(headline));
        if let Some(all) = headline.all {
            self.figure(&name(value), all);
        }
        verdict
    }

    /// Adds a graded number that is no headline, such as the value of a single kernel, and the end of its run.
    pub fn grade_number<S>(&mut self, value: &Value<S>, ours: Option<f64>, remark: &str) -> Verdict {
        let verdict = value.claim.grade(ours);
        self.add_graded_row(value, format!("{}{remark}", cell(ours)), verdict, None);
        verdict
    }

    /// Adds a graded direction; `agrees` is `None` if no run shows the direction.
    pub fn grade_direction<S>(&mut self, value: &Value<S>, ours: String, agrees: Option<bool>) -> Verdict {
        let verdict = agrees.map_or(Verdict::NotRun, Verdict::of);
        self.add_graded_row(value, ours, verdict, None);
        verdict
    }

    /// Adds a headline without a published value.
    pub fn headline(&mut self, figure: &str, headline: &Headline) {
        let ours = format!("{} ({})", cell(headline.all), headline.count);
        let cells = [figure.to_owned(), ours].into_iter().chain((0..5).map(|_| "-".to_owned()));
        self.compare(&GRADING_COLUMNS, cells.chain(headline_cells(headline)).collect());
        if let Some(all) = headline.all {
            self.figure(figure, all);
        }
    }

    fn add_graded_row<S>(&mut self, value: &Value<S>, ours: String, verdict: Verdict, headline: Option<&Headline>) {
        let Value { claim, source, .. } = value;
        let verdict_name = verdict.name().to_owned();
        let cells = [name(value), ours, claim.published(), claim.band(), claim.kind().into(), source.clone(), verdict_name];
        let more = headline.map_or_else(|| ["-"; 5].map(String::from), headline_cells);
        self.compare(&GRADING_COLUMNS, cells.into_iter().chain(more).collect());
        self.count_verdict(verdict);
    }
}

fn name<S>(value: &Value<S>) -> String {
    if value.unit.is_empty() { value.figure.clone() } else { format!("{}, {}", value.figure, value.unit) }
}

fn headline_cells(headline: &Headline) -> [String; 5] {
    let (unfitted, count) = headline.unfitted;
    let unfitted = format!("{} ({count})", cell(unfitted));
    [unfitted, cell(headline.without_two), cell(headline.median), headline.trivial.clone(), headline.runs()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_graded_by_bands_and_bounds_by_their_side() {
        let number = Claim::Number { value: 4.95, low: 2.5, high: 7.4 };
        assert_eq!([Some(3.0), Some(0.1), Some(9.0)].map(|ours| number.grade(ours)), [Verdict::Holds, Verdict::Misses, Verdict::Misses]);
        assert_eq!([97.9, 98.0].map(|ours| Claim::AtLeast(98.0).grade(Some(ours))), [Verdict::Misses, Verdict::Holds]);
        assert_eq!([4.0, 4.1].map(|ours| Claim::AtMost(4.0).grade(Some(ours))), [Verdict::Holds, Verdict::Misses]);
        assert_eq!([1.9, 2.5].map(|ours| Claim::Range(2.0, 3.0).grade(Some(ours))), [Verdict::Misses, Verdict::Holds]);
        assert_eq!([number.grade(None), number.grade(Some(f64::NAN))], [Verdict::NotRun; 2]);
        assert_eq!((number.published(), number.band()), ("4.95".into(), "2.5 to 7.4".into()));
        assert_eq!((Claim::AtMost(-0.5).band(), Claim::AtLeast(0.0).published()), ("<= -0.5".into(), "at least 0".into()));
    }

    #[test]
    fn a_headline_shows_its_dominant_points() {
        let values = [1.0, 2.0, 3.0, 20.0, 30.0];
        let points: Vec<&f64> = values.iter().collect();
        let by = Aggregate {
            of: &|points: &[&f64]| mean(points.iter().map(|value| **value)),
            fitted: &|value| *value > 25.0,
            ended: &|value| if *value < 1.5 { RunEnd::Extrapolated } else { RunEnd::Whole },
            trivial: Some(("nothing", 0.0)),
        };
        let headline = Headline::new(&points, &by);
        assert_eq!((headline.all, headline.count, headline.unfitted), (Some(11.2), 5, (Some(6.5), 4)));
        assert_eq!((headline.without_two, headline.median), (Some(2.0), Some(3.0)));
        assert_eq!((headline.trivial.as_str(), headline.runs()), ("0.00 (nothing)", "1 extrapolated".into()));
        let losses: Vec<f64> = values.iter().map(|value| -value).collect();
        assert_eq!(Headline::new(&losses.iter().collect::<Vec<_>>(), &by).without_two, Some(-2.0), "the largest losses carry a loss");
        assert_eq!(Headline::new(&[], &by).all, None);
    }
}
