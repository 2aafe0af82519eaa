//! Hand-made observations for the tests of policies.

use warpshard_base::{AppId, Cycle, SmId};
use warpshard_control::{Controller, DecisionSet, EventKind, Facts, KernelFacts, Observation, ObservationTable, ObservedEvent, SmProgress};
use warpshard_stats::CounterInfo;

use crate::registry::Policies;

/// Creates the policy of this package called `name` from the text of its table.
///
/// # Panics
/// Panics if there is no such policy, or it rejects its parameters.
pub fn built_policy(name: &str, parameters: &str) -> Box<dyn Controller> {
    policy_among(Policies::core(), name, parameters)
}

/// Creates the policy called `name` among `policies` from the text of its table.
///
/// # Panics
/// Panics as [`built_policy`] does.
pub fn policy_among(policies: &Policies, name: &str, parameters: &str) -> Box<dyn Controller> {
    let table = parameters.parse().expect("the test's own text");
    (policies.find(name).expect("it is registered").build)(table).expect("the parameters are right")
}

/// Returns the decisions of a controller at cuts, 100 cycles apart, with these events.
pub fn decisions_at_cuts(controller: &mut dyn Controller, cuts: &[&[EventKind]]) -> Vec<String> {
    let mut scene = Scene::default();
    cuts.iter().enumerate().map(|(i, events)| scene.cut(controller, 100 * i as u64, events)).collect()
}

/// The observable state of a machine, written by hand in a test.
#[derive(Default)]
pub struct Scene {
    /// Static facts about machine and workload.
    pub facts: Facts,
    /// Counters of SMs: the names of the columns, and a row per SM of counts since the last cut.
    pub sms: CounterTable,
    /// Counters of memory partitions, since the last cut.
    pub partitions: CounterTable,
    /// Counters of the grid scheduler, since the last cut.
    pub grid: CounterTable,
    /// Counters of applications, since the last cut.
    pub applications: CounterTable,
    /// Counters of SMs by application: for each SM, one row per application.
    pub sm_applications: CounterTable,
    /// Progress of the CTAs of each SM.
    pub ctas: Vec<SmProgress>,
    /// Core cycle of the last cut.
    pub last_cut_cycle: u64,
}

/// A table of an observation.
#[derive(Default)]
pub struct CounterTable {
    columns: Vec<&'static CounterInfo>,
    /// All values, row after row.
    pub values: Vec<u64>,
}

impl CounterTable {
    /// Creates a table with columns of these names.
    pub fn named(names: &[&'static str]) -> Self {
        let column = |&name| &*Box::leak(Box::new(CounterInfo { name, unit: "", help: "" }));
        Self { columns: names.iter().map(column).collect(), values: Vec::new() }
    }
}

impl Scene {
    /// Returns a machine whose SMs have 48 warps and two schedulers, with a kernel of `ctas` CTAs of which an SM holds `ctas_per_sm`.
    pub fn with_kernel(ctas: u32, ctas_per_sm: u32) -> Self {
        let kernel = KernelFacts { name: "k".into(), app: AppId(0), ctas, warps_per_cta: 8, ctas_per_sm, ..KernelFacts::default() };
        Self {
            facts: Facts {
                warps_per_sm: 48,
                schedulers_per_sm: 2,
                kernels: vec![kernel],
                applications: vec!["app".into()],
                ..Facts::default()
            },
            ..Self::default()
        }
    }

    /// Returns the controller's decisions at a cut at `cycle` with `events`, as text.
    pub fn cut(&mut self, controller: &mut dyn Controller, cycle: u64, events: &[EventKind]) -> String {
        self.decide(controller, cycle, events).to_string()
    }

    /// Returns the signals that the controller records at a cut at `cycle`.
    pub fn signals(&mut self, controller: &mut dyn Controller, cycle: u64) -> Vec<(Option<SmId>, &'static str, f64)> {
        let decisions = self.decide(controller, cycle, &[]);
        decisions.signals().iter().map(|signal| (signal.sm, signal.name, signal.value)).collect()
    }

    /// Returns the controller's decisions at a cut at `cycle` with `events`.
    pub fn decide(&mut self, controller: &mut dyn Controller, cycle: u64, events: &[EventKind]) -> DecisionSet {
        let mut out = DecisionSet::new(controller.knobs());
        self.observe(cycle, events, |seen| controller.observe(seen, &mut out));
        out
    }

    /// Calls `show` with an observation at `cycle`.
    pub fn observed(&mut self, cycle: u64, show: impl FnOnce(&Observation<'_>)) {
        self.observe(cycle, &[], show);
    }

    fn observe(&mut self, cycle: u64, events: &[EventKind], show: impl FnOnce(&Observation<'_>)) {
        let events: Vec<ObservedEvent> = events.iter().map(|&kind| ObservedEvent { cycle: Cycle(cycle), kind }).collect();
        let none = ObservationTable::new(&[], &[]);
        show(&Observation {
            cycle: Cycle(cycle),
            interval: cycle - std::mem::replace(&mut self.last_cut_cycle, cycle),
            facts: &self.facts,
            sms: ObservationTable::new(&self.sms.columns, &self.sms.values),
            partitions: ObservationTable::new(&self.partitions.columns, &self.partitions.values),
            grid: ObservationTable::new(&self.grid.columns, &self.grid.values),
            cpus: none,
            hubs: none,
            applications: ObservationTable::new(&self.applications.columns, &self.applications.values),
            sm_applications: ObservationTable::new(&self.sm_applications.columns, &self.sm_applications.values),
            ctas: &self.ctas,
            events: &events,
        });
    }
}
