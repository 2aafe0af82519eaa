//! The director of a chip's run, which converts counters at cuts to interval rows and observations, and calls the controllers.

use std::sync::Arc;

use warpshard_base::{Cycle, SmId, UnitId};
use warpshard_config::Machine;
use warpshard_control::{Controller, DecisionSet, Facts, Observation, ObservedEvent, Trigger, check};
use warpshard_engine::{Cut, CutEvent, Director, View, Work};
use warpshard_protocol::{EventKind, SmProgress};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_stats::{IntervalSeries, TimelineEntry};
use warpshard_sync::Published;
use warpshard_workload::{Workload, streams_failure};

use super::apply;
use super::cpu_load::{CpuLoad, CpuProgress};
use super::facts::{check_uniform_gpus, facts};
use super::layout::ChipLayout;
use super::live::{Live, LivePublisher};
use super::measure::{LaunchMeasurement, LaunchMeter, LaunchSelection};
use super::progress::Progress;
use super::snapshot::{CounterRows, CounterSchemas, Snapshot};
use super::unit::{ChipDecision, ChipUnit};
use crate::BuildError;

struct AttachedController {
    controller: Box<dyn Controller>,
    triggers: Vec<Trigger>,
    alarm: Option<Cycle>,
    before: Snapshot,
    events: Vec<ObservedEvent>,
}

/// The director of a run: records the interval series, calls the controllers, and reports progress.
pub struct Observer {
    workload: Arc<Workload>,
    facts: Facts,
    layout: ChipLayout,
    schemas: CounterSchemas,
    interval: Option<u64>,
    before: Snapshot,
    controllers: Vec<AttachedController>,
    intervals: IntervalSeries,
    timeline: Vec<TimelineEntry>,
    progress: Option<Published<Progress>>,
    shown: Option<LivePublisher>,
    watch: CpuProgress,
    /// The measurement of single launches, if requested.
    meter: Option<LaunchMeter>,
    /// `true` if a controller ended the run, at the next cut.
    over: bool,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("interval", &self.interval).field("rows", &self.intervals.len()).finish_non_exhaustive()
    }
}

impl Observer {
    /// Creates an observer of `machine` with `workload`.
    ///
    /// # Errors
    /// Controllers are incompatible, or an interval is empty; a message for the user.
    pub fn new(
        machine: &Machine,
        workload: Arc<Workload>,
        layout: ChipLayout,
        interval: Option<u64>,
        controllers: Vec<Box<dyn Controller>>,
        progress: Option<Published<Progress>>,
    ) -> Result<Self, BuildError> {
        let facts = facts(machine, &workload);
        if let Some(controller) = controllers.first() {
            check_uniform_gpus(machine).map_err(|problem| format!("controller `{}`: {problem}", controller.name()))?;
        }
        check(&controllers, &facts).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        if interval == Some(0) {
            return Err(format!("an interval has at least one core cycle of {}", machine.clocks.core).into());
        }
        let attach = |controller: Box<dyn Controller>| AttachedController {
            triggers: controller.triggers(),
            alarm: controller.alarm(),
            controller,
            before: Snapshot::default(),
            events: Vec::new(),
        };
        Ok(Self {
            facts,
            workload,
            watch: CpuProgress::new(None, layout.gpus.len() as u32),
            layout,
            schemas: CounterSchemas::default(),
            interval,
            before: Snapshot::default(),
            controllers: controllers.into_iter().map(attach).collect(),
            intervals: IntervalSeries::default(),
            timeline: Vec::new(),
            progress,
            shown: None,
            meter: None,
            over: false,
        })
    }

    /// Adds the progress of a load on the CPU cores.
    #[must_use]
    pub fn with_cpu_load(self, load: Option<&CpuLoad>) -> Self {
        Self { watch: CpuProgress::new(load, self.layout.gpus.len() as u32), ..self }
    }

    /// Adds a live monitor; `names` are the names of the units.
    #[must_use]
    pub(super) fn with_monitor(self, live: Option<Live>, names: &[String]) -> Self {
        Self { shown: live.map(|live| LivePublisher::new(live, names.to_vec())), ..self }
    }

    /// Adds the measurement of single launches.
    #[must_use]
    pub(super) fn with_measurement(self, measure: Option<LaunchSelection>, machine: &Machine) -> Self {
        Self { meter: measure.map(|measure| LaunchMeter::new(measure, machine.mem.map.of_gpu())), ..self }
    }

    /// Returns the progress of the run.
    fn progress_of(&self, now: Cycle, work: Work) -> Progress {
        let ctas = self.workload.kernels.iter().map(|kernel| u64::from(kernel.info.ctas())).sum();
        Progress { cycles: now.0, warp_instructions: work.instructions, ctas_done: work.tasks, ctas }
    }

    /// Returns `true` if a controller ended the run.
    pub fn ended_by_controller(&self) -> bool {
        self.over
    }

