//! `warpshard calibrate`: a machine made of measurements of microbenchmarks and of a base machine.
//!
//! A rule says which key of a machine follows from which measured value. Properties of the device are taken as they are. A unit's initiation
//! interval is its units' lanes over the measured operations per cycle. A latency is moved from the base's value by what the base's own
//! microbenchmark, simulated, is away from the measured value: what the rest of the way takes is in that difference. Rules are applied in
//! their order, each on the machine of those before it. What cannot be derived stays the base's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use warpshard_config::machine::{CoreStyle, Sm};
use warpshard_config::{Loaded, Override};
use warpshard_lab::Lab;
use warpshard_lab::error::TaskError;
use warpshard_run::Catalogue;

use super::measurements::Measurements;
use super::probe::Bench;
use super::rows::{self, Row};

/// How a value follows from a measured one.
enum How {
    /// The measured number divided by this.
    Property(f64),
    /// Kilohertz, as a frequency.
    Clock,
    /// The units of this key, of 32 lanes each, over the measured operations per cycle.
    Initiation(&'static str),
    /// The measured cycles per product of one of this many warps, times the units of this key, over the warps.
    Matrix(&'static str, f64),
    /// The base's value and the difference between measured and simulated.
    Latency,
}

/// One value of a machine.
struct Rule {
    key: &'static str,
    from: &'static str,
    how: How,
}

const fn rule(key: &'static str, from: &'static str, how: How) -> Rule {
    Rule { key, from, how }
}

impl Rule {
    /// Whether a core has what the key sets: the timing of units belongs to cores with a scoreboard, that of pipes to cores with control words;
    /// a hit in the L1 takes the tags' time or, after that, the data's.
    fn is_of(&self, core: &Sm) -> bool {
        let words = core.style == CoreStyle::ControlWords;
        let others = if core.l1.data_latency > 0 { "gpu.sm.l1.latency" } else { "gpu.sm.l1.data_latency" };
        !self.key.starts_with(if words { "gpu.sm.timing." } else { "gpu.sm.control." }) && self.key != others
    }
}

/// The rules, in the order in which they are applied.
const RULES: &[Rule] = &[
    rule("clocks.core", "device.core_khz", How::Clock),
    rule("gpu.sms", "device.sms", How::Property(1.0)),
    rule("gpu.sm.warps", "device.threads_sm", How::Property(32.0)),
    rule("gpu.sm.max_threads", "device.threads_sm", How::Property(1.0)),
    rule("gpu.sm.registers", "device.regs_sm", How::Property(1.0)),
    rule("gpu.sm.timing.sp.initiation", "throughput_ops_per_cycle_per_sm.ffma.32", How::Initiation("gpu.sm.units.sp")),
    rule("gpu.sm.timing.int.initiation", "throughput_ops_per_cycle_per_sm.imad.32", How::Initiation("gpu.sm.units.int")),
    rule("gpu.sm.timing.alu.initiation", "throughput_ops_per_cycle_per_sm.lop.32", How::Initiation("gpu.sm.units.int")),
    rule("gpu.sm.timing.sfu.initiation", "throughput_ops_per_cycle_per_sm.ex2.32", How::Initiation("gpu.sm.units.sfu")),
    rule("gpu.sm.timing.dp.initiation", "throughput_ops_per_cycle_per_sm.dfma.32", How::Initiation("gpu.sm.units.dp")),
    rule("gpu.sm.timing.tensor.initiation", "mma_sync.chains4_warps16_cycles_per_mma_per_warp", How::Matrix("gpu.sm.units.tensor", 16.0)),
    rule("gpu.sm.timing.sp.latency", "latency.ffma", How::Latency),
    rule("gpu.sm.timing.int.latency", "latency.imad", How::Latency),
    rule("gpu.sm.timing.alu.latency", "latency.lop", How::Latency),
    rule("gpu.sm.timing.sfu.latency", "latency.ex2", How::Latency),
    rule("gpu.sm.timing.dp.latency", "latency.dfma", How::Latency),
    rule("gpu.sm.timing.tensor.latency", "mma_sync.chains1_warps4_cycles_per_mma_per_warp", How::Latency),
    rule("gpu.sm.timing.barrier.latency", "barriers.bar_1", How::Latency),
    rule("gpu.sm.control.fma.initiation", "throughput_ops_per_cycle_per_sm.ffma.32", How::Initiation("gpu.sm.schedulers")),
    rule("gpu.sm.control.heavy.initiation", "throughput_ops_per_cycle_per_sm.imad.32", How::Initiation("gpu.sm.schedulers")),
    rule("gpu.sm.control.alu.initiation", "throughput_ops_per_cycle_per_sm.lop.32", How::Initiation("gpu.sm.schedulers")),
    rule("gpu.sm.control.xu.initiation", "throughput_ops_per_cycle_per_sm.ex2.32", How::Initiation("gpu.sm.schedulers")),
    rule("gpu.sm.control.dp.initiation", "throughput_ops_per_cycle_per_sm.dfma.32", How::Initiation("gpu.sm.schedulers")),
    rule("gpu.sm.control.tensor.initiation", "mma_sync.chains4_warps16_cycles_per_mma_per_warp", How::Matrix("gpu.sm.schedulers", 16.0)),
    rule("gpu.sm.control.xu.latency", "latency.ex2", How::Latency),
    rule("gpu.sm.control.tensor.latency", "mma_sync.chains1_warps4_cycles_per_mma_per_warp", How::Latency),
    rule("gpu.sm.control.shuffle.latency", "latency.shfl", How::Latency),
    rule("gpu.sm.control.match.latency", "latency.match", How::Latency),
    rule("gpu.sm.control.redux.latency", "latency.redux", How::Latency),
    rule("gpu.sm.control.barrier_latency", "barriers.bar_1", How::Latency),
    rule("gpu.sm.control.fence_cta", "barriers.fence_0", How::Latency),
    rule("gpu.sm.control.fence_gpu", "barriers.fence_1", How::Latency),
    rule("gpu.sm.control.fence_system", "barriers.fence_2", How::Latency),
    rule("gpu.sm.shared.latency", "chase_shared.1", How::Latency),
    rule("gpu.sm.l1.latency", "chase_ca.4", How::Latency),
    rule("gpu.sm.l1.data_latency", "chase_ca.4", How::Latency),
    rule("mem.rop_latency", "chase_cg.0.25", How::Latency),
    rule("mem.dram_latency", "chase_cg.64", How::Latency),
];

/// Simulations of one rule at most.
const ROUNDS: usize = 5;
/// Cycles within which a simulated value is the measured one.
const CLOSE: f64 = 0.5;
/// The share of the difference that may remain where a latency is only a part of what is measured.
const MOVED: f64 = 0.6;

/// A value that follows from a measurement.
struct Derived {
    value: String,
    comment: String,
}

/// The machine that `calibrate` derives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// The machine's file.
    pub toml: String,
    /// A line for each rule: what it gave, or why the base's value stays.
    pub report: Vec<String>,
    /// How many values follow from measurements.
    pub derived: usize,
}

/// Makes a machine's file of `measurements` and the machine `base`, of which `overrides` are changed before; `lab` runs the microbenchmarks.
///
/// # Errors
/// When the base cannot be loaded, a measured value is none, the machine refuses a derived value, or a microbenchmark does not run.
pub fn calibrate(
    catalogue: &'static Catalogue,
    base: &str,
    overrides: &[(String, String)],
    measurements: &Measurements,
    lab: &Lab,
) -> Result<Calibrated, TaskError> {
    let (rows, _) = rows::all()?;
    let mut maker = Maker { catalogue, base, settings: overrides.to_vec(), derived: BTreeMap::new(), report: Vec::new(), lab };
    let core = maker.load()?.machine.gpu.sm;
    for rule in RULES.iter().filter(|rule| rule.is_of(&core)) {
        maker.apply(rule, measurements, &rows)?;
    }
    let toml = maker.file(measurements, overrides)?;
    Ok(Calibrated { toml, derived: maker.derived.len(), report: maker.report })
}

/// A machine in the making.
struct Maker<'a> {
    catalogue: &'static Catalogue,
    base: &'a str,
    /// The user's changes and all derived values.
    settings: Vec<(String, String)>,
    derived: BTreeMap<&'static str, Derived>,
    report: Vec<String>,
    lab: &'a Lab,
}

