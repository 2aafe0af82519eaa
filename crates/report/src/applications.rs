//! Metrics of several applications that share one GPU.
//!
//! The metrics use progress instead of time, so that an application that was cut off is compared fairly: the *normalised
//! progress* of an application is its IPC (in warp instructions) on the shared GPU divided by its IPC alone.
//!
//! - STP (system throughput): the sum of the normalised progresses; n applications reach at most n.
//! - ANTT (average normalised turnaround time): the mean of their reciprocals; 1 at best.
//! - Fairness: the least normalised progress over the greatest; 1 at best.
//!
//! Source: Eyerman and Eeckhout, "System-level performance metrics for multiprogram workloads", IEEE Micro 28(3), 2008.

use serde_json::{Map, Value, json};

use warpshard_stats::{ApplicationStats, Outcome};

use super::facts::RunFacts;
use super::metrics::ratio;
use super::text::{self, Align, Style, Table, UNKNOWN, count, format_known};

/// Returns the cycles from an application's first launch to the end of its first execution, or to the end of the run.
fn cycles(app: &ApplicationStats, outcome: &Outcome) -> u64 {
    app.ended.unwrap_or(outcome.cycles).saturating_sub(app.launched.unwrap_or(outcome.cycles))
}

/// Returns the thread instructions per core cycle of the first execution.
fn ipc(app: &ApplicationStats, outcome: &Outcome) -> Option<f64> {
    ratio(app.thread_instructions, cycles(app, outcome))
}

/// Returns the normalised progress of an application, or `None` without a run of the application alone.
pub fn progress(app: &ApplicationStats, outcome: &Outcome) -> Option<f64> {
    let alone = app.alone.filter(|alone| alone.warp_instructions > 0)?;
    Some(ratio(app.warp_instructions, cycles(app, outcome))? / (alone.warp_instructions as f64 / alone.cycles as f64))
}

/// Metrics of a run of several applications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedRunMetrics {
    /// System throughput.
    pub stp: f64,
    /// Average normalised turnaround time; `None` if an application made no progress.
    pub antt: Option<f64>,
    /// The least normalised progress over the greatest.
    pub fairness: f64,
}

impl SharedRunMetrics {
    /// Returns the metrics of a run; `None` without a run of each application alone.
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let all: Vec<f64> = outcome.applications.iter().map(|app| progress(app, outcome)).collect::<Option<_>>()?;
        let (least, most) = (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max));
        let antt = (least > 0.0).then(|| all.iter().map(|progress| 1.0 / progress).sum::<f64>() / all.len() as f64);
        (most > 0.0).then(|| Self { stp: all.iter().sum(), antt, fairness: least / most })
    }
}

/// Returns the table `applications` of `stats.json` with the metrics.
pub(super) fn json(facts: &RunFacts, outcome: &Outcome) -> Value {
    let joules = facts.energy.as_ref().map(|model| model.by_application(outcome)).unwrap_or_default();
    let one = |(number, app): (usize, &ApplicationStats)| {
        let mut map = Map::new();
        map.insert("name".into(), app.name.as_str().into());
        map.insert("kernels".into(), app.kernels.into());
        map.insert("launched".into(), app.launched.into());
        map.insert("ended".into(), app.ended.into());
        map.insert("cycles".into(), cycles(app, outcome).into());
        map.insert("executions".into(), app.executions.into());
        map.insert("warp_instructions".into(), app.warp_instructions.into());
        map.insert("thread_instructions".into(), app.thread_instructions.into());
        map.insert("later_warp_instructions".into(), app.later_warp_instructions.into());
        if let Some(alone) = app.alone {
            map.insert("alone".into(), json!({ "cycles": alone.cycles, "warp_instructions": alone.warp_instructions }));
        }
        map.insert("normalised_progress".into(), progress(app, outcome).into());
        if let Some(joules) = joules.get(number) {
            map.insert("event_joules".into(), (*joules).into());
        }
        Value::Object(map)
    };
    let shared = SharedRunMetrics::of(outcome);
    json!({
        "list": outcome.applications.iter().enumerate().map(one).collect::<Vec<_>>(),
        "stp": shared.map(|shared| shared.stp),
        "antt": shared.and_then(|shared| shared.antt),
        "fairness": shared.map(|shared| shared.fairness),
    })
}