    /// Sets the counter columns of the machine's units.
    #[must_use]
    pub(super) fn with_counters(self, schemas: CounterSchemas) -> Self {
        Self { schemas, ..self }
    }

    /// Removes and returns the measurements of single launches.
    pub(super) fn take_measured(&mut self) -> Vec<LaunchMeasurement> {
        self.meter.take().map(LaunchMeter::into_measured).unwrap_or_default()
    }

    /// Returns the interval series and the decisions.
    pub fn into_series(self) -> (IntervalSeries, Vec<TimelineEntry>) {
        (self.intervals, self.timeline)
    }
}

/// The saved state contains the series, the decisions and the progress of the workload's kernels.
impl State for Observer {
    fn save(&self, to: &mut Writer) {
        let Self { workload, before, controllers, intervals, timeline, watch, over, .. } = self;
        before.save(to);
        intervals.save(to);
        timeline.save(to);
        watch.save(to);
        over.save(to);
        for AttachedController { controller, triggers: _, alarm: _, before, events } in controllers {
            controller.name().to_owned().save(to);
            controller.save(to);
            before.save(to);
            events.save(to);
        }
        for source in workload.kernels.iter().map(|kernel| &*kernel.source) {
            if to.first_visit(source) {
                source.save(to);
            }
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let Self { workload, schemas, before, controllers, intervals, timeline, watch, over, .. } = self;
        before.load(from)?;
        *intervals = IntervalSeries::read_with(schemas.interval_columns().collect(), from)?;
        timeline.load(from)?;
        watch.load(from)?;
        over.load(from)?;
        for AttachedController { controller, triggers, alarm, before, events } in controllers {
            let name = String::read(from)?;
            if name != controller.name() {
                return Err(StateError::new(format!("the saved state is of the controller `{name}`, not `{}`", controller.name())));
            }
            controller.load(from)?;
            before.load(from)?;
            events.load(from)?;
            (*triggers, *alarm) = (controller.triggers(), controller.alarm());
        }
        for source in workload.kernels.iter().map(|kernel| &*kernel.source) {
            if from.first_visit(source) {
                source.load(from)?;
            }
        }
        Ok(())
    }
}

impl Director<ChipUnit> for Observer {
    fn next_cut(&self, now: Cycle) -> Option<Cycle> {
        let interval = self.interval.map(|cycles| Trigger::Every(cycles).next_after(now));
        let controllers = self.controllers.iter().flat_map(|attached| &attached.triggers).map(|trigger| trigger.next_after(now));
        let alarms = self.controllers.iter().filter_map(|attached| attached.alarm).filter(|alarm| *alarm > now);
        let over = self.over.then(|| now.after(1));
        let windows = self.meter.as_ref().and_then(|meter| meter.next_cut(now));
        controllers.chain(interval).chain(alarms).chain(over).chain(windows).min().filter(|cycle| *cycle != Cycle::NEVER)
    }

    fn reads_counters(&self) -> bool {
        self.interval.is_some() || !self.controllers.is_empty() || self.meter.is_some()
    }

    fn reads_tasks(&self) -> bool {
        self.controllers.iter().any(|attached| attached.controller.reads_ctas())
    }

    fn starts_with_cut(&self) -> bool {
        self.controllers.iter().any(|attached| attached.triggers.contains(&Trigger::Start))
    }

    fn causes_cut(&self, kind: EventKind) -> bool {
        let measured = self.meter.as_ref().is_some_and(|meter| meter.needs_cut(kind));
        measured || self.watch.needs_event(kind) || self.controllers.iter().any(|attached| attached.selects(kind))
    }

    fn is_over(&mut self, events: &[CutEvent<EventKind>]) -> bool {
        events.iter().for_each(|event| self.watch.record_event(event.kind));
        self.watch.is_over() || self.over
    }

