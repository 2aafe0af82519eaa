//! Heat maps: a number for each pair of two values, drawn as a tile that is darker for larger numbers, in one panel or several.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::picture::{DEFAULT_SIZE, Picture, PictureError};
use super::text::si_number;

/// Height of the title, in pixels.
const TITLE_HEIGHT: i32 = 40;
/// Height for the name of a panel above the tiles, and for the labels and the name of the horizontal axis below them, in pixels.
const TOP_MARGIN: i32 = 28;
const BOTTOM_MARGIN: i32 = 52;
/// Width for the labels and the name of the vertical axis left of the tiles, and margin to their right, in pixels.
const LEFT_MARGIN: i32 = 110;
const RIGHT_MARGIN: i32 = 16;
/// Width of a character of a label, in pixels.
const CHAR_WIDTH: f64 = 7.5;
/// Number of panels in a row.
const PANELS_PER_ROW: usize = 2;
/// Height of the tiles of one panel, in pixels.
const TILES_HEIGHT: u32 = 300;
/// The colour of the largest number; the least number has a tenth of its intensity.
const LARGEST_COLOUR: RGBColor = RGBColor(0, 60, 110);
const MIN_COLOUR_SHARE: f64 = 0.1;

/// The tiles of one panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The name of the panel; empty for a single panel.
    pub name: String,
    /// A row for each value of the vertical axis, with a number for each value of the horizontal axis; `None` draws no tile.
    pub values: Vec<Vec<Option<f64>>>,
}

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Title of the map, with the meaning of the numbers.
    pub title: String,
    /// Name of the horizontal axis, and its values from left to right.
    pub x: (String, Vec<String>),
    /// Name of the vertical axis, and its values from bottom to top.
    pub y: (String, Vec<String>),
    /// The panels, which share both axes. Each panel has a separate colour scale.
    pub panels: Vec<Panel>,
}

impl Picture for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let rows = self.panels.len().div_ceil(PANELS_PER_ROW).max(1) as u32;
        (DEFAULT_SIZE.0, TITLE_HEIGHT as u32 + rows * (TILES_HEIGHT + (TOP_MARGIN + BOTTOM_MARGIN) as u32))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        let numbers = || self.panels.iter().flat_map(|panel| &panel.values).flatten().flatten();
        if let Some(value) = numbers().find(|value| !value.is_finite()) {
            return Err(PictureError::Value { title: self.title.clone(), series: self.y.0.clone(), point: (0.0, *value) });
        }
        if numbers().next().is_none() {
            return Err(PictureError::Empty { title: self.title.clone() });
        }
        self.draw_panels(area).map_err(|error| self.failure(&error))
    }
}

