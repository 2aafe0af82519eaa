//! Bar charts: named horizontal bars, or many numbered columns.

use warpshard_report::text::clip;

use super::{WIDTH, at, escaped, picture};

/// A named value.
#[derive(Clone, Debug)]
pub(in super::super) struct Bar {
    /// Name of the value.
    pub(in super::super) name: String,
    /// The value, not negative.
    pub(in super::super) value: f64,
    /// The value as text.
    pub(in super::super) label: String,
}

const ROW: f64 = 22.0;
const NAMES: f64 = 230.0;
const LABELS: f64 = 120.0;

/// Draws a bar per line, with its name on the left and its value on the right.
pub(in super::super) fn bars(items: &[Bar], colour: &str) -> String {
    let most = items.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let one = |(i, bar): (usize, &Bar)| {
        let (y, width) = (i as f64 * ROW, (WIDTH - NAMES - LABELS) * bar.value / most);
        format!(
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            at(NAMES - 8.0),
            at(y + 15.0),
            escaped(&clip(&bar.name, 34)),
            at(NAMES),
            at(y + 3.0),
            at(width.max(0.5)),
            at(NAMES + width + 6.0),
            at(y + 15.0),
            escaped(&bar.label)
        )
    };
    picture(items.len() as f64 * ROW + 4.0, &items.iter().enumerate().map(one).collect::<String>())
}

const HEIGHT: f64 = 160.0;

/// Draws a column per item, with numbers below; each column has its name and value as tooltip.
pub(in super::super) fn columns(items: &[Bar], colour: &str) -> String {
    let most = items.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let pitch = WIDTH / items.len().max(1) as f64;
    let every = (28.0 / pitch).ceil().max(1.0) as usize;
    let one = |(i, bar): (usize, &Bar)| {
        let (x, height) = (i as f64 * pitch, (HEIGHT - 30.0) * bar.value / most);
        let label = if i % every == 0 {
            format!("<text class=\"mid\" x=\"{}\" y=\"{}\">{i}</text>", at(x + pitch / 2.0), at(HEIGHT - 4.0))
        } else {
            String::new()
        };
        format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"><title>{}: {}</title></rect>{label}",
            at(x + pitch * 0.1),
            at(HEIGHT - 20.0 - height),
            at(pitch * 0.8),
            at(height),
            escaped(&bar.name),
            escaped(&bar.label)
        )
    };
    picture(HEIGHT, &items.iter().enumerate().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bar_takes_the_whole_width_and_names_are_text() {
        let bar = |name: &str, value| Bar { name: name.into(), value, label: value.to_string() };
        let svg = bars(&[bar("a<b", 2.0), bar("zero", 0.0)], "#000");
        assert!(svg.contains("width=\"550\"") && svg.contains("width=\"0.5\"") && svg.contains("a&lt;b"), "{svg}");
        let svg = columns(&vec![bar("x", 1.0); 64], "#000");
        assert!(svg.matches("<text").count() < 33 && svg.matches("<rect").count() == 64, "{svg}");
        assert!(columns(&[], "#000").starts_with("<svg"));
    }
}
