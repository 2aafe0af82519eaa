//! The machine under construction: which options were read, what became of them, and the text that results.

use rustc_hash::FxHashMap;

use super::super::error::{Place, Problem};
use super::super::keys;
use super::known::{IGNORED, UNMODELLED};
use super::read::Given;
use super::report::Report;

/// Options given, values set so far, and what there is to report.
pub(super) struct Sheet {
    options: FxHashMap<String, Given>,
    asked: Vec<String>,
    values: FxHashMap<&'static str, (String, String)>,
    at: Place,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// What is worth telling.
    pub(super) report: Report,
}

/// Older names of options, and the names that the reference has today.
const RENAMED: &[(&str, &str)] = &[
    ("rop_latency", "gpgpu_l2_rop_latency"),
    ("perf_sim_memcpy", "gpgpu_perf_sim_memcpy"),
    ("gmem_skip_L1D", "gpgpu_gmem_skip_L1D"),
    ("dual_bus_interface", "dram_dual_bus_interface"),
    ("smem_latency", "gpgpu_smem_latency"),
    ("l1_latency", "gpgpu_l1_latency"),
];

impl Sheet {
    /// The options of both files; of one that is given twice the last holds, as in the reference.
    pub(super) fn new(given: Vec<Given>, at: Place, problems: Vec<Problem>) -> Self {
        let mut report = Report::default();
        let mut options: FxHashMap<String, Given> = FxHashMap::default();
        for mut option in given {
            if let Some((_, name)) = RENAMED.iter().find(|(old, _)| *old == option.name) {
                report.warn(format!("-{} is today's -{name} and read as that ({})", option.name, option.place));
                option.name = (*name).to_owned();
            }
            if let Some(before) = options.insert(option.name.clone(), option.clone())
                && before.value != option.value
            {
                report.warn(format!("-{} is given twice; {} holds ({})", option.name, option.value, option.place));
            }
        }
        Self { options, asked: Vec::new(), values: FxHashMap::default(), at, problems, report }
    }

    /// The option, which counts as used from now on.
    pub(super) fn option(&mut self, name: &str) -> Option<Given> {
        let given = self.options.get(name)?.clone();
        if !self.asked.iter().any(|asked| asked == name) {
            self.asked.push(name.to_owned());
        }
        Some(given)
    }

    /// Its text and a comment that names it, or the default's.
    pub(super) fn text(&mut self, name: &str, default: &str) -> (String, String) {
        match self.option(name) {
            Some(given) => (given.value.clone(), format!("-{name} {}", given.value)),
            None => (default.to_owned(), format!("-{name}, default {default}")),
        }
    }

    /// Its text; without it nothing can be said.
    pub(super) fn required(&mut self, name: &str, example: &str) -> Option<Given> {
        let given = self.option(name);
        if given.is_none() {
            let problem = Problem::at(&self.at, format!("the option -{name} is missing"));
            self.problems.push(problem.help(format!("it is needed, as in `-{name} {example}`")));
        }
        given
    }

    /// A number, the reference's default where it is not given.
    pub(super) fn number(&mut self, name: &str, default: u64) -> (u64, String) {
        let (text, comment) = self.text(name, &default.to_string());
        let number = text.parse().unwrap_or_else(|_| {
            self.wrong(name, "a whole number");
            default
        });
        (number, comment)
    }

    /// Whether a number is not 0.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> (bool, String) {
        let (number, comment) = self.number(name, u64::from(default));
        (number != 0, comment)
    }

    /// Numbers with `separator` between them, at least `least`.
    pub(super) fn numbers(&mut self, name: &str, separator: char, least: usize, default: &str) -> (Vec<u64>, String) {
        let (text, comment) = self.text(name, default);
        let split = |text: &str| text.split(separator).map(|part| part.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>();
        match split(&text).filter(|numbers| numbers.len() >= least) {
            Some(numbers) => (numbers, comment),
            None => {
                self.wrong(name, &format!("at least {least} whole numbers, as in {default}"));
                (split(default).unwrap_or_default(), comment)
            }
        }
    }

    /// The value of an option is not what it takes.
    pub(super) fn wrong(&mut self, name: &str, expected: &str) {
        let Some(given) = self.options.get(name) else { return };
        self.problems.push(Problem::at(&given.place, format!("-{name} is `{}`, expected {expected}", given.value)));
    }

    /// The value of an option is refused for this reason.
    pub(super) fn refuse(&mut self, name: &str, why: &str, expected: &str) {
        let Some(given) = self.options.get(name) else { return };
        self.problems.push(Problem::at(&given.place, format!("-{name}: {why}")).help(format!("it takes {expected}")));
    }

    /// Sets a key of the machine.
    pub(super) fn set(&mut self, key: &'static str, value: impl ToString, comment: impl Into<String>) {
        debug_assert!(keys::find(key).is_some(), "{key} is no key");
        self.values.insert(key, (value.to_string(), comment.into()));
    }

    /// Sets a key to a text.
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

    /// Sorts the options that nothing read, and writes the machine.
    pub(super) fn finish(mut self, head: &str) -> (String, Report, Vec<Problem>) {
        let mut rest: Vec<&Given> = self.options.values().filter(|given| !self.asked.contains(&given.name)).collect();
        rest.sort_by_key(|given| (given.place.source.name.clone(), given.place.span.start));
        for given in rest {
            let name = given.name.as_str();
            if let Some(option) = UNMODELLED.iter().find(|option| option.name == name) {
                if given.value == option.same {
                    self.report.ignored.push((name.to_owned(), "its value is what is done here".to_owned()));
                } else {
                    self.report.warn(format!("-{name} {} ({}): {}", given.value, given.place, option.instead));
                }
            } else if let Some((_, why)) = IGNORED.iter().find(|(prefix, _)| name.starts_with(prefix)) {
                self.report.ignored.push((name.to_owned(), (*why).to_owned()));
            } else {
                self.report.unknown.push(format!("-{name} {} ({})", given.value, given.place));
            }
        }
        self.report.used = self.asked;
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
