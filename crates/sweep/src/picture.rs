//! The picture of a sweep: lines over a numeric key, a heat map over two numeric keys, or bars if no key is numeric.
//!
//! The picture is drawn from the table of a sweep and the keys that differ between its runs. It shows the cycles of the runs, or their IPC
//! if runs end before their work is complete.

use std::collections::BTreeSet;

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_report::frame::Frame;
use warpshard_report::heat::{HeatMap, Panel};
use warpshard_report::picture::{Picture, PictureError};
use warpshard_report::plot::{Plot, PlotForm, Series};

/// Maximum number of distinguishable lines.
const MAX_LINES: usize = 14;
/// Maximum number of distinguishable bars in a group.
const MAX_BARS: usize = 4;
/// Maximum number of panels of a heat map.
const MAX_PANELS: usize = 8;
/// Maximum number of rows and columns of a heat map.
const MAX_TILES: usize = 32;

/// Returns the picture as an SVG document; `None` if no key varies, nothing was measured, or there are too many lines, bars or tiles to
/// distinguish.
///
/// # Errors
/// Fails if a number cannot be drawn.
pub(super) fn draw(frame: &Frame, keys: &[String]) -> Result<Option<String>, PictureError> {
    let Some(measured) = MeasuredColumn::of(frame) else { return Ok(None) };
    let varied = VaryingKeys::of(frame, keys);
    let drawn = match varied.numbers.as_slice() {
        [] => bars(&varied, &measured).map(|bars| bars.svg()),
        [x] => lines(&varied, x, &measured).map(|plot| plot.svg()),
        [x, y, ..] => heat(&varied, x, y, &measured).map(|heat| heat.svg()),
    };
    Ok(drawn.transpose()?.map(|svg| scale_to_window(&svg)))
}

/// Makes the document scale down to fit a narrow browser window.
fn scale_to_window(svg: &str) -> String {
    svg.replacen("<svg ", "<svg style=\"max-width:100%;height:auto\" ", 1)
}

/// A measured number of each run.
struct MeasuredColumn {
    name: &'static str,
    values: Vec<Option<f64>>,
}

impl MeasuredColumn {
    /// Returns the cycles if all finished runs completed their work, otherwise the instructions per cycle.
    fn of(frame: &Frame) -> Option<Self> {
        let ended = column(frame, "ended_by")?;
        let completed = frame.rows().iter().filter_map(|row| row[ended].as_text()).all(|word| word == "completed");
        let (key, name) = if completed { ("net_cycles", "core cycles") } else { ("ipc", "thread instructions per core cycle") };
        let place = column(frame, key)?;
        let of: Vec<Option<f64>> = frame.rows().iter().map(|row| row[place].as_number()).collect();
        of.iter().any(Option::is_some).then_some(Self { name, values: of })
    }
}

/// Keys that vary between runs: columns with at least two values.
struct VaryingKeys {
    /// Numeric keys, in descending order of their number of values.
    numbers: Vec<KeyAxis>,
    /// All other keys.
    others: Vec<KeyAxis>,
}

/// A column, with the value of each run.
struct KeyAxis {
    name: String,
    values: Vec<String>,
}

impl KeyAxis {
    /// Returns the distinct values in the order of the runs, or in ascending order if they are numbers.
    fn values(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let mut values: Vec<&str> = self.values.iter().map(String::as_str).filter(|value| seen.insert(*value)).collect();
        if self.is_number() {
            values.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        values
    }

    fn is_number(&self) -> bool {
        self.values.iter().all(|value| value.parse::<f64>().is_ok_and(f64::is_finite))
    }
}

impl VaryingKeys {
    fn of(frame: &Frame, keys: &[String]) -> Self {
        let axis = |name: &str| {
            let place = column(frame, name)?;
            let of = frame.rows().iter().map(|row| row[place].as_text().unwrap_or_default()).collect();
            let axis = KeyAxis { name: name.to_owned(), values: of };
            (axis.values().len() > 1).then_some(axis)
        };
        let plan = ["machine", "workload", "policies", "seed"].into_iter().filter_map(axis);
        let (mut numbers, texts): (Vec<KeyAxis>, Vec<KeyAxis>) = keys.iter().filter_map(|key| axis(key)).partition(KeyAxis::is_number);
        numbers.sort_by_key(|axis| std::cmp::Reverse(axis.values().len()));
        Self { numbers, others: plan.chain(texts).collect() }
    }

