//! Controllers written in Python. They are called at cuts with the same observations as controllers in Rust, and have the same contract.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use warpshard::base::{AppId, CtaIndex, KernelIndex, SmId};
use warpshard::control::{
    Controller, Decision, DecisionSet, EventKind, EventSelector, Facts, Knob, KnobSet, Observation, ObservationTable, PowerState,
    Preemption, Trigger,
};
use warpshard::state::{Reader, State, StateError, Writer};

/// The first exception of the controllers of a run.
pub(crate) type RaisedError = Arc<Mutex<Option<PyErr>>>;

/// Counters of the units of one kind at a cut: a row per unit.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Debug)]
pub(crate) struct Counters {
    names: Vec<&'static str>,
    values: Vec<u64>,
}

impl Counters {
    fn of(table: ObservationTable<'_>) -> Self {
        let names = table.columns().iter().map(|info| info.name).collect();
        Self { names, values: table.rows().flatten().copied().collect() }
    }

    fn column(&self, name: &str) -> PyResult<impl Iterator<Item = u64> + '_> {
        let place = self.names.iter().position(|known| *known == name);
        let unknown = || PyKeyError::new_err(format!("there is no counter {name:?}; the counters are: {}", self.names.join(", ")));
        Ok(self.values.iter().skip(place.ok_or_else(unknown)?).step_by(self.names.len()).copied())
    }
}

#[pymethods]
impl Counters {
    /// Names of the counters.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.names.clone()
    }

    fn __len__(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }

    /// Values of a counter, one per unit in the order of their numbers.
    fn __getitem__(&self, name: &str) -> PyResult<Vec<u64>> {
        Ok(self.column(name)?.collect())
    }

    /// Sum of a counter over all units.
    fn sum(&self, name: &str) -> PyResult<u64> {
        Ok(self.column(name)?.sum())
    }
}

/// The observation of a controller at a cut.
#[pyclass(module = "warpshard._native", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Seen {
    /// Core cycle of the cut.
    cycle: u64,
    /// Core cycles since the last observation.
    interval: u64,
    /// Static facts about machine and workload.
    facts: Py<PyDict>,
    /// Counters of each SM.
    sms: Py<Counters>,
    /// Counters of each memory partition.
    partitions: Py<Counters>,
    /// Counters of the grid scheduler.
    grid: Py<Counters>,
    /// Counters of each CPU core.
    cpus: Py<Counters>,
    /// Counters of each GPU's hub, then of switches and hosts, in a system of several GPUs.
    hubs: Py<Counters>,
    /// Events that took effect: cycle, name, and the kernel or SM of the event, if any.
    events: Vec<(u64, &'static str, Option<u64>)>,
}

/// A controller implemented by a Python object.
pub(crate) struct PyController {
    object: Py<PyAny>,
    name: String,
    knobs: KnobSet,
    triggers: Vec<Trigger>,
    over: bool,
    facts: Option<Py<PyDict>>,
    raised: RaisedError,
}

impl PyController {
    /// Reads the declarations of the object: `name`, `knobs`, `every`, `on`.
    pub(crate) fn new(object: &Bound<'_, PyAny>, raised: &RaisedError) -> PyResult<Self> {
        let name: String = match object.getattr("name") {
            Ok(name) => name.extract()?,
            Err(_) => object.get_type().name()?.to_string().to_lowercase(),
        };
        let mut knobs = Vec::new();
        for word in object.getattr("knobs")?.try_iter()? {
            knobs.push(knob(&word?.extract::<String>()?)?);
        }
        let triggers = triggers(object)?;
        if triggers.is_empty() {
            return Err(PyValueError::new_err(format!(
                "controller `{name}` is never called: set `every` to a number of core cycles, or `on` to events"
            )));
        }
        Ok(Self {
            object: object.clone().unbind(),
            name,
            knobs: KnobSet::of(&knobs),
            triggers,
            over: false,
            facts: None,
            raised: Arc::clone(raised),
        })
    }

