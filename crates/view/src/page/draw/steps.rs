//! Values over time, as lines or stacked areas.

use super::axes::Axes;
use super::{coordinate, escaped, picture};

const PICTURE_HEIGHT: f64 = 240.0;

/// A value over time in a picture of several.
#[derive(Clone, Debug)]
pub(in super::super) struct Layer {
    /// Name of the value.
    pub(in super::super) name: String,
    /// Colour of the value.
    pub(in super::super) colour: String,
    /// The value in each step; `None` if a step has no value.
    pub(in super::super) values: Vec<Option<f64>>,
}

/// Draws a line for each layer. `ends` are the cycles at which the steps end; shares are labelled as percentages.
pub(in super::super) fn lines(ends: &[f64], layers: &[Layer], share: bool) -> String {
    let most = layers.iter().flat_map(|layer| layer.values.iter().flatten()).copied().fold(0.0, f64::max);
    let axes = Axes::new(PICTURE_HEIGHT, ends.last().copied().unwrap_or(0.0), most);
    let mut text = axes.draw(share);
    for layer in layers {
        let (mut path, mut begin, mut down) = (String::new(), 0.0, false);
        for (end, value) in ends.iter().zip(&layer.values) {
            if let Some(value) = value {
                let y = coordinate(axes.y(*value));
                path += &if down { format!("V{y}") } else { format!("M{} {y}", coordinate(axes.x(begin))) };
                path += &format!("H{}", coordinate(axes.x(*end)));
            }
            (down, begin) = (value.is_some(), *end);
        }
        text += &format!("<path class=\"line\" stroke=\"{}\" d=\"{path}\"><title>{}</title></path>", layer.colour, escaped(&layer.name));
    }
    picture(PICTURE_HEIGHT, &text)
}

/// Draws the layers on top of each other, with the first at the bottom.
pub(in super::super) fn stacked_areas(ends: &[f64], layers: &[Layer], share: bool) -> String {
    let mut floor = vec![0.0; ends.len()];
    let totals = |i: usize| layers.iter().filter_map(|layer| layer.values[i]).sum::<f64>();
    let most = (0..ends.len()).map(totals).fold(0.0, f64::max);
    let axes = Axes::new(PICTURE_HEIGHT, ends.last().copied().unwrap_or(0.0), if share { 1.0 } else { most });
    let mut areas = String::new();
    for layer in layers {
        let top: Vec<f64> = floor.iter().zip(&layer.values).map(|(floor, value)| floor + value.unwrap_or(0.0)).collect();
        if top != floor {
            let (upper, lower) = (area_edge(&axes, ends, &top, false), area_edge(&axes, ends, &floor, true));
            areas += &format!("<path fill=\"{}\" d=\"M{upper}L{lower}Z\"><title>{}</title></path>", layer.colour, escaped(&layer.name));
        }
        floor = top;
    }
    picture(PICTURE_HEIGHT, &(areas + &axes.draw(share)))
}

/// Returns the path along the edge of a layer, from left to right or backwards.
fn area_edge(axes: &Axes, ends: &[f64], values: &[f64], back: bool) -> String {
    let begins = std::iter::once(0.0).chain(ends.iter().copied());
    let steps: Vec<(f64, f64, f64)> = begins.zip(ends).zip(values).map(|((begin, end), value)| (begin, *end, *value)).collect();
    let mut path = String::new();
    let mut step = |(from, to, value): (f64, f64, f64)| {
        let y = coordinate(axes.y(value));
        path += &if path.is_empty() { format!("{} {y}", coordinate(axes.x(from))) } else { format!("V{y}") };
        path += &format!("H{}", coordinate(axes.x(to)));
    };
    if back {
        steps.into_iter().rev().for_each(|(begin, end, value)| step((end, begin, value)));
    } else {
        steps.into_iter().for_each(step);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str, values: &[Option<f64>]) -> Layer {
        Layer { name: name.into(), colour: "#123456".into(), values: values.to_vec() }
    }

    #[test]
    fn a_line_has_a_gap_where_there_is_no_value() {
        let svg = lines(&[10.0, 20.0, 30.0], &[layer("a<b", &[Some(1.0), None, Some(0.5)])], false);
        let path = svg.split("d=\"").last().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(svg.contains("<title>a&lt;b</title>"), "{svg}");
    }

    #[test]
    fn layers_are_stacked_and_empty_layers_are_omitted() {
        let svg = stacked_areas(
            &[10.0, 20.0],
            &[layer("a", &[Some(0.5), Some(0.5)]), layer("none", &[Some(0.0), None]), layer("b", &[Some(0.5), Some(0.0)])],
            true,
        );
        assert_eq!(svg.matches("fill=\"#123456\"").count(), 2);
        assert!(!svg.contains("none") && svg.contains("100 %"), "{svg}");
    }
}
