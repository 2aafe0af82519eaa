//! Plots for studies: a log-log scatter plot against the identity, and lines over a linear axis.
//!
//! Series differ in colour and, for print in black and white, also in dashes (lines) or shape (points).

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::picture::{Picture, PictureError};
use super::ticks::TickLabels;

/// Maximum number of labels of an axis.
const MAX_LABELS: usize = 11;

/// Greatest ratio of the minimum to the maximum of an axis for which the axis begins at zero.
const MAX_RATIO_FROM_ZERO: f64 = 0.2;
/// Width of a character of the legend and height of its lines, in pixels.
const CHAR_SIZE: (f64, f64) = (7.5, 18.0);

/// Points with a name for the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the series in the legend.
    pub name: String,
    /// The points (x, y), in the order in which a line connects them.
    pub points: Vec<(f64, f64)>,
}

/// The form of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotForm {
    /// Points on two logarithmic axes with the same range, with the identity line.
    Scatter,
    /// Lines on linear axes; the y axis starts at zero if all values are positive.
    Lines,
}

/// A plot of several series.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title of the plot.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// Label of the y axis, with the unit.
    pub y: String,
    /// Form of the plot.
    pub form: PlotForm,
    /// The series of the plot.
    pub series: Vec<Series>,
}

/// Minimum and maximum of both coordinates.
#[derive(Clone, Copy)]
struct Extent {
    x: (f64, f64),
    y: (f64, f64),
}

impl Picture for Plot {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        let Extent { x: (x_low, x_high), y: (y_low, y_high) } = self.extent()?;
        let drawn = match self.form {
            PlotForm::Scatter => {
                let (low, high) = (x_low.min(y_low) / 1.5, x_high.max(y_high) * 1.5);
                self.draw_on(area, (low..high).log_scale(), (low..high).log_scale(), Some((low, high)))
            }
            PlotForm::Lines => {
                let room = |low: f64, high: f64| if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.5 };
                let bottom = if y_low >= 0.0 { 0.0 } else { y_low - room(y_low, y_high) };
                // An axis that begins at the first of many steps would hide its distance from zero.
                let x_low = if x_low > 0.0 && x_low <= x_high * MAX_RATIO_FROM_ZERO { 0.0 } else { x_low };
                let x_range = if x_high > x_low { x_low..x_high } else { x_low - room(x_low, x_high)..x_high + room(x_low, x_high) };
                self.draw_on(area, x_range, bottom..y_high + room(y_low, y_high), None)
            }
        };
        drawn.map_err(|error| self.failure(&error))
    }
}

