//! Energy in the results: the breakdown of a run as JSON and CSV, its lines in the summary, and power over time.
//!
//! The functions take the facts of a run, which contain the energy model of its machine, and its outcome. They return texts and a plot, or
//! nothing for a machine without event energies or a run of zero cycles.

use std::io;

use serde_json::{Map, Value, json};

use warpshard_energy::{Breakdown, Model};
use warpshard_stats::{IntervalSeries, Outcome};

use super::csv::table;
use super::facts::RunFacts;
use super::folder::{ResultFile, Target};
use super::metrics::WorkTotals;
use super::picture::{Picture, PictureError};
use super::plot::{Plot, PlotForm, Series};
use super::thinned::ThinnedSeries;

/// Maximum number of components with separate lines in the plot of power over time; the other components are summed.
const MAX_LINES: usize = 6;

/// Returns the energy of a run if its machine has event energies.
pub fn breakdown(facts: &RunFacts, outcome: &Outcome) -> Option<Breakdown> {
    facts.energy.as_ref().map(|model| model.of_run(outcome)).filter(|energy| energy.seconds > 0.0)
}

/// Returns the energy of a run as the value of `energy` in `stats.json`.
pub fn json(facts: &RunFacts, outcome: &Outcome) -> Option<Value> {
    let model = facts.energy.as_ref()?;
    let energy = breakdown(facts, outcome)?;
    let instructions = WorkTotals::of_run(outcome).thread_instructions;
    let events: Map<String, Value> = energy
        .events()
        .filter(|(_, times, _)| *times > 0)
        .map(|(name, times, joules)| (name.to_owned(), json!({ "times": times, "joules": joules })))
        .collect();
    Some(json!({
        "set": model.name,
        "volts": model.volts,
        "seconds": energy.seconds,
        "joules": energy.total(),
        "mean_watts": energy.mean_watts(),
        "at_rest_joules": energy.at_rest(),
        "joules_per_thread_instruction": (instructions > 0).then(|| energy.total() / instructions as f64),
        "components": energy.components().map(|(name, joules)| (name.to_owned(), joules.into())).collect::<Map<_, _>>(),
        "events": events,
    }))
}

/// Returns the energy files of a run: `energy.csv`, and with an interval series `power.csv`.
pub fn tables(facts: &RunFacts, outcome: &Outcome) -> Vec<ResultFile> {
    let (Some(model), Some(energy)) = (&facts.energy, breakdown(facts, outcome)) else { return Vec::new() };
    let mut files = vec![ResultFile::new("energy.csv", components(&energy))];
    if !outcome.intervals.is_empty() {
        let (model, series) = (model.clone(), outcome.intervals.clone());
        files.push(ResultFile::streamed("power.csv", move |to| power(&model, &series, to)));
    }
    files
}

/// Returns the plot of power over time; empty without an interval series.
///
/// # Errors
/// Fails if the plot cannot be drawn.
pub fn pictures(facts: &RunFacts, outcome: &Outcome) -> Result<Vec<ResultFile>, PictureError> {
    let (Some(model), Some(energy)) = (&facts.energy, breakdown(facts, outcome)) else { return Ok(Vec::new()) };
    if outcome.intervals.is_empty() {
        return Ok(Vec::new());
    }
    let plot = over_time(facts, &energy, model, &outcome.intervals);
    Ok(vec![ResultFile::new("power.svg", plot.svg()?)])
}

fn components(energy: &Breakdown) -> String {
    let row = |(name, joules): (&str, f64)| {
        let share = if energy.total() > 0.0 { joules / energy.total() } else { 0.0 };
        vec![name.to_owned(), joules.to_string(), (joules / energy.seconds).to_string(), share.to_string()]
    };
    let rows: Vec<_> = energy.components().chain([("total", energy.total())]).map(row).collect();
    table(&["component", "joules", "mean_watts", "share"], &rows)
}

/// Writes a row per interval: the cycle at its end, its joules, its mean power, and the mean power of each component.
fn power(model: &Model, series: &IntervalSeries, to: Target<'_>) -> io::Result<()> {
    let mut line = String::new();
    for (row, (cycle, energy)) in model.intervals(series).enumerate() {
        if row == 0 {
            line += "cycle,joules,watts";
            energy.components().for_each(|(name, _)| line += &format!(",{name}_watts"));
            line.push('\n');
        }
        line += &format!("{cycle},{},{}", energy.total(), energy.mean_watts());
        energy.components().for_each(|(_, joules)| line += &format!(",{}", joules / energy.seconds));
        line.push('\n');
        to.write_all(line.as_bytes())?;
        line.clear();
    }
    Ok(())
}

