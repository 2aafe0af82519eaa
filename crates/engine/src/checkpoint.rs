//! Checkpoints: the state of all units at a cut, from which a run resumes as if it had never stopped.
//!
//! Each checkpoint makes a cut that only the coordinator sees. The coordinator first has all messages delivered, so that the units hold
//! everything in flight. A checkpoint holds the units and their next events, the events and decisions that the coordinator holds back for
//! later cycles, and the director. The state of each unit is self-contained, so that any number of workers or ranks can resume from it.
//!
//! Invariant: a checkpoint holds nothing that depends on how the host divides the work.

use std::fmt;

use warpshard_base::{Cycle, UnitId};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_stats::LateMessages;

use super::Unit;
use super::director::CutEvent;
use super::shared::Decisions;

/// Stores the state of a cut; returns a message for the user if this fails.
pub type StoreCheckpoint = Box<dyn FnMut(Cycle, Vec<u8>) -> Result<(), String> + Send>;

/// The period and the sink of checkpoints, and the state from which the run starts.
#[derive(Default)]
pub struct Checkpoints {
    /// Reference cycles between two checkpoints; the run makes none if this is `None`.
    pub every: Option<u64>,
    /// Stores a checkpoint. Only rank 0 calls it.
    pub store: Option<StoreCheckpoint>,
    /// A state that [`Checkpoints::store`] stored in an earlier run.
    pub resume: Option<Vec<u8>>,
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").field("every", &self.every).field("resumes", &self.resume.is_some()).finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// Returns the cycle of the next checkpoint after `now`.
    pub(super) fn next_after(&self, now: Cycle) -> Option<Cycle> {
        self.every.and_then(|every| (now.0 / every).checked_add(1)?.checked_mul(every)).map(Cycle)
    }

    /// Returns true if a checkpoint is due at the cut `at`.
    pub(super) fn is_due(&self, at: Cycle) -> bool {
        at > Cycle(0) && self.every.is_some_and(|every| at.0.is_multiple_of(every))
    }
}

/// Encoded, self-contained state.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct EncodedState(Vec<u8>);

impl EncodedState {
    /// Encodes a state.
    pub(super) fn of(state: &impl State) -> Self {
        let mut to = Writer::default();
        state.save(&mut to);
        Self(to.finish())
    }

    /// Decodes the state into `state`.
    pub(super) fn load(&self, state: &mut impl State) -> Result<(), StateError> {
        let mut from = Reader::new(&self.0);
        state.load(&mut from)?;
        from.finish()
    }

    /// Returns the encoded bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Copies all bytes in one operation, since there are many.
impl State for EncodedState {
    fn save(&self, to: &mut Writer) {
        to.length(self.0.len());
        to.raw(&self.0);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let length = from.length(1)?;
        Ok(Self(from.raw(length)?.to_vec()))
    }
}

/// A unit's identifier, its next event including delivered messages, and its state.
pub(super) type SavedUnit = (UnitId, Cycle, EncodedState);

/// The state of a run at a cut.
#[derive(warpshard_state::State)]
pub(super) struct SavedRun<U: Unit> {
    pub(super) at: Cycle,
    pub(super) units: Vec<SavedUnit>,
    /// Events that take effect after the cut, with the cycle of their effect.
    pub(super) events: Vec<(Cycle, CutEvent<U::Event>)>,
    /// Decisions that take effect after the cut, and decisions that take effect at the cut.
    pub(super) delayed: Vec<(Cycle, Decisions<U>)>,
    pub(super) decisions: Decisions<U>,
    pub(super) idle_cuts: u32,
    /// Messages sent so far, and the late messages among them.
    pub(super) messages: u64,
    pub(super) late: LateMessages,
    pub(super) director: EncodedState,
}

impl<U: Unit> SavedRun<U> {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, StateError> {
        let mut from = Reader::new(bytes);
        let saved = Self::read(&mut from)?;
        from.finish()?;
        Ok(saved)
    }

    /// Checks that the state names only the first `units` units and that no pending event takes effect before the cut.
    pub(super) fn check(&self, units: usize) -> Result<(), StateError> {
        let Self { at, events, delayed, decisions, .. } = self;
        // The run converts cycles to ticks, which need the bits above [`MAX_CYCLE`].
        if at.0 >= MAX_CYCLE {
            return Err(StateError::new(format!("the saved state names cycle {}, which is too large", at.0)));
        }
        if let Some((cycle, _)) = events.iter().find(|(cycle, _)| cycle < at) {
            return Err(StateError::new(format!("a saved event takes effect in cycle {}, before the cut at {}", cycle.0, at.0)));
        }
        let of_events = events.iter().map(|(_, event)| event.unit);
        let of_decisions = delayed.iter().flat_map(|(_, decisions)| decisions).chain(decisions).map(|(unit, _)| *unit);
        match of_events.chain(of_decisions).find(|unit| unit.index() >= units) {
            Some(unit) => Err(StateError::new(format!("the saved state names unit {}, but the machine has {units} units", unit.0))),
            None => Ok(()),
        }
    }
}

/// A cycle beyond the end of any real run.
const MAX_CYCLE: u64 = 1 << 48;
