//! Checkpoints: the state of all units at a cut, from which a run goes on as if it had never stopped.
//!
//! Each checkpoint makes a cut that only the coordinator sees. All messages are delivered first, so that everything in flight lies in the
//! units. Saved are: the units and their next events, what the coordinator holds back for later cycles, and the director. The
//! state of each unit stands for itself, so that any number of workers or ranks may take it up again.
//!
//! Invariant: nothing that depends on how the host divides the work is saved.

use std::fmt;

use warpshard_base::{Cycle, UnitId};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_stats::LateMessages;

use super::Unit;
use super::director::SeenEvent;
use super::shared::Decisions;

/// Takes the state of a cut, to be kept; a message for the user where that is impossible.
pub type Keep = Box<dyn FnMut(Cycle, Vec<u8>) -> Result<(), String> + Send>;

/// Whether and where a run saves its state, and the state with which it begins.
#[derive(Default)]
pub struct Checkpoints {
    /// Reference cycles between two of them; none are made when not given.
    pub every: Option<u64>,
    /// Keeps them. Called in rank 0 alone.
    pub keep: Option<Keep>,
    /// What [`Checkpoints::keep`] got in an earlier run.
    pub resume: Option<Vec<u8>>,
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").field("every", &self.every).field("resumes", &self.resume.is_some()).finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// The cycle of the next one.
    pub(super) fn next_after(&self, now: Cycle) -> Option<Cycle> {
        self.every.and_then(|every| (now.0 / every).checked_add(1)?.checked_mul(every)).map(Cycle)
    }

    /// Whether one is made at a cut.
    pub(super) fn is_due(&self, at: Cycle) -> bool {
        at > Cycle(0) && self.every.is_some_and(|every| at.0.is_multiple_of(every))
    }
}

/// State that stands for itself.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Part(Vec<u8>);

impl Part {
    /// The state of something.
    pub(super) fn of(state: &impl State) -> Self {
        let mut to = Writer::default();
        state.save(&mut to);
        Self(to.finish())
    }

    /// Loads it.
    pub(super) fn load(&self, state: &mut impl State) -> Result<(), StateError> {
        let mut from = Reader::new(&self.0);
        state.load(&mut from)?;
        from.finish()
    }

    /// The bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// At once, since there are many bytes.
impl State for Part {
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

/// The state of a unit, and its next event with what was delivered to it.
pub(super) type SavedUnit = (UnitId, Cycle, Part);

/// The state of a run at a cut.
#[derive(warpshard_state::State)]
pub(super) struct Saved<U: Unit> {
    pub(super) at: Cycle,
    pub(super) units: Vec<SavedUnit>,
    /// Events that take effect later.
    pub(super) events: Vec<(Cycle, SeenEvent<U::Event>)>,
    /// Decisions that take effect later, and those that do so now.
    pub(super) delayed: Vec<(Cycle, Decisions<U>)>,
    pub(super) decisions: Decisions<U>,
    pub(super) idle_cuts: u32,
    /// Messages so far, and those that came late.
    pub(super) messages: u64,
    pub(super) late: LateMessages,
    pub(super) director: Part,
}

impl<U: Unit> Saved<U> {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, StateError> {
        let mut from = Reader::new(bytes);
        let saved = Self::read(&mut from)?;
        from.finish()?;
        Ok(saved)
    }

    /// Whether all units that the state names are among so many, and nothing of later cycles takes effect before the cut.
    pub(super) fn check(&self, units: usize) -> Result<(), StateError> {
        let Self { at, events, delayed, decisions, .. } = self;
        // Cycles are counted on in ticks, which have the bits that these lack.
        if at.0 >= LATEST {
            return Err(StateError::new(format!("the saved state is that of cycle {}", at.0)));
        }
        if let Some((cycle, _)) = events.iter().find(|(cycle, _)| cycle < at) {
            return Err(StateError::new(format!("a saved event takes effect in cycle {}, before the cut at {}", cycle.0, at.0)));
        }
        let of_events = events.iter().map(|(_, event)| event.unit);
        let of_decisions = delayed.iter().flat_map(|(_, decisions)| decisions).chain(decisions).map(|(unit, _)| *unit);
        match of_events.chain(of_decisions).find(|unit| unit.index() >= units) {
            Some(unit) => Err(StateError::new(format!("the saved state names unit {}, and the machine has {units}", unit.0))),
            None => Ok(()),
        }
    }
}

/// No run is as long.
const LATEST: u64 = 1 << 48;