/// Returns a plot of the power of each interval. Of a long series, the plot keeps only the minima and maxima of groups of neighbouring
/// intervals.
fn over_time(facts: &RunFacts, run: &Breakdown, model: &Model, intervals: &IntervalSeries) -> Plot {
    let mut largest: Vec<(usize, &str, f64)> =
        run.components().enumerate().filter(|(_, (_, joules))| *joules > 0.0).map(|(i, (name, joules))| (i, name, joules)).collect();
    largest.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    largest.truncate(MAX_LINES);
    let of = |energy: &Breakdown, i: usize| energy.components().nth(i).map_or(0.0, |(_, joules)| joules / energy.seconds);
    let mut lines: Vec<ThinnedSeries> = std::iter::repeat_with(|| ThinnedSeries::of(intervals.len())).take(1 + largest.len()).collect();
    for (cycle, energy) in model.intervals(intervals) {
        let watts = std::iter::once(energy.mean_watts()).chain(largest.iter().map(|(i, ..)| of(&energy, *i)));
        lines.iter_mut().zip(watts).for_each(|(line, watts)| line.push((cycle as f64, watts)));
    }
    let names = std::iter::once("all").chain(largest.iter().map(|(_, name, _)| *name));
    let all = names.zip(lines).map(|(name, line)| Series { name: name.to_owned(), points: line.points() }).collect();
    Plot {
        title: format!("Power of {} on {}", facts.workload, facts.machine),
        x: "core cycle".into(),
        y: "watts".into(),
        form: PlotForm::Lines,
        series: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::text::{DEFAULT_COLUMNS, Style};
    use warpshard_config::Machine;
    use warpshard_energy::EnergySet;

    fn facts() -> RunFacts {
        let machine = Machine::load("tiny", &[]).unwrap().machine;
        RunFacts { energy: Some(Model::new(EnergySet::named("volta-12nm").unwrap(), &machine)), ..sample::facts() }
    }

    fn files(facts: &RunFacts, outcome: &Outcome) -> Vec<ResultFile> {
        [tables(facts, outcome), pictures(facts, outcome).unwrap()].concat()
    }

    fn file(name: &str) -> String {
        let files = files(&facts(), &sample::outcome());
        String::from_utf8(files.into_iter().find(|file| file.name == name).unwrap().contents()).unwrap()
    }

    /// Returns the second column of all rows.
    fn column(text: &str) -> Vec<f64> {
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn the_table_ends_with_the_sum_of_its_components() {
        let joules = column(&file("energy.csv"));
        let (total, components) = joules.split_last().unwrap();
        assert!(*total > 0.0 && (components.iter().sum::<f64>() / total - 1.0).abs() < 1e-12);
    }

    #[test]
    fn power_over_time_has_a_row_per_interval_and_a_plot() {
        let text = file("power.csv");
        assert!(text.starts_with("cycle,joules,watts,sm_static_watts,"), "{text}");
        assert_eq!(column(&text).len(), 2);
        assert!(file("power.svg").contains("watts"));
        let names: Vec<_> = files(&facts(), &sample::outcome()).into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["energy.csv", "power.csv", "power.svg"]);
    }

    #[test]
    fn the_value_in_stats_json_and_the_lines_of_the_summary_agree() {
        let (facts, outcome) = (facts(), sample::outcome());
        let value = json(&facts, &outcome).unwrap();
        assert_eq!((value["set"].as_str(), value["volts"].as_f64()), (Some("none"), Some(1.0)));
        let parts: f64 = value["components"].as_object().unwrap().values().map(|joules| joules.as_f64().unwrap()).sum();
        assert!((parts / value["joules"].as_f64().unwrap() - 1.0).abs() < 1e-12);
        let summary = crate::summary(&facts, &outcome, &sample::host(), Style::Plain);
        let watts = format!("  {:.1} W on average, ", value["mean_watts"].as_f64().unwrap());
        assert!(summary.contains(&watts), "{summary}");
        assert!(summary.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{summary}");
    }

    #[test]
    fn a_machine_without_energies_and_a_run_of_nothing_have_no_files() {
        assert_eq!(files(&sample::facts(), &sample::outcome()), []);
        let mut outcome = sample::outcome();
        outcome.counted_until = 0;
        assert_eq!(files(&facts(), &outcome), []);
        assert_eq!(json(&facts(), &outcome), None);
    }
}
