//! The frame of a plot: the positions of values, and ticks with their labels.

use warpshard_report::ticks::TickLabels;

use super::{PICTURE_WIDTH, coordinate};

const LEFT_MARGIN: f64 = 58.0;
const RIGHT_MARGIN: f64 = 24.0;
const TOP_MARGIN: f64 = 8.0;
const BOTTOM_MARGIN: f64 = 26.0;

/// The axes of a plot: values from 0 to `most` over cycles from 0 to `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    height: f64,
    end: f64,
    most: f64,
}

/// Returns about `count` ticks from 0 to at least `most`, at distances of 1, 2 or 5 times a power of ten.
fn ticks(most: f64, count: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0, 1.0];
    }
    let rough = most / count;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough * 0.999).unwrap_or(rough);
    let last = (most / step - 1e-9).ceil().max(1.0) as usize;
    (0..=last).map(|i| i as f64 * step).collect()
}

impl Axes {
    /// Creates axes of this height; the upper end is the tick at or above `most`.
    pub(super) fn new(height: f64, end: f64, most: f64) -> Self {
        let most = ticks(most, 4.0).last().copied().unwrap_or(1.0);
        Self { height, end: end.max(1.0), most }
    }

    /// Returns the x coordinate of a cycle.
    pub(super) fn x(&self, cycle: f64) -> f64 {
        LEFT_MARGIN + (PICTURE_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * cycle / self.end
    }

    /// Returns the y coordinate of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        self.height - BOTTOM_MARGIN - (self.height - TOP_MARGIN - BOTTOM_MARGIN) * value / self.most
    }

    /// Draws the lines and labels of both axes.
    pub(super) fn draw(&self, share: bool) -> String {
        let mut text = String::new();
        let values = ticks(self.most, 4.0);
        let labels = TickLabels::new(if share { values.iter().map(|value| value * 100.0).collect() } else { values.clone() });
        for value in values {
            let (y, label) = (self.y(value), if share { labels.text(value * 100.0) + " %" } else { labels.text(value) });
            text += &format!(
                "<path class=\"rule\" d=\"M{} {}H{}\"/><text class=\"end\" x=\"{}\" y=\"{}\">{label}</text>",
                coordinate(LEFT_MARGIN),
                coordinate(y),
                coordinate(PICTURE_WIDTH - RIGHT_MARGIN),
                coordinate(LEFT_MARGIN - 6.0),
                coordinate(y + 4.0)
            );
        }
        text + &self.cycles(self.height - BOTTOM_MARGIN)
    }

    /// Draws the labels of the cycles, and tick marks from a line at `bottom`.
    pub(super) fn cycles(&self, bottom: f64) -> String {
        let cycles = ticks(self.end, 8.0);
        let labels = TickLabels::new(cycles.clone());
        let shown = cycles.into_iter().filter(|cycle| *cycle <= self.end * 1.001);
        shown
            .map(|cycle| {
                let (x, label) = (coordinate(self.x(cycle)), labels.text(cycle));
                format!(
                    "<path class=\"rule\" d=\"M{x} {}v5\"/><text class=\"mid\" x=\"{x}\" y=\"{}\">{label}</text>",
                    coordinate(bottom),
                    coordinate(bottom + 18.0)
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest_value() {
        assert_eq!(ticks(1.0, 4.0), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(930.0, 4.0), [0.0, 500.0, 1000.0]);
        assert_eq!(ticks(0.0, 4.0), [0.0, 1.0]);
        for most in [0.003, 7.0, 99.9, 123_456.0] {
            let ticks = ticks(most, 4.0);
            assert!((3..=6).contains(&ticks.len()) && *ticks.last().unwrap() >= most, "{ticks:?}");
        }
    }

    #[test]
    fn zero_is_at_the_bottom_and_the_last_tick_at_the_top() {
        let axes = Axes::new(200.0, 1000.0, 1.0);
        assert_eq!((axes.y(0.0), axes.y(1.0)), (200.0 - BOTTOM_MARGIN, TOP_MARGIN));
        assert_eq!((axes.x(0.0), axes.x(1000.0)), (LEFT_MARGIN, PICTURE_WIDTH - RIGHT_MARGIN));
    }
}
