//! Strip charts: one small chart per series, one below the other, with a common x axis, for values of different units over the same time.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::picture::{DEFAULT_SIZE, Picture, PictureError};
use super::plot::Series;
use super::ticks::TickLabels;

/// A picture of strip charts.
#[derive(Clone, Debug, PartialEq)]
pub struct Strips {
    /// Title of the picture.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// The strips from top to bottom; the name of each strip is on its left.
    pub strips: Vec<Series>,
}

/// Maximum numbers of labels of the x axis and of the y axis of a strip.
const MAX_LABELS: (usize, usize) = (6, 3);
/// Height of a strip in pixels.
const STRIP_HEIGHT: u32 = 110;
/// Height of the x axis in pixels.
const AXIS_HEIGHT: u32 = 56;
/// Height of the title and the x axis in pixels.
const FRAME_HEIGHT: u32 = 40 + AXIS_HEIGHT;

impl Picture for Strips {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        (DEFAULT_SIZE.0, FRAME_HEIGHT + STRIP_HEIGHT * self.strips.len() as u32)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        let points = || self.strips.iter().flat_map(|series| series.points.iter().map(move |point| (series, *point)));
        if let Some((series, point)) = points().find(|(_, (x, y))| !x.is_finite() || !y.is_finite()) {
            return Err(PictureError::Value { title: self.title.clone(), series: series.name.clone(), point });
        }
        let x = range(points().map(|(_, (x, _))| x)).ok_or_else(|| PictureError::Empty { title: self.title.clone() })?;
        self.draw_on(area, x).map_err(|error| self.failure(&error))
    }
}

impl Strips {
    fn draw_on<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, x: (f64, f64)) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let area = area.margin(8, 0, 0, 0).titled(&self.title, ("sans-serif", 22))?;
        let (strips, below) = area.split_vertically(area.dim_in_pixel().1 - AXIS_HEIGHT);
        for (series, strip) in self.strips.iter().zip(strips.split_evenly((self.strips.len(), 1))) {
            let (low, high) = range(series.points.iter().map(|(_, y)| *y)).unwrap_or((0.0, 1.0));
            let mut builder = ChartBuilder::on(&strip);
            builder.margin(6).margin_right(20).y_label_area_size(100);
            let mut chart = builder.build_cartesian_2d(x.0..x.1, low.min(0.0)..high)?;
            let labels = TickLabels::of_axis(chart.as_coord_spec().y_spec(), MAX_LABELS.1);
            let number = |value: &f64| labels.text(*value);
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_axis().y_labels(MAX_LABELS.1).y_desc(&series.name).axis_desc_style(("sans-serif", 14));
            mesh.label_style(("sans-serif", 12)).light_line_style(WHITE.mix(0.0)).y_label_formatter(&number).draw()?;
            chart.draw_series(LineSeries::new(series.points.iter().copied(), RGBColor(0, 60, 110).stroke_width(2)))?;
        }
        // The x axis is drawn once, below the last strip.
        let mut builder = ChartBuilder::on(&below);
        builder.margin_left(6).margin_right(20).y_label_area_size(100).x_label_area_size(54);
        let mut axis = builder.build_cartesian_2d(x.0..x.1, 0.0..1.0)?;
        let labels = TickLabels::of_axis(axis.as_coord_spec().x_spec(), MAX_LABELS.0);
        let number = |value: &f64| labels.text(*value);
        let mut mesh = axis.configure_mesh();
        mesh.disable_mesh()
            .set_tick_mark_size(LabelAreaPosition::Bottom, 6)
            .y_labels(0)
            .x_labels(MAX_LABELS.0)
            .x_desc(&self.x)
            .axis_desc_style(("sans-serif", 16));
        mesh.label_style(("sans-serif", 13)).x_label_formatter(&number).draw()?;
        area.present()
    }
}

/// Returns minimum and maximum, widened if they are equal.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let extent = values.fold(None, |extent: Option<(f64, f64)>, value| {
        Some(extent.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    });
    extent.map(|(low, high)| if high > low { (low, high + (high - low) * 0.05) } else { (low, low + low.abs().max(1.0)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strips(values: &[f64]) -> Strips {
        let points = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect::<Vec<_>>();
        let series = |name: &str| Series { name: name.into(), points: points.clone() };
        Strips { title: "SM 0".into(), x: "core cycle".into(), strips: vec![series("limit [warps]"), series("diff_up")] }
    }

    #[test]
    fn every_strip_has_its_line_its_name_and_they_share_one_axis() {
        let svg = strips(&[3.0, -2.0, 700.0]).svg().unwrap();
        assert_eq!(svg.matches("stroke=\"#003C6E\"").count(), 2, "{svg}");
        for (text, times) in [("SM 0", 1), ("core cycle", 1), ("limit [warps]", 1), ("diff_up", 1)] {
            assert_eq!(svg.lines().filter(|line| line.trim() == text).count(), times, "{text} in {svg}");
        }
    }

    #[test]
    fn the_height_grows_with_the_number_of_strips() {
        let svg = strips(&[1.0]).svg().unwrap();
        assert!(svg.contains(&format!("height=\"{}\"", FRAME_HEIGHT + 2 * STRIP_HEIGHT)), "{svg}");
    }

    #[test]
    fn invalid_values_cannot_be_drawn() {
        assert!(matches!(strips(&[]).svg(), Err(PictureError::Empty { .. })));
        assert!(matches!(strips(&[1.0, f64::NAN]).svg(), Err(PictureError::Value { .. })));
    }
}
