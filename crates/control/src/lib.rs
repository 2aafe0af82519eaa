//! The interface of controllers: what a controller sees, when it is called, what it may decide.
//!
//! In: counters of the units at a cut. Out: decisions, which `chip` applies to the units. This package is plain data and one trait;
//! it knows neither threads nor models, and the models do not know it.
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
pub use observation::{Observation, STALL_GPU, Seen, Table};
pub use trigger::{EventSelector, Trigger};

pub use warpshard_protocol::{CtaGone, CtaProgress, EndedCtas, EventKind, PowerState, Preemption, SmProgress};