impl HeatMap {
    fn draw_panels<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let (head, body) = area.split_vertically(TITLE_HEIGHT);
        let middle = |size| ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Center));
        let (width, _) = head.dim_in_pixel();
        head.draw(&Text::new(self.title.clone(), (width as i32 / 2, TITLE_HEIGHT / 2), middle(22)))?;
        let columns = self.panels.len().min(PANELS_PER_ROW);
        for (panel, place) in self.panels.iter().zip(body.split_evenly((self.panels.len().div_ceil(columns), columns))) {
            self.draw_panel(panel, &place)?;
        }
        area.present()
    }

    fn draw_panel<B: DrawingBackend>(&self, panel: &Panel, area: &DrawingArea<B, Shift>) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let numbers = panel.values.iter().flatten().flatten();
        let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
        let strength =
            |value: f64| if high > low { MIN_COLOUR_SHARE + (1.0 - MIN_COLOUR_SHARE) * (value - low) / (high - low) } else { 0.5 };
        let at = |hpos, vpos| ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(hpos, vpos));
        let middle = at(HPos::Center, VPos::Center);
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (width as i32 - LEFT_MARGIN - RIGHT_MARGIN, height as i32 - TOP_MARGIN - BOTTOM_MARGIN);
        let columns = self.x.1.len().max(1) as i32;
        let rows = self.y.1.len().max(1) as i32;
        let across = |column: usize| LEFT_MARGIN + width * column as i32 / columns;
        let down = |row: usize| TOP_MARGIN + height * (rows - row as i32) / rows;
        area.draw(&Text::new(panel.name.clone(), (LEFT_MARGIN + width / 2, TOP_MARGIN / 2), middle.clone()))?;
        area.draw(&Text::new(self.x.0.clone(), (LEFT_MARGIN + width / 2, TOP_MARGIN + height + BOTTOM_MARGIN - 16), middle.clone()))?;
        area.draw(&Text::new(self.y.0.clone(), (8, TOP_MARGIN / 2), at(HPos::Left, VPos::Center)))?;
        for (column, label) in self.x.1.iter().enumerate() {
            let centre = i32::midpoint(across(column), across(column + 1));
            area.draw(&Text::new(label.clone(), (centre, TOP_MARGIN + height + 12), middle.clone()))?;
        }
        for (row, label) in self.y.1.iter().enumerate() {
            let centre = i32::midpoint(down(row), down(row + 1));
            area.draw(&Text::new(label.clone(), (LEFT_MARGIN - 8, centre), at(HPos::Right, VPos::Center)))?;
        }
        for (row, values) in panel.values.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                let corners = [(across(column), down(row + 1)), (across(column + 1), down(row))];
                if let Some(value) = *value {
                    area.draw(&Rectangle::new(corners, LARGEST_COLOUR.mix(strength(value)).filled()))?;
                    let text = si_number(value).trim().to_owned();
                    if text.chars().count() as f64 * CHAR_WIDTH < f64::from(width / columns) {
                        let colour = if strength(value) > 0.5 { &WHITE } else { &BLACK };
                        let style = ("sans-serif", 13).into_font().color(colour).pos(Pos::new(HPos::Center, VPos::Center));
                        let centre = (i32::midpoint(corners[0].0, corners[1].0), i32::midpoint(corners[0].1, corners[1].1));
                        area.draw(&Text::new(text, centre, style))?;
                    }
                }
                area.draw(&Rectangle::new(corners, BLACK.mix(0.3)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(values: &[[Option<f64>; 2]], panels: usize) -> HeatMap {
        let values = values.iter().map(|row| row.to_vec()).collect();
        let panel = Panel { name: "gemm".into(), values };
        let x = ("gpu.sms".into(), vec!["56".into(), "80".into()]);
        HeatMap { title: "cycles".into(), x, y: ("sets".into(), vec!["16".into(), "32".into()]), panels: vec![panel; panels] }
    }

    #[test]
    fn every_number_has_a_tile_as_dark_as_it_is_large() {
        let svg = heat(&[[Some(100.0), None], [Some(200.0), Some(300.0)]], 1).svg().unwrap();
        for opacity in ["0.1", "0.55", "1"] {
            assert_eq!(svg.matches(&format!("opacity=\"{opacity}\" fill=\"#003C6E\"")).count(), 1, "{opacity} in {svg}");
        }
        for text in ["100", "200", "300", "gpu.sms", "sets", "56", "80", "16", "32", "gemm", "cycles"] {
            assert_eq!(svg.lines().filter(|line| line.trim() == text).count(), 1, "{text} in {svg}");
        }
    }

    #[test]
    fn the_height_grows_with_the_rows_of_panels() {
        let (one, three) = (heat(&[[Some(1.0), Some(2.0)]], 1), heat(&[[Some(1.0), Some(2.0)]], 3));
        assert!(three.size().1 > one.size().1 + TILES_HEIGHT);
        assert_eq!(three.svg().unwrap().lines().filter(|line| line.trim() == "gemm").count(), 3);
    }

    #[test]
    fn invalid_values_cannot_be_drawn() {
        assert!(matches!(heat(&[[None, None]], 1).svg(), Err(PictureError::Empty { .. })));
        assert!(matches!(heat(&[[Some(f64::NAN), None]], 1).svg(), Err(PictureError::Value { .. })));
    }
}
