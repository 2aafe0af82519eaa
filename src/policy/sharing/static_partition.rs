//! A fixed number of SMs for each application; the others are power-gated.

use serde::Deserialize;

use crate::base::{AppId, SmId};
use crate::control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, PowerState, Trigger};
use crate::policy::registry::PolicyError;

/// The parameters of [`StaticPartition`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    sms: Vec<u32>,
}

/// Gives each application its SMs at the start: the first application the first ones, and so on.
#[derive(Clone, Debug)]
pub struct StaticPartition {
    sms: Vec<u32>,
}

impl StaticPartition {
    /// The policy's name.
    pub const NAME: &'static str = "static_partition";
    /// The policy's parameters.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] =
        &[("sms", "SMs of each application, as `[4, 20]`; SMs beyond their sum are power-gated")];

    /// The policy with its parameters: at least one SM for each application.
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

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner, Knob::Power])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let (wanted, there) = (self.sms.iter().sum::<u32>() as usize, seen.sms.rows().len());
        if wanted > there || self.sms.len() != seen.facts.applications.len() {
            let apps = seen.facts.applications.len();
            out.because(format!(
                "{wanted} SMs for {} applications do not suit {there} SMs and {apps} applications: nothing is set",
                self.sms.len()
            ));
            return;
        }
        let mut owners = (0..).zip(&self.sms).flat_map(|(app, &count)| std::iter::repeat_n(AppId(app), count as usize));
        for sm in 0..there {
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
    use crate::policy::registry::from_text;
    use crate::policy::testing::{Numbers, Scene, made};

    #[test]
    fn applications_get_their_sms_and_the_rest_is_gated() {
        let mut scene = Scene { sms: Numbers::named(&["cycles"]), ..Scene::default() };
        scene.sms.values = vec![0; 4];
        scene.facts.applications = vec!["a".into(), "b".into()];
        let said = scene.cut(&mut *made("static_partition", "sms = [1, 2]"), 0, &[]);
        assert_eq!(said, "owner 0 on sm0, owner 1 on sm1, owner 1 on sm2, power 0 on sm3: fixed partition");
    }

    #[test]
    fn a_partition_that_does_not_suit_sets_nothing() {
        let mut scene = Scene { sms: Numbers::named(&["cycles"]), ..Scene::default() };
        scene.sms.values = vec![0; 4];
        scene.facts.applications = vec!["a".into(), "b".into()];
        let said = scene.cut(&mut *made("static_partition", "sms = [2, 3]"), 0, &[]);
        assert_eq!(said, "5 SMs for 2 applications do not suit 4 SMs and 2 applications: nothing is set");
    }

    #[test]
    fn an_application_without_sms_is_refused() {
        let error = from_text("static_partition:sms=[4,0]").err().expect("it is refused");
        assert!(error.contains("at least one SM for each application"), "{error}");
    }
}
