//! `study oracle`: a workload with every static limit of CTAs per SM, and the limit with the highest IPC.
//!
//! The best static limit is the reference for controllers that search for a limit at run time. A policy or warp order of the user is
//! one more column: the same limits, set by the machine, with the policy attached.

use rayon::prelude::*;

use warpshard_lab::error::TaskError;
use warpshard_chip::occupancies;
use warpshard_report::plot::{PlotForm, Plot, Series};
use warpshard_lab::job::Job;
use warpshard_lab::request::Request;
use warpshard_lab::statistics::percent_over;
use warpshard_lab::output::{StudyError, StudyOutput};

use super::optimal_ctas;

/// Relative increase of IPC that counts as an improvement (Section 4.3.3.2 of the thesis).
const MIN_IMPROVEMENT: f64 = 0.02;

/// Runs the workload with 1, 2, ... CTAs per SM, up to the maximum that fits.
///
/// # Errors
/// Fails if no workload is given, or the workload or the machine is invalid.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let missing = || StudyError::Input("study `oracle` needs a workload: --workload NAME|FILE|DIR".into());
    let (load, name) = request.load.as_ref().zip(request.workload.as_deref()).ok_or_else(missing)?;
    let machine = request.machine.clone().unwrap_or_else(|| "v100".into());
    let base = Job { machine, settings: request.machine_settings(), cycles: request.cycles, catalogue: request.catalogue, ..Job::default() };
    let machine = base.load().map_err(StudyError::input)?.machine;
    let most = load().and_then(|workload| occupancies(&machine, &workload).map_err(TaskError::from)).map_err(StudyError::input)?.into_iter().max().unwrap_or(1);
    let rates = |job: &(dyn Fn(u32) -> Job + Sync)| {
        let rate = |limit: u32| {
            let job = job(limit);
            job.simulate(job.load()?, load()?).map(|run| (run.issued as f64 / run.net_cycles as f64, run.ended))
        };
        (1..=most).into_par_iter().map(rate).collect::<Result<Vec<(f64, bool)>, TaskError>>().map_err(StudyError::input)
    };
    let found = rates(&|limit| base.clone().policy(format!("static_limit:ctas={limit}")))?;
    let candidate = request.candidate();
    let of_candidate = candidate.as_ref().map(|candidate| rates(&|limit| candidate.apply(&base.clone().set("gpu.sm.max_ctas", limit))));
    let (of_candidate, candidate) = (of_candidate.transpose()?, candidate.map(|candidate| candidate.name()).unwrap_or_default());

    let mut output = StudyOutput::new("oracle", format!("{name} on {} with every limit of CTAs per SM", machine.name));
    let with = format!("IPC with {candidate}");
    let columns = ["CTAs", "IPC", "over one less, %", "over all, %", "run"];
    output.columns(&columns.into_iter().chain(of_candidate.as_ref().map(|_| with.as_str())).collect::<Vec<_>>());
    let rates: Vec<f64> = found.iter().map(|(rate, _)| *rate).collect();
    let all = rates[rates.len() - 1];
    for (i, &(rate, ended)) in found.iter().enumerate() {
        let over = |base: f64| format!("{:+.2}", percent_over(rate, base));
        let one_less = i.checked_sub(1).map_or_else(|| "-".into(), |before| over(rates[before]));
        let run = if ended { "whole" } else { "cut" };
        let mut cells = vec![(i + 1).to_string(), format!("{rate:.3}"), one_less, over(all), run.into()];
        cells.extend(of_candidate.as_ref().map(|rates| format!("{:.3}", rates[i].0)));
        output.row(cells);
    }
    let best = (1..).zip(&rates).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(1, |(limit, _)| limit);
    output.figure("CTAs with the highest IPC", f64::from(best));
    output.figure("IPC of the best over that with all CTAs, %", percent_over(rates[best as usize - 1], all));
    output.figure("CTAs after which no increase gives 2 %", f64::from(optimal_ctas(&rates, MIN_IMPROVEMENT)));
    if found.iter().any(|(_, ended)| !ended) {
        output.note(format!("runs are cut after {} core cycles", request.cycles.unwrap_or_default()));
    }
    let line = |rates: &[f64]| (1u32..).zip(rates).map(|(limit, rate)| (f64::from(limit), *rate)).collect();
    let mut series = vec![Series { name: "IPC".into(), points: line(&rates) }];
    series.extend(of_candidate.map(|rates| Series { name: with, points: line(&rates.iter().map(|(rate, _)| *rate).collect::<Vec<_>>()) }));
    let (title, x, y) = (output.title.clone(), "most CTAs per SM".into(), "IPC, warp instructions".into());
    output.plot("sweep.svg", Plot { title, x, y, form: PlotForm::Lines, series });
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn short_request() -> Request {
        let load = || crate::catalogue().model("vecadd", 1, &[]).map(|model| model.workload()).map_err(TaskError::from);
        Request {
            machine: Some("tiny".into()),
            workload: Some("vecadd".into()),
            load: Some(Arc::new(load)),
            cycles: Some(6000),
            ..Request::default()
        }
    }

    fn column_values(output: &StudyOutput, name: &str) -> Vec<f64> {
        output.column(name).unwrap().iter().map(|ipc| ipc.parse().unwrap()).collect()
    }

    #[test]
    fn every_limit_has_a_row_and_more_ctas_hide_more_latency() {
        let output = study(&short_request()).unwrap();
        let ipc = column_values(&output, "IPC");
        assert!(ipc.len() > 1 && ipc[1] > ipc[0], "{ipc:?}");
        assert_eq!(output.column("over all, %").unwrap().last(), Some(&"+0.00"));
        assert!(output.figure_named("CTAs with the highest IPC").unwrap() > 1.0);
    }

    #[test]
    fn a_policy_and_an_order_of_the_user_are_a_column() {
        let limited = study(&Request { policy: vec!["static_limit:ctas=1".into()], ..short_request() }).unwrap();
        let ipc = column_values(&limited, "IPC with static_limit:ctas=1");
        assert!(ipc.iter().all(|with| *with == ipc[0]), "one CTA at a time whatever the machine allows: {ipc:?}");
        let ordered = study(&Request { order: Some("lrr".into()), ..short_request() }).unwrap();
        assert_eq!(column_values(&ordered, "IPC with order lrr").len(), ipc.len());
    }

    #[test]
    fn without_a_workload_the_error_names_the_option() {
        let error = study(&Request { load: None, ..short_request() }).unwrap_err();
        assert!(error.to_string().contains("--workload"), "{error}");
    }
}
