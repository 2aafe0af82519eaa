//! The trait that policies implement, and the conditions on a set of controllers.

use std::iter;

use thiserror::Error;

use warpshard_base::Cycle;
use warpshard_state::State;

use super::{DecisionSet, Facts, Knob, KnobSet, Observation, Trigger};

/// A policy in a run: it gets an [`Observation`] whenever one of its triggers is due and returns decisions.
///
/// # Contract
/// *When it is called.* [`Controller::knobs`] once, before the run; [`Controller::triggers`] then and after every
/// observation, so that a controller is called only for what it waits for.
/// [`Controller::observe`] is called at cuts only, on one thread at a time, once per cut however many of its
/// triggers are due there (its [`Controller::alarm`] too), and the controllers of a run in their configured order.
///
/// *What is true then.* Every unit has simulated all cycles before the cut and none from it on, and has settled its
/// counters. The cut's cycle follows from the simulated machine alone: not from threads, epochs or the host's speed.
///
/// *What it may do.* Change its own state and fill `out`, with decisions on its own knobs. It may not read a clock, a file,
/// the environment or a global, draw random numbers that are not seeded by its parameters, or iterate over a hash map:
/// equal observations must give equal decisions.
///
/// *What holds afterwards.* Decisions take effect at the cut (plus the machine's `control.decision_latency`), before the
/// first cycle simulated after it, and hold until the next decision on the same knob. An empty `out` changes nothing.
///
/// *What is kept.* Its [`State`] is all that it has learned: a controller made with the same parameters and loaded decides as this one.
pub trait Controller: State + Send {
    /// The name under which the policy is registered, for timelines and messages.
    fn name(&self) -> &str;

    /// Whether it can control a run of these facts; asked before the run.
    ///
    /// # Errors
    /// What does not suit its parameters, with what would.
    fn suits(&self, facts: &Facts) -> Result<(), String> {
        let _ = facts;
        Ok(())
    }

    /// When it wants to be called.
    fn triggers(&self) -> Vec<Trigger>;

    /// A cycle at which it wants to be called in addition to its triggers, as the end of a sample; read after every
    /// observation. A cycle that has passed has no effect.
    fn alarm(&self) -> Option<Cycle> {
        None
    }

    /// Whether the controller needs no more of the run; read after every observation. If so, the run ends with the next cycle, as
    /// at a cycle limit.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether it reads [`Observation::ctas`], which takes time to gather at each cut of the run; asked before every cut.
    fn wants_ctas(&self) -> bool {
        false
    }

    /// The knobs that it turns. Each knob of a run belongs to one controller.
    fn knobs(&self) -> KnobSet;

    /// Whether its state can be saved; a run with a controller whose state cannot makes no checkpoints.
    fn can_be_saved(&self) -> bool {
        true
    }

    /// Sees the machine and decides.
    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet);
}

/// Why controllers cannot run, or not together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// Two controllers would overwrite each other's decisions.
    #[error("controllers `{first}` and `{second}` both turn `{knob}`: leave one of them out")]
    KnobTaken {
        /// The earlier controller.
        first: String,
        /// The later controller.
        second: String,
        /// The knob.
        knob: Knob,
    },
    /// Its parameters do not suit the machine or the workload.
    #[error("controller `{name}`: {problem}")]
    Unsuited {
        /// The controller.
        name: String,
        /// What does not suit, and what would.
        problem: String,
    },
    /// An interval without cycles never ends.
    #[error("controller `{name}` asks for an interval of 0 cycles: 1 is the shortest")]
    EmptyInterval {
        /// The controller.
        name: String,
    },
}

/// Checks that the controllers suit a run of these facts and each other; returns all problems, in the order of the controllers.
pub fn check(controllers: &[Box<dyn Controller>], facts: &Facts) -> Result<(), Vec<ControlError>> {
    let mut problems = Vec::new();
    for (i, controller) in controllers.iter().enumerate() {
        let name = || controller.name().to_owned();
        if controller.triggers().contains(&Trigger::Every(0)) {
            problems.push(ControlError::EmptyInterval { name: name() });
        }
        // With one application there is nothing to share.
        let shares = facts.applications.len() > 1;
        let heeded = controller.knobs().iter().filter(|_| shares).map(|knob| facts.heeds(knob).map_err(|why| why.to_string()));
        for problem in iter::once(controller.suits(facts)).chain(heeded).filter_map(Result::err) {
            problems.push(ControlError::Unsuited { name: name(), problem });
        }
        for earlier in &controllers[..i] {
            for knob in earlier.knobs().both(controller.knobs()).iter() {
                problems.push(ControlError::KnobTaken { first: earlier.name().to_owned(), second: name(), knob });
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
    struct Fixed(&'static str, &'static [Knob], u64);

    impl Controller for Fixed {
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
    fn two_controllers_on_one_knob_are_refused_by_name() {
        let taken = messages(vec![
            Box::new(Fixed("a", &[Knob::CtaLimit], 1)),
            Box::new(Fixed("b", &[Knob::WarpLimit], 1)),
            Box::new(Fixed("c", &[Knob::CtaLimit, Knob::WarpLimit], 0)),
        ]);
        assert_eq!(
            taken,
            [
                "controller `c` asks for an interval of 0 cycles: 1 is the shortest",
                "controllers `a` and `c` both turn `cta_limit`: leave one of them out",
                "controllers `b` and `c` both turn `warp_limit`: leave one of them out",
            ]
        );
    }

    #[test]
    fn knobs_without_effect_are_refused_where_applications_share_the_machine() {
        let turns = |knob: &'static [Knob], facts: &Facts| {
            let controllers: Vec<Box<dyn Controller>> = vec![Box::new(Fixed("a", knob, 1))];
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
        assert_eq!(messages(vec![Box::new(Fixed("a", &[Knob::CtaLimit], 1)), Box::new(Fixed("b", &[Knob::WarpLimit], 9))]), [""; 0]);
    }
}
