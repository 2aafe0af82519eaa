//! `warpshard calibrate`: a machine derived from measurements of microbenchmarks and from a base machine.
//!
//! A rule derives one key of the machine from one measured value. Properties of the device are copied. The initiation interval of a unit is
//! the lanes of the units divided by the measured operations per cycle. A latency is the base's value plus the difference between the
//! measured value and the value that the microbenchmark has in simulation on the base; the latency of the rest of the path cancels out in
//! the difference. Rules are applied in order, each on the machine that the earlier rules have derived. Keys that cannot be derived keep
//! the base's value.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use warpshard_config::machine::{CoreStyle, Sm};
use warpshard_config::{Loaded, Override};
use warpshard_lab::Lab;
use warpshard_lab::error::TaskError;
use warpshard_run::Catalogue;

use super::measurements::Measurements;
use super::probe::ProbeMachine;
use super::rows::{self, MicroRow};

/// Derivation of a key's value from a measured value.
enum Derivation {
    /// The measured number divided by this divisor.
    Property(f64),
    /// A frequency, measured in kilohertz.
    Clock,
    /// The number of units in this key, times 32 lanes, divided by the measured operations per cycle.
    Initiation(&'static str),
    /// The measured cycles per product and warp, times the number of units in this key, divided by this number of warps.
    Matrix(&'static str, f64),
    /// The base's value plus the difference between the measured and the simulated value.
    Latency,
}

/// A rule that derives one key of a machine.
struct DerivationRule {
    key: &'static str,
    measured_key: &'static str,
    derivation: Derivation,
}

const fn derivation_rule(key: &'static str, from: &'static str, how: Derivation) -> DerivationRule {
    DerivationRule { key, measured_key: from, derivation: how }
}

impl DerivationRule {
    /// Returns `true` if the core model reads the key: timing of units belongs to cores with a scoreboard, timing of pipes to cores with
    /// control words. An L1 hit takes the latency of the tags or, after it, the latency of the data.
    fn is_read_by(&self, core: &Sm) -> bool {
        let words = core.style == CoreStyle::ControlWords;
        let others = if core.l1.data_latency > 0 { "gpu.sm.l1.latency" } else { "gpu.sm.l1.data_latency" };
        !self.key.starts_with(if words { "gpu.sm.timing." } else { "gpu.sm.control." }) && self.key != others
    }
}

/// The rules, in the order of application.
const DERIVATION_RULES: &[DerivationRule] = &[
    derivation_rule("clocks.core", "device.core_khz", Derivation::Clock),
    derivation_rule("gpu.sms", "device.sms", Derivation::Property(1.0)),
    derivation_rule("gpu.sm.warps", "device.threads_sm", Derivation::Property(32.0)),
    derivation_rule("gpu.sm.max_threads", "device.threads_sm", Derivation::Property(1.0)),
    derivation_rule("gpu.sm.registers", "device.regs_sm", Derivation::Property(1.0)),
    derivation_rule("gpu.sm.timing.sp.initiation", "throughput_ops_per_cycle_per_sm.ffma.32", Derivation::Initiation("gpu.sm.units.sp")),
    derivation_rule("gpu.sm.timing.int.initiation", "throughput_ops_per_cycle_per_sm.imad.32", Derivation::Initiation("gpu.sm.units.int")),
    derivation_rule("gpu.sm.timing.alu.initiation", "throughput_ops_per_cycle_per_sm.lop.32", Derivation::Initiation("gpu.sm.units.int")),
    derivation_rule("gpu.sm.timing.sfu.initiation", "throughput_ops_per_cycle_per_sm.ex2.32", Derivation::Initiation("gpu.sm.units.sfu")),
    derivation_rule("gpu.sm.timing.dp.initiation", "throughput_ops_per_cycle_per_sm.dfma.32", Derivation::Initiation("gpu.sm.units.dp")),
    derivation_rule(
        "gpu.sm.timing.tensor.initiation",
        "mma_sync.chains4_warps16_cycles_per_mma_per_warp",
        Derivation::Matrix("gpu.sm.units.tensor", 16.0),
    ),
    derivation_rule("gpu.sm.timing.sp.latency", "latency.ffma", Derivation::Latency),
    derivation_rule("gpu.sm.timing.int.latency", "latency.imad", Derivation::Latency),
    derivation_rule("gpu.sm.timing.alu.latency", "latency.lop", Derivation::Latency),
    derivation_rule("gpu.sm.timing.sfu.latency", "latency.ex2", Derivation::Latency),
    derivation_rule("gpu.sm.timing.dp.latency", "latency.dfma", Derivation::Latency),
    derivation_rule("gpu.sm.timing.tensor.latency", "mma_sync.chains1_warps4_cycles_per_mma_per_warp", Derivation::Latency),
    derivation_rule("gpu.sm.timing.barrier.latency", "barriers.bar_1", Derivation::Latency),
    derivation_rule(
        "gpu.sm.control.fma.initiation",
        "throughput_ops_per_cycle_per_sm.ffma.32",
        Derivation::Initiation("gpu.sm.schedulers"),
    ),
    derivation_rule(
        "gpu.sm.control.heavy.initiation",
        "throughput_ops_per_cycle_per_sm.imad.32",
        Derivation::Initiation("gpu.sm.schedulers"),
    ),
    derivation_rule("gpu.sm.control.alu.initiation", "throughput_ops_per_cycle_per_sm.lop.32", Derivation::Initiation("gpu.sm.schedulers")),
    derivation_rule("gpu.sm.control.xu.initiation", "throughput_ops_per_cycle_per_sm.ex2.32", Derivation::Initiation("gpu.sm.schedulers")),
    derivation_rule("gpu.sm.control.dp.initiation", "throughput_ops_per_cycle_per_sm.dfma.32", Derivation::Initiation("gpu.sm.schedulers")),
    derivation_rule(
        "gpu.sm.control.tensor.initiation",
        "mma_sync.chains4_warps16_cycles_per_mma_per_warp",
        Derivation::Matrix("gpu.sm.schedulers", 16.0),
    ),
    derivation_rule("gpu.sm.control.xu.latency", "latency.ex2", Derivation::Latency),
    derivation_rule("gpu.sm.control.tensor.latency", "mma_sync.chains1_warps4_cycles_per_mma_per_warp", Derivation::Latency),
    derivation_rule("gpu.sm.control.shuffle.latency", "latency.shfl", Derivation::Latency),
    derivation_rule("gpu.sm.control.match.latency", "latency.match", Derivation::Latency),
    derivation_rule("gpu.sm.control.redux.latency", "latency.redux", Derivation::Latency),
    derivation_rule("gpu.sm.control.barrier_latency", "barriers.bar_1", Derivation::Latency),
    derivation_rule("gpu.sm.control.fence_cta", "barriers.fence_0", Derivation::Latency),
    derivation_rule("gpu.sm.control.fence_gpu", "barriers.fence_1", Derivation::Latency),
    derivation_rule("gpu.sm.control.fence_system", "barriers.fence_2", Derivation::Latency),
    derivation_rule("gpu.sm.shared.latency", "chase_shared.1", Derivation::Latency),
    derivation_rule("gpu.sm.l1.latency", "chase_ca.4", Derivation::Latency),
    derivation_rule("gpu.sm.l1.data_latency", "chase_ca.4", Derivation::Latency),
    derivation_rule("mem.rop_latency", "chase_cg.0.25", Derivation::Latency),
    derivation_rule("mem.dram_latency", "chase_cg.64", Derivation::Latency),
];

/// Maximum simulations per rule.
const MAX_ROUNDS: usize = 5;
/// Largest difference in cycles at which a simulated value counts as the measured one.
const TOLERANCE_CYCLES: f64 = 0.5;
/// Share of the difference that may remain if the latency is only a part of the measured time.
const MAX_REMAINING_SHARE: f64 = 0.6;

/// A derived value of a key.
struct DerivedValue {
    value: String,
    comment: String,
}

/// The machine derived by `calibrate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibratedMachine {
    /// Text of the machine file.
    pub toml: String,
    /// A line per rule: the derived value, or the reason why the base's value stays.
    pub report: Vec<String>,
    /// Number of keys derived from measurements.
    pub derived: usize,
}

/// Derives a machine file from `measurements` and the machine `base` with `overrides`; `lab` runs the microbenchmarks.
///
/// # Errors
/// Fails if the base cannot be loaded, a measured value is not positive, the machine refuses a derived value, or a microbenchmark does not
/// run.
pub fn calibrate(
    catalogue: &'static Catalogue,
    base: &str,
    overrides: &[(String, String)],
    measurements: &Measurements,
    lab: &Lab,
) -> Result<CalibratedMachine, TaskError> {
    let (rows, _) = rows::all_rows()?;
    let mut calibration = Calibration { catalogue, base, settings: overrides.to_vec(), derived: BTreeMap::new(), report: Vec::new(), lab };
    let core = calibration.load()?.machine.gpu.sm;
    for rule in DERIVATION_RULES.iter().filter(|rule| rule.is_read_by(&core)) {
        calibration.apply_rule(rule, measurements, &rows)?;
    }
    let toml = calibration.machine_text(measurements, overrides)?;
    Ok(CalibratedMachine { toml, derived: calibration.derived.len(), report: calibration.report })
}

/// State of a calibration.
struct Calibration<'a> {
    catalogue: &'static Catalogue,
    base: &'a str,
    /// The user's overrides and all derived values.
    settings: Vec<(String, String)>,
    derived: BTreeMap<&'static str, DerivedValue>,
    report: Vec<String>,
    lab: &'a Lab,
}

