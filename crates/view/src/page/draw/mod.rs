//! Pictures as inline SVG: they use the colours of the page, light or dark, and have their values as tooltips.

mod axes;
mod bars;
mod lanes;
mod steps;
mod tiles;

pub(super) use bars::{Bar, bars, columns};
pub(super) use lanes::{Lane, Span, lanes};
pub(super) use steps::{Layer, lines, stacked_areas};
pub(super) use tiles::{Tile, tiles};

/// Width of a picture in SVG units.
const PICTURE_WIDTH: f64 = 900.0;

/// Colours that are distinguishable on light and dark pages and with most colour-vision deficiencies.
const COLOURS: [&str; 12] =
    ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#edc948", "#76b7b2", "#9c755f", "#ff9da7", "#86bcb6", "#d37295", "#a0a0a0"];

/// Returns the colour with this index; all indices beyond the last colour share one.
pub(super) fn colour(index: usize) -> String {
    COLOURS[index.min(COLOURS.len() - 1)].to_owned()
}

/// Formats a coordinate with one decimal.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Escapes `text` for the contents of an element.
fn escaped(text: &str) -> String {
    let text = warpshard_report::text::printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns an SVG picture of this height with these contents.
fn picture(height: f64, contents: &str) -> String {
    format!("<svg viewBox=\"0 0 {PICTURE_WIDTH} {}\" role=\"img\">{contents}</svg>", coordinate(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_texts_are_no_markup() {
        assert_eq!([coordinate(3.0), coordinate(7.26), coordinate(0.04)], ["3", "7.3", "0"]);
        assert_eq!(escaped("a<b>&\u{1b}"), "a&lt;b&gt;&amp;\\u{1b}");
        assert_eq!(colour(0), COLOURS[0]);
        assert_eq!(colour(99), COLOURS[11]);
    }
}
