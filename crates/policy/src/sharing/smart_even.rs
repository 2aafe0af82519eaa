//! Smart-Even: the same number of SMs for each application, but no more than its CTAs fill (Adriaens et al., "The case for GPGPU spatial
//! multitasking", HPCA 2012; "Efficient Kernel Management on GPUs", Section 5.2, compares with it).
//!
//! Neither text states the exact rule. Our reading: an application can use as many SMs as the CTAs of its largest kernel fill, and the
//! unused part of its even share is divided evenly among the others. When an application ends, the grid scheduler assigns its SMs to the
//! others.

use serde::Deserialize;

use warpshard_base::{AppId, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, Facts, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`SmartEven`], which has none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

/// Assigns SMs to each application at the start.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub struct SmartEven;

impl SmartEven {
    /// Name of the policy.
    pub const NAME: &'static str = "smart_even";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[];

    /// Creates the policy.
    pub fn new(_: Parameters) -> Result<Self, PolicyError> {
        Ok(Self)
    }
}

/// Returns the number of SMs of each application, `sms` in total.
fn shares(facts: &Facts, sms: u32) -> Vec<u32> {
    let mut wanted = vec![0; facts.applications.len()];
    for kernel in &facts.kernels {
        let own = &mut wanted[kernel.app.index()];
        *own = kernel.ctas.div_ceil(kernel.ctas_per_sm).max(*own);
    }
    let mut shares = vec![0; wanted.len()];
    let mut left = sms;
    while left > 0 {
        // The next SM goes to the application with the fewest SMs that can use another one, or if none can, to the application with the
        // fewest SMs.
        let open = |can_use: bool| (0..shares.len()).filter(|app| !can_use || shares[*app] < wanted[*app]).min_by_key(|app| shares[*app]);
        let Some(app) = open(true).or_else(|| open(false)) else { break };
        shares[app] += 1;
        left -= 1;
    }
    shares
}

impl Controller for SmartEven {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let shares = shares(seen.facts, seen.sms.rows().len() as u32);
        let owners = (0..).zip(shares).flat_map(|(app, count)| std::iter::repeat_n(AppId(app), count as usize));
        for (sm, app) in (0..).zip(owners) {
            out.decide(Decision::Owner { sm: Some(SmId(sm)), app });
        }
        out.because("even shares, limited by what the CTAs fill");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy};
    use warpshard_control::KernelFacts;

    fn facts(ctas: &[u32]) -> Facts {
        let kernel =
            |(app, ctas): (usize, &u32)| KernelFacts { app: AppId(app as u16), ctas: *ctas, ctas_per_sm: 4, ..KernelFacts::default() };
        Facts { kernels: ctas.iter().enumerate().map(kernel).collect(), applications: vec![String::new(); ctas.len()], ..Facts::default() }
    }

    #[test]
    fn shares_are_even_except_for_unusable_sms() {
        assert_eq!(shares(&facts(&[100, 100]), 15), [8, 7]);
        assert_eq!(shares(&facts(&[100, 9]), 15), [12, 3], "nine CTAs fill three SMs");
        assert_eq!(shares(&facts(&[9, 100, 100]), 15), [3, 6, 6]);
        assert_eq!(shares(&facts(&[4, 4]), 6), [3, 3], "the rest is nobody's: evenly");
    }

    #[test]
    fn every_sm_gets_an_owner_at_the_start() {
        let mut scene = Scene { sms: CounterTable::named(&["cycles"]), facts: facts(&[100, 4]), ..Scene::default() };
        scene.sms.values = vec![0; 3];
        let said = scene.cut(&mut *built_policy("smart_even", ""), 0, &[]);
        assert_eq!(said, "owner 0 on sm0, owner 0 on sm1, owner 1 on sm2: even shares, limited by what the CTAs fill");
    }
}