impl Plot {
    /// Returns the corner in which the legend hides the fewest points; `place` maps a point to its pixels from the left and from the top.
    fn corner(&self, place: impl Fn((f64, f64)) -> (f64, f64), (width, height): (f64, f64)) -> SeriesLabelPosition {
        let letters = self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0) as f64;
        let (wide, high) = (letters * CHAR_SIZE.0 + 60.0, self.series.len() as f64 * CHAR_SIZE.1 + 24.0);
        let hidden = |right: bool, lower: bool| {
            let inside = |(x, y): (f64, f64)| {
                (if right { x >= width - wide } else { x <= wide }) && (if lower { y >= height - high } else { y <= high })
            };
            // Samples of the line between two points.
            let along = |pair: &[(f64, f64)]| {
                let (from, to) = (place(pair[0]), place(pair[pair.len() - 1]));
                (0..=16).filter(|step| inside(interpolated(from, to, f64::from(*step) / 16.0))).count()
            };
            let spans = |series: &Series| match self.form {
                PlotForm::Lines if series.points.len() > 1 => series.points.windows(2).map(along).sum::<usize>(),
                _ => series.points.iter().filter(|point| inside(place(**point))).count(),
            };
            self.series.iter().map(spans).sum::<usize>()
        };
        let corners = [
            (SeriesLabelPosition::UpperLeft, hidden(false, false)),
            (SeriesLabelPosition::UpperRight, hidden(true, false)),
            (SeriesLabelPosition::LowerRight, hidden(true, true)),
            (SeriesLabelPosition::LowerLeft, hidden(false, true)),
        ];
        corners.into_iter().min_by_key(|(_, hidden)| *hidden).map_or(SeriesLabelPosition::UpperLeft, |(corner, _)| corner)
    }

    /// Returns the maximum number of labels of an axis: if all values are whole numbers, at most the number of whole numbers in their
    /// range.
    fn labels(&self, of: impl Fn(&(f64, f64)) -> f64) -> usize {
        let values = || self.series.iter().flat_map(|series| &series.points).map(&of);
        if self.form == PlotForm::Scatter || values().any(|value| value.fract() != 0.0) {
            return MAX_LABELS;
        }
        let (low, high) = values().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let low = if low > 0.0 && low <= high * MAX_RATIO_FROM_ZERO { 0.0 } else { low };
        MAX_LABELS.min((high - low).max(1.0) as usize + 1)
    }

    /// Returns the extent of all points after checking every point.
    fn extent(&self) -> Result<Extent, PictureError> {
        let mut extent: Option<Extent> = None;
        for series in &self.series {
            for &(x, y) in &series.points {
                let shown = |value: f64| value.is_finite() && (self.form == PlotForm::Lines || value > 0.0);
                if !shown(x) || !shown(y) {
                    return Err(PictureError::Value { title: self.title.clone(), series: series.name.clone(), point: (x, y) });
                }
                let Extent { x: (x0, x1), y: (y0, y1) } = extent.unwrap_or(Extent { x: (x, x), y: (y, y) });
                extent = Some(Extent { x: (x0.min(x), x1.max(x)), y: (y0.min(y), y1.max(y)) });
            }
        }
        extent.ok_or_else(|| PictureError::Empty { title: self.title.clone() })
    }

    fn draw_on<B: DrawingBackend, X: AsRangedCoord<Value = f64>, Y: AsRangedCoord<Value = f64>>(
        &self,
        area: &DrawingArea<B, Shift>,
        x_range: X,
        y_range: Y,
        identity: Option<(f64, f64)>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>>
    where
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        area.fill(&WHITE)?;
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, ("sans-serif", 22)).margin(16).x_label_area_size(48).y_label_area_size(84);
        let mut chart = builder.build_cartesian_2d(x_range, y_range)?;
        let axes = chart.as_coord_spec();
        let x_labels = self.labels(|point| point.0);
        let (x, y) = (TickLabels::of_axis(axes.x_spec(), x_labels), TickLabels::of_axis(axes.y_spec(), MAX_LABELS));
        let (x, y) = (|value: &f64| x.text(*value), |value: &f64| y.text(*value));
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(&self.x).y_desc(&self.y).axis_desc_style(("sans-serif", 16)).label_style(("sans-serif", 13));
        mesh.light_line_style(WHITE.mix(0.0)).x_labels(x_labels).y_labels(MAX_LABELS).x_label_formatter(&x).y_label_formatter(&y).draw()?;
        if let Some((low, high)) = identity {
            chart.draw_series(LineSeries::new([(low, low), (high, high)], BLACK.mix(0.5)))?;
        }
        for (i, series) in self.series.iter().enumerate() {
            let colour = colour(i);
            let points = series.points.iter().copied();
            match (self.form, dashes(i)) {
                (PlotForm::Scatter, _) => {
                    let drawn = chart.draw_series(points.map(|p| marker(i, p, colour)))?;
                    drawn.label(&series.name).legend(move |at| marker(i, (at.0 + 10, at.1), colour));
                }
                (PlotForm::Lines, None) => {
                    let drawn = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
                    drawn.label(&series.name).legend(move |(x, y)| PathElement::new([(x - 8, y), (x + 18, y)], colour.stroke_width(2)));
                }
                (PlotForm::Lines, Some((dash, gap))) => {
                    let drawn = chart.draw_series(DashedLineSeries::new(points, dash, gap, colour.stroke_width(2)))?;
                    let sample = move |(x, y)| {
                        plotters::element::DashedPathElement::new([(x - 8, y), (x + 18, y)], dash, gap, colour.stroke_width(2))
                    };
                    drawn.label(&series.name).legend(sample);
                }
            }
        }
        if self.series.len() > 1 {
            let (across, down) = chart.plotting_area().get_pixel_range();
            let (left, right, top, bottom) = (across.start, across.end, down.start, down.end);
            let place = |point: (f64, f64)| {
                let (x, y) = chart.backend_coord(&point);
                (f64::from(x - left), f64::from(y - top))
            };
            let position = self.corner(place, (f64::from(right - left), f64::from(bottom - top)));
            let mut legend = chart.configure_series_labels();
            legend.position(position).background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3));
            legend.label_font(("sans-serif", 14)).draw()?;
        }
        area.present()
    }
}

