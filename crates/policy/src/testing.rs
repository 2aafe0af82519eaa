//! Hand-made observations for the tests of policies.

use warpshard_base::{AppId, Cycle, SmId};
use warpshard_control::{Controller, DecisionSet, EventKind, Facts, KernelFacts, Observation, Seen, SmProgress, Table};
use warpshard_stats::CounterInfo;

use crate::registry::Policies;

/// The policy of this package called `name`, made from the text of its table.
///
/// # Panics
/// When there is none, or it refuses its parameters.
pub fn made(name: &str, parameters: &str) -> Box<dyn Controller> {
    made_among(Policies::core(), name, parameters)
}

/// The policy among `policies` called `name`, made from the text of its table.
///
/// # Panics
/// As [`made`].
pub fn made_among(policies: &Policies, name: &str, parameters: &str) -> Box<dyn Controller> {
    let table = parameters.parse().expect("the test's own text");
    (policies.find(name).expect("it is registered").build)(table).expect("the parameters are right")
}

/// What a controller answers to cuts, 100 cycles apart, with these events.
pub fn answers(controller: &mut dyn Controller, cuts: &[&[EventKind]]) -> Vec<String> {
    let mut scene = Scene::default();
    cuts.iter().enumerate().map(|(i, events)| scene.cut(controller, 100 * i as u64, events)).collect()
}

/// A machine in numbers that a test writes by hand.
#[derive(Default)]
pub struct Scene {
    /// What was known before.
    pub facts: Facts,
    /// SMs: the names of the columns, and a row per SM of what was counted since the last cut.
    pub sms: Numbers,
    /// Partitions, likewise.
    pub partitions: Numbers,
    /// The grid scheduler, likewise.
    pub grid: Numbers,
    /// Applications, likewise.
    pub applications: Numbers,
    /// SMs by application: the rows of an SM, one per application, after those of the SM before.
    pub sm_applications: Numbers,
    /// How far the CTAs of each SM are.
    pub ctas: Vec<SmProgress>,
    /// Core cycle of the last cut.
    pub last: u64,
}

/// A table of an observation.
#[derive(Default)]
pub struct Numbers {
    columns: Vec<&'static CounterInfo>,
    /// Row after row.
    pub values: Vec<u64>,
}

impl Numbers {
    /// Columns with these names.
    pub fn named(names: &[&'static str]) -> Self {
        let column = |&name| &*Box::leak(Box::new(CounterInfo { name, unit: "", help: "" }));
        Self { columns: names.iter().map(column).collect(), values: Vec::new() }
    }
}

impl Scene {
    /// A kernel of `ctas` CTAs of which an SM holds `ctas_per_sm`, on SMs of 48 warps and two schedulers.
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

    /// What the controller decides at a cut at `cycle` at which `events` take effect, in words.
    pub fn cut(&mut self, controller: &mut dyn Controller, cycle: u64, events: &[EventKind]) -> String {
        self.answer(controller, cycle, events).to_string()
    }

    /// The numbers that it records at a cut at `cycle`.
    pub fn signals(&mut self, controller: &mut dyn Controller, cycle: u64) -> Vec<(Option<SmId>, &'static str, f64)> {
        let answer = self.answer(controller, cycle, &[]);
        answer.signals().iter().map(|signal| (signal.sm, signal.name, signal.value)).collect()
    }

    /// What the controller decides at a cut at `cycle` at which `events` take effect.
    pub fn answer(&mut self, controller: &mut dyn Controller, cycle: u64, events: &[EventKind]) -> DecisionSet {
        let mut out = DecisionSet::new(controller.knobs());
        self.seen(cycle, events, |seen| controller.observe(seen, &mut out));
        out
    }

    /// Shows an observation at `cycle`.
    pub fn observed(&mut self, cycle: u64, show: impl FnOnce(&Observation<'_>)) {
        self.seen(cycle, &[], show);
    }

    fn seen(&mut self, cycle: u64, events: &[EventKind], show: impl FnOnce(&Observation<'_>)) {
        let events: Vec<Seen> = events.iter().map(|&kind| Seen { cycle: Cycle(cycle), kind }).collect();
        let none = Table::new(&[], &[]);
        show(&Observation {
            cycle: Cycle(cycle),
            interval: cycle - std::mem::replace(&mut self.last, cycle),
            facts: &self.facts,
            sms: Table::new(&self.sms.columns, &self.sms.values),
            partitions: Table::new(&self.partitions.columns, &self.partitions.values),
            grid: Table::new(&self.grid.columns, &self.grid.values),
            cpus: none,
            hubs: none,
            applications: Table::new(&self.applications.columns, &self.applications.values),
            sm_applications: Table::new(&self.sm_applications.columns, &self.sm_applications.values),
            ctas: &self.ctas,
            events: &events,
        });
    }
}
