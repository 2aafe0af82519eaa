//! DYNCTA ("Neither More Nor Less: Optimizing Thread-level Parallelism for GPGPUs", Kayiran et al., PACT 2013): a CTA limit per SM, set
//! from the SM's idle cycles and its cycles of waiting for memory.
//!
//! Inputs: idle cycles and cycles of waiting for memory of each SM, every sampling period. Decisions: a CTA limit per SM. If the limit is
//! below the number of resident CTAs, the youngest are paused: their warps are not scheduled until other CTAs have ended.

use serde::Deserialize;

use warpshard_base::{KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// Counters of cycles in which the pipeline is free, but no warp can issue.
const IDLE_COUNTERS: [&str; 4] = ["stall_no_warps", "stall_draining", "stall_fetch", "stall_barrier"];
/// Counters of cycles in which all warps wait for memory, or for the memory pipeline.
const WAITING_COUNTERS: [&str; 2] = ["stall_scoreboard_memory", "stall_memory_pipeline"];

/// The parameters of [`DynCta`], with the values of the paper's Table 3. Kayiran et al., MICRO 2014, run DYNCTA "after tuning its
/// parameters" (Section 6) without stating the values.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    period: u64,
    idle: u64,
    mem_low: u64,
    mem_high: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { period: 2048, idle: 16, mem_low: 128, mem_high: 384 }
    }
}

/// DYNCTA: a CTA limit per SM that balances idle issue slots against memory contention.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct DynCta {
    #[state(fixed)]
    parameters: Parameters,
    kernel: KernelIndex,
    cores: Vec<CoreState>,
    columns: [Vec<usize>; 2],
}

#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct CoreState {
    limit: u32,
    idle: u64,
    waiting: u64,
}

impl DynCta {
    /// Name of the policy.
    pub const NAME: &'static str = "dyncta";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("period", "core cycles of a sampling period; 2048 when not given"),
        ("idle", "idle cycles above which the limit rises by one CTA (t_idle); 16 when not given"),
        ("mem_low", "cycles of waiting for memory below which the limit rises by one CTA (t_mem_l); 128 when not given"),
        ("mem_high", "cycles of waiting for memory above which the limit falls by one CTA (t_mem_h); 384 when not given"),
    ];

    /// Creates the policy; the low threshold must be at most the high threshold.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { mem_low, mem_high, .. } = parameters;
        if mem_low > mem_high {
            return Err(PolicyError::parameters(Self::NAME, format!("`mem_low` = {mem_low} is above `mem_high` = {mem_high}")));
        }
        Ok(Self { parameters, kernel: KernelIndex(0), cores: Vec::new(), columns: Default::default() })
    }

    /// Limits every SM to half of the CTAs that fit at the start of a kernel.
    fn prepare(&mut self, kernel: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(facts) = seen.facts.kernels.get(kernel.index()) else { return };
        self.kernel = kernel;
        let limit = (facts.ctas_per_sm / 2).max(1);
        self.cores = vec![CoreState { limit, ..CoreState::default() }; seen.sms.rows().len()];
        let why = format!("{kernel} begins with half of the {} CTAs that fit", facts.ctas_per_sm);
        out.decide_because(Decision::CtaLimit { sm: None, limit }, why.clone());
        out.decide_because(Decision::WarpLimit { sm: None, limit: seen.facts.warps_per_sm }, why);
    }

    fn add_stall_cycles(&mut self, seen: &Observation<'_>) {
        if self.columns[0].is_empty() {
            let find = |name: &&str| seen.sms.column(name).expect("an SM counts its stalls");
            self.columns = [IDLE_COUNTERS.iter().map(find).collect(), WAITING_COUNTERS.iter().map(find).collect()];
        }
        let sum = |columns: &[usize], row: &[u64]| columns.iter().map(|&column| row[column]).sum::<u64>();
        for (core, row) in self.cores.iter_mut().zip(seen.sms.rows()) {
            core.idle += sum(&self.columns[0], row);
            core.waiting += sum(&self.columns[1], row);
        }
    }

    fn end_period(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(facts) = seen.facts.kernels.get(self.kernel.index()) else { return };
        let schedulers = u64::from(seen.facts.schedulers_per_sm.max(1));
        for (sm, core) in self.cores.iter_mut().enumerate() {
            let (idle, waiting) = (core.idle / schedulers, core.waiting / schedulers);
            let limit = self.parameters.next_limit(core.limit, idle, waiting, facts.ctas_per_sm);
            if limit != core.limit {
                let sm = Some(SmId(sm as u16));
                let why = format!("{idle} idle cycles, {waiting} of waiting for memory");
                out.decide_because(Decision::CtaLimit { sm, limit }, why.clone());
                let warps = (limit * facts.warps_per_cta).min(seen.facts.warps_per_sm);
                out.decide_because(Decision::WarpLimit { sm, limit: warps }, why);
            }
            *core = CoreState { limit, ..CoreState::default() };
        }
    }
}