/// Interpolates between two points.
fn interpolated(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

/// Returns the length of a dash and of the gap after it, in pixels; `None` for a solid line.
fn dashes(i: usize) -> Option<(u32, u32)> {
    const DASHES: [Option<(u32, u32)>; 7] = [None, Some((10, 5)), Some((3, 4)), Some((16, 4)), Some((6, 9)), Some((2, 8)), Some((12, 12))];
    DASHES[i % DASHES.len()]
}

/// Draws a point as a circle, a triangle or a cross.
fn marker<'a, C: Clone + Copy + 'a, B: DrawingBackend>(i: usize, at: C, colour: RGBColor) -> DynElement<'a, B, C>
where
    Circle<C, i32>: IntoDynElement<'a, B, C>,
    TriangleMarker<C, i32>: IntoDynElement<'a, B, C>,
    Cross<C, i32>: IntoDynElement<'a, B, C>,
{
    let colour = colour.mix(0.8);
    match i % 3 {
        0 => Circle::new(at, 4, colour.filled()).into_dyn(),
        1 => TriangleMarker::new(at, 6, colour.filled()).into_dyn(),
        _ => Cross::new(at, 4, colour.stroke_width(2)).into_dyn(),
    }
}

/// Returns a colour that can be distinguished with common colour-vision deficiencies (Okabe and Ito, 2008).
fn colour(i: usize) -> RGBColor {
    const COLOURS: [RGBColor; 7] = [
        RGBColor(0, 114, 178),
        RGBColor(213, 94, 0),
        RGBColor(0, 158, 115),
        RGBColor(204, 121, 167),
        RGBColor(230, 159, 0),
        RGBColor(86, 180, 233),
        RGBColor(0, 0, 0),
    ];
    COLOURS[i % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(form: PlotForm, points: &[(f64, f64)]) -> Plot {
        let series = vec![
            Series { name: "first".into(), points: points.to_vec() },
            Series { name: "second".into(), points: points.iter().map(|&(x, y)| (x, y * 2.0)).collect() },
        ];
        Plot { title: "cycles".into(), x: "measured [cycles]".into(), y: "simulated [cycles]".into(), form, series }
    }

    #[test]
    fn a_scatter_plot_shows_every_point_its_labels_and_the_identity() {
        let svg = plot(PlotForm::Scatter, &[(1e3, 1.2e3), (1e5, 0.8e5), (2e6, 2e6)]).svg().unwrap();
        // Each shape occurs four times: three points and one in the legend.
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polygon").count()), (4, 4), "{svg}");
        for text in ["cycles", "measured [cycles]", "simulated [cycles]", "first", "second", "100 k", "1 M"] {
            assert!(svg.lines().any(|line| line.trim() == text), "{text} is missing in {svg}");
        }
        assert_eq!(svg.matches("<polyline").count() - plot_axis_lines(&svg), 1);
    }

    /// Axes and tick marks are black and opaque; the identity line is not.
    fn plot_axis_lines(svg: &str) -> usize {
        svg.lines().filter(|line| line.contains("<polyline") && line.contains("opacity=\"1\"")).count()
    }

    #[test]
    fn lines_of_different_series_differ_without_their_colours() {
        let svg = plot(PlotForm::Lines, &[(0.0, 1.0), (1.0, 1.0)]).svg().unwrap();
        let strokes = |i: usize| svg.matches(&format!("stroke=\"#{:02X}{:02X}{:02X}\"", colour(i).0, colour(i).1, colour(i).2)).count();
        assert_eq!(strokes(0), 2, "one line and its sample in the legend: {svg}");
        assert!(strokes(1) > 10, "many dashes: {svg}");
        let all: std::collections::BTreeSet<_> = (0..7).map(dashes).collect();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn the_legend_avoids_curves_and_whole_numbers_have_whole_labels() {
        let corner = |points: &[(f64, f64)]| {
            let size = (400.0, 300.0);
            let place = |(x, y): (f64, f64)| (x * size.0, (1.0 - y) * size.1);
            match plot(PlotForm::Lines, points).corner(place, size) {
                SeriesLabelPosition::UpperLeft => "upper left",
                SeriesLabelPosition::UpperRight => "upper right",
                SeriesLabelPosition::LowerLeft => "lower left",
                SeriesLabelPosition::LowerRight => "lower right",
                _ => "elsewhere",
            }
        };
        assert_eq!(corner(&[(0.0, 0.0), (1.0, 0.5)]), "upper left", "two lines that rise, the second to the top");
        assert_eq!(corner(&[(0.0, 0.5), (1.0, 0.0)]), "upper right", "two lines that fall");
        assert_eq!(corner(&[(0.0, 0.0), (0.1, 0.5), (0.9, 0.5), (1.0, 0.5)]), "lower right", "two lines along the top");
        let svg = plot(PlotForm::Lines, &[(2.0, 0.5), (3.0, 0.4), (5.0, 0.3)]).svg().unwrap();
        let labels: Vec<&str> = svg.lines().map(str::trim).collect();
        assert!(
            labels.contains(&"3") && labels.contains(&"4") && !labels.iter().any(|label| ["2.5", "3.5", "4.5"].contains(label)),
            "{svg}"
        );
        let from_zero = plot(PlotForm::Lines, &[(1.0, 0.5), (8.0, 0.3)]).svg().unwrap();
        assert!(from_zero.lines().filter(|line| line.trim() == "0").count() >= 2, "both axes begin at zero: {from_zero}");
    }

    #[test]
    fn the_same_data_gives_the_same_bytes() {
        let plot = plot(PlotForm::Lines, &[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]);
        assert_eq!(plot.svg().unwrap(), plot.svg().unwrap());
    }

    #[test]
    fn one_single_point_can_be_drawn() {
        for form in [PlotForm::Scatter, PlotForm::Lines] {
            plot(form, &[(5.0, 5.0)]).svg().unwrap();
        }
        plot(PlotForm::Lines, &[(0.0, 0.0)]).svg().unwrap();
    }

    #[test]
    fn invalid_points_are_errors_that_name_the_point() {
        let error = plot(PlotForm::Scatter, &[(1.0, 0.0)]).svg().unwrap_err().to_string();
        assert_eq!(error, "the plot \"cycles\" cannot show the point (1, 0) of \"first\"");
        assert!(plot(PlotForm::Lines, &[(f64::NAN, 0.0)]).svg().is_err());
        assert!(matches!(plot(PlotForm::Lines, &[]).svg(), Err(PictureError::Empty { .. })));
    }
}
