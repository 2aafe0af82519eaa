//! The machine under construction: its options, its keys, and the resulting text and report.

use rustc_hash::FxHashMap;

use super::super::error::{Problem, SourceSpan};
use super::super::keys;
use super::known::{IGNORED_OPTIONS, UNMODELLED_OPTIONS};
use super::read::GivenOption;
use super::report::ImportReport;

/// The state of an import: the given options, the keys set so far, and the report.
pub(super) struct Sheet {
    options: FxHashMap<String, GivenOption>,
    used_options: Vec<String>,
    values: FxHashMap<&'static str, (String, String)>,
    location: SourceSpan,
    /// Errors so far.
    pub(super) problems: Vec<Problem>,
    /// The report so far.
    pub(super) report: ImportReport,
}

/// Former names of options, each with its present name in the reference.
const RENAMED_OPTIONS: &[(&str, &str)] = &[
    ("rop_latency", "gpgpu_l2_rop_latency"),
    ("perf_sim_memcpy", "gpgpu_perf_sim_memcpy"),
    ("gmem_skip_L1D", "gpgpu_gmem_skip_L1D"),
    ("dual_bus_interface", "dram_dual_bus_interface"),
    ("smem_latency", "gpgpu_smem_latency"),
    ("l1_latency", "gpgpu_l1_latency"),
];

impl Sheet {
    /// Creates a sheet from the options of both files. If an option is given twice, the last value is used, as in the reference.
    pub(super) fn new(given: Vec<GivenOption>, at: SourceSpan, problems: Vec<Problem>) -> Self {
        let mut report = ImportReport::default();
        let mut options: FxHashMap<String, GivenOption> = FxHashMap::default();
        for mut option in given {
            if let Some((_, name)) = RENAMED_OPTIONS.iter().find(|(old, _)| *old == option.name) {
                report.warn(format!("-{} is the former name of -{name} ({})", option.name, option.location));
                option.name = (*name).to_owned();
            }
            if let Some(before) = options.insert(option.name.clone(), option.clone())
                && before.value != option.value
            {
                report.warn(format!("-{} is given twice; {} is used ({})", option.name, option.value, option.location));
            }
        }
        Self { options, used_options: Vec::new(), values: FxHashMap::default(), location: at, problems, report }
    }

    /// Returns the option `name` and marks it as used.
    pub(super) fn option(&mut self, name: &str) -> Option<GivenOption> {
        let given = self.options.get(name)?.clone();
        if !self.used_options.iter().any(|used| used == name) {
            self.used_options.push(name.to_owned());
        }
        Some(given)
    }

    /// Returns the option's text, or the default, with a comment that names the option.
    pub(super) fn text(&mut self, name: &str, default: &str) -> (String, String) {
        match self.option(name) {
            Some(given) => (given.value.clone(), format!("-{name} {}", given.value)),
            None => (default.to_owned(), format!("-{name}, default {default}")),
        }
    }

    /// Returns the option, and reports an error if it is missing.
    pub(super) fn required(&mut self, name: &str, example: &str) -> Option<GivenOption> {
        let given = self.option(name);
        if given.is_none() {
            let problem = Problem::at(&self.location, format!("the option -{name} is missing"));
            self.problems.push(problem.help(format!("it is needed, as in `-{name} {example}`")));
        }
        given
    }

    /// Returns the option's number, or the reference's default if the option is not given.
    pub(super) fn number(&mut self, name: &str, default: u64) -> (u64, String) {
        let (text, comment) = self.text(name, &default.to_string());
        let number = text.parse().unwrap_or_else(|_| {
            self.report_invalid(name, "a whole number");
            default
        });
        (number, comment)
    }

    /// Returns `true` if the option's number is not 0.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> (bool, String) {
        let (number, comment) = self.number(name, u64::from(default));
        (number != 0, comment)
    }

    /// Returns the option's numbers, separated by `separator`; there must be at least `least` of them.
    pub(super) fn numbers(&mut self, name: &str, separator: char, least: usize, default: &str) -> (Vec<u64>, String) {
        let (text, comment) = self.text(name, default);
        let split = |text: &str| text.split(separator).map(|part| part.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>();
        match split(&text).filter(|numbers| numbers.len() >= least) {
            Some(numbers) => (numbers, comment),
            None => {
                self.report_invalid(name, &format!("at least {least} whole numbers, as in {default}"));
                (split(default).unwrap_or_default(), comment)
            }
        }
    }

    /// Reports that the value of an option does not have the expected form.
    pub(super) fn report_invalid(&mut self, name: &str, expected: &str) {
        let Some(given) = self.options.get(name) else { return };
        self.problems.push(Problem::at(&given.location, format!("-{name} is `{}`, expected {expected}", given.value)));
    }

    /// Rejects the value of an option for the reason `why`.
    pub(super) fn report_rejected(&mut self, name: &str, why: &str, expected: &str) {
        let Some(given) = self.options.get(name) else { return };
        self.problems.push(Problem::at(&given.location, format!("-{name}: {why}")).help(format!("it takes {expected}")));
    }

    /// Sets a key of the machine.
    pub(super) fn set(&mut self, key: &'static str, value: impl ToString, comment: impl Into<String>) {
        debug_assert!(keys::find(key).is_some(), "{key} is no key");
        self.values.insert(key, (value.to_string(), comment.into()));
    }

    /// Sets a key of the machine to a string.
    pub(super) fn set_text(&mut self, key: &'static str, value: &str, comment: impl Into<String>) {
        self.set(key, format!("\"{value}\""), comment);
    }

    /// Copies a number option to a key.
    pub(super) fn copy(&mut self, key: &'static str, name: &str, default: u64) {
        let (number, comment) = self.number(name, default);
        self.set(key, number, comment);
    }

    /// Copies a flag option to a key.
    pub(super) fn copy_flag(&mut self, key: &'static str, name: &str, default: bool) {
        let (flag, comment) = self.flag(name, default);
        self.set(key, flag, comment);
    }

    /// Classifies the unused options, and writes the machine file.
    pub(super) fn finish(mut self, head: &str) -> (String, ImportReport, Vec<Problem>) {
        let mut rest: Vec<&GivenOption> = self.options.values().filter(|given| !self.used_options.contains(&given.name)).collect();
        rest.sort_by_key(|given| (given.location.source.name.clone(), given.location.span.start));
        for given in rest {
            let name = given.name.as_str();
            if let Some(option) = UNMODELLED_OPTIONS.iter().find(|option| option.name == name) {
                if given.value == option.modelled_value {
                    self.report.ignored.push((name.to_owned(), "its value matches the behaviour here".to_owned()));
                } else {
                    self.report.warn(format!("-{name} {} ({}): {}", given.value, given.location, option.explanation));
                }
            } else if let Some((_, why)) = IGNORED_OPTIONS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
                self.report.ignored.push((name.to_owned(), (*why).to_owned()));
            } else {
                self.report.unknown.push(format!("-{name} {} ({})", given.value, given.location));
            }
        }
        self.report.used = self.used_options;
        let mut text = head.to_owned();
        let mut table = "";
        for key in keys::all() {
            let Some((value, comment)) = self.values.get(key.path) else { continue };
            if key.table() != table {
                table = key.table();
                text += &format!("\n[{table}]\n");
            }
            text += &format!("{} = {value} # {comment}\n", key.name());
        }
        (text, self.report, self.problems)
    }
}