    fn call(&mut self, py: Python<'_>, seen: &Observation<'_>, out: &mut DecisionSet) -> PyResult<()> {
        let facts = match &self.facts {
            Some(facts) => facts.clone_ref(py),
            None => self.facts.insert(facts(py, seen.facts)?.unbind()).clone_ref(py),
        };
        let table = |table| Py::new(py, Counters::of(table));
        let shown = Seen {
            cycle: seen.cycle.0,
            interval: seen.interval,
            facts,
            sms: table(seen.sms)?,
            partitions: table(seen.partitions)?,
            grid: table(seen.grid)?,
            cpus: table(seen.cpus)?,
            hubs: table(seen.hubs)?,
            events: seen.events.iter().map(|event| event_words(event.cycle.0, event.kind)).collect(),
        };
        let object = self.object.bind(py);
        let decided = object.call_method1("observe", (Py::new(py, shown)?,))?;
        if !decided.is_none() {
            for one in decided.try_iter().map_err(|_| PyTypeError::new_err("observe() returns None or a list of decisions and signals"))? {
                self.add_decision(&one?, seen.sms.rows().len(), out)?;
            }
        }
        self.over = object.getattr("over").is_ok_and(|over| over.is_truthy().unwrap_or(false));
        self.triggers = triggers(object)?;
        Ok(())
    }

    /// Adds a decision, signal or remark from an object with the attributes of the package's classes.
    fn add_decision(&self, one: &Bound<'_, PyAny>, sms: usize, out: &mut DecisionSet) -> PyResult<()> {
        let sm = match one.getattr("sm")?.extract::<Option<u16>>()? {
            Some(sm) if usize::from(sm) >= sms => {
                return Err(PyValueError::new_err(format!("there is no SM {sm}: the machine has {sms}, counted from 0")));
            }
            sm => sm.map(SmId),
        };
        let word: String = one.getattr("knob")?.extract()?;
        if word == "signal" {
            out.signal(sm, intern(one.getattr("name")?.extract()?), one.getattr("value")?.extract()?);
            return Ok(());
        }
        let reason: String = one.getattr("reason")?.extract()?;
        let knob = knob(&word)?;
        if !self.knobs.has(knob) {
            return Err(PyValueError::new_err(format!("controller `{}` sets {knob} without declaring it: add it to `knobs`", self.name)));
        }
        let value = one.getattr("value")?;
        let limit = || match value.extract::<u32>() {
            Ok(limit @ 1..) => Ok(limit),
            _ => Err(PyValueError::new_err(format!("{knob} {}: expected a number, at least 1", value.str()?))),
        };
        let decision = match knob {
            Knob::CtaLimit => Decision::CtaLimit { sm, limit: limit()? },
            Knob::WarpLimit => Decision::WarpLimit { sm, limit: limit()? },
            Knob::Power => Decision::Power { sm, state: power(&value.extract::<String>()?)? },
            Knob::Owner => Decision::Owner { sm, app: AppId(value.extract()?) },
            Knob::Preempt => Decision::Preempt { sm, how: preemption(&value.extract::<String>()?)? },
            Knob::PreemptCta => {
                let sm = sm.ok_or_else(|| PyValueError::new_err("preempt_cta: a single CTA is on one SM; `sm` is missing"))?;
                let (kernel, cta) = (KernelIndex(one.getattr("kernel")?.extract()?), CtaIndex(one.getattr("cta")?.extract()?));
                Decision::PreemptCta { sm, kernel, cta, how: preemption(&value.extract::<String>()?)? }
            }
            Knob::KernelCtas => {
                let kernel: u32 = one.getattr("kernel")?.extract()?;
                Decision::KernelCtas { sm, kernel: KernelIndex(kernel), limit: value.extract()? }
            }
            Knob::Bypass => {
                let kernel: u32 = one.getattr("kernel")?.extract()?;
                Decision::Bypass { sm, kernel: KernelIndex(kernel), ctas: value.extract()? }
            }
        };
        out.decide_because(decision, reason);
        Ok(())
    }
}

/// The state cannot be saved, since it is in Python.
impl State for PyController {
    fn save(&self, _: &mut Writer) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Err(StateError::new("the state of a controller in Python cannot be saved"))
    }
}

