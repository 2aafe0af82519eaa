//! A policy with a fixed number of SMs for each application; the other SMs are power-gated.

use serde::Deserialize;

use warpshard_base::{AppId, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, Facts, Knob, KnobSet, Observation, PowerState, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`StaticPartition`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    sms: Vec<u32>,
}

/// Assigns SMs to each application at the start, in the order of the applications.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct StaticPartition {
    sms: Vec<u32>,
}

impl StaticPartition {
    /// Name of the policy.
    pub const NAME: &'static str = "static_partition";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] =
        &[("sms", "SMs of each application, as `[4, 20]`; SMs beyond their sum are power-gated")];

    /// Creates the policy; each application must have at least one SM.
    pub fn new(Parameters { sms }: Parameters) -> Result<Self, PolicyError> {
        if sms.is_empty() || sms.contains(&0) {
            return Err(PolicyError::parameters(Self::NAME, format!("`sms` = {sms:?}: at least one SM for each application is expected")));
        }
        Ok(Self { sms })
    }
}

impl Controller for StaticPartition {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn check_facts(&self, facts: &Facts) -> Result<(), String> {
        let (sms, apps, wanted) = (facts.sms, facts.applications.len(), self.sms.iter().sum::<u32>());
        if self.sms.len() != apps {
            return Err(format!(
                "`sms` = {:?} is for {} applications and the run has {apps}: give a number of SMs for each",
                self.sms,
                self.sms.len()
            ));
        }
        if wanted > sms {
            return Err(format!("`sms` = {:?} takes {wanted} SMs and the machine has {sms}", self.sms));
        }
        Ok(())
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner, Knob::Power])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let mut owners = (0..).zip(&self.sms).flat_map(|(app, &count)| std::iter::repeat_n(AppId(app), count as usize));
        for sm in 0..seen.sms.rows().len() {
            let sm = Some(SmId(sm as u16));
            out.decide(match owners.next() {
                Some(app) => Decision::Owner { sm, app },
                None => Decision::Power { sm, state: PowerState::Gated },
            });
        }
        out.because("fixed partition");
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::Policies;
    use crate::testing::{CounterTable, Scene, built_policy};
    use warpshard_control::Facts;

    #[test]
    fn applications_get_their_sms_and_the_rest_is_gated() {
        let mut scene = Scene { sms: CounterTable::named(&["cycles"]), ..Scene::default() };
        scene.sms.values = vec![0; 4];
        scene.facts.applications = vec!["a".into(), "b".into()];
        let said = scene.cut(&mut *built_policy("static_partition", "sms = [1, 2]"), 0, &[]);
        assert_eq!(said, "owner 0 on sm0, owner 1 on sm1, owner 1 on sm2, power 0 on sm3: fixed partition");
    }

    #[test]
    fn an_unsuitable_partition_is_rejected_before_the_run() {
        let facts = Facts { sms: 4, applications: vec!["a".into(), "b".into()], ..Facts::default() };
        let suits = |sms: &str| built_policy("static_partition", &format!("sms = {sms}")).check_facts(&facts);
        assert_eq!(suits("[1, 3]"), Ok(()));
        assert_eq!(suits("[2, 3]"), Err("`sms` = [2, 3] takes 5 SMs and the machine has 4".to_owned()));
        let problem = suits("[4]").unwrap_err();
        assert!(problem.starts_with("`sms` = [4] is for 1 applications and the run has 2"), "{problem}");
    }

    #[test]
    fn an_application_without_sms_is_refused() {
        let error = Policies::core().from_text("static_partition:sms=[4,0]").err().expect("it is refused").to_string();
        assert!(error.contains("at least one SM for each application"), "{error}");
    }
}
