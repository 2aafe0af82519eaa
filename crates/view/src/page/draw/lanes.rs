//! Time spans in lanes, such as the execution of kernels.

use warpshard_report::text::clip;

use super::axes::Axes;
use super::{coordinate, escaped, picture};

const ROW_HEIGHT: f64 = 26.0;

/// Width and distance below which spans are merged, in units of the picture.
const MIN_SPAN_WIDTH: f64 = 1.0;

/// A span of cycles.
#[derive(Clone, Debug)]
pub(in super::super) struct Span {
    /// Name of the span.
    pub(in super::super) name: String,
    /// First cycle of the span.
    pub(in super::super) from: f64,
    /// Last cycle of the span.
    pub(in super::super) to: f64,
    /// Colour of the span.
    pub(in super::super) colour: String,
}

/// A lane with spans in the order of their starts.
#[derive(Clone, Debug)]
pub(in super::super) struct Lane {
    /// The label on the left of the lane.
    pub(in super::super) name: String,
    /// The spans of the lane.
    pub(in super::super) spans: Vec<Span>,
}

/// Draws the lanes over cycles from 0 to `end`. Spans that are too short to be visible are merged.
pub(in super::super) fn lanes(all: &[Lane], end: f64) -> String {
    let height = all.len() as f64 * ROW_HEIGHT + 28.0;
    let axes = Axes::new(height, end, 1.0);
    let mut text = axes.cycles(all.len() as f64 * ROW_HEIGHT + 2.0);
    for (i, lane) in all.iter().enumerate() {
        let y = i as f64 * ROW_HEIGHT + 2.0;
        text += &format!("<text class=\"end\" x=\"52\" y=\"{}\">{}</text>", coordinate(y + 15.0), escaped(&clip(&lane.name, 9)));
        for drawn in merged_spans(&axes, &lane.spans) {
            let (left, right) = (axes.x(drawn.from), axes.x(drawn.to));
            let cycles = format!("cycles {} to {}", drawn.from, drawn.to);
            let what = if drawn.count == 1 { clip(&drawn.name, 80) } else { format!("{} kernels", drawn.count) };
            text += &format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"20\" fill=\"{}\"><title>{}: {cycles}</title></rect>",
                coordinate(left),
                coordinate(y),
                coordinate((right - left).max(0.5)),
                drawn.colour,
                escaped(&what)
            );
        }
    }
    picture(height, &text)
}

/// Merged spans that are drawn as one.
struct MergedSpan {
    name: String,
    from: f64,
    to: f64,
    colour: String,
    count: usize,
}

fn merged_spans(axes: &Axes, spans: &[Span]) -> Vec<MergedSpan> {
    let mut drawn: Vec<MergedSpan> = Vec::new();
    let width = |from: f64, to: f64| axes.x(to) - axes.x(from);
    for span in spans {
        if let Some(last) = drawn.last_mut()
            && width(last.from, span.to) < MIN_SPAN_WIDTH
        {
            last.to = last.to.max(span.to);
            last.count += 1;
            continue;
        }
        drawn.push(MergedSpan { name: span.name.clone(), from: span.from, to: span.to, colour: span.colour.clone(), count: 1 });
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_spans_are_drawn_together_and_long_ones_alone() {
        let span = |from: f64, to: f64| Span { name: "k".into(), from, to, colour: "#000".into() };
        let mut spans: Vec<Span> = (0..10_000).map(|i| span(f64::from(i), f64::from(i) + 0.5)).collect();
        spans.push(span(10_000.0, 20_000.0));
        let svg = lanes(&[Lane { name: "stream 0".into(), spans }], 20_000.0);
        assert!(svg.matches("<rect").count() < 900, "{}", svg.matches("<rect").count());
        assert!(svg.contains("<title>k: cycles 10000 to 20000</title>") && svg.len() < 150_000, "{}", svg.len());
    }
}
