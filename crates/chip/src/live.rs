//! What a person sees of a run while it goes on, and what they ask of it.
//!
//! In: wishes, from any thread. Out: views, at the pace of the host, of whatever cycle each unit has reached. Counters of spans that are not over
//! lag behind. Nothing simulated depends on either.

use std::sync::Arc;

use warpshard_base::{Cycle, UnitId};
use warpshard_engine::View;
use warpshard_sync::Published;

use super::progress::Progress;
use super::snapshot::Schemas;

/// The two ends between a run and whoever watches it; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// What is seen.
    pub views: Published<LiveView>,
    /// What is wanted.
    pub wishes: Published<Wish>,
}

/// What a watcher wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The run stands still.
    pub paused: bool,
    /// The number of the list of what waits for what that is wanted; raised for a new one.
    pub list: u64,
}

/// A run at a moment of the host.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// How far it is.
    pub progress: Progress,
    /// Whether it stands still.
    pub paused: bool,
    /// Names of the counters of an SM.
    pub columns: Vec<&'static str>,
    /// Counters of each SM so far.
    pub sms: Vec<Vec<u64>>,
    /// Sums over all other components: kind, name, value.
    pub totals: Vec<(&'static str, &'static str, u64)>,
    /// The last list of what waits for what, with its number.
    pub waiting: Arc<(u64, Vec<String>)>,
}

/// The run's side.
#[derive(Debug)]
pub(super) struct Shown {
    live: Live,
    names: Vec<String>,
    waiting: Arc<(u64, Vec<String>)>,
}

impl Shown {
    /// Of units with these names.
    pub(super) fn new(live: Live, names: Vec<String>) -> Self {
        Self { live, names, waiting: Arc::default() }
    }

    fn wish(&self) -> Wish {
        self.live.wishes.newest().map_or_else(Wish::default, |wish| *wish)
    }

    /// Whether a list of what waits for what is wanted that was not made yet.
    pub(super) fn wants_waiting(&self) -> bool {
        self.wish().list > self.waiting.0
    }

    /// Shows what there is; returns whether the run is to stand still.
    pub(super) fn show(&mut self, progress: Progress, view: &View<'_>, schemas: &Schemas) -> bool {
        let wish = self.wish();
        if let Some(waiting) = view.waiting {
            let line = |(unit, lines): &(UnitId, Vec<String>)| {
                let name = &self.names[unit.index()];
                lines.iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
            };
            self.waiting = Arc::new((wish.list, waiting.iter().flat_map(line).collect()));
        }
        let now = schemas.snapshot(Cycle(progress.cycles), view.counters);
        let others = [&now.partitions, &now.networks, &now.grid, &now.cpus];
        self.live.views.publish(LiveView {
            progress,
            paused: wish.paused,
            columns: now.sms.table().columns().iter().map(|info| info.name).collect(),
            sms: now.sms.table().rows().map(<[u64]>::to_vec).collect(),
            totals: others
                .into_iter()
                .flat_map(|rows| rows.sums().map(|(kind, counted)| (kind, counted.info.name, counted.value)))
                .collect(),
            waiting: Arc::clone(&self.waiting),
        });
        wish.paused
    }
}