    /// Returns the joined values of all axes that are not in `shown` for each run, and the distinct joined values in the order of the runs.
    fn names_without(&self, shown: &[&KeyAxis]) -> (Vec<String>, Vec<String>) {
        let rest = |axis: &&KeyAxis| !shown.iter().any(|one| std::ptr::eq(*one, *axis));
        let axes: Vec<&KeyAxis> = self.others.iter().chain(&self.numbers).filter(rest).collect();
        let runs = shown.first().or(axes.first()).map_or(0, |axis| axis.values.len());
        let of = |run: usize| {
            let part = |axis: &&KeyAxis| {
                let value = if axis.values[run].is_empty() { "none" } else { &axis.values[run] };
                // A number needs the name of its axis.
                if axis.is_number() { format!("{} {value}", axis.name) } else { value.to_owned() }
            };
            axes.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        let names: Vec<String> = (0..runs).map(of).collect();
        let mut seen = BTreeSet::new();
        let different = names.iter().filter(|name| seen.insert((*name).clone())).cloned().collect();
        (names, different)
    }
}

fn lines(varied: &VaryingKeys, x: &KeyAxis, measured: &MeasuredColumn) -> Option<Plot> {
    let (names, different) = varied.names_without(&[x]);
    let points = |name: &String| {
        let mut points: Vec<(f64, f64)> = (0..names.len())
            .filter(|run| names[*run] == *name)
            .filter_map(|run| Some((number(&x.values[run]), measured.values[run]?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let series: Vec<Series> = different.iter().map(|name| Series { name: name.clone(), points: points(name) }).collect();
    let title = format!("{} over {}", measured.name, x.name);
    (different.len() <= MAX_LINES).then(|| Plot { title, x: x.name.clone(), y: measured.name.into(), form: PlotForm::Lines, series })
}

fn heat(varied: &VaryingKeys, x: &KeyAxis, y: &KeyAxis, measured: &MeasuredColumn) -> Option<HeatMap> {
    let (names, different) = varied.names_without(&[x, y]);
    let (columns, rows) = (x.values(), y.values());
    let number = |name: &str, column: &str, row: &str| {
        let run = (0..names.len()).find(|run| names[*run] == name && x.values[*run] == column && y.values[*run] == row)?;
        measured.values[run]
    };
    let values = |name: &str| rows.iter().map(|row| columns.iter().map(|column| number(name, column, row)).collect()).collect();
    let panels: Vec<Panel> = different.iter().map(|name| Panel { name: name.clone(), values: values(name) }).collect();
    let owned = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    let few = different.len() <= MAX_PANELS && columns.len().max(rows.len()) <= MAX_TILES;
    let (x, y) = ((x.name.clone(), owned(&columns)), (y.name.clone(), owned(&rows)));
    few.then(|| HeatMap { title: measured.name.into(), x, y, panels })
}

fn bars(varied: &VaryingKeys, measured: &MeasuredColumn) -> Option<Bars> {
    // The key with few values distinguishes the bars of a group; a group is a workload, if there are several workloads.
    let within = varied.others.iter().filter(|axis| axis.values().len() <= MAX_BARS);
    let within = within.max_by_key(|axis| (axis.name != "workload", axis.values().len()));
    let shown: Vec<&KeyAxis> = within.into_iter().filter(|_| varied.others.len() > 1).collect();
    let (names, different) = varied.names_without(&shown);
    let series: Vec<&str> = shown.first().map_or_else(|| vec![""], |axis| axis.values());
    let is = |run: usize, value: &str| shown.first().is_none_or(|axis| axis.values[run] == value);
    let value = |name: &String, value: &str| {
        (0..names.len()).find(|run| names[*run] == *name && is(*run, value)).and_then(|run| measured.values[run])
    };
    // A group that lacks a run is omitted: a bar without height would look like a run of zero cycles.
    let group = |name: &String| {
        let values = series.iter().map(|one| value(name, one)).collect::<Option<_>>()?;
        Some(BarGroup { name: name.clone(), values })
    };
    let groups: Vec<BarGroup> = different.iter().filter_map(group).collect();
    let series = series.iter().map(|&name| if name.is_empty() { measured.name.to_owned() } else { name.to_owned() }).collect();
    (!varied.others.is_empty() && (1..=MAX_TILES).contains(&groups.len())).then(|| Bars {
        title: measured.name.into(),
        y: measured.name.into(),
        series,
        groups,
        line: None,
    })
}

fn column(frame: &Frame, name: &str) -> Option<usize> {
    frame.columns().iter().position(|(known, _)| known == name)
}

/// Parses a value of a numeric axis.
fn number(value: &str) -> f64 {
    value.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_report::frame::{Cell, ColumnKind};

    /// Returns a table of runs with their varying keys and their cycles.
    fn frame(keys: &[&str], runs: &[(&str, &str, &[&str], Option<u64>)]) -> (Frame, Vec<String>) {
        let names = ["machine", "workload", "policies", "seed"].into_iter().chain(keys.iter().copied());
        let names = names.chain(["ended_by", "net_cycles", "ipc"]);
        let cell = |text: &str| text.parse().map_or_else(|_| Cell::text(text), Cell::Count);
        let row = |&(workload, ended, values, cycles): &(&str, &str, &[&str], Option<u64>)| {
            let plan = [Cell::text("v100"), Cell::text(workload), Cell::text(""), Cell::Count(1)];
            let plan = plan.into_iter().chain(values.iter().map(|value| cell(value)));
            let ended = if ended.is_empty() { Cell::Empty } else { Cell::text(ended) };
            plan.chain([ended, Cell::count(cycles), Cell::Number(1.5)]).collect()
        };
        let frame = Frame::new(names.map(|name| (name.to_owned(), ColumnKind::Text)).collect(), runs.iter().map(row).collect());
        (frame, keys.iter().map(|&key| key.to_owned()).collect())
    }

    fn texts(svg: &str) -> Vec<&str> {
        svg.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('<')).collect()
    }

    #[test]
    fn one_number_gives_a_line_for_each_workload() {
        let runs = [("a", "completed", &["1"][..], Some(10)), ("a", "completed", &["2"], Some(5)), ("b", "completed", &["2"], None)];
        let (table, keys) = frame(&["gpu.sms"], &runs);
        let svg = draw(&table, &keys).unwrap().unwrap();
        assert!(["gpu.sms", "core cycles over gpu.sms", "a", "b"].iter().all(|text| texts(&svg).contains(text)), "{svg}");
        assert!(svg.starts_with("<svg style=\"max-width:100%;height:auto\" width="), "a phone shows all of it: {svg}");
    }

    #[test]
    fn two_numbers_give_a_heat_map_and_runs_that_end_early_are_rates() {
        let runs: Vec<(&str, &str, &[&str], Option<u64>)> = vec![
            ("a", "max_cycles", &["1", "16"], Some(10)),
            ("a", "completed", &["2", "16"], Some(10)),
            ("a", "completed", &["1", "8"], Some(10)),
        ];
        let (table, keys) = frame(&["gpu.sms", "sets"], &runs);
        let svg = draw(&table, &keys).unwrap().unwrap();
        assert_eq!(texts(&svg).iter().filter(|text| **text == "1.50").count(), 3, "{svg}");
        assert!(
            ["gpu.sms", "sets", "16", "8", "thread instructions per core cycle"].iter().all(|text| texts(&svg).contains(text)),
            "{svg}"
        );
    }

    #[test]
    fn non_numeric_keys_give_bars() {
        let runs = [
            ("a", "completed", &["gto"][..], Some(10)),
            ("a", "completed", &["lrr"], Some(5)),
            ("b", "completed", &["gto"], Some(7)),
            ("b", "completed", &["lrr"], Some(7)),
            ("fails", "completed", &["gto"], Some(7)),
            ("fails", "", &["lrr"], None),
        ];
        let (table, keys) = frame(&["gpu.sm.order"], &runs);
        let svg = draw(&table, &keys).unwrap().unwrap();
        assert!(["gto", "lrr", "a", "b"].iter().all(|text| texts(&svg).contains(text)), "{svg}");
        assert!(!texts(&svg).contains(&"fails"), "a run that failed is no bar of zero: {svg}");
    }

    #[test]
    fn equal_or_too_many_runs_have_no_picture() {
        let (one, keys) = frame(&["gpu.sms"], &[("a", "completed", &["1"], Some(10))]);
        assert_eq!(draw(&one, &keys).unwrap(), None);
        let names: Vec<String> = (0..40).map(|i| format!("w{i}")).collect();
        let runs: Vec<(&str, &str, &[&str], Option<u64>)> = names
            .iter()
            .flat_map(|name| [(name.as_str(), "completed", &["1"][..], Some(1)), (name.as_str(), "completed", &["2"], Some(1))])
            .collect();
        let (many, keys) = frame(&["gpu.sms"], &runs);
        assert_eq!(draw(&many, &keys).unwrap(), None);
    }
}
