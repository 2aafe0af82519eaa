//! Bar charts: named horizontal bars, or many numbered columns.

use warpshard_report::text::clip;

use super::{PICTURE_WIDTH, coordinate, escaped, picture};

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

const ROW_HEIGHT: f64 = 22.0;
const NAME_WIDTH: f64 = 230.0;
const LABEL_WIDTH: f64 = 120.0;

/// Draws a bar per line, with its name on the left and its value on the right.
pub(in super::super) fn bars(items: &[Bar], colour: &str) -> String {
    let most = items.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let one = |(i, bar): (usize, &Bar)| {
        let (y, width) = (i as f64 * ROW_HEIGHT, (PICTURE_WIDTH - NAME_WIDTH - LABEL_WIDTH) * bar.value / most);
        format!(
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            coordinate(NAME_WIDTH - 8.0),
            coordinate(y + 15.0),
            escaped(&clip(&bar.name, 34)),
            coordinate(NAME_WIDTH),
            coordinate(y + 3.0),
            coordinate(width.max(0.5)),
            coordinate(NAME_WIDTH + width + 6.0),
            coordinate(y + 15.0),
            escaped(&bar.label)
        )
    };
    picture(items.len() as f64 * ROW_HEIGHT + 4.0, &items.iter().enumerate().map(one).collect::<String>())
}

const PICTURE_HEIGHT: f64 = 160.0;

/// Draws a column per item, with numbers below; each column has its name and value as tooltip.
pub(in super::super) fn columns(items: &[Bar], colour: &str) -> String {
    let most = items.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let pitch = PICTURE_WIDTH / items.len().max(1) as f64;
    let every = (28.0 / pitch).ceil().max(1.0) as usize;
    let one = |(i, bar): (usize, &Bar)| {
        let (x, height) = (i as f64 * pitch, (PICTURE_HEIGHT - 30.0) * bar.value / most);
        let label = if i % every == 0 {
            format!("<text class=\"mid\" x=\"{}\" y=\"{}\">{i}</text>", coordinate(x + pitch / 2.0), coordinate(PICTURE_HEIGHT - 4.0))
        } else {
            String::new()
        };
        format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"><title>{}: {}</title></rect>{label}",
            coordinate(x + pitch * 0.1),
            coordinate(PICTURE_HEIGHT - 20.0 - height),
            coordinate(pitch * 0.8),
            coordinate(height),
            escaped(&bar.name),
            escaped(&bar.label)
        )
    };
    picture(PICTURE_HEIGHT, &items.iter().enumerate().map(one).collect::<String>())
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
