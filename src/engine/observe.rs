//! What is seen at cuts: turns counters into interval rows and observations, and decisions into settings of units.

use std::sync::Arc;

use crossbeam_channel::Sender;

use crate::base::{Cycle, SmId, UnitId};
use crate::config::Machine;
use crate::control::{Controller, Decision, DecisionSet, Facts, KernelFacts, Observation, Seen, Table, Trigger, check};
use crate::frontend::{Kernel, Workload};
use crate::gpu::cta::GridDecision;
use crate::gpu::occupancy::resident_ctas;
use crate::gpu::sm::SmDecision;
use crate::protocol::{EventKind, PowerState};
use crate::stats::{ComponentStats, Counted, CounterInfo, IntervalRow, TimelineEntry};

use super::Work;
use super::build::GpuLayout;
use super::cpu::{CpuLoad, CpuWatch};
use super::director::{Cut, Director, SeenEvent};
use super::gpu::{GpuDecision, GpuUnit};
use super::run::Progress;

/// Numbers of the units of one kind: a row per unit, a column per counter of each kind of component inside.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    kinds: Vec<&'static str>,
    columns: Vec<&'static CounterInfo>,
    values: Vec<u64>,
}

impl Rows {
    fn of(units: &[Vec<ComponentStats>]) -> Self {
        let mut rows = Self::default();
        for (index, components) in units.iter().enumerate() {
            let mut row: Vec<(&'static str, Counted)> = Vec::new();
            for component in components {
                for counted in &component.counters {
                    let same = |(kind, c): &&mut (&'static str, Counted)| *kind == component.kind && std::ptr::eq(c.info, counted.info);
                    match row.iter_mut().find(same) {
                        Some((_, sum)) => sum.value += counted.value,
                        None => row.push((component.kind, *counted)),
                    }
                }
            }
            if index == 0 {
                rows.kinds = row.iter().map(|(kind, _)| *kind).collect();
                rows.columns = row.iter().map(|(_, counted)| counted.info).collect();
            }
            rows.values.extend(row.iter().map(|(_, counted)| counted.value));
        }
        rows
    }

    fn since(&self, earlier: &Self) -> Self {
        let before = earlier.values.iter().copied().chain(std::iter::repeat(0));
        let values = self.values.iter().zip(before).map(|(now, before)| now - before).collect();
        Self { kinds: self.kinds.clone(), columns: self.columns.clone(), values }
    }

    fn sums(&self) -> impl Iterator<Item = (&'static str, Counted)> {
        let width = self.columns.len().max(1);
        (0..self.columns.len()).map(move |column| {
            let value = self.values.iter().skip(column).step_by(width).sum();
            (self.kinds[column], Counted { info: self.columns[column], value })
        })
    }

    fn table(&self) -> Table<'_> {
        Table::new(&self.columns, &self.values)
    }
}

/// The whole chip in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
struct Snapshot {
    at: Cycle,
    sms: Rows,
    partitions: Rows,
    networks: Rows,
    grid: Rows,
    cpus: Rows,
}

impl Snapshot {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            at: self.at,
            sms: self.sms.since(&earlier.sms),
            partitions: self.partitions.since(&earlier.partitions),
            networks: self.networks.since(&earlier.networks),
            grid: self.grid.since(&earlier.grid),
            cpus: self.cpus.since(&earlier.cpus),
        }
    }
}

struct Attached {
    controller: Box<dyn Controller>,
    triggers: Vec<Trigger>,
    alarm: Option<Cycle>,
    before: Snapshot,
    events: Vec<Seen>,
}

/// The director of a GPU run: keeps the interval series, asks the controllers, tells the host how far the run is.
pub struct Observer {
    workload: Arc<Workload>,
    facts: Facts,
    layout: GpuLayout,
    interval: Option<u64>,
    before: Snapshot,
    controllers: Vec<Attached>,
    intervals: Vec<IntervalRow>,
    timeline: Vec<TimelineEntry>,
    progress: Option<Sender<Progress>>,
    watch: CpuWatch,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("interval", &self.interval).field("rows", &self.intervals.len()).finish_non_exhaustive()
    }
}