impl Parameters {
    /// Returns the limit, at most `most`, after a period with `idle` and `waiting` cycles.
    fn next_limit(&self, limit: u32, idle: u64, waiting: u64, most: u32) -> u32 {
        if idle > self.idle || waiting < self.mem_low {
            (limit + 1).min(most)
        } else if waiting > self.mem_high {
            (limit - 1).max(1)
        } else {
            limit
        }
    }
}

impl Controller for DynCta {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        let ended = Trigger::On(EventSelector::KernelEnded(None));
        vec![Trigger::Start, Trigger::Every(self.parameters.period), ended]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit, Knob::WarpLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.cores.is_empty() {
            self.prepare(KernelIndex(0), seen, out);
        }
        self.add_stall_cycles(seen);
        if seen.cycle.0 > 0 && seen.cycle.0.is_multiple_of(self.parameters.period) {
            self.end_period(seen, out);
        }
        for event in seen.events {
            if let EventKind::KernelEnded(kernel) = event.kind {
                self.prepare(KernelIndex(kernel.0 + 1), seen, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy};

    #[test]
    fn idle_sms_get_more_ctas_and_memory_bound_sms_fewer() {
        let stepped = |idle, waiting| Parameters::default().next_limit(4, idle, waiting, 8);
        assert_eq!([stepped(17, 9000), stepped(0, 127), stepped(16, 128), stepped(0, 384), stepped(0, 385)], [5, 5, 4, 4, 3]);
        assert_eq!(Parameters::default().next_limit(8, 17, 0, 8), 8);
        assert_eq!(Parameters::default().next_limit(1, 0, 9000, 8), 1);
    }

    #[test]
    fn the_warps_of_the_youngest_ctas_are_paused_with_their_limit() {
        let mut columns = vec!["issued"];
        columns.extend(IDLE_COUNTERS.iter().chain(&WAITING_COUNTERS));
        let mut scene = Scene { sms: CounterTable::named(&columns), ..Scene::with_kernel(100, 6) };
        let mut policy = built_policy(DynCta::NAME, "");
        let why = "kernel 0 begins with half of the 6 CTAs that fit";
        scene.sms.values = vec![0; 2 * columns.len()];
        assert_eq!(scene.cut(&mut *policy, 0, &[]), format!("cta_limit 3 on every SM: {why}; warp_limit 48 on every SM: {why}"));
        // Two schedulers: 800 scheduler cycles of waiting are 400 cycles. SM 1 is idle as well.
        scene.sms.values = vec![9, 0, 0, 0, 0, 700, 100, 9, 40, 0, 0, 0, 700, 100];
        let down = "0 idle cycles, 400 of waiting for memory";
        let up = "20 idle cycles, 400 of waiting for memory";
        assert_eq!(
            scene.cut(&mut *policy, 2048, &[]),
            format!("cta_limit 2 on sm0: {down}; warp_limit 16 on sm0: {down}; cta_limit 4 on sm1: {up}; warp_limit 32 on sm1: {up}")
        );
    }
}