impl Controller for PyController {
    fn can_be_saved(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn triggers(&self) -> Vec<Trigger> {
        self.triggers.clone()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn knobs(&self) -> KnobSet {
        self.knobs
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        Python::attach(|py| {
            if let Err(error) = self.call(py, seen, out) {
                // The run ends with the next cycle, and its caller raises the exception.
                self.over = true;
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
    }
}

fn knob(word: &str) -> PyResult<Knob> {
    let known = || Knob::ALL.map(Knob::name).join(", ");
    Knob::ALL
        .into_iter()
        .find(|knob| knob.name() == word)
        .ok_or_else(|| PyValueError::new_err(format!("there is no knob {word:?}; the knobs are: {}", known())))
}

fn power(word: &str) -> PyResult<PowerState> {
    match word {
        "gated" => Ok(PowerState::Gated),
        "paused" => Ok(PowerState::Paused),
        "active" => Ok(PowerState::Active),
        _ => Err(PyValueError::new_err(format!("there is no power state {word:?}; the states are: gated, paused, active"))),
    }
}

fn preemption(word: &str) -> PyResult<Preemption> {
    match word {
        "switch" => Ok(Preemption::Switch),
        "flush" => Ok(Preemption::Flush),
        "drain" => Ok(Preemption::Drain),
        "drop" => Ok(Preemption::Drop),
        _ => Err(PyValueError::new_err(format!("there is no preemption {word:?}; the preemptions are: switch, flush, drain, drop"))),
    }
}

/// Returns the triggers that an object requests with `every` and `on`.
fn triggers(object: &Bound<'_, PyAny>) -> PyResult<Vec<Trigger>> {
    let mut triggers = Vec::new();
    if let Some(every) = object.getattr("every")?.extract::<Option<u64>>()? {
        if every == 0 {
            return Err(PyValueError::new_err("`every` is 0 core cycles, expected at least 1"));
        }
        triggers.push(Trigger::Every(every));
    }
    for word in object.getattr("on")?.try_iter()? {
        let word: String = word?.extract()?;
        triggers.push(match word.as_str() {
            "start" => Trigger::Start,
            "kernel_started" => Trigger::On(EventSelector::KernelStarted(None)),
            "kernel_ended" => Trigger::On(EventSelector::KernelEnded(None)),
            "kernel_ready" => Trigger::On(EventSelector::KernelReady(None)),
            "kernel_dispatched" => Trigger::On(EventSelector::KernelDispatched(None)),
            "application_ended" => Trigger::On(EventSelector::ApplicationEnded(None)),
            "cta_ended" => Trigger::On(EventSelector::CtaEnded(None)),
            "sm_quiet" => Trigger::On(EventSelector::SmQuiet),
            _ => {
                let known = "start, kernel_started, kernel_ended, kernel_ready, kernel_dispatched, application_ended, cta_ended, sm_quiet";
                return Err(PyValueError::new_err(format!("there is no event {word:?}; the events are: {known}")));
            }
        });
    }
    Ok(triggers)
}

fn event_words(cycle: u64, kind: EventKind) -> (u64, &'static str, Option<u64>) {
    let of = |kernel: KernelIndex| Some(u64::from(kernel.0));
    match kind {
        EventKind::RunEnded => (cycle, "run_ended", None),
        EventKind::KernelStarted(kernel) => (cycle, "kernel_started", of(kernel)),
        EventKind::KernelEnded(kernel) => (cycle, "kernel_ended", of(kernel)),
        EventKind::KernelReady(kernel) => (cycle, "kernel_ready", of(kernel)),
        EventKind::KernelDispatched(kernel) => (cycle, "kernel_dispatched", of(kernel)),
        EventKind::ApplicationEnded(app) => (cycle, "application_ended", Some(u64::from(app.0))),
        EventKind::CtaEnded(sm, _) => (cycle, "cta_ended", Some(u64::from(sm.0))),
        EventKind::SmQuiet(sm) => (cycle, "sm_quiet", Some(u64::from(sm.0))),
        EventKind::CoreWarm(cpu) => (cycle, "core_warm", Some(u64::from(cpu.0))),
        EventKind::CoreMeasured(cpu) => (cycle, "core_measured", Some(u64::from(cpu.0))),
    }
}

fn facts<'py>(py: Python<'py>, facts: &Facts) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("warps_per_sm", facts.warps_per_sm)?;
    made.set_item("schedulers_per_sm", facts.schedulers_per_sm)?;
    let kernels = facts.kernels.iter().map(|kernel| {
        let one = PyDict::new(py);
        one.set_item("name", &kernel.name)?;
        one.set_item("application", kernel.app.0)?;
        one.set_item("ctas", kernel.ctas)?;
        one.set_item("warps_per_cta", kernel.warps_per_cta)?;
        one.set_item("ctas_per_sm", kernel.ctas_per_sm)?;
        Ok(one)
    });
    made.set_item("kernels", kernels.collect::<PyResult<Vec<_>>>()?)?;
    made.set_item("applications", &facts.applications)?;
    Ok(made)
}

/// Returns a name that lives as long as the process. There are few names of signals, which are literals in the source of a controller.
fn intern(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into_boxed_str());
    names.insert(kept);
    kept
}
