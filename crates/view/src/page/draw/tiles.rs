//! Tiles, one per component; larger values have a stronger colour.

use super::{PICTURE_WIDTH, coordinate, escaped, picture};

/// Smallest size of a tile that shows its number.
const MIN_NUMBERED_SIZE: f64 = 26.0;
/// Colour strength above which the number of a tile has the colour of the page's background.
const STRONG_FILL: f64 = 0.6;

/// A component with a value.
#[derive(Clone, Debug)]
pub(in super::super) struct Tile {
    /// Number of the component.
    pub(in super::super) id: u64,
    /// The value; `None` draws an empty tile.
    pub(in super::super) value: Option<f64>,
    /// The value as text.
    pub(in super::super) label: String,
}

/// Draws the tiles in rows, from the least value (light) to the largest (full colour).
pub(in super::super) fn tiles(all: &[Tile]) -> String {
    let known = || all.iter().filter_map(|tile| tile.value);
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let side = (PICTURE_WIDTH / ((all.len() as f64 * 3.0).sqrt().ceil()).max(1.0)).clamp(8.0, 44.0);
    let in_row = (PICTURE_WIDTH / side).floor() as usize;
    let one = |(i, tile): (usize, &Tile)| {
        let (x, y) = ((i % in_row) as f64 * side, (i / in_row) as f64 * side);
        let strength = tile.value.map(|value| if most > least { 0.08 + 0.92 * (value - least) / (most - least) } else { 0.5 });
        let fill = strength.map_or("fill=\"none\"".to_owned(), |strength| format!("class=\"heat\" fill-opacity=\"{strength:.2}\""));
        let (middle, bottom) = (x + side / 2.0, y + side / 2.0 + 4.0);
        let number = if side >= MIN_NUMBERED_SIZE {
            let class = if strength.is_some_and(|strength| strength > STRONG_FILL) { "mid strong" } else { "mid" };
            format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>", coordinate(middle), coordinate(bottom), tile.id)
        } else {
            String::new()
        };
        let (left, top, edge) = (coordinate(x + 1.0), coordinate(y + 1.0), coordinate(side - 2.0));
        format!(
            "<g><title>{}: {}</title><rect x=\"{left}\" y=\"{top}\" width=\"{edge}\" height=\"{edge}\" {fill}/>{number}</g>",
            tile.id,
            escaped(&tile.label),
        )
    };
    let rows = all.len().div_ceil(in_row.max(1));
    picture(rows as f64 * side, &all.iter().enumerate().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_has_the_full_colour_and_the_unknown_none() {
        let tile = |id, value: Option<f64>| Tile { id, value, label: "x".into() };
        let svg = tiles(&[tile(0, Some(1.0)), tile(1, Some(3.0)), tile(2, None)]);
        assert!(svg.contains("fill-opacity=\"0.08\"") && svg.contains("fill-opacity=\"1.00\"") && svg.contains("fill=\"none\""), "{svg}");
        let equal = tiles(&vec![tile(0, Some(2.0)); 1000]);
        assert!(equal.contains("fill-opacity=\"0.50\"") && !equal.contains("<text"), "{}", &equal[..300]);
    }
}