impl Observer {
    /// An observer of `machine` running `workload`.
    ///
    /// # Errors
    /// When controllers do not go together or an interval is empty; a message for the user.
    pub fn new(
        machine: &Machine,
        workload: Arc<Workload>,
        layout: GpuLayout,
        interval: Option<u64>,
        controllers: Vec<Box<dyn Controller>>,
        progress: Option<Sender<Progress>>,
    ) -> Result<Self, String> {
        check(&controllers).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        if interval == Some(0) {
            return Err(format!("an interval has at least one core cycle of {}", machine.clocks.core));
        }
        let attach = |controller: Box<dyn Controller>| Attached {
            triggers: controller.triggers(),
            alarm: controller.alarm(),
            controller,
            before: Snapshot::default(),
            events: Vec::new(),
        };
        Ok(Self {
            facts: facts(machine, &workload),
            workload,
            layout,
            interval,
            before: Snapshot::default(),
            controllers: controllers.into_iter().map(attach).collect(),
            intervals: Vec::new(),
            timeline: Vec::new(),
            progress,
            watch: CpuWatch::new(None),
        })
    }

    /// The same, for a run with a load on the CPU cores.
    #[must_use]
    pub fn watching(self, load: Option<&CpuLoad>) -> Self {
        Self { watch: CpuWatch::new(load), ..self }
    }

    /// The interval series and the decisions.
    pub fn into_series(self) -> (Vec<IntervalRow>, Vec<TimelineEntry>) {
        (self.intervals, self.timeline)
    }

    fn snapshot(&self, cut: &Cut<'_, Vec<ComponentStats>>) -> Snapshot {
        let sms = self.layout.sms as usize;
        let partitions = sms + self.layout.partitions as usize;
        Snapshot {
            at: cut.at,
            sms: Rows::of(&cut.samples[..sms]),
            partitions: Rows::of(&cut.samples[sms..partitions]),
            networks: Rows::of(&[cut.samples[partitions..partitions + 2].concat()]),
            grid: Rows::of(&cut.samples[partitions + 2..partitions + 3]),
            cpus: Rows::of(&cut.samples[partitions + 3..]),
        }
    }

    fn settings(layout: &GpuLayout, decision: &Decision) -> Vec<(UnitId, GpuDecision)> {
        let sms = match decision.sm() {
            Some(sm) => sm.0..sm.0 + 1,
            None => 0..layout.sms as u16,
        };
        sms.map(SmId)
            .flat_map(|sm| match *decision {
                Decision::CtaLimit { limit, .. } => vec![
                    (layout.grid, GpuDecision::Grid(GridDecision::CtaLimit { sm, limit })),
                    (layout.sm(sm), GpuDecision::Sm(SmDecision::CtaLimit(limit))),
                ],
                Decision::WarpLimit { limit, .. } => vec![(layout.sm(sm), GpuDecision::Sm(SmDecision::WarpLimit(limit)))],
                Decision::Power { state, .. } => vec![
                    (layout.grid, GpuDecision::Grid(GridDecision::Serve { sm, serve: state == PowerState::Active })),
                    (layout.sm(sm), GpuDecision::Sm(SmDecision::Power(state))),
                ],
            })
            .collect()
    }
}

impl Director<GpuUnit> for Observer {
    fn next_cut(&self, now: Cycle) -> Option<Cycle> {
        let interval = self.interval.map(|cycles| Trigger::Every(cycles).next_after(now));
        let controllers = self.controllers.iter().flat_map(|attached| &attached.triggers).map(|trigger| trigger.next_after(now));
        let alarms = self.controllers.iter().filter_map(|attached| attached.alarm).filter(|alarm| *alarm > now);
        controllers.chain(interval).chain(alarms).min().filter(|cycle| *cycle != Cycle::NEVER)
    }

    fn wants_start(&self) -> bool {
        self.controllers.iter().any(|attached| attached.triggers.contains(&Trigger::Start))
    }

    fn wants(&self, kind: EventKind) -> bool {
        self.watch.wants(kind) || self.controllers.iter().any(|attached| attached.selects(kind))
    }

    fn is_over(&mut self, events: &[SeenEvent]) -> bool {
        events.iter().for_each(|event| self.watch.see(event.kind));
        self.watch.is_over()
    }

