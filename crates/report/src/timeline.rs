//! The timeline of a run, read from `timeline.csv`: the decisions of controllers and the signals that they computed, as text and as a plot.
//!
//! The text has statistics per knob and signal, and the number of occurrences of each reason. The plot has the knobs of one SM over the
//! run, and below them the signals.

use serde::Deserialize;

use super::plot::Series;
use super::strips::Strips;
use super::text::{Align, Style, Table, count};
use crate::TimelineError;

/// A row of `timeline.csv`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineRecord {
    /// Core cycle of the record.
    pub cycle: u64,
    /// Name of the controller.
    pub controller: String,
    /// The SM; `None` means the whole machine.
    pub sm: Option<u16>,
    /// A knob or a signal; empty for a remark.
    pub name: String,
    /// The new value of the knob, or the value of the signal.
    pub value: Option<f64>,
    /// The reason of a decision; empty for a signal.
    pub reason: String,
}

impl TimelineRecord {
    /// Returns true if the record belongs to `sm` or to the whole machine.
    fn concerns(&self, sm: u16) -> bool {
        self.sm.is_none_or(|own| own == sm)
    }

    /// Returns true if the record is a decision; signals have no reason.
    fn is_decision(&self) -> bool {
        self.value.is_some() && !self.reason.is_empty()
    }
}

/// Parses the rows of `timeline.csv`.
///
/// # Errors
/// Fails if the text is not a timeline; the message names the line.
pub fn read(text: &str) -> Result<Vec<TimelineRecord>, TimelineError> {
    ::csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error| match error.position() {
            Some(position) => format!("line {}: {error}", position.line()),
            None => error.to_string(),
        })
        .map_err(Into::into)
}

/// Returns the first SM with a record.
pub fn first_sm(records: &[TimelineRecord]) -> Option<u16> {
    records.iter().filter_map(|record| record.sm).min()
}

/// Formats statistics per knob and signal of an SM, then the reasons of all SMs.
pub fn text(records: &[TimelineRecord], sm: u16, style: Style) -> String {
    let mut table = Table::new(&[
        ("controller", Align::Left),
        ("knob or signal", Align::Left),
        ("records", Align::Right),
        ("min", Align::Right),
        ("mean", Align::Right),
        ("max", Align::Right),
        ("last", Align::Right),
    ]);
    for (controller, name, values) in grouped(records, sm) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let last = values.last().copied().unwrap_or_default();
        let mut row = vec![controller.to_owned(), name.to_owned(), count(values.len() as u64)];
        row.extend([least, mean, greatest, last].map(number));
        table.row(row);
    }
    let mut text = format!("{}\n{}", style.title(&format!("SM {sm}")), table.render(style));
    let mut reasons: Vec<(&str, u64)> = Vec::new();
    for record in records.iter().filter(|record| !record.reason.is_empty()) {
        match reasons.iter_mut().find(|(reason, _)| *reason == record.reason) {
            Some((_, times)) => *times += 1,
            None => reasons.push((&record.reason, 1)),
        }
    }
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut table = Table::new(&[("times", Align::Right), ("reason", Align::Left)]);
    let shown = 12;
    for (reason, times) in reasons.iter().take(shown) {
        table.row(vec![count(*times), (*reason).to_owned()]);
    }
    text.push_str(&format!("\n{}\n{}", style.title("Reasons, all SMs"), table.render(style)));
    if reasons.len() > shown {
        text.push_str(&format!("  and {} more in timeline.csv\n", reasons.len() - shown));
    }
    text
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the values of each knob and signal of an SM, in the order of their first records.
fn grouped(records: &[TimelineRecord], sm: u16) -> Vec<(&str, &str, Vec<f64>)> {
    let mut groups: Vec<(&str, &str, Vec<f64>)> = Vec::new();
    for record in records.iter().filter(|record| record.concerns(sm)) {
        let Some(value) = record.value else { continue };
        match groups.iter_mut().find(|(controller, name, _)| *controller == record.controller && *name == record.name) {
            Some((_, _, values)) => values.push(value),
            None => groups.push((&record.controller, &record.name, vec![value])),
        }
    }
    groups
}

/// Returns the plot of an SM: its knobs as steps, and below them the signals as lines, each in a separate strip.
pub fn picture(records: &[TimelineRecord], sm: u16) -> Strips {
    let end = records.last().map_or(0, |record| record.cycle) as f64;
    let mut knobs: Vec<Series> = Vec::new();
    let mut signals: Vec<Series> = Vec::new();
    for record in records.iter().filter(|record| record.concerns(sm)) {
        let Some(value) = record.value else { continue };
        let strips = if record.is_decision() { &mut knobs } else { &mut signals };
        let at = record.cycle as f64;
        let index = strips.iter().position(|series| series.name == record.name).unwrap_or_else(|| {
            strips.push(Series { name: record.name.clone(), points: Vec::new() });
            strips.len() - 1
        });
        let points = &mut strips[index].points;
        // A knob keeps its value until the next decision.
        if let (true, Some(&(_, before))) = (record.is_decision(), points.last()) {
            points.push((at, before));
        }
        points.push((at, value));
    }
    for points in knobs.iter_mut().map(|series| &mut series.points) {
        if let Some(&(_, last)) = points.last() {
            points.push((end, last));
        }
    }
    knobs.append(&mut signals);
    Strips { title: format!("Decisions and signals of SM {sm}"), x: "core cycle".into(), strips: knobs }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cycle,controller,sm,name,value,reason\n\
        1024,cm_bal,,stall_mc,1.5,\n\
        1024,cm_bal,0,diff_up,-3,\n\
        1024,cm_bal,0,warp_limit,24,\"part 1: a, b\"\n\
        2048,cm_bal,1,warp_limit,16,\"part 1: a, b\"\n\
        4096,cm_bal,,warp_limit,48,kernel 0 ended\n";

    #[test]
    fn every_row_is_read() {
        let records = read(TEXT).unwrap();
        assert_eq!(records.len(), 5);
        assert_eq!((records[2].sm, records[2].value, records[2].reason.as_str()), (Some(0), Some(24.0), "part 1: a, b"));
        assert_eq!(first_sm(&records), Some(0));
    }

    #[test]
    fn a_text_that_no_run_wrote_is_refused_with_its_line() {
        let error = read("cycle,controller,sm,name,value,reason\n1,a,,b,2,\nx,a,,b,2,\n").unwrap_err().to_string();
        assert!(error.starts_with("line 3: "), "{error}");
        assert!(read("cycle,decision\n1,2\n").is_err());
    }

    #[test]
    fn the_text_covers_one_sm_and_the_reasons_of_all_sms() {
        let text = text(&read(TEXT).unwrap(), 0, Style::Plain);
        assert!(text.lines().any(|line| line.split_whitespace().eq(["cm_bal", "warp_limit", "2", "24", "36", "48", "48"])), "{text}");
        assert!(text.lines().any(|line| line.split_whitespace().eq(["2", "part", "1:", "a,", "b"])), "{text}");
    }

    #[test]
    fn knobs_are_drawn_in_steps_to_the_end() {
        let strips = picture(&read(TEXT).unwrap(), 1).strips;
        assert_eq!(strips[0].points, [(2048.0, 16.0), (4096.0, 16.0), (4096.0, 48.0), (4096.0, 48.0)]);
        let names: Vec<_> = strips.iter().map(|strip| strip.name.as_str()).collect();
        assert_eq!(names, ["warp_limit", "stall_mc"], "SM 1 has no signals of its own");
    }
}
