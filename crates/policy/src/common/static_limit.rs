//! Fixed limits: CTAs and warps per SM, and the number of active SMs, from the start of the run or of a kernel.
//!
//! Input: the start. Decisions: one set of limits, once.

use serde::Deserialize;

use warpshard_base::{KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventSelector, Knob, KnobSet, Observation, PowerState, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`StaticLimit`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// CTAs per SM.
    ctas: Option<u32>,
    /// Warps per SM.
    warps: Option<u32>,
    /// Number of active SMs, beginning with SM 0; the others are power-gated.
    cores: Option<u16>,
    /// Numbers of the limited SMs [default: all].
    sms: Option<Vec<u16>>,
    /// The kernel at whose start the limits are set [default: the start of the run].
    from_kernel: Option<u32>,
}

/// Fixed limits of CTAs and warps per SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct StaticLimit {
    #[state(fixed)]
    parameters: Parameters,
    done: bool,
}

impl StaticLimit {
    /// Name of the policy.
    pub const NAME: &'static str = "static_limit";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("ctas", "maximum CTAs on an SM"),
        ("warps", "maximum warps that an SM's schedulers consider"),
        ("cores", "number of active SMs, beginning with SM 0; the others are power-gated"),
        ("sms", "numbers of the limited SMs; all when not given"),
        ("from_kernel", "the kernel, counted from 0, at whose start the limits are set; the start of the run when not given"),
    ];

    /// Creates the policy; the parameters must limit something and allow at least one CTA and one warp.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        if parameters.ctas.is_none() && parameters.warps.is_none() && parameters.cores.is_none() {
            return wrong("none of `ctas`, `warps` and `cores` is given, so nothing is limited".to_owned());
        }
        let cores = parameters.cores.map(u32::from);
        for (name, limit) in [("ctas", parameters.ctas), ("warps", parameters.warps), ("cores", cores)] {
            if limit == Some(0) {
                return wrong(format!("`{name}` = 0 would stop all work; expected at least 1"));
            }
        }
        Ok(Self { parameters, done: false })
    }

    fn limit(&self, sm: Option<SmId>, out: &mut DecisionSet) {
        if let Some(limit) = self.parameters.ctas {
            out.decide(Decision::CtaLimit { sm, limit });
        }
        if let Some(limit) = self.parameters.warps {
            out.decide(Decision::WarpLimit { sm, limit });
        }
    }
}

impl Controller for StaticLimit {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![match self.parameters.from_kernel {
            Some(kernel) => Trigger::On(EventSelector::KernelStarted(Some(KernelIndex(kernel)))),
            None => Trigger::Start,
        }]
    }

    fn knobs(&self) -> KnobSet {
        let Parameters { ctas, warps, cores, .. } = &self.parameters;
        let knobs = [(ctas.is_some(), Knob::CtaLimit), (warps.is_some(), Knob::WarpLimit), (cores.is_some(), Knob::Power)];
        KnobSet::of(&knobs.iter().filter(|knob| knob.0).map(|knob| knob.1).collect::<Vec<_>>())
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        match &self.parameters.sms {
            Some(sms) => sms.iter().for_each(|&sm| self.limit(Some(SmId(sm)), out)),
            None => self.limit(None, out),
        }
        if let Some(cores) = self.parameters.cores {
            let off = (0..seen.sms.rows().len() as u16).skip(usize::from(cores));
            off.for_each(|sm| out.decide(Decision::Power { sm: Some(SmId(sm)), state: PowerState::Gated }));
        }
        out.because("fixed limits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy, decisions_at_cuts};

    #[test]
    fn limits_are_set_once_from_the_start() {
        let mut policy = built_policy(StaticLimit::NAME, "ctas = 2\nwarps = 16");
        assert_eq!(policy.triggers(), [Trigger::Start]);
        assert_eq!(policy.knobs(), KnobSet::of(&[Knob::CtaLimit, Knob::WarpLimit]));
        assert_eq!(decisions_at_cuts(&mut *policy, &[&[], &[]]), ["cta_limit 2 on every SM, warp_limit 16 on every SM: fixed limits", ""]);
    }

    #[test]
    fn single_sms_are_limited_from_a_kernel_on() {
        let mut policy = built_policy(StaticLimit::NAME, "ctas = 1\nsms = [4, 7]\nfrom_kernel = 3");
        assert_eq!(policy.triggers(), [Trigger::On(EventSelector::KernelStarted(Some(KernelIndex(3))))]);
        assert_eq!(policy.knobs(), KnobSet::of(&[Knob::CtaLimit]));
        assert_eq!(decisions_at_cuts(&mut *policy, &[&[]]), ["cta_limit 1 on sm4, cta_limit 1 on sm7: fixed limits"]);
    }

    #[test]
    fn sms_beyond_the_active_ones_are_gated() {
        let mut scene = Scene { sms: CounterTable::named(&["issued"]), ..Scene::default() };
        scene.sms.values = vec![0; 4];
        let mut policy = built_policy(StaticLimit::NAME, "cores = 2");
        assert_eq!(policy.knobs(), KnobSet::of(&[Knob::Power]));
        assert_eq!(scene.cut(&mut *policy, 0, &[]), "power 0 on sm2, power 0 on sm3: fixed limits");
    }
}
