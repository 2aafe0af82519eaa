//! Grouped bar charts: a group per kernel and a bar per scheme. Fills differ in brightness, so that they can be distinguished in print.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::picture::{Picture, PictureError};
use super::ticks::TickLabels;

/// The bars at one label of the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    /// The label of the group on the x axis.
    pub name: String,
    /// One value per series.
    pub values: Vec<f64>,
}

/// A bar chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Title of the chart.
    pub title: String,
    /// Label of the y axis, with the unit.
    pub y: String,
    /// Names for the legend, one per bar of a group.
    pub series: Vec<String>,
    /// The groups from left to right.
    pub groups: Vec<BarGroup>,
    /// A reference value: a horizontal line from which the bars start.
    pub line: Option<f64>,
}

/// Fills from dark to light; the brightness of two fills differs by at least a fifth of the range.
const FILL_COLOURS: [RGBColor; 4] = [RGBColor(0, 60, 110), RGBColor(213, 94, 0), RGBColor(235, 180, 80), RGBColor(245, 245, 245)];
/// Maximum number of labels of the y axis.
const MAX_LABELS: usize = 6;
/// Approximate height of a line of the legend, as a fraction of the height of the chart.
const LEGEND_LINE_HEIGHT: f64 = 0.04;
/// Fraction of a group's width that its bars fill.
const BAR_SHARE: f64 = 0.8;

impl Picture for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        let (low, high) = self.extent()?;
        let room = if high > low { (high - low) * 0.15 } else { 1.0 };
        let bottom = if low < self.foot() { low - room } else { low };
        // The legend is above all bars.
        let legend = LEGEND_LINE_HEIGHT * (self.series.len() + 1) as f64;
        let top = high + room.max((high - bottom) * legend / (1.0 - legend));
        self.draw_on(area, bottom, top).map_err(|error| self.failure(&error))
    }
}

impl Bars {
    /// Returns the value at which bars start.
    fn foot(&self) -> f64 {
        self.line.unwrap_or(0.0)
    }

    /// Returns the minimum and maximum value, including the start of the bars.
    fn extent(&self) -> Result<(f64, f64), PictureError> {
        if self.groups.iter().all(|group| group.values.is_empty()) {
            return Err(PictureError::Empty { title: self.title.clone() });
        }
        let (mut low, mut high) = (self.foot(), self.foot());
        for (i, group) in self.groups.iter().enumerate() {
            for (value, series) in group.values.iter().zip(&self.series) {
                if !value.is_finite() {
                    return Err(PictureError::Value { title: self.title.clone(), series: series.clone(), point: (i as f64, *value) });
                }
                (low, high) = (low.min(*value), high.max(*value));
            }
        }
        Ok((low, high))
    }

    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        low: f64,
        high: f64,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, ("sans-serif", 22)).margin(16).x_label_area_size(80).y_label_area_size(84);
        let count = self.groups.len();
        let mut chart = builder.build_cartesian_2d(0.0..count as f64, low..high)?;
        let labels = TickLabels::of_axis(chart.as_coord_spec().y_spec(), MAX_LABELS);
        let number = |value: &f64| labels.text(*value);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .disable_x_axis()
            .y_labels(MAX_LABELS)
            .y_desc(&self.y)
            .axis_desc_style(("sans-serif", 16))
            .label_style(("sans-serif", 13));
        mesh.light_line_style(WHITE.mix(0.0)).y_label_formatter(&number).draw()?;
        let width = BAR_SHARE / self.series.len().max(1) as f64;
        for (i, name) in self.series.iter().enumerate() {
            let fill = FILL_COLOURS[i % FILL_COLOURS.len()];
            let bar = |(at, value): (usize, f64), style: ShapeStyle| {
                let left = at as f64 + (1.0 - BAR_SHARE) / 2.0 + i as f64 * width;
                Rectangle::new([(left, self.foot()), (left + width, value)], style)
            };
            let values = || self.groups.iter().enumerate().filter_map(|(at, group)| Some((at, *group.values.get(i)?)));
            let drawn = chart.draw_series(values().map(|value| bar(value, fill.filled())))?;
            let swatch = |style| Rectangle::new([(4, -4), (14, 4)], style);
            drawn.label(name).legend(move |at| EmptyElement::at(at) + swatch(fill.filled()) + swatch(BLACK.stroke_width(1)));
            chart.draw_series(values().map(|value| bar(value, BLACK.stroke_width(1))))?;
        }
        chart.draw_series(LineSeries::new([(0.0, self.foot()), (count as f64, self.foot())], BLACK.stroke_width(1)))?;
        let style = ("sans-serif", 13).into_font().transform(FontTransform::Rotate90).color(&BLACK);
        for (at, group) in self.groups.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(at as f64 + 0.5, low));
            area.draw(&Text::new(group.name.clone(), (x + 6, y + 6), style.clone()))?;
        }
        let mut legend = chart.configure_series_labels();
        legend.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.9)).border_style(BLACK.mix(0.3));
        legend.label_font(("sans-serif", 14)).draw()?;
        area.present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[[f64; 2]]) -> Bars {
        let group = |(i, values): (usize, &[f64; 2])| BarGroup { name: format!("kernel{i}"), values: values.to_vec() };
        let series = vec!["oldest".into(), "phase-aware".into()];
        Bars { title: "speed".into(), y: "IPC".into(), series, groups: values.iter().enumerate().map(group).collect(), line: Some(1.0) }
    }

    #[test]
    fn every_bar_its_name_and_the_legend_are_drawn() {
        let svg = bars(&[[1.1, 0.9], [1.0, 1.2], [0.8, 1.0]]).svg().unwrap();
        for fill in ["#003C6E", "#D55E00"] {
            assert_eq!(svg.matches(&format!("fill=\"{fill}\"")).count(), 4, "three bars and the legend in {svg}");
        }
        for text in ["speed", "IPC", "kernel0", "kernel2", "oldest", "phase-aware"] {
            assert!(svg.lines().any(|line| line.trim() == text), "{text} is missing in {svg}");
        }
    }

    #[test]
    fn a_narrow_range_has_distinct_labels() {
        let percent = Bars { line: Some(100.0), ..bars(&[[100.6, 98.9]]) };
        let svg = percent.svg().unwrap();
        for text in ["99.0", "99.5", "100.0", "100.5"] {
            assert_eq!(svg.lines().filter(|line| line.trim() == text).count(), 1, "{text} in {svg}");
        }
    }

    #[test]
    fn fills_differ_in_brightness() {
        let brightness: Vec<f64> =
            FILL_COLOURS.iter().map(|c| 0.3 * f64::from(c.0) + 0.59 * f64::from(c.1) + 0.11 * f64::from(c.2)).collect();
        assert!(brightness.windows(2).all(|pair| pair[1] - pair[0] >= 0.2 * 255.0), "{brightness:?}");
    }

    #[test]
    fn negative_values_are_drawn_reproducibly() {
        let chart = bars(&[[-3.0, 2.0]]);
        assert_eq!(chart.svg().unwrap(), chart.svg().unwrap());
        assert!(matches!(bars(&[]).svg(), Err(PictureError::Empty { .. })));
        assert!(bars(&[[f64::NAN, 1.0]]).svg().is_err());
    }
}