/// The value of a key as a file has it; `None` where the machine has no such key.
fn value_of(loaded: &Loaded, key: &str) -> Option<String> {
    let setting = loaded.provenance.settings().iter().find(|setting| setting.key.path == key)?;
    Some(setting.key.kind.write(&setting.value))
}

fn whole(loaded: &Loaded, key: &str) -> Option<i64> {
    value_of(loaded, key)?.parse().ok()
}

impl Maker<'_> {
    fn load(&self) -> Result<Loaded, TaskError> {
        let overrides: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        self.catalogue.machine(self.base, &overrides).map_err(TaskError::from)
    }

    fn stays(&mut self, rule: &Rule, why: &str) {
        self.report.push(format!("{}: stays, {why}", rule.key));
    }

    fn apply(&mut self, rule: &Rule, measurements: &Measurements, rows: &[Row]) -> Result<(), TaskError> {
        let Some(measured) = measurements.number(rule.from).map_err(|error| error.to_string())? else {
            self.stays(rule, &format!("there is no `{}`", rule.from));
            return Ok(());
        };
        let machine = self.load()?;
        let Some(present) = value_of(&machine, rule.key) else {
            self.stays(rule, "the base has no such key");
            return Ok(());
        };
        let value = match rule.how {
            How::Clock => format!("{:.3} MHz", measured / 1000.0),
            How::Property(part) => format!("{:.0}", measured / part),
            How::Initiation(units) | How::Matrix(units, _) => {
                let Some(units) = whole(&machine, units).filter(|units| *units > 0) else {
                    self.stays(rule, "the base has no such units");
                    return Ok(());
                };
                let cycles = match rule.how {
                    How::Matrix(_, warps) => measured * units as f64 / warps,
                    _ => 32.0 * units as f64 / measured,
                };
                format!("{:.0}", cycles.max(1.0))
            }
            How::Latency => return self.latency(rule, measured, &present, rows),
        };
        let comment = format!("micro:{}, {measured}; the base's is {present}", rule.from);
        self.set(rule, value, comment)
    }

    /// Takes a value, which the machine has to accept.
    fn set(&mut self, rule: &Rule, value: String, comment: String) -> Result<(), TaskError> {
        self.settings.retain(|(key, _)| key != rule.key);
        self.settings.push((rule.key.to_owned(), value));
        let loaded = self.load().map_err(|error| format!("micro:{} gives a value that the machine refuses: {error}", rule.from))?;
        let value = value_of(&loaded, rule.key).unwrap_or_default();
        self.report.push(format!("{} = {value}: {comment}", rule.key));
        self.derived.insert(rule.key, Derived { value, comment });
        Ok(())
    }

    /// Moves a latency until the simulated microbenchmark has the measured value, or comes no closer.
    fn latency(&mut self, rule: &Rule, measured: f64, present: &str, rows: &[Row]) -> Result<(), TaskError> {
        let row = rows.iter().find(|row| row.key == rule.from);
        let (Some(row), Ok(base)) = (row, present.parse::<i64>()) else {
            self.stays(rule, &format!("`{}` has no microbenchmark, or `{present}` is no number of cycles", rule.from));
            return Ok(());
        };
        let simulate = |value: i64| -> Result<f64, TaskError> {
            let mut overrides = self.settings.clone();
            overrides.retain(|(key, _)| key != rule.key);
            overrides.push((rule.key.to_owned(), value.to_string()));
            let bench = Bench { catalogue: self.catalogue, machine: self.base, overrides: &overrides };
            let values = bench.values(&[row], self.lab).map_err(|error| format!("micro:{}, {measured}: {error}", rule.from))?;
            Ok(values[0])
        };
        // A unit whose result comes before it takes the next instruction is faster than its initiation interval.
        let least = whole(&self.load()?, &rule.key.replace(".latency", ".initiation")).filter(|_| rule.key.starts_with("gpu.sm.timing."));
        let of_base = simulate(base)?;
        let (mut best, mut ours) = (base, of_base);
        for _ in 0..ROUNDS {
            let next = best.saturating_add((measured - ours).round() as i64).max(least.unwrap_or(1));
            if next == best {
                break;
            }
            let with_next = simulate(next)?;
            if (measured - with_next).abs() >= (measured - ours).abs() {
                break;
            }
            (best, ours) = (next, with_next);
        }
        let (away, before) = ((measured - ours).abs(), (measured - of_base).abs());
        if away > CLOSE && away > before * MOVED {
            let what = format!("it hardly moves micro:{}, {measured:.2}, of which the base has {of_base:.2}", rule.from);
            self.stays(rule, &what);
            return Ok(());
        }
        let comment = format!("micro:{}, {measured:.2}; simulated {ours:.2}, and {of_base:.2} with the base's {base}", rule.from);
        self.set(rule, best.to_string(), comment)
    }

    fn file(&self, measurements: &Measurements, overrides: &[(String, String)]) -> Result<String, TaskError> {
        let loaded = self.load()?;
        let is_file = self.base.contains('/') || self.base.ends_with(".toml");
        let extends = if is_file { std::path::absolute(Path::new(self.base))?.display().to_string() } else { self.base.to_owned() };
        let text = |text: String| toml::Value::String(text).to_string();
        let name = Path::new(measurements.name()).file_name().map_or_else(|| measurements.name().into(), |name| name.to_string_lossy());
        let mut out = format!(
            "# Made by `warpshard calibrate` of {} and the machine {}.\n\
             # micro:KEY is the measured value of that key. What is not here is the base's.\n\n\
             extends = {}\nsummary = {}\n",
            one_line(&name),
            one_line(&loaded.machine.name),
            text(extends),
            text(format!("{}, calibrated with microbenchmarks", loaded.provenance.summary()))
        );
        let mut table = "";
        for setting in loaded.provenance.settings() {
            let key = setting.key;
            let derived = self.derived.get(key.path);
            let own = overrides.iter().any(|(changed, _)| changed == key.path);
            if derived.is_none() && !own {
                continue;
            }
            if key.table() != table {
                table = key.table();
                let _ = writeln!(out, "\n[{table}]");
            }
            let value = derived.map_or_else(|| key.kind.write(&setting.value), |derived| derived.value.clone());
            let comment = derived.map_or("given with --set", |derived| derived.comment.as_str());
            let _ = writeln!(out, "{} = {value} # {}", key.name(), one_line(comment));
        }
        Ok(out)
    }
}

/// The text on one line, as a comment needs it.
fn one_line(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}
