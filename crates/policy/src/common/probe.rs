//! A controller that only records: counters of single SMs over time (the interval series has only sums over all SMs).
//!
//! Inputs: counters of SMs, every period. Outputs: a signal per SM, counter and period in the timeline, and no decisions.

use serde::Deserialize;

use warpshard_base::SmId;
use warpshard_control::{Controller, DecisionSet, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`Probe`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Names of counters of an SM.
    counters: Vec<String>,
    /// Core cycles per period.
    #[serde(default = "default_period")]
    period: u64,
    /// Numbers of the recorded SMs.
    #[serde(default = "default_sms")]
    sms: Vec<u16>,
}

fn default_period() -> u64 {
    1000
}

fn default_sms() -> Vec<u16> {
    vec![0]
}

/// Records counters of SMs without making decisions.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Probe {
    #[state(fixed)]
    parameters: Parameters,
    /// Columns of the recorded counters; `None` before the first observation.
    columns: Option<Vec<usize>>,
}

impl Probe {
    /// Name of the policy.
    pub const NAME: &'static str = "probe";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("counters", "names of SM counters, as listed by `warpshard list counters`"),
        ("period", "core cycles of a period; 1000 when not given"),
        ("sms", "numbers of the recorded SMs; only 0 when not given"),
    ];

    /// Creates the policy; the parameters must name at least one counter and SM.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: &str| Err(PolicyError::parameters(Self::NAME, problem));
        if parameters.counters.is_empty() || parameters.sms.is_empty() {
            return wrong("`counters` and `sms` must name at least one counter and one SM");
        }
        if parameters.period == 0 {
            return wrong("`period` = 0 is invalid; expected at least 1");
        }
        Ok(Self { parameters, columns: None })
    }

    fn find_columns(&self, seen: &Observation<'_>, out: &mut DecisionSet) -> Vec<usize> {
        let (found, missing): (Vec<_>, Vec<_>) =
            self.parameters.counters.iter().map(|name| (name, seen.sms.column(name))).partition(|(_, column)| column.is_some());
        if let Some((name, _)) = missing.first() {
            out.because(format!("an SM has no counter `{name}`, so it is not recorded"));
        }
        found.into_iter().filter_map(|(_, column)| column).collect()
    }
}

impl Controller for Probe {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(self.parameters.period)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.find_columns(seen, out),
        };
        for &sm in &self.parameters.sms {
            let Some(row) = seen.sms.rows().nth(usize::from(sm)) else { continue };
            for &column in &columns {
                out.signal(Some(SmId(sm)), seen.sms.columns()[column].name, row[column] as f64);
            }
        }
        self.columns = Some(columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy};

    #[test]
    fn counters_are_recorded_without_decisions() {
        let mut scene = Scene { sms: CounterTable::named(&["issued", "cycles"]), ..Scene::with_kernel(10, 2) };
        let mut policy = built_policy(Probe::NAME, "counters = [\"cycles\", \"nonsense\"]\nperiod = 50\nsms = [1, 9]");
        assert_eq!(policy.triggers(), [Trigger::Every(50)]);
        scene.sms.values = vec![1, 2, 3, 4];
        assert_eq!(scene.signals(&mut *policy, 50), [(Some(SmId(1)), "cycles", 4.0)], "the machine has no SM 9");
        assert_eq!(scene.cut(&mut *policy, 100, &[]), "");
    }

    #[test]
    fn a_probe_without_counters_or_sms_is_rejected() {
        let wrong = |counters: &[&str], period| {
            let counters = counters.iter().map(|name| (*name).to_owned()).collect();
            Probe::new(Parameters { counters, period, sms: vec![0] }).unwrap_err().to_string()
        };
        assert!(wrong(&[], 1).ends_with("must name at least one counter and one SM"));
        assert_eq!(wrong(&["cycles"], 0), "policy `probe`: `period` = 0 is invalid; expected at least 1");
    }
}
