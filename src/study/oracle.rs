//! `study oracle`: a workload with every static limit of CTAs per SM, and the limit that is best.
//!
//! The yardstick of controllers that look for a limit while the workload runs.

use std::sync::Arc;

use rayon::prelude::*;

use crate::config::{Machine, Override};
use crate::engine::{RunOptions, occupancies, simulate};
use crate::frontend::Workload;
use crate::policy::registry;
use crate::report::metrics;
use crate::report::plot::{Form, Plot, Series};

use super::wa_sched::characterise::optimum;
use super::{StudyError, StudyOutput};

/// What is swept.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// The machine, by name or file.
    pub machine: &'a str,
    /// Settings of the machine.
    pub overrides: Vec<Override>,
    /// What the workload is called.
    pub workload: &'a str,
    /// Core cycles of a run; to the end of the workload when not given.
    pub cycles: Option<u64>,
}

/// Runs the workload that `load` gives with 1, 2, .. CTAs per SM, up to the most that fit.
///
/// # Errors
/// When the machine or the workload is unusable.
pub fn run(sweep: &Sweep<'_>, load: impl Fn() -> Result<Workload, String> + Sync) -> Result<StudyOutput, StudyError> {
    let machine = Machine::load(sweep.machine, &sweep.overrides).map_err(|errors| StudyError::Input(errors.to_string()))?.machine;
    let most = load().and_then(|workload| occupancies(&machine, &workload)).map_err(StudyError::Input)?.into_iter().max().unwrap_or(1);
    let rates = (1..=most)
        .into_par_iter()
        .map(|limit| rate(&machine, load()?, limit, sweep.cycles))
        .collect::<Result<Vec<f64>, String>>()
        .map_err(StudyError::Input)?;
    let mut output = StudyOutput::new("oracle", format!("{} on {} with every limit of CTAs per SM", sweep.workload, machine.name));
    output.columns(&["CTAs", "IPC", "over one less, %", "over all, %"]);
    let all = rates[rates.len() - 1];
    for (i, &rate) in rates.iter().enumerate() {
        let over = |base: f64| format!("{:+.2}", 100.0 * (rate / base - 1.0));
        let one_less = i.checked_sub(1).map_or_else(|| "-".into(), |before| over(rates[before]));
        output.row(vec![(i + 1).to_string(), format!("{rate:.3}"), one_less, over(all)]);
    }
    let best = (1..).zip(&rates).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(1, |(limit, _)| limit);
    output.figure("CTAs with the highest IPC", f64::from(best));
    output.figure("CTAs after which no increase gives 2 %", f64::from(optimum(&rates)));
    let points = (1u32..).zip(&rates).map(|(limit, rate)| (f64::from(limit), *rate)).collect();
    output.plot(
        ["sweep.svg", "sweep.png"],
        Plot {
            title: output.title.clone(),
            x: "most CTAs per SM".into(),
            y: "IPC, warp instructions".into(),
            form: Form::Lines,
            series: vec![Series { name: "IPC".into(), points }],
        },
    );
    Ok(output)
}

fn rate(machine: &Machine, workload: Workload, limit: u32, cycles: Option<u64>) -> Result<f64, String> {
    let mut table = toml::Table::new();
    table.insert("ctas".into(), i64::from(limit).into());
    let policy = registry::find("static_limit").and_then(|policy| (policy.build)(table)).map_err(|error| error.to_string())?;
    let max_cycles = cycles.map(|cycles| machine.gpu.dispatch.launch_latency + cycles);
    let options = RunOptions { max_cycles, controllers: vec![policy], ..RunOptions::default() };
    let outcome = simulate(machine, &Arc::new(workload), options).map_err(|error| error.to_string())?.outcome;
    let issued: u64 = outcome.kernels.iter().filter_map(|kernel| metrics::counter(&kernel.counters, metrics::WARP_INSTRUCTIONS)).sum();
    Ok(issued as f64 / metrics::net_cycles(&outcome).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::model::builtin_model;

    #[test]
    fn every_limit_has_a_row_and_more_ctas_hide_more_latency() {
        let sweep = Sweep { machine: "tiny", overrides: Vec::new(), workload: "vecadd", cycles: Some(6000) };
        let load = || builtin_model("vecadd", 1, &[]).map(|model| model.workload()).map_err(|error| error.to_string());
        let output = run(&sweep, load).unwrap();
        let ipc: Vec<f64> = output.column("IPC").unwrap().iter().map(|ipc| ipc.parse().unwrap()).collect();
        assert!(ipc.len() > 1 && ipc[1] > ipc[0], "{ipc:?}");
        assert_eq!(output.column("over all, %").unwrap().last(), Some(&"+0.00"));
        assert!(output.figure_named("CTAs with the highest IPC").unwrap() > 1.0);
    }
}