/// Returns the value of a key as written in a machine file; `None` if the machine has no such key.
fn key_value(loaded: &Loaded, key: &str) -> Option<String> {
    let setting = loaded.provenance.settings().iter().find(|setting| setting.key.path == key)?;
    Some(setting.key.kind.write(&setting.value))
}

fn key_integer(loaded: &Loaded, key: &str) -> Option<i64> {
    key_value(loaded, key)?.parse().ok()
}

impl Calibration<'_> {
    fn load(&self) -> Result<Loaded, TaskError> {
        let overrides: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        self.catalogue.machine(self.base, &overrides).map_err(TaskError::from)
    }

    fn report_base_kept(&mut self, rule: &DerivationRule, why: &str) {
        self.report.push(format!("{}: stays, {why}", rule.key));
    }

    fn apply_rule(&mut self, rule: &DerivationRule, measurements: &Measurements, rows: &[MicroRow]) -> Result<(), TaskError> {
        let Some(measured) = measurements.number(rule.measured_key).map_err(|error| error.to_string())? else {
            self.report_base_kept(rule, &format!("there is no `{}`", rule.measured_key));
            return Ok(());
        };
        let machine = self.load()?;
        let Some(present) = key_value(&machine, rule.key) else {
            self.report_base_kept(rule, "the base has no such key");
            return Ok(());
        };
        let value = match rule.derivation {
            Derivation::Clock => format!("{:.3} MHz", measured / 1000.0),
            Derivation::Property(part) => format!("{:.0}", measured / part),
            Derivation::Initiation(units) | Derivation::Matrix(units, _) => {
                let Some(units) = key_integer(&machine, units).filter(|units| *units > 0) else {
                    self.report_base_kept(rule, "the base has no such units");
                    return Ok(());
                };
                let cycles = match rule.derivation {
                    Derivation::Matrix(_, warps) => measured * units as f64 / warps,
                    _ => 32.0 * units as f64 / measured,
                };
                format!("{:.0}", cycles.max(1.0))
            }
            Derivation::Latency => return self.adjust_latency(rule, measured, &present, rows),
        };
        let comment = format!("micro:{}, {measured}; the base's is {present}", rule.measured_key);
        self.set_derived(rule, value, comment)
    }

    /// Sets a key to a derived value.
    fn set_derived(&mut self, rule: &DerivationRule, value: String, comment: String) -> Result<(), TaskError> {
        self.settings.retain(|(key, _)| key != rule.key);
        self.settings.push((rule.key.to_owned(), value));
        let loaded = self.load().map_err(|error| format!("micro:{} gives a value that the machine refuses: {error}", rule.measured_key))?;
        let value = key_value(&loaded, rule.key).unwrap_or_default();
        self.report.push(format!("{} = {value}: {comment}", rule.key));
        self.derived.insert(rule.key, DerivedValue { value, comment });
        Ok(())
    }

    /// Adjusts a latency until the simulated microbenchmark has the measured value or does not come closer to it.
    fn adjust_latency(&mut self, rule: &DerivationRule, measured: f64, present: &str, rows: &[MicroRow]) -> Result<(), TaskError> {
        let row = rows.iter().find(|row| row.key == rule.measured_key);
        let (Some(row), Ok(base)) = (row, present.parse::<i64>()) else {
            self.report_base_kept(
                rule,
                &format!("`{}` has no microbenchmark, or `{present}` is not a number of cycles", rule.measured_key),
            );
            return Ok(());
        };
        let simulate = |value: i64| -> Result<f64, TaskError> {
            let mut overrides = self.settings.clone();
            overrides.retain(|(key, _)| key != rule.key);
            overrides.push((rule.key.to_owned(), value.to_string()));
            let bench = ProbeMachine { catalogue: self.catalogue, machine: self.base, overrides: &overrides };
            let values =
                bench.simulate_rows(&[row], self.lab).map_err(|error| format!("micro:{}, {measured}: {error}", rule.measured_key))?;
            Ok(values[0])
        };
        // The latency of a unit stays at or above its initiation interval.
        let least =
            key_integer(&self.load()?, &rule.key.replace(".latency", ".initiation")).filter(|_| rule.key.starts_with("gpu.sm.timing."));
        let of_base = simulate(base)?;
        let (mut best, mut ours) = (base, of_base);
        for _ in 0..MAX_ROUNDS {
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
        if away > TOLERANCE_CYCLES && away > before * MAX_REMAINING_SHARE {
            let what = format!("it hardly changes micro:{}: {measured:.2} measured, {of_base:.2} on the base", rule.measured_key);
            self.report_base_kept(rule, &what);
            return Ok(());
        }
        let comment = format!("micro:{}, {measured:.2}; simulated {ours:.2}, and {of_base:.2} with the base's {base}", rule.measured_key);
        self.set_derived(rule, best.to_string(), comment)
    }

    fn machine_text(&self, measurements: &Measurements, overrides: &[(String, String)]) -> Result<String, TaskError> {
        let loaded = self.load()?;
        let is_file = self.base.contains('/') || self.base.ends_with(".toml");
        let extends = if is_file { std::path::absolute(Path::new(self.base))?.display().to_string() } else { self.base.to_owned() };
        let text = |text: String| toml::Value::String(text).to_string();
        let name = Path::new(measurements.name()).file_name().map_or_else(|| measurements.name().into(), |name| name.to_string_lossy());
        let mut out = format!(
            "# Made by `warpshard calibrate` of {} and the machine {}.\n\
             # micro:KEY is the measured value of that key. All other keys have the base's values.\n\n\
             extends = {}\nsummary = {}\n",
            join_lines(&name),
            join_lines(&loaded.machine.name),
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
            let _ = writeln!(out, "{} = {value} # {}", key.name(), join_lines(comment));
        }
        Ok(out)
    }
}

/// Joins the lines of a text, for a comment on one line.
fn join_lines(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}
