//! The interface of controllers: observations, triggers and decisions.
//!
//! Input: counters of the units at a cut. Output: decisions, which the package `chip` applies to the units. This package contains plain
//! data and one trait; it does not depend on threads or models, and models do not depend on it.
#![forbid(unsafe_code)]

mod controller;
mod decision;
mod error;
mod facts;
mod knob;
mod observation;
mod trigger;

pub use controller::{ControlError, Controller, check};
pub use decision::{Decision, DecisionSet, Signal};
pub use error::KnobError;
pub use facts::{Facts, KernelFacts, Peaks, Resources};
pub use knob::{Knob, KnobSet};
pub use observation::{Observation, ObservationTable, ObservedEvent, STALL_GPU};
pub use trigger::{EventSelector, Trigger};

pub use warpshard_protocol::{CtaProgress, DepartedCta, EndedCtas, EventKind, PowerState, Preemption, SmProgress};
