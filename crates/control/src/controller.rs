//! The trait of controllers (policies), and the compatibility check of a set of controllers.

use std::iter;

use thiserror::Error;

use warpshard_base::Cycle;
use warpshard_state::State;

use super::{DecisionSet, Facts, Knob, KnobSet, Observation, Trigger};

/// A policy of a run: it receives an [`Observation`] when one of its triggers is due and returns decisions.
///
/// # Contract
/// *Calls.* [`Controller::knobs`] is called once before the run; [`Controller::triggers`] then and after every observation, so that a
/// controller is called only for its present triggers. [`Controller::observe`] is called only at cuts, on one thread at a time, and once
/// per cut even if several triggers and its [`Controller::alarm`] are due; the controllers of a run are called in their configured order.
///
/// *Preconditions.* Every unit has simulated all cycles before the cut and none from the cut on, and has settled its counters. The cycle of
/// a cut depends only on the simulated machine, not on threads, epochs or the speed of the host.
///
/// *Permitted actions.* A controller may change its state and fill `out` with decisions on its own knobs. It may not read a clock, a file,
/// the environment or a global, draw random numbers that are not seeded by its parameters, or iterate over a hash map: equal observations
/// must give equal decisions.
///
/// *Effects.* Decisions take effect at the cut (plus the machine's `control.decision_latency`), before the first cycle simulated after it,
/// and hold until the next decision on the same knob. An empty `out` changes nothing.
///
/// *Saved state.* The [`State`] of a controller contains everything that it has learned: a controller with the same parameters and the same
/// state makes the same decisions.
pub trait Controller: State + Send {
    /// Returns the name under which the policy is registered, for timelines and messages.
    fn name(&self) -> &str;

    /// Checks before the run that the controller can control a run with these facts.
    ///
    /// # Errors
    /// The facts that do not match its parameters, with the expected ones.
    fn check_facts(&self, facts: &Facts) -> Result<(), String> {
        let _ = facts;
        Ok(())
    }

    /// Returns the conditions under which the controller is called.
    fn triggers(&self) -> Vec<Trigger>;

    /// Returns a cycle at which the controller is called in addition to its triggers, such as the end of a sample; read after every
    /// observation. A cycle in the past has no effect.
    fn alarm(&self) -> Option<Cycle> {
        None
    }

    /// Returns `true` if the controller does not need the rest of the run; read after every observation. The run then ends with the next
    /// cycle, as at a cycle limit.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns `true` if the controller reads [`Observation::ctas`], which is expensive to gather at each cut; called before every cut.
    fn reads_ctas(&self) -> bool {
        false
    }

    /// Returns the knobs that the controller sets. Each knob of a run belongs to one controller.
    fn knobs(&self) -> KnobSet;

    /// Returns `true` if the controller's state can be saved; otherwise the run makes no checkpoints.
    fn can_be_saved(&self) -> bool {
        true
    }

    /// Reads the observation and makes decisions.
    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet);
}

/// An error of a controller or a set of controllers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// Two controllers set the same knob.
    #[error("controllers `{first}` and `{second}` both set `{knob}`: remove one of them")]
    KnobConflict {
        /// The earlier controller.
        first: String,
        /// The later controller.
        second: String,
        /// The knob.
        knob: Knob,
    },
    /// The controller's parameters do not match the machine or the workload.
    #[error("controller `{name}`: {problem}")]
    Unsuited {
        /// The controller.
        name: String,
        /// The mismatch, with the expected values.
        problem: String,
    },
    /// A controller requests an interval of 0 cycles, which never ends.
    #[error("controller `{name}` requests an interval of 0 cycles: the minimum is 1")]
    EmptyInterval {
        /// The controller.
        name: String,
    },
}

