//! The interface of a live monitor: views of a run in progress, and requests to it.
//!
//! Input: requests from any thread. Output: views at the pace of the host, of the cycle that each unit has reached. Counters of skipped
//! spans that have not ended lag behind. Views and requests have no effect on the simulation.

use std::sync::Arc;

use warpshard_base::{Cycle, UnitId};
use warpshard_engine::View;
use warpshard_sync::Published;

use super::progress::Progress;
use super::snapshot::CounterSchemas;

/// The connection between a run and a monitor; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Views published by the run.
    pub views: Published<LiveView>,
    /// Requests published by the monitor.
    pub requests: Published<LiveRequest>,
}

/// A request of a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveRequest {
    /// `true` if the run must pause.
    pub paused: bool,
    /// Number of the requested wait list (the list of stalled warps, requests and their causes); increased for a new list.
    pub list: u64,
}

/// A snapshot of a run for the monitor.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// The progress of the run.
    pub progress: Progress,
    /// `true` if the run is paused.
    pub paused: bool,
    /// Names of the counters of an SM.
    pub columns: Vec<&'static str>,
    /// Counters of each SM so far.
    pub sms: Vec<Vec<u64>>,
    /// Sums over all other components: kind, name, value.
    pub totals: Vec<(&'static str, &'static str, u64)>,
    /// The last wait list with its number.
    pub waiting: Arc<(u64, Vec<String>)>,
}

/// The run's end of the connection.
#[derive(Debug)]
pub(super) struct LivePublisher {
    live: Live,
    names: Vec<String>,
    waiting: Arc<(u64, Vec<String>)>,
}

impl LivePublisher {
    /// Creates the run's end for units with these names.
    pub(super) fn new(live: Live, names: Vec<String>) -> Self {
        Self { live, names, waiting: Arc::default() }
    }

    fn request(&self) -> LiveRequest {
        self.live.requests.newest().map_or_else(LiveRequest::default, |request| *request)
    }

    /// Returns `true` if a wait list is requested that has not been made yet.
    pub(super) fn shows_waiting(&self) -> bool {
        self.request().list > self.waiting.0
    }

    /// Publishes a view; returns `true` if the run must pause.
    pub(super) fn publish(&mut self, progress: Progress, view: &View<'_>, schemas: &CounterSchemas) -> bool {
        let request = self.request();
        if let Some(waiting) = view.waiting {
            let line = |(unit, lines): &(UnitId, Vec<String>)| {
                let name = &self.names[unit.index()];
                lines.iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
            };
            self.waiting = Arc::new((request.list, waiting.iter().flat_map(line).collect()));
        }
        let now = schemas.snapshot(Cycle(progress.cycles), view.counters);
        let others = [&now.partitions, &now.networks, &now.grid, &now.cpus];
        self.live.views.publish(LiveView {
            progress,
            paused: request.paused,
            columns: now.sms.table().columns().iter().map(|info| info.name).collect(),
            sms: now.sms.table().rows().map(<[u64]>::to_vec).collect(),
            totals: others
                .into_iter()
                .flat_map(|rows| rows.sums().map(|(kind, counted)| (kind, counted.info.name, counted.value)))
                .collect(),
            waiting: Arc::clone(&self.waiting),
        });
        request.paused
    }
}
