//! The collector of problems and warnings of all checks.

use super::super::error::Problem;
use super::super::resolve::{Setting, SettingOrigin};
use super::super::value::Value;

/// A collector of problems. Each problem has the source location of the key that the user most likely has to change.
pub(super) struct Checker<'a> {
    pub(super) settings: &'a [Setting],
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) warnings: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    /// Reports the error `message` unless `holds` is true; `keys` are the keys of the violated rule.
    pub(super) fn require(&mut self, holds: bool, keys: &[&str], message: impl FnOnce() -> String, help: impl FnOnce() -> String) {
        if !holds {
            let problem = self.problem(keys, message(), help());
            self.problems.push(problem);
        }
    }

    /// Reports the warning `message` unless `holds` is true.
    pub(super) fn advise(&mut self, holds: bool, keys: &[&str], message: impl FnOnce() -> String, help: impl FnOnce() -> String) {
        if !holds {
            let warning = self.problem(keys, message(), help());
            self.warnings.push(warning);
        }
    }

    pub(super) fn power_of_two(&mut self, key: &str, value: u64, why: &str) {
        let below = if value == 0 { 1 } else { 1u64 << value.ilog2() };
        self.require(
            value.is_power_of_two(),
            &[key],
            || format!("`{key}` is {value}, expected a power of two"),
            || format!("{why}; the nearest are {below} and {}", 2 * below),
        );
    }

    /// Returns a problem of several keys. The problem is shown at the key of the highest layer, which the user wrote last; notes list the
    /// other keys.
    fn problem(&self, keys: &[&str], message: String, help: String) -> Problem {
        let mut settings: Vec<&Setting> = keys.iter().map(|key| self.setting(key)).collect();
        settings.sort_by_key(|setting| std::cmp::Reverse(setting.layer));
        let mut problem = match &settings[0].origin {
            SettingOrigin::Given(location) => Problem::at(location, message),
            SettingOrigin::Default => Problem::without_location(message),
        };
        problem = problem.help(help);
        for setting in &settings[1..] {
            let key = setting.key;
            let origin = match &setting.origin {
                SettingOrigin::Given(location) => format!("comes from {location}"),
                SettingOrigin::Default => "is the default".to_owned(),
            };
            problem.notes.push(format!("`{}` = {} {origin}", key.path, key.kind.write(&setting.value)));
        }
        problem
    }

    fn setting(&self, key: &str) -> &Setting {
        let setting = self.settings.iter().find(|setting| setting.key.path == key);
        setting.unwrap_or_else(|| panic!("a check names the key {key}, which was not read"))
    }

    pub(super) fn value(&self, key: &str) -> &Value {
        &self.setting(key).value
    }
}