    fn at_cut(&mut self, cut: &Cut<'_, EventKind>) -> Vec<(UnitId, ChipDecision)> {
        let mut settings = Vec::new();
        if self.watch.releases_kernels() {
            settings.extend(apply::release_kernels(&self.layout));
        }
        if cut.counters.is_empty() {
            return settings;
        }
        let now = self.schemas.snapshot(cut.at, cut.counters);
        if let Some(interval) = self.interval
            && cut.at > self.before.at
            && (cut.last || cut.at.0.is_multiple_of(interval))
        {
            let part = now.since(&self.before);
            let counters =
                [&part.sms, &part.partitions, &part.networks, &part.grid, &part.cpus, &part.hubs].into_iter().flat_map(CounterRows::sums);
            self.intervals.push(cut.at.0, counters);
            self.before = now.clone();
        }
        if let Some(meter) = &mut self.meter {
            settings.extend(meter.at_cut(cut, &now, &self.layout));
        }
        let mut ctas = None;
        for attached in &mut self.controllers {
            let seen = cut.events.iter().filter(|event| attached.triggers.iter().any(|trigger| is_on(*trigger, event.kind)));
            attached.events.extend(seen.map(|event| ObservedEvent { cycle: event.at, kind: over_all_gpus(&self.layout, event) }));
            let kinds = || cut.events.iter().map(|event| event.kind);
            let due = attached.alarm == Some(cut.at) || attached.triggers.iter().any(|trigger| trigger.is_due(cut.at, kinds()));
            if cut.last || !due {
                continue;
            }
            let part = now.since(&attached.before);
            let wanted = attached.controller.reads_ctas();
            let ctas = if wanted { &**ctas.get_or_insert_with(|| progress(&self.layout, cut.tasks)) } else { &[] };
            let observation = Observation {
                cycle: cut.at,
                interval: cut.at.0 - attached.before.at.0,
                facts: &self.facts,
                sms: part.sms.table(),
                partitions: part.partitions.table(),
                grid: part.grid.table(),
                cpus: part.cpus.table(),
                hubs: part.hubs.table(),
                applications: part.applications.table(),
                sm_applications: part.sm_applications.table(),
                ctas,
                events: &attached.events,
            };
            let mut decided = DecisionSet::new(attached.controller.knobs());
            attached.controller.observe(&observation, &mut decided);
            self.over |= attached.controller.is_over();
            attached.before = now.clone();
            attached.events.clear();
            attached.alarm = attached.controller.alarm();
            attached.triggers = attached.controller.triggers();
            self.timeline.extend(entries(cut.at, attached.controller.name(), &decided));
            settings.extend(decided.decisions().iter().flat_map(|decision| apply::unit_settings(&self.layout, decision)));
        }
        settings
    }

    fn can_wake_idle(&self) -> bool {
        let regular = |attached: &AttachedController| attached.triggers.iter().any(|trigger| matches!(trigger, Trigger::Every(_)));
        self.controllers.iter().any(|attached| regular(attached) || attached.alarm.is_some()) || self.over
    }

    fn failure(&self) -> Option<String> {
        self.workload.kernels.iter().find_map(|kernel| kernel.source.failure()).or_else(streams_failure)
    }

    fn progress(&mut self, now: Cycle, work: Work) {
        if let Some(progress) = &self.progress {
            progress.publish(self.progress_of(now, work));
        }
    }

    fn is_watched(&self) -> bool {
        self.shown.is_some()
    }

    fn shows_waiting(&self) -> bool {
        self.shown.as_ref().is_some_and(LivePublisher::shows_waiting)
    }

    fn view(&mut self, view: &View<'_>) -> bool {
        let progress = self.progress_of(view.now, view.work);
        self.shown.as_mut().is_some_and(|shown| shown.publish(progress, view, &self.schemas))
    }
}

/// Converts an event so that SMs are counted over all GPUs.
fn over_all_gpus(layout: &ChipLayout, event: &CutEvent<EventKind>) -> EventKind {
    let first = layout.gpu_of(event.unit).map_or(0, |gpu| layout.gpu(gpu).sms_before) as u16;
    match event.kind {
        EventKind::CtaEnded(sm, kernel) => EventKind::CtaEnded(SmId(first + sm.0), kernel),
        EventKind::SmQuiet(sm) => EventKind::SmQuiet(SmId(first + sm.0)),
        other => other,
    }
}

/// Returns the progress of the CTAs of each SM.
fn progress(layout: &ChipLayout, tasks: &[Vec<u64>]) -> Vec<SmProgress> {
    let of_sm = |sm: u16| tasks.get(layout.sm(SmId(sm)).index()).and_then(|values| SmProgress::decode(values)).unwrap_or_default();
    (0..layout.all_sms() as u16).map(of_sm).collect()
}

/// Returns the timeline entries for the decisions and signals of a controller at a cut.
fn entries(at: Cycle, controller: &str, decided: &DecisionSet) -> Vec<TimelineEntry> {
    let entry = |sm: Option<SmId>, name, value, reason: &str| TimelineEntry {
        cycle: at.0,
        controller: controller.to_owned(),
        sm: sm.map(|sm| sm.0),
        name,
        value,
        reason: reason.to_owned(),
    };
    let signals = decided.signals().iter().map(|signal| entry(signal.sm, signal.name, Some(signal.value), ""));
    let decisions = decided.decisions_with_reasons().map(|(decision, why)| {
        let why = decision.kernel().map_or_else(|| why.to_owned(), |kernel| format!("{kernel}: {why}"));
        entry(decision.sm(), decision.knob().name(), Some(f64::from(decision.value())), &why)
    });
    let mut entries: Vec<_> = signals.chain(decisions).collect();
    if decided.decisions().is_empty() && !decided.reason().is_empty() {
        entries.push(entry(None, "", None, decided.reason()));
    }
    entries
}

impl AttachedController {
    fn selects(&self, kind: EventKind) -> bool {
        self.triggers.iter().any(|trigger| is_on(*trigger, kind))
    }
}

fn is_on(trigger: Trigger, kind: EventKind) -> bool {
    matches!(trigger, Trigger::On(selector) if selector.selects(kind))
}