/// Checks that the controllers match the facts of a run and do not conflict; returns all problems in the order of the controllers.
pub fn check(controllers: &[Box<dyn Controller>], facts: &Facts) -> Result<(), Vec<ControlError>> {
    let mut problems = Vec::new();
    for (i, controller) in controllers.iter().enumerate() {
        let name = || controller.name().to_owned();
        if controller.triggers().contains(&Trigger::Every(0)) {
            problems.push(ControlError::EmptyInterval { name: name() });
        }
        // With one application, the sharing policy has no effect.
        let shares = facts.applications.len() > 1;
        let effective = controller.knobs().iter().filter(|_| shares).map(|knob| facts.check_effect(knob).map_err(|why| why.to_string()));
        for problem in iter::once(controller.check_facts(facts)).chain(effective).filter_map(Result::err) {
            problems.push(ControlError::Unsuited { name: name(), problem });
        }
        for earlier in &controllers[..i] {
            for knob in earlier.knobs().both(controller.knobs()).iter() {
                problems.push(ControlError::KnobConflict { first: earlier.name().to_owned(), second: name(), knob });
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(warpshard_state::State)]
    #[state(fixed)]
    struct FixedController(&'static str, &'static [Knob], u64);

    impl Controller for FixedController {
        fn name(&self) -> &str {
            self.0
        }

        fn triggers(&self) -> Vec<Trigger> {
            vec![Trigger::Start, Trigger::Every(self.2)]
        }

        fn knobs(&self) -> KnobSet {
            KnobSet::of(self.1)
        }

        fn observe(&mut self, _seen: &Observation<'_>, _out: &mut DecisionSet) {}
    }

    fn messages(controllers: Vec<Box<dyn Controller>>) -> Vec<String> {
        check(&controllers, &Facts::default()).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_controllers_of_one_knob_are_rejected_by_name() {
        let taken = messages(vec![
            Box::new(FixedController("a", &[Knob::CtaLimit], 1)),
            Box::new(FixedController("b", &[Knob::WarpLimit], 1)),
            Box::new(FixedController("c", &[Knob::CtaLimit, Knob::WarpLimit], 0)),
        ]);
        assert_eq!(
            taken,
            [
                "controller `c` requests an interval of 0 cycles: the minimum is 1",
                "controllers `a` and `c` both set `cta_limit`: remove one of them",
                "controllers `b` and `c` both set `warp_limit`: remove one of them",
            ]
        );
    }

    #[test]
    fn knobs_without_effect_are_rejected_if_applications_share_the_machine() {
        let turns = |knob: &'static [Knob], facts: &Facts| {
            let controllers: Vec<Box<dyn Controller>> = vec![Box::new(FixedController("a", knob, 1))];
            check(&controllers, facts).err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let facts = |applications: usize| Facts { applications: vec![String::new(); applications], ..Facts::default() };
        let spatial = Facts { spatial: true, ..facts(2) };
        let interleaved = Facts { interleaved: true, ..facts(2) };
        let refused = "controller `a`: it sets the applications that own SMs, which have no effect on this machine: set \
                       gpu.dispatch.sharing = \"spatial\"";
        assert_eq!(turns(&[Knob::Owner], &facts(2)), [refused]);
        assert_eq!(turns(&[Knob::Owner], &interleaved), [refused]);
        assert_eq!(turns(&[Knob::Owner], &spatial), [""; 0]);
        assert_eq!(turns(&[Knob::Owner], &facts(1)), [""; 0]);
        assert!(turns(&[Knob::KernelCtas], &spatial)[0].contains("\"interleaved\""));
        assert_eq!(turns(&[Knob::KernelCtas], &interleaved), [""; 0]);
        assert_eq!(turns(&[Knob::CtaLimit], &facts(2)), [""; 0]);
    }

    #[test]
    fn controllers_on_different_knobs_are_compatible() {
        assert_eq!(
            messages(vec![Box::new(FixedController("a", &[Knob::CtaLimit], 1)), Box::new(FixedController("b", &[Knob::WarpLimit], 9))]),
            [""; 0]
        );
    }
}