    fn at_cut(&mut self, cut: &Cut<'_, Vec<ComponentStats>>) -> Vec<(UnitId, GpuDecision)> {
        let now = self.snapshot(cut);
        if let Some(interval) = self.interval
            && cut.at > self.before.at
            && (cut.last || cut.at.0.is_multiple_of(interval))
        {
            let part = now.since(&self.before);
            let counters = [&part.sms, &part.partitions, &part.networks, &part.grid, &part.cpus].into_iter().flat_map(Rows::sums).collect();
            self.intervals.push(IntervalRow { cycle: cut.at.0, counters });
            self.before = now.clone();
        }
        let mut settings = Vec::new();
        if self.watch.releases_gpu() {
            settings.push((self.layout.grid, GpuDecision::Grid(GridDecision::Release)));
        }
        for attached in &mut self.controllers {
            let seen = cut.events.iter().filter(|event| attached.triggers.iter().any(|trigger| is_on(*trigger, event.kind)));
            attached.events.extend(seen.map(|event| Seen { cycle: event.at, kind: event.kind }));
            let kinds = || cut.events.iter().map(|event| event.kind);
            let due = attached.alarm == Some(cut.at) || attached.triggers.iter().any(|trigger| trigger.is_due(cut.at, kinds()));
            if cut.last || !due {
                continue;
            }
            let part = now.since(&attached.before);
            let observation = Observation {
                cycle: cut.at,
                interval: cut.at.0 - attached.before.at.0,
                facts: &self.facts,
                sms: part.sms.table(),
                partitions: part.partitions.table(),
                grid: part.grid.table(),
                cpus: part.cpus.table(),
                events: &attached.events,
            };
            let mut decided = DecisionSet::new(attached.controller.knobs());
            attached.controller.observe(&observation, &mut decided);
            attached.before = now.clone();
            attached.events.clear();
            attached.alarm = attached.controller.alarm();
            attached.triggers = attached.controller.triggers();
            self.timeline.extend(entries(cut.at, attached.controller.name(), &decided));
            settings.extend(decided.decisions().iter().flat_map(|decision| Self::settings(&self.layout, decision)));
        }
        settings
    }

    fn may_wake(&self) -> bool {
        let regular = |attached: &Attached| attached.triggers.iter().any(|trigger| matches!(trigger, Trigger::Every(_)));
        self.controllers.iter().any(|attached| regular(attached) || attached.alarm.is_some())
    }

    fn failure(&self) -> Option<String> {
        self.workload.kernels.iter().find_map(|kernel| kernel.source.failure())
    }

    fn progress(&mut self, now: Cycle, work: Work) {
        if let Some(progress) = &self.progress {
            let ctas = self.workload.kernels.iter().map(|kernel| u64::from(kernel.info.ctas())).sum();
            // A reader that is too slow misses news; the run does not wait for it.
            let _ = progress.try_send(Progress { cycles: now.0, warp_instructions: work.instructions, ctas_done: work.tasks, ctas });
        }
    }
}

/// What a controller decided and computed at a cut, as it is recorded.
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
    let decisions =
        decided.reasoned().map(|(decision, why)| entry(decision.sm(), decision.knob().name(), Some(f64::from(decision.value())), why));
    let mut entries: Vec<_> = signals.chain(decisions).collect();
    if decided.decisions().is_empty() && !decided.reason().is_empty() {
        entries.push(entry(None, "", None, decided.reason()));
    }
    entries
}

/// What controllers are told of the machine and its workload. A kernel that does not fit has been refused before.
fn facts(machine: &Machine, workload: &Workload) -> Facts {
    let kernel = |kernel: &Kernel| KernelFacts {
        name: kernel.info.name.clone(),
        ctas: kernel.info.ctas(),
        warps_per_cta: kernel.info.warps_per_cta(),
        ctas_per_sm: resident_ctas(&machine.gpu.sm, &kernel.info).unwrap_or(1),
    };
    Facts {
        warps_per_sm: machine.gpu.sm.warps,
        schedulers_per_sm: machine.gpu.sm.schedulers,
        kernels: workload.kernels.iter().map(kernel).collect(),
    }
}

impl Attached {
    fn selects(&self, kind: EventKind) -> bool {
        self.triggers.iter().any(|trigger| is_on(*trigger, kind))
    }
}

fn is_on(trigger: Trigger, kind: EventKind) -> bool {
    matches!(trigger, Trigger::On(selector) if selector.selects(kind))
}