/// Returns the rows of the report, and a line with the metrics.
pub(super) fn rows(facts: &RunFacts, outcome: &Outcome, style: Style) -> Option<(String, String)> {
    if outcome.applications.is_empty() {
        return None;
    }
    let heads = ["kernels", "runs", "cycles", "warp instr.", "IPC", "alone", "of alone"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("app", Align::Right), ("name", Align::Left)][..], &heads].concat());
    for (number, app) in outcome.applications.iter().enumerate() {
        let unfinished = if app.ended.is_some() { "" } else { " (not ended)" };
        table.row(vec![
            number.to_string(),
            format!("{}{unfinished}", app.name),
            app.kernels.to_string(),
            app.executions.to_string(),
            count(cycles(app, outcome)),
            count(app.warp_instructions),
            format_known(ipc(app, outcome), |ipc| format!("{ipc:.2}")),
            app.alone.map_or(UNKNOWN.to_owned(), |alone| count(alone.cycles)),
            format_known(progress(app, outcome), |progress| format!("{progress:.3}")),
        ]);
    }
    let figures = SharedRunMetrics::of(outcome).map_or_else(
        || "cycles, instructions and IPC are of the first execution; --alone compares with runs alone".to_owned(),
        |shared| {
            format!(
                "STP {:.3}, ANTT {}, fairness {:.3}",
                shared.stp,
                format_known(shared.antt, |antt| format!("{antt:.3}")),
                shared.fairness
            )
        },
    );
    let later: u64 = outcome.applications.iter().map(|app| app.later_warp_instructions).sum();
    let also = if later == 0 {
        String::new()
    } else {
        format!("; later executions issued {} warp instructions more, which count in SMs, caches and memory alone", count(later))
    };
    let energy = facts.energy.as_ref().map_or_else(String::new, |model| {
        let spent: Vec<String> = model.by_application(outcome).into_iter().map(text::joules).collect();
        format!("; energy of events by application: {}", spent.join(", "))
    });
    Some((table.render(style), figures + &also + &energy))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use warpshard_stats::StandaloneResult;

    fn app(warp_instructions: u64, ended: Option<u64>, alone: (u64, u64)) -> ApplicationStats {
        ApplicationStats {
            name: "a".into(),
            kernels: 1,
            launched: Some(0),
            ended,
            executions: 1,
            warp_instructions,
            thread_instructions: 32 * warp_instructions,
            later_warp_instructions: 7,
            alone: Some(StandaloneResult { cycles: alone.0, warp_instructions: alone.1 }),
        }
    }

    #[test]
    fn metrics_of_two_applications_equal_those_computed_by_hand() {
        // The first application needs 1000 cycles when it shares the GPU and 500 alone; the second is cut off after half of its
        // instructions.
        let applications = vec![app(100, Some(1000), (500, 100)), app(200, None, (800, 400))];
        let outcome = Outcome { applications, cycles: 1000, ..sample::outcome() };
        let shared = SharedRunMetrics::of(&outcome).unwrap();
        assert!((shared.stp - (0.5 + 0.4)).abs() < 1e-12, "{shared:?}");
        assert!((shared.antt.unwrap() - (2.0 + 2.5) / 2.0).abs() < 1e-12, "{shared:?}");
        assert!((shared.fairness - 0.8).abs() < 1e-12, "{shared:?}");
    }

    #[test]
    fn an_application_without_progress_has_no_turnaround() {
        let outcome = Outcome { applications: vec![app(100, Some(10), (10, 100)), app(0, None, (10, 5))], ..sample::outcome() };
        let shared = SharedRunMetrics::of(&outcome).unwrap();
        assert_eq!((shared.stp, shared.antt, shared.fairness), (1.0, None, 0.0));
    }
}
